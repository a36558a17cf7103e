"""ContainerStatus."""

from __future__ import annotations

import json

from conformance.cri.needs import IMAGE
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.needs import Since
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb

_PREFIX = 12
_NS = 10**18
"""In nanoseconds since 2001; a time in any other unit is below."""


@case("CRI-CT-040", "crictl: tables cut ids off, and people paste them", needs=[IMAGE])
def test_the_beginning_of_an_id_is_enough(cri: CriTarget) -> None:
    """As with every tool that shows such ids."""
    container = cri.pods.shared().create()
    id = cri.kubelet.container_status(container.id[:_PREFIX]).status.id
    expect(id == container.id, "the reply has the whole id", wanted=container.id, got=id)


@case("CRI-CT-041", "cri-client: both have to be filled", needs=[IMAGE])
def test_the_image_is_told_by_name_and_by_reference(cri: CriTarget) -> None:
    """cri-client refuses a status without them."""
    status = cri.pods.shared().create().status()
    expect(status.image.image, "image.image is filled", wanted="a name", got=status)
    expect(status.image_ref, "image_ref is filled", wanted="a reference", got=status)


@case("CRI-CT-042", "CRI v1 PullImageResponse.image_ref: one id", needs=[IMAGE, Since("1.36")])
def test_the_image_has_one_id_everywhere(cri: CriTarget) -> None:
    """Kubelet tells images in use from garbage by it."""
    image = cri.kubelet.image_status(cri.image)
    assert image is not None
    container = cri.pods.shared().create()
    item = container.listed()
    ids = (container.status().image_id, item.image_id if item else None)
    wanted = (image.id, image.id)
    expect(ids == wanted, "status and list have the id of the image", wanted=wanted, got=ids)


@case("CRI-CT-044", "kubelet reads the log at this path", needs=[IMAGE])
def test_the_path_of_the_log_is_whole(cri: CriTarget) -> None:
    """kubectl logs opens it."""
    directory = f"/tmp/refimpl-{cri.run_id}"
    pod = cri.pods.run(log_directory=directory)
    path = pod.create(log_path="main/0.log").status().log_path
    wanted = f"{directory}/main/0.log"
    expect(path == wanted, "log_path is directory and path", wanted=wanted, got=path)


@case("CRI-CT-046", "kubelet compares them after a resize (KEP 1287)", needs=[IMAGE])
def test_resources_are_told_as_they_were_given(cri: CriTarget) -> None:
    """A resize is done when they are what was asked for."""
    pod = cri.pods.shared()
    request = pod.request()
    sent = request.config.linux.resources
    sent.cpu_shares, sent.cpu_period, sent.cpu_quota = 512, 100_000, 50_000
    sent.memory_limit_in_bytes = 64 << 20
    shown = pod.ask(request).status().resources.linux
    for name in ("cpu_shares", "cpu_period", "cpu_quota", "memory_limit_in_bytes"):
        wanted, got = getattr(sent, name), getattr(shown, name)
        expect(wanted == got, f"{name} is as given", wanted=wanted, got=got)


@case("CRI-CT-048", "CRI v1 ContainerStatus.stop_signal: the effective one", needs=[IMAGE])
def test_the_stop_signal_is_told(cri: CriTarget) -> None:
    """SIGTERM where nobody chose another one."""
    pod = cri.pods.shared()
    request = pod.request()
    request.config.stop_signal = pb.SIGNAL_SIGUSR1
    for container, wanted in (
        (pod.ask(request), pb.SIGNAL_SIGUSR1),
        (pod.create(), pb.SIGNAL_SIGTERM),
    ):
        got = container.status().stop_signal
        expect(got == wanted, "it is the one that would be sent", wanted=wanted, got=got)


@case("CRI-CT-049", "CRI v1 ContainerStatusResponse.info: JSON, only if verbose", needs=[IMAGE])
def test_details_have_the_pid_and_come_on_demand(cri: CriTarget) -> None:
    """crictl inspect is where one looks for the process."""
    container = cri.pods.shared().run()
    quiet = dict(cri.kubelet.container_status(container.id).info)
    expect(not quiet, "info is empty without verbose", wanted={}, got=quiet)
    text = cri.kubelet.container_status(container.id, verbose=True).info.get("info", "")
    try:
        pid = json.loads(text).get("pid", 0)
    except ValueError:
        pid = 0
    expect(pid > 0, "info has the pid, as JSON", wanted="> 0", got=text)


@case("CRI-CT-050", "CRI v1 ContainerStatus: times are nanoseconds", needs=[IMAGE])
def test_times_are_in_nanoseconds(cri: CriTarget) -> None:
    """Kubelet reads 1970 otherwise, and takes the container for an old one."""
    status = cri.pods.shared().run(command=("/bin/true",)).ended()
    for name in ("created_at", "started_at", "finished_at"):
        value = getattr(status, name)
        expect(value > _NS, f"{name} is in nanoseconds", wanted=f"> {_NS}", got=value)
