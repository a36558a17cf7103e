"""Rules are read from YAML; a mistake is answered with line, rule, field and what is allowed."""

import re
from pathlib import Path
from typing import Any

import pytest

from refimpl.csi.api import csi_pb2 as csi
from refimpl.wire.faults import FaultError, Faults
from refimpl.wire.faults.config import _ACTIONS, read_rules
from refimpl.wire.faults.document import LARGEST_TEXT


def shown(text: str) -> list[dict[str, Any]]:
    """The rules of a text, as they would be written out."""
    return [rule.to_dict() for rule in read_rules(text)]


@pytest.mark.parametrize(
    ("do", "means"),
    [
        ("{status: UNAVAILABLE}", {"status": {"code": "UNAVAILABLE", "message": ""}}),
        ("{status: 14}", {"status": {"code": "UNAVAILABLE", "message": ""}}),
        ("{status: {code: ABORTED, message: m}}", {"status": {"code": "ABORTED", "message": "m"}}),
        ("{delay: 0.5}", {"delay": {"seconds": 0.5}}),
        ("{delay: {seconds: 2, sigma: 1}}", {"delay": {"seconds": 2.0, "sigma": 1.0}}),
        ("hang", {"hang": {}}),
        ("{hang: }", {"hang": {}}),
        ("{hang: true}", {"hang": {}}),
        ("drop_reply", {"drop_reply": {}}),
        ("close", {"close": {"phase": "before"}}),
        ("{close: after}", {"close": {"phase": "after"}}),
        ("{close: {phase: after}}", {"close": {"phase": "after"}}),
        ("{mutate: {volume.volume_id: x}}", {"mutate": {"volume.volume_id": "x"}}),
        ("{mutate: {at: 2024-01-01T00:00:00Z}}", {"mutate": {"at": "2024-01-01T00:00:00Z"}}),
        ("{end_stream: 3}", {"end_stream": {"after": 3}}),
        (
            "{end_stream: {after: 0, code: ABORTED}}",
            {"end_stream": {"after": 0, "code": "ABORTED", "message": ""}},
        ),
        ("{crash: CreateVolume.after_effect}", {"crash": {"point": "CreateVolume.after_effect"}}),
    ],
)
def test_every_action_has_a_long_form_and_a_short_one(do: str, means: dict[str, Any]) -> None:
    """What is written out again is the long form, and reads as the same rule."""
    (rule,) = shown(f"- do: {do}")
    assert rule["do"] == means
    assert shown(f"- do: {means}") == [rule]


def test_conditions_are_read_as_they_stand() -> None:
    """All of `when`, and what is written out reads as the same again."""
    text = """
    - id: slow-gold
      when: {method: "*/CreateVolume", request: {name: "pvc-*", parameters.tier: [gold, null]},
             probability: 0.5, seed: 7, times: 3}
      do: hang
    """
    (rule,) = read_rules(text)
    assert rule.line == 2
    assert rule.to_dict()["when"] == {
        "method": "*/CreateVolume",
        "request": {"name": "pvc-*", "parameters.tier": ["gold", None]},
        "probability": 0.5,
        "seed": 7,
        "times": 3,
    }
    assert shown(str([rule.to_dict()]).replace("None", "null")) == [rule.to_dict()]


@pytest.mark.parametrize(
    ("value", "means"),
    [
        ("off", "off"),
        ("no", "no"),
        ("on", "on"),
        ("12:30:45", "12:30:45"),
        ("2024-01-01", "2024-01-01"),
        ("0644", 644),
        ("=", "="),
        ("<<", "<<"),
        ("true", True),
        ("False", False),
        ("12", 12),
        ("-0", 0),
        ("0x1F", 31),
        ("1e3", 1000.0),
        ("-1.5", -1.5),
        (".inf", float("inf")),
        ("~", None),
        ("null", None),
        ("", None),
        ('"12"', "12"),
        ("1.2.3", "1.2.3"),
        ("zone-1", "zone-1"),
    ],
)
def test_a_plain_word_is_what_it_looks_like(value: str, means: Any) -> None:
    """YAML 1.1 makes `off` false and 12:30:45 a number, which nobody means in a parameter."""
    (rule,) = shown(f"- do: {{mutate: {{a: {value}}}}}")
    assert rule["do"]["mutate"] == {"a": means}
    assert type(rule["do"]["mutate"]["a"]) is type(means)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("[]", 0),
        ("rules:", 0),
        ("rules: [{do: hang}, {do: close}]", 2),
        ("{do: hang}", 1),
        ('[{"do": {"delay": {"seconds": 1}}}]', 1),
        ("# only a comment", 0),
    ],
)
def test_a_list_a_mapping_of_rules_or_one_rule_will_do(text: str, count: int) -> None:
    """JSON included, as a client in another language would rather send that."""
    assert len(read_rules(text)) == count


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n- do: {statu: ABORTED}", "line 2: rule number 1: do.statu: is not known, did you mean"),
        ("- {id: a, do: {status: {cod: 1}}}", "rule a: do.status.cod: is not known, did you mean"),
        ("- {do: hang, wen: {}}", "wen: is not known, did you mean when? (allowed: do, id, when)"),
        ("- {do: hang, when: {metod: x}}", "when.metod: is not known, did you mean method?"),
        ("- do: {status: UNAVAILIBLE}", "do.status.code: 'UNAVAILIBLE' is no gRPC code, did you"),
        ("- do: {status: unavailable}", "did you mean UNAVAILABLE? (allowed: OK, CANCELLED"),
        ("- do: {status: 17}", "17 is no gRPC code"),
        ("- do: {status: OK}", "OK is no fault"),
        ("- do: {status: {message: m}}", "do.status: Object missing required field `code`"),
        ("- do: {status: {code: 1, message: 2}}", "do.status.message: Expected `str`, got `int`"),
        ("- do: {status: true}", "do.status: a mapping with code, message is wanted, not True"),
        ("- do: {delay: -1}", "do.delay.seconds: Expected `float` >= 0.0"),
        ("- do: {delay: .nan}", "do.delay.seconds: Expected `float` >= 0.0"),
        ("- do: {delay: 100000}", "do.delay.seconds: Expected `float` <= 86400.0"),
        ("- do: {delay: soon}", "do.delay: a mapping with seconds, sigma is wanted, not 'soon'"),
        ("- do: {hang: 5}", "do.hang: nothing more is wanted, not 5"),
        ("- do: {hang: {for: 5}}", "do.hang.for: is not known (allowed: nothing)"),
        ("- do: {close: later}", "do.close.phase: Invalid enum value 'later'"),
        ("- do: {mutate: {}}", "do.mutate: a mapping of field paths to values is wanted"),
        ("- do: {end_stream: -1}", "do.end_stream.after: Expected `int` >= 0"),
        ("- do: {end_stream: {after: 1, code: OKAY}}", "do.end_stream.code: 'OKAY' is no gRPC"),
        ("- do: {crash: }", "do.crash: a mapping with point is wanted"),
        ("- do: {hang: , close: }", "do: one action a rule, here are 2"),
        ("- do: {}", "do: one action a rule, here are 0"),
        ("- do: [hang]", "do: one of status, delay, hang, drop_reply, close, mutate, end_stream"),
        ("- when: {}", "Object missing required field `do`"),
        ("- {do: hang, when: {nth: 0}}", "when.nth: Expected `int` >= 1"),
        ("- {do: hang, when: {nth: 1, every: 2}}", "nth and every exclude each other"),
        ("- {do: hang, when: {probability: 2}}", "when.probability: Expected `float` <= 1.0"),
        ("- {do: hang, when: {seed: 2}}", "when.seed: needs probability"),
        ("- {do: hang, when: {times: 0}}", "when.times: Expected `int` >= 1"),
        ("- {do: hang, when: {method: ''}}", "when.method: Expected `str` of length >= 1"),
        ("- {do: hang, when: {request: {a: {b: 1}}}}", "when.request"),
        ("- {do: {crash: x}, when: {method: y}}", "a crash point is no call"),
        ("- {do: hang, id: a b}", "rule a b: id: 1 to 64 of A-Z"),
        ("- hang", "rule number 1: a mapping with do, id, when is wanted, not 'hang'"),
        ("hang", "a list of rules is wanted"),
        ("a: 1", "a rule needs `do`, a mapping of rules the one key `rules`; here is a"),
        ("rules: hang", "a list of rules is wanted"),
        ("- do: hang\n  do: close", "line 2: not YAML: key 'do' is given twice"),
        ("- &a {do: hang}\n- *a", "line 2: not YAML: aliases are not supported"),
        ("- {do: !!python/name:os.system }", "not YAML: could not determine a constructor"),
        ("- [", "not YAML"),
        ("- do: \x00", "not YAML"),
        ("[" * 5000, "nested too deeply"),
        ("#" * (LARGEST_TEXT + 1), f"{LARGEST_TEXT + 1} bytes of YAML, at most {LARGEST_TEXT}"),
    ],
)
def test_a_mistake_is_answered_with_its_place(text: str, message: str) -> None:
    """Who steers from another language sees nothing but this sentence."""
    with pytest.raises(FaultError) as caught:
        read_rules(text)
    assert message in str(caught.value)


def test_the_second_rule_is_named_by_its_number_and_line() -> None:
    """One wrong rule among many must be found."""
    with pytest.raises(FaultError, match=r"line 3: rule number 2: do\.delay"):
        read_rules("- do: hang\n\n- do: {delay: x}\n")


@pytest.mark.parametrize(
    ("when", "do", "message"),
    [
        ("/csi.v1.Controller/CreateVolume", "{mutate: {volume.id: x}}", "Volume has no field 'id'"),
        ("csi.v1.Controller/CreateVolume", "{mutate: {volume.capacity_bytes: x}}", "does not fit"),
        ("/csi.v1.Identity/Probe", "{end_stream: 1}", "sends one reply, no stream"),
    ],
)
def test_a_method_known_by_its_full_name_is_checked_at_once(
    when: str, do: str, message: str
) -> None:
    """A wrong field is an error of the file, if the schema is loaded."""
    assert csi.DESCRIPTOR.package == "csi.v1"  # so the schema is in the pool
    with pytest.raises(FaultError) as caught:
        Faults.from_yaml(f"- when: {{method: {when}}}\n  do: {do}")
    assert str(caught.value).startswith("line 1: rule r1: do.")
    assert message in str(caught.value)


def test_a_request_field_of_a_known_method_is_checked_too() -> None:
    """A predicate on a field that is not there would never hold."""
    with pytest.raises(
        FaultError, match=r"line 1: rule r1: when.request: 'nam'.*did you mean name"
    ):
        Faults.from_yaml(
            "- {do: hang, when: {method: /csi.v1.Controller/CreateVolume, request: {nam: x}}}"
        )


def test_bytes_and_text_are_the_same() -> None:
    """A body comes from a socket as bytes."""
    assert [r.to_dict() for r in Faults.from_yaml(b"- do: hang").rules] == shown(
        "{id: r1, do: hang}"
    )


MANUAL = (Path(__file__).parents[3] / "docs" / "faults.md").read_text()


@pytest.mark.parametrize("example", re.findall(r"```yaml\n(.*?)```", MANUAL, re.DOTALL))
def test_every_example_of_the_manual_is_valid(example: str) -> None:
    """Also when it is checked against the services of the CSI driver."""
    faults = Faults.from_yaml(example)
    faults.check(csi.DESCRIPTOR.services_by_name.values())
    assert faults.rules


@pytest.mark.parametrize("text", re.findall(r"--data-binary '(.*?)'", MANUAL))
def test_every_body_of_the_manual_is_valid(text: str) -> None:
    """What is pasted into a shell must work."""
    faults = Faults.from_yaml(text)
    faults.check(csi.DESCRIPTOR.services_by_name.values())
    assert [rule.id for rule in faults.rules] in ([], ["lose"])


def test_the_manual_shows_every_action() -> None:
    """An action that nobody can find is not there."""
    shown_there = {
        next(iter(rule["do"]))
        for example in re.findall(r"```yaml\n(.*?)```", MANUAL, re.DOTALL)
        for rule in shown(example)
    }
    assert shown_there == set(_ACTIONS)
