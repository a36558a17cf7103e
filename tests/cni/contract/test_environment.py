"""The environment of a call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.cni.generate import arg_texts, container_ids, ifnames
from refimpl.cni.contract import (
    Kind,
    ShapeError,
    Verb,
    env_problems,
    format_args,
    parse_args,
    valid_container_id,
    valid_ifname,
    variables,
)
from refimpl.cni.contract.environment import TABLE

FULL = {
    "container_id": "c1",
    "netns": "/run/netns/blue",
    "ifname": "eth0",
    "args": "A=b",
    "path": "/opt/cni/bin",
}
ALL = {"CNI_COMMAND", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH"}


@pytest.mark.parametrize(
    ("verb", "names"),
    [
        ("ADD", ALL),
        ("DEL", ALL),
        ("CHECK", ALL),
        ("STATUS", {"CNI_COMMAND", "CNI_PATH"}),
        ("GC", {"CNI_COMMAND", "CNI_PATH"}),
        ("VERSION", {"CNI_COMMAND"}),
        ("BOGUS", ALL),
    ],
)
def test_a_verb_gets_the_variables_it_uses(verb: str, names: set[str]) -> None:
    """A verb nobody knows gets all: a test of it must fail for the verb alone."""
    env = variables(verb, **FULL)
    assert set(env) == names
    assert env["CNI_COMMAND"] == verb


def test_what_is_empty_is_not_set() -> None:
    """A DEL without a namespace has no CNI_NETNS at all."""
    env = variables(Verb.DEL, container_id="c1", ifname="eth0")
    assert env == {"CNI_COMMAND": "DEL", "CNI_CONTAINERID": "c1", "CNI_IFNAME": "eth0"}
    assert type(env["CNI_COMMAND"]) is str


@pytest.mark.parametrize("verb", Verb)
def test_the_full_environment_of_a_verb_has_no_problem(verb: Verb) -> None:
    """What `variables` makes, `env_problems` accepts; so does it empty ones that are not used."""
    env = variables(verb, **FULL)
    assert env_problems(verb, env) == []
    assert env_problems(verb, dict.fromkeys(ALL, "") | env) == []


@pytest.mark.parametrize(
    ("verb", "name"),
    [(verb, name) for verb in Verb for name, need in TABLE[verb].items() if need == "required"],
)
def test_a_required_variable_is_missed(verb: Verb, name: str) -> None:
    """Absent or empty, the problem names it."""
    env = variables(verb, **FULL)
    empty = env_problems(verb, env | {name: ""})
    del env[name]
    absent = env_problems(verb, env)
    assert [(each.pointer, each.kind) for each in absent] == [(f"/{name}", Kind.MISSING)]
    assert empty == absent


def test_only_these_variables_are_optional() -> None:
    """The whole table once, so that no cell changes unseen."""
    optional = {
        str(verb): [n for n, need in TABLE[verb].items() if need == "optional"] for verb in Verb
    }
    assert optional == {
        "ADD": ["CNI_ARGS", "CNI_PATH"],
        "DEL": ["CNI_NETNS", "CNI_ARGS", "CNI_PATH"],
        "CHECK": ["CNI_ARGS", "CNI_PATH"],
        "STATUS": ["CNI_PATH"],
        "GC": [],
        "VERSION": [],
    }


def test_container_ids_were_optional_before_0_4_0() -> None:
    """A call to an old plugin may do without."""
    env = variables("ADD", **{**FULL, "container_id": ""})
    assert env_problems("ADD", env, version="0.3.1") == []
    assert len(env_problems("ADD", env, version="0.4.0")) == 1


@pytest.mark.parametrize(
    ("verb", "change", "kind"),
    [
        ("ADD", {"CNI_COMMAND": "add"}, Kind.VALUE),
        ("ADD", {"CNI_CONTAINERID": "../x"}, Kind.FORMAT),
        ("ADD", {"CNI_IFNAME": "a/b"}, Kind.FORMAT),
        ("ADD", {"CNI_ARGS": "A"}, Kind.FORMAT),
        ("VERSION", {"CNI_NETNS": "dummy"}, Kind.FOREIGN),
    ],
)
def test_a_wrong_variable_is_told(verb: str, change: dict[str, str], kind: Kind) -> None:
    """One problem, with the name and the value."""
    [problem] = env_problems(verb, variables(verb, **FULL) | change)
    [(name, value)] = change.items()
    assert (problem.pointer, problem.kind) == (f"/{name}", kind)
    assert repr(value) in problem.text


def test_an_unknown_verb_is_the_only_problem() -> None:
    """Nothing is known about the variables of such a call."""
    [problem] = env_problems("add", {})
    assert (problem.pointer, problem.kind) == ("/CNI_COMMAND", Kind.VALUE)


@given(container_ids())
def test_generated_container_ids_are_valid(text: str) -> None:
    """No limit of length."""
    assert valid_container_id(text)
    assert valid_container_id(text * 100)


@pytest.mark.parametrize("text", ["", "../x", "-a", ".a", "_a", "a b", "a/b", "é", "a\n", "١"])
def test_other_text_is_no_container_id(text: str) -> None:
    """A plugin makes file names of it."""
    assert not valid_container_id(text)


@given(ifnames())
def test_generated_interface_names_are_valid(text: str) -> None:
    """Letters of other scripts count by their bytes."""
    assert valid_ifname(text)


@pytest.mark.parametrize(
    "text",
    ["", ".", "..", "a/b", "a:b", "a b", "a\tb", "a\u00a0b", "a\x00b", "a" * 16, "é" * 8, "\ud800"],
)
def test_other_text_is_no_interface_name(text: str) -> None:
    """The kernel or the Go library refuses it."""
    assert not valid_ifname(text)


def test_a_name_of_15_bytes_fits() -> None:
    """Also when some of the bytes are no text: the environment carries them all the same."""
    assert valid_ifname("a" * 15)
    assert valid_ifname("\udcff" * 15)


@given(arg_texts())
def test_arguments_come_back_as_they_were(text: str) -> None:
    """Reading and writing are each other's inverse."""
    assert format_args(parse_args(text)) == text


def test_arguments_keep_their_order_and_repeats() -> None:
    """Which of two wins is the plugin's affair."""
    assert parse_args("B=1;A=;B=2") == [("B", "1"), ("A", ""), ("B", "2")]
    assert parse_args("") == []


@pytest.mark.parametrize("text", ["A", "A=b=c", "A=b;", ";", "=b", "A=b;;C=d"])
def test_malformed_arguments_are_refused(text: str) -> None:
    """Each broken piece is named."""
    with pytest.raises(ShapeError, match="KEY=VALUE") as raised:
        parse_args(text)
    assert {problem.pointer for problem in raised.value.problems} == {"/CNI_ARGS"}


@pytest.mark.parametrize("pair", [("", "a"), ("a;b", "c"), ("a", "b;c"), ("a=b", "c"), ("a", "=")])
def test_what_arguments_cannot_carry_is_not_written(pair: tuple[str, str]) -> None:
    """A pod's name must not smuggle in a second argument."""
    with pytest.raises(ValueError, match="cannot escape"):
        format_args([("A", "b"), pair])


@given(st.text())
def test_no_argument_text_breaks_the_reader(text: str) -> None:
    """It gives pairs that write the same text, or refuses."""
    try:
        pairs = parse_args(text)
    except ShapeError:
        assert any(piece.count("=") != 1 or piece[0] == "=" for piece in text.split(";"))
    else:
        assert format_args(pairs) == text
