"""Requests: which names can be had, and what one costs another."""

from __future__ import annotations

from conformance.cdi.documents import OCI, document, hook, hooks, marked, several, variables
from conformance.cdi.host import CdiHost
from conformance.cdi.needs import ANNOTATIONS, CONFIG, INJECT, REQUEST, RUNTIME, STRICT
from conformance.engine.case import case
from conformance.engine.verdict import expect, together

_PREFIX = "cdi.k8s.io/"


@case("CDI-040", "CDI Error Handling", needs=[INJECT, REQUEST])
def test_an_unknown_name_fails_the_request_and_changes_nothing(host: CdiHost) -> None:
    """A container that starts without its device fails later, where nobody sees why."""
    known = host.define()
    strangers = [host.called("none"), f"other-{host.kind}=a"]
    with together() as check:
        for names in ([strangers[0]], [strangers[1]], [known, *strangers]):
            injected = host.try_inject(*names)
            rule = "an unknown kind or device is an error"
            with check:
                expect(injected.error, rule, wanted=f"an error for {names}", got="a config")
            silent = [name for name in names if name in strangers and not injected.tells(name)]
            rule = "the error names every device that cannot be had"
            with check:
                expect(
                    not silent, rule, wanted=names, got=f"{injected.error} ({injected.unresolved})"
                )
            kept = injected.config in (None, OCI)
            rule = "a request that fails changes nothing"
            with check:
                expect(kept, rule, wanted="the config as it was", got=injected.config)


@case("CDI-041", "CDI OCI Edits", needs=[INJECT])
def test_edits_of_the_whole_file_are_made_once_before_those_of_its_devices(host: CdiHost) -> None:
    """Two devices of one driver need its hook once."""
    spec = {"env": ["REFIMPL_SPEC=1"], "hooks": [hook("/opt/refimpl/spec")]}
    host.write("a.json", several("ab", kind=host.kind, spec=spec))
    config = host.inject(host.called("a"), host.called("b"))
    wanted = ["REFIMPL_SPEC=1", "REFIMPL_a=1", "REFIMPL_b=1"]
    rule = "edits at the level of the file come once, before those of its devices"
    with together() as check:
        with check:
            expect(variables(config) == wanted, rule, wanted=wanted, got=variables(config))
        with check:
            expect(
                hooks(config) == ["/opt/refimpl/spec"], rule, wanted="one hook", got=hooks(config)
            )


@case("CDI-042", "CDI OCI Edits", needs=[INJECT])
def test_edits_of_a_file_are_left_out_where_none_of_its_devices_is_requested(host: CdiHost) -> None:
    """A container has nothing of a device that it did not ask for."""
    host.write("a.json", several("ab", kind=host.kind, spec={"env": ["REFIMPL_SPEC_A=1"]}))
    host.write("c.json", several("c", kind=host.kind, spec={"env": ["REFIMPL_SPEC_C=1"]}))
    environment = variables(host.inject(host.called("a")))
    wanted = ["REFIMPL_SPEC_A=1", "REFIMPL_a=1"]
    rule = "edits MUST only be made if the matching device is requested"
    expect(environment == wanted, rule, wanted=wanted, got=environment)


@case("CDI-054", "practice: runtimes", needs=[INJECT, REQUEST, STRICT])
def test_a_device_requested_twice_is_injected_once(host: CdiHost) -> None:
    """A hook that runs twice fails the second time, or does its work twice."""
    name = host.define(edits={"env": ["A=b"], "hooks": [hook("/opt/refimpl/a")]})
    wanted = ["/opt/refimpl/a"]
    paths = hooks(host.inject(name, name))
    rule = "a name repeated in a request counts once"
    with together() as check:
        with check:
            expect(paths == wanted, rule, wanted=wanted, got=paths)
        if not host.can(RUNTIME):
            return
        created = host.create(name, annotations={f"{_PREFIX}vendor_a": name})
        paths = hooks(created.config or {})
        rule = "a name in the field and in an annotation counts once"
        with check:
            expect(paths == wanted, rule, wanted=wanted, got=created.error or paths)


@case("CDI-055", "CDI Error Handling", needs=[INJECT, CONFIG, REQUEST, STRICT])
def test_an_edit_that_cannot_be_made_leaves_the_config_as_it_was(host: CdiHost) -> None:
    """A caller that goes on after the error has half a device."""
    missing = {"path": "/dev/refimpl", "hostPath": f"{host.folder}/missing"}
    whole = document(kind=host.kind)
    broken = {"name": "b", "containerEdits": {"env": ["B=b"], "deviceNodes": [missing]}}
    whole["devices"] = [marked("a"), broken]
    host.write("a.json", whole)
    injected = host.try_inject(host.called("a"), host.called("b"))
    rule = "a device node that the host does not have is an error"
    with together() as check:
        with check:
            expect(injected.error, rule, wanted="an error", got=injected.config)
        rule = "an injection that fails changes nothing"
        with check:
            expect(injected.config == OCI, rule, wanted="the config as it was", got=injected.config)


@case("CDI-056", "practice: the Go library", needs=[ANNOTATIONS])
def test_an_annotation_has_a_key_of_its_own_that_kubernetes_takes(host: CdiHost) -> None:
    """A device plugin's request is lost with an annotation that the API server refuses."""
    device = [host.called("a")]

    def request(plugin: str, device_id: str, **annotations: str) -> dict[str, object]:
        return {
            "plugin": plugin,
            "device_id": device_id,
            "devices": device,
            "annotations": annotations,
        }

    taken = {
        "63 characters": ("vendor.class", "x" * 50, "vendor.class_" + "x" * 50),
        "a slash in the id": ("vendor.class", "a/b", "vendor.class_a_b"),
    }
    with together() as check:
        for label, (plugin, device_id, key) in taken.items():
            with check:
                reply = host.ask("annotate", **request(plugin, device_id))
                annotated = reply.get("annotations")
                wanted = {_PREFIX + key: device[0]}
                rule = "the key is cdi.k8s.io/plugin_deviceID, with _ for / of the id"
                expect(annotated == wanted, rule, wanted=wanted, got=f"{label}: {reply}")
        used = {f"{_PREFIX}vendor.class_a": "vendor.example/device=b"}
        refused = {
            "64 characters": request("vendor.class", "x" * 51),
            "a bad start": request("-vendor.class", "a"),
            "a bad end": request("vendor.class", "a-"),
            "a space": request("vendor.class", "a b"),
            "a key in use": request("vendor.class", "a", **used),
        }
        wrong = [
            each for each, how in refused.items() if "error" not in host.ask("annotate", **how)
        ]
        rule = "a key that is taken, or none that Kubernetes takes, is an error"
        with check:
            expect(
                not wrong, rule, wanted=f"errors for {', '.join(refused)}", got=f"none for {wrong}"
            )


@case("CDI-057", "practice: the Go library", needs=[ANNOTATIONS])
def test_one_name_that_cannot_be_read_spoils_the_annotations(host: CdiHost) -> None:
    """What was meant to be a device must not be passed over."""
    good = host.called("a")
    sound = {f"{_PREFIX}vendor_a": good, "other.example/key": "not, a, device"}
    reply = host.ask("parse", annotations={**sound, f"{_PREFIX}vendor_b": f"{good}1,{good}2"})
    wanted = sorted([good, f"{good}1", f"{good}2"])
    devices = sorted(reply.get("devices") or ())
    rule = "annotations with the prefix name devices, separated by commas"
    with together() as check:
        with check:
            expect(devices == wanted, rule, wanted=wanted, got=reply)
        values = {
            "a space": f"{good}, {good}1",
            "nothing": "",
            "a comma at the end": f"{good},",
            "a name without kind": "a",
            "one bad name of two": f"{good},a",
        }
        wrong = []
        for label, value in values.items():
            reply = host.ask("parse", annotations={**sound, f"{_PREFIX}vendor_c": value})
            if "error" not in reply:
                wrong.append(f"{label}: {reply.get('devices')}")
        rule = "a value with anything but qualified names is an error"
        with check:
            expect(not wrong, rule, wanted=f"errors for {', '.join(values)}", got=wrong)


@case("CDI-058", "CDI Error Handling", needs=[RUNTIME])
def test_a_container_with_a_device_that_is_missing_is_not_created(host: CdiHost) -> None:
    """The kubelet shows the runtime's error; the device's name in it is all that helps there."""
    known = host.define()
    missing = host.called("none")
    sound = host.create(known)
    rule = "a container with a device that is there is created"
    with together() as check:
        with check:
            expect(not sound.error, rule, wanted="a container", got=sound.error)
        for label, (names, values) in {
            "requested by the field": ([known, missing], {}),
            "requested by an annotation": ([], {f"{_PREFIX}vendor_a": missing}),
        }.items():
            created = host.create(*names, annotations=values)
            rule = f"a missing device, {label}, fails CreateContainer"
            with check:
                expect(created.error, rule, wanted="an error", got="a container")
            named = created.tells(missing)
            rule = f"the error names the missing device, {label}"
            with check:
                expect(named, rule, wanted=missing, got=created.error)
