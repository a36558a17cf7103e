"""Edits: what each kind of edit must look like."""

from __future__ import annotations

from typing import Any

from conformance.cdi.documents import document, hook
from conformance.cdi.host import CdiHost
from conformance.cdi.judging import Documents, advised, judged
from conformance.cdi.needs import LOAD
from conformance.engine.case import case
from conformance.engine.verdict import together


def _each(member: str, **items: Any) -> Documents:
    """A document for each label, with that one item."""
    return {
        label.replace("_", " "): document(edits={"env": ["A=b"], member: [item]})
        for label, item in items.items()
    }


@case("CDI-014", "CDI Devices", needs=[LOAD])
def test_a_device_may_go_without_edits(host: CdiHost) -> None:
    """Where the edits of the whole file are all there is to do."""
    bare = document(spec={"env": ["A=b"]})
    del bare["devices"][0]["containerEdits"]
    variants = {
        "no containerEdits": bare,
        "empty containerEdits": document(edits={}, spec={"env": ["A=b"]}),
    }
    if host.settings.policy == "practice":
        judged(host, "the library takes no device that changes nothing", refused=variants)
    else:
        judged(host, "containerEdits of a device is OPTIONAL", taken=variants)


@case("CDI-015", "CDI OCI Edits, env", needs=[LOAD])
def test_a_variable_is_a_name_and_a_value(host: CdiHost) -> None:
    """Anything else in an environment breaks the programs that read it."""
    right = {repr(text): document(edits={"env": [text]}) for text in ("A=", "A=b=c")}
    wrong = {repr(text): document(edits={"env": [text]}) for text in ("", "=x", "A")}
    judged(host, 'env is in the format of "VARNAME=VARVALUE"', taken=right, refused=wrong)


@case("CDI-016", "CDI OCI Edits, deviceNodes", needs=[LOAD])
def test_a_device_node_has_a_path_a_known_type_and_permissions_of_rwm(host: CdiHost) -> None:
    """They go unchanged to the runtime that makes the node and opens the cgroup."""

    def node(**members: Any) -> dict[str, Any]:
        return {"path": "/dev/refimpl", "type": "c", "major": 240, **members}

    with together() as check:
        with check:
            judged(
                host,
                "path is REQUIRED, permissions are one or more of r, w, m",
                taken=_each(
                    "deviceNodes",
                    permissions_rr=node(permissions="rr"),
                    permissions_rwm=node(permissions="rwm"),
                    type_u=node(type="u"),
                ),
                refused=_each(
                    "deviceNodes",
                    empty_path=node(path=""),
                    type_z=node(type="z"),
                    permissions_rwx=node(permissions="rwx"),
                ),
            )
        silent = _each("deviceNodes", permissions_none=node(permissions="none"))
        with check:
            advised(host, 'practice: "none" stands for no permissions', taken=silent)


@case("CDI-017", "CDI OCI Edits, hooks", needs=[LOAD])
def test_a_hook_has_a_stage_an_absolute_path_and_time(host: CdiHost) -> None:
    """A runtime fails with the container half made, where a loader could have said it."""
    with together() as check:
        with check:
            judged(
                host,
                "hookName should be a stage of the OCI specification, path is REQUIRED",
                taken=_each(
                    "hooks",
                    prestart=hook("/bin/true", "prestart"),
                    poststop=hook("/bin/true", "poststop", args=["true"], env=["A=b"], timeout=1),
                ),
                refused=_each(
                    "hooks", stage_unknown=hook("/bin/true", "preStart"), no_path=hook("")
                ),
            )
        if host.settings.policy == "practice":
            return  # the library looks at neither
        with check:
            advised(
                host,
                "path MUST be absolute; if set, timeout MUST be greater than zero",
                refused=_each(
                    "hooks",
                    relative_path=hook("bin/true"),
                    timeout_0=hook("/bin/true", timeout=0),
                    timeout_below_0=hook("/bin/true", timeout=-1),
                ),
            )


@case("CDI-018", "CDI OCI Edits, mounts", needs=[LOAD])
def test_a_mount_has_both_paths(host: CdiHost) -> None:
    """Half a mount is none."""
    whole = {"hostPath": "/opt/a", "containerPath": "/opt/b"}
    judged(
        host,
        "hostPath and containerPath are REQUIRED",
        taken=_each("mounts", both=whole, options={**whole, "options": ["ro"]}),
        refused=_each(
            "mounts",
            no_hostPath={"containerPath": "/opt/b"},
            no_containerPath={"hostPath": "/opt/a"},
            empty_hostPath={**whole, "hostPath": ""},
        ),
    )


@case("CDI-019", "CDI OCI Edits, netDevices", needs=[LOAD])
def test_an_interface_is_moved_once_and_a_name_given_once(host: CdiHost) -> None:
    """The second move of the same interface cannot work."""

    def moved(*pairs: tuple[str, str]) -> dict[str, Any]:
        return {"netDevices": [{"hostInterfaceName": a, "name": b} for a, b in pairs]}

    both = document(edits=moved(("host0", "net0")), spec=moved(("host0", "net0")))
    of_spec = moved(("host0", "net0"), ("host0", "net1"))
    judged(
        host,
        "within one set of edits neither name of an interface is empty or given twice",
        taken={
            "two of each": document(edits=moved(("host0", "net0"), ("host1", "net1"))),
            "the same in the file's and the device's edits": both,
        },
        refused={
            "hostInterfaceName twice": document(edits=moved(("host0", "net0"), ("host0", "net1"))),
            "name twice": document(edits=moved(("host0", "net0"), ("host1", "net0"))),
            "hostInterfaceName empty": document(edits=moved(("", "net0"))),
            "name empty": document(edits=moved(("host0", ""))),
            "hostInterfaceName twice in the file's edits": document(spec=of_spec),
        },
    )


@case("CDI-020", "CDI OCI Edits, intelRdt", needs=[LOAD])
def test_a_class_of_service_is_the_name_of_a_directory(host: CdiHost) -> None:
    """It becomes one below the root of resctrl: a path leads elsewhere."""
    names = {".": ".", "..": "..", "a/b": "a/b", "a newline": "a\nb", "4096 bytes": "x" * 4096}

    def rdt(name: str) -> dict[str, Any]:
        return document(edits={"intelRdt": {"closID": name}})

    judged(
        host,
        "closID is the name of a class of service, / the default one",
        taken={"/": rdt("/"), "a name": rdt("refimpl-1")},
        refused={label: rdt(name) for label, name in names.items()},
    )
