"""Injection: what an edit makes of a config that has something in its place already."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from conformance.cdi.documents import (
    OCI,
    Document,
    document,
    hook,
    hooks,
    linux,
    variables,
    with_linux,
)
from conformance.cdi.host import CdiHost, Config
from conformance.cdi.needs import CONFIG, INJECT, REQUEST
from conformance.engine.case import PROPERTY, case
from conformance.engine.properties import examples
from conformance.engine.verdict import expect, together

NODE = "/dev/refimpl"


@case("CDI-043", "practice: the Go library", needs=[INJECT])
def test_a_variable_that_is_set_changes_where_it_stands(host: CdiHost) -> None:
    """Of two values for one name programs take different ones."""
    config = copy.deepcopy(OCI)
    given = ["REFIMPL_A=1", "REFIMPL_B=2", "REFIMPL_C=3"]
    config["process"]["env"] = ["PATH=/bin", *given]
    name = host.define(edits={"env": ["REFIMPL_D=4", "REFIMPL_B=9"]})
    environment = variables(host.inject(name, config=config))
    wanted = ["REFIMPL_A=1", "REFIMPL_B=9", "REFIMPL_C=3", "REFIMPL_D=4"]
    rule = "a variable is replaced in its place, a new one comes last"
    expect(environment == wanted, rule, wanted=wanted, got=environment)


def _mount(path: str, *options: str) -> Document:
    return {"hostPath": f"/opt/refimpl{path}", "containerPath": path, "options": list(options)}


@case("CDI-050", "practice: the Go library", needs=[INJECT, CONFIG])
def test_mounts_replace_those_of_their_place_and_come_before_what_is_in_them(host: CdiHost) -> None:
    """A mount that comes after one inside it hides it."""
    name = host.define(
        edits={
            "mounts": [
                _mount("/a/b/c", "rbind"),
                _mount("/z", "bind"),
                _mount("/a", "bind"),
                _mount("/proc", "bind"),
            ]
        }
    )
    known = [{"destination": each, "source": "old"} for each in ("/proc", "/a/b", "/y", "/a")]
    mounts = host.inject(name, config={**OCI, "mounts": known})["mounts"]
    places = [each["destination"] for each in mounts]
    wanted = ["/y", "/z", "/a", "/proc", "/a/b", "/a/b/c"]
    rule = "mounts stand by the depth of their places, each place once"
    with together() as check:
        with check:
            expect(places == wanted, rule, wanted=wanted, got=places)
        sources = {each["destination"]: each.get("source") for each in mounts}
        new = all(
            sources.get(path) == f"/opt/refimpl{path}" for path in ("/proc", "/a", "/z", "/a/b/c")
        )
        with check:
            expect(
                new, "the device's mount is the one that stays", wanted="/opt/refimpl", got=sources
            )
        mapping = [{"containerID": 0, "hostID": 100000, "size": 65536}]
        linux = {"namespaces": [{"type": "user"}], "uidMappings": mapping, "gidMappings": mapping}
        mounts = host.inject(name, config=with_linux(**linux))["mounts"]
        options = {each["destination"]: set(each.get("options") or ()) for each in mounts}
        mapped = "idmap" in options.get("/a", ()) and "ridmap" in options.get("/a/b/c", ())
        rule = "in a user namespace bind mounts keep their owners by idmap, rbind ones by ridmap"
        with check:
            expect(mapped, rule, wanted="idmap and ridmap", got=options)


@case("CDI-051", "CDI OCI Edits, hooks", needs=[INJECT, REQUEST])
def test_hooks_are_appended_in_the_order_of_the_request(host: CdiHost) -> None:
    """Later hooks rely on what earlier ones did."""
    whole = document(kind=host.kind)
    whole["devices"] = [
        {
            "name": name,
            "containerEdits": {
                "hooks": [
                    hook(f"/opt/refimpl/{name}", args=[name], timeout=7),
                    hook(f"/opt/refimpl/{name}-end", "poststop"),
                ]
            },
        }
        for name in "abc"
    ]
    host.write("a.json", whole)
    config = host.inject(*map(host.called, "cab"))
    with together() as check:
        for stage, tail in (("createRuntime", ""), ("poststop", "-end")):
            with check:
                wanted = [f"/opt/refimpl/{name}{tail}" for name in "cab"]
                got = hooks(config, stage)
                expect(
                    got == wanted, f"hooks of {stage} follow the request", wanted=wanted, got=got
                )
        created: list[Document] = config.get("hooks", {}).get("createRuntime", [])
        first = next((each for each in created if each["path"] == "/opt/refimpl/c"), {})
        kept = first.get("args") == ["c"] and first.get("timeout") == 7
        with check:
            expect(
                kept, "a hook keeps its arguments and time", wanted="args and timeout", got=first
            )


@case("CDI-052", "practice: the Go library", needs=[INJECT])
def test_of_two_settings_of_intel_rdt_the_last_one_counts(host: CdiHost) -> None:
    """A container has one class of service."""
    whole = document(kind=host.kind, spec={"intelRdt": {"closID": "file"}})
    whole["devices"] = [
        {"name": name, "containerEdits": {"intelRdt": {"closID": f"device-{name}"}}}
        for name in "ab"
    ]
    host.write("a.json", whole)
    settings = linux(host.inject(*map(host.called, "ab"))).get("intelRdt") or {}
    rule = "the last intelRdt is the whole of it"
    expect(settings == {"closID": "device-b"}, rule, wanted="device-b", got=settings)


@case("CDI-053", "CDI OCI Edits, additionalGids", needs=[INJECT, CONFIG])
def test_groups_are_added_once_and_zero_is_ignored(host: CdiHost) -> None:
    """Zero would give the container root's group."""
    config = copy.deepcopy(OCI)
    config["process"]["user"]["additionalGids"] = [6]
    name = host.define(edits={"additionalGids": [0, 5, 6, 5]}, spec={"additionalGids": [5, 0]})
    groups = host.inject(name, config=config)["process"]["user"]["additionalGids"]
    rule = "additionalGids are added to those of the user, each once, 0 ignored"
    expect(sorted(groups) == [5, 6], rule, wanted=[5, 6], got=groups)


def _repeated(config: Config) -> Config:
    """A config without what adds up when edits are made again."""
    reduced = copy.deepcopy(config)
    reduced.pop("hooks", None)
    linux(reduced).pop("resources", None)
    return reduced


@PROPERTY
@case("CDI-060", "practice: the Go library", needs=[INJECT, CONFIG])
def test_edits_made_again_change_nothing_but_hooks_and_rules(host: CdiHost) -> None:
    """A runtime that restores a container may inject into what it has injected into."""
    node = {"path": NODE, "type": "c", "major": 240, "minor": 1}
    pool: dict[str, Any] = {
        "env": ["REFIMPL_A=1", "REFIMPL_B=2", "REFIMPL_A=3"],
        "deviceNodes": [node, {**node, "path": "/dev/other"}, {**node, "minor": 2}],
        "mounts": [_mount("/a/b", "bind"), _mount("/a", "bind"), _mount("/c", "ro")],
        "hooks": [hook("/opt/refimpl/a")],
        "intelRdt": {"closID": "refimpl"},
        "additionalGids": [5, 0, 6],
        "netDevices": [{"hostInterfaceName": "host0", "name": "net0"}],
    }

    @examples(25, host.seed)
    @given(members=st.lists(st.sampled_from(sorted(pool)), min_size=1, unique=True), data=st.data())
    def check(members: list[str], data: st.DataObject) -> None:
        edits = {member: _some(data, pool[member]) for member in members}
        name = host.define(edits=edits)
        host.open()
        once = host.inject(name)
        twice = host.inject(name, config=once)
        rule = "the same edits again change nothing but hooks and rules of the cgroup"
        expect(_repeated(once) == _repeated(twice), rule, wanted=once, got=twice)

    check()


def _some(data: st.DataObject, value: Any) -> Any:
    """A value, or of a list any of its items in any order."""
    if not isinstance(value, list):
        return value
    return data.draw(st.permutations(value))[: data.draw(st.integers(1, len(value)))]
