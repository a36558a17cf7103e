"""Device nodes: what comes from the host, what the cgroup allows, whose they are."""

from __future__ import annotations

import copy

from conformance.cdi.documents import OCI, Document, document, linux, with_linux
from conformance.cdi.host import CdiHost, Config
from conformance.cdi.needs import CONFIG, INJECT
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, should, together

NODE = "/dev/refimpl"


def _devices(config: Config, path: str = NODE) -> list[Document]:
    return [each for each in linux(config).get("devices") or () if each["path"] == path]


def _rules(config: Config, major: int) -> list[tuple[int, str]]:
    """(minor, access) of what the cgroup allows on a major number."""
    rules = (linux(config).get("resources") or {}).get("devices") or ()
    return [
        (each.get("minor", 0), each.get("access", ""))
        for each in rules
        if each["allow"] and each.get("major") == major
    ]


def _nodes(host: CdiHost, **nodes: Document) -> list[str]:
    """A file with a device for each name, which has that node; their qualified names."""
    whole = document(kind=host.kind)
    whole["devices"] = [
        {"name": name, "containerEdits": {"deviceNodes": [{"path": NODE, **node}]}}
        for name, node in nodes.items()
    ]
    host.write("nodes.json", whole)
    host.open()
    return [host.called(name) for name in nodes]


@case("CDI-044", "practice: the Go library", needs=[INJECT, CONFIG])
def test_a_device_node_takes_the_place_of_one_with_its_path(host: CdiHost) -> None:
    """A runtime cannot make two nodes at one path."""
    names = _nodes(
        host, **{n: {"type": "c", "major": 240, "minor": i} for i, n in enumerate("ab", 1)}
    )
    old = {"type": "c", "major": 9, "minor": 9}
    given = with_linux(devices=[{"path": NODE, **old}, {"path": "/dev/other", **old}])
    config = host.inject(*names, config=given)
    numbers = [(each["major"], each["minor"]) for each in _devices(config)]
    rule = "of several nodes at one path the last one stays"
    with together() as check:
        with check:
            expect(numbers == [(240, 2)], rule, wanted=(240, 2), got=numbers)
        rule = "other nodes stay"
        with check:
            expect(len(_devices(config, "/dev/other")) == 1, rule, wanted="one", got=linux(config))
        allowed = _rules(config, 240)
        rule = "each node has its rule of the cgroup"
        with check:
            expect(allowed == [(1, "rwm"), (2, "rwm")], rule, wanted="one each", got=allowed)


@case("CDI-045", "CDI OCI Edits, deviceNodes", needs=[INJECT])
def test_permissions_become_those_of_the_cgroup(host: CdiHost) -> None:
    """Without a rule a device cannot be opened, with too wide a one it can be written to."""
    wanted = {"a": ("", "rwm"), "b": ("r", "r"), "c": ("rw", "rw")}
    node = {"type": "c", "major": 240}
    with together() as check:
        for minor, (name, (permissions, access)) in enumerate(wanted.items(), 1):
            with check:
                given = {
                    **node,
                    "minor": minor,
                    **({"permissions": permissions} if permissions else {}),
                }
                rules = _rules(host.inject(*_nodes(host, **{name: given})), 240)
                rule = "permissions are those of the cgroup, all where none are given"
                expect(rules == [(minor, access)], rule, wanted=(minor, access), got=rules)
        try:
            rules = _rules(host.inject(*_nodes(host, d={**node, "permissions": "none"})), 240)
        except Broken as broken:
            rules = [(0, broken.got)]
        silent = rules in ([], [(0, "")])
        with check:
            should(
                silent, 'practice: "none" stands for no permissions', wanted="no letter", got=rules
            )


def _fails(host: CdiHost, rule: str, **nodes: Document) -> None:
    """Raises Broken unless each of the nodes keeps its device from being injected."""
    names = dict(zip(nodes, _nodes(host, **nodes), strict=True))
    with together() as check:
        for label, name in names.items():
            with check:
                injected = host.try_inject(name)
                got = f"{label}: {_devices(injected.config or {})}"
                expect(injected.error, rule, wanted="an error", got=got)


@case("CDI-046", "practice: the Go library", needs=[INJECT])
def test_a_node_that_the_host_lacks_has_to_be_described(host: CdiHost) -> None:
    """A device that is not there is told of when the container is made, not when it runs."""
    missing = {"hostPath": f"{host.folder}/missing"}
    with together() as check:
        with check:
            _fails(host, "a node that is neither there nor described is an error", bare=missing)
        described: dict[str, Document] = {
            "numbered": {**missing, "type": "c", "major": 240, "minor": 1},
            "fifo": {**missing, "type": "p"},
        }
        for label, name in zip(described, _nodes(host, **described), strict=True):
            with check:
                devices = _devices(host.inject(name))
                wanted = described[label]["type"]
                rule = "a node that is described in full need not be there"
                got = f"{label}: {devices}"
                expect([each["type"] for each in devices] == [wanted], rule, wanted=wanted, got=got)


@case("CDI-047", "practice: the Go library", needs=[INJECT])
def test_what_is_no_device_node_of_that_type_is_not_injected(host: CdiHost) -> None:
    """A container would get another device than the one described."""
    (host.folder / "file").write_text("")
    (host.folder / "link").symlink_to("/dev/null")
    _fails(
        host,
        "the host's file has to be a device node of the type given",
        mismatch={"hostPath": "/dev/null", "type": "b"},
        regular={"hostPath": f"{host.folder}/file"},
        link={"hostPath": f"{host.folder}/link"},
    )


@case("CDI-049", "practice: the Go library", needs=[INJECT])
def test_a_node_belongs_to_the_user_of_the_process(host: CdiHost) -> None:
    """A process that is not root could not open it otherwise."""
    node = {"type": "c", "major": 240, "minor": 1}
    bare, owned = _nodes(host, bare=node, owned={**node, "uid": 5, "gid": 6})
    with together() as check:
        for user, name, wanted in (
            (0, bare, (0, 0)),
            (1000, bare, (1000, 1000)),
            (1000, owned, (5, 6)),
        ):
            with check:
                config = copy.deepcopy(OCI)
                config["process"]["user"] = {"uid": user, "gid": user}
                devices = _devices(host.inject(name, config=config))
                owners = [(each.get("uid", 0), each.get("gid", 0)) for each in devices]
                rule = "uid and gid that are not given are those of the process"
                expect(owners == [wanted], rule, wanted=wanted, got=owners)
