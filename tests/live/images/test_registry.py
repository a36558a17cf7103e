"""Our images and our registry, as containerd finds them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.kubelet import RemoteRuntime
from refimpl.images.build import build
from refimpl.images.registry import Basic, Bearer, Fault, Registry
from refimpl.images.shelf import Shelf
from refimpl.wire.status import Refused
from tests.live.peers import Containerd
from tests.live.rigs.containerd_rig import ContainerdRig
from tests.live.rigs.namespaces import why_not


@pytest.fixture(scope="module")
def rig(
    containerd: Containerd, busybox: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ContainerdRig]:
    """containerd, which needs no pods here and has no network plugins."""
    if reason := why_not():
        pytest.skip(reason)
    networks = tmp_path_factory.mktemp("net")
    with ContainerdRig(containerd, busybox, bin_dirs=[networks], conf_dir=networks) as rig:
        yield rig


@pytest.fixture(scope="module")
def shelf(busybox: Path) -> Shelf:
    return Shelf(busybox.read_bytes())


@pytest.fixture(scope="module")
def runtime(rig: ContainerdRig) -> RemoteRuntime:
    return rig.cri


@contextlib.contextmanager
def served(rig: ContainerdRig, shelf: Shelf, **choices: Any) -> Iterator[Registry]:
    """A registry on the loopback of containerd's network."""
    with rig.namespaces.network():
        registry = Registry(shelf, **choices)
    with registry:
        yield registry


def pull(runtime: RemoteRuntime, image: str, auth: pb.AuthConfig | None = None) -> str:
    """The id of what was pulled."""
    request = pb.PullImageRequest(image=pb.ImageSpec(image=image), auth=auth)
    return runtime.images.PullImage(request, timeout=60.0).image_ref


@pytest.mark.parametrize("name", [name for name in Shelf() if name != "foreign:1"])
def test_each_image_is_pulled_whole_and_has_the_id_we_gave_it(
    rig: ContainerdRig, runtime: RemoteRuntime, shelf: Shelf, name: str
) -> None:
    with served(rig, shelf) as registry:
        expected = shelf["busybox:1"] if name == "platforms:1" else shelf[name]
        assert pull(runtime, f"{registry.address}/{name}") == expected.id
        image = runtime.image_status(f"{registry.address}/{name}")
        assert image is not None
        assert image.size > 0


def test_an_index_without_this_platform_is_refused(
    rig: ContainerdRig, runtime: RemoteRuntime, shelf: Shelf
) -> None:
    with served(rig, shelf) as registry, pytest.raises(Refused, match="no match for platform"):
        pull(runtime, f"{registry.address}/foreign:1")


@pytest.mark.parametrize("access", [Basic("me", "secret"), Bearer("me", "secret")])
def test_a_login_is_asked_for_and_heeded(
    rig: ContainerdRig, runtime: RemoteRuntime, shelf: Shelf, access: Basic | Bearer
) -> None:
    with served(rig, shelf, access=access) as registry:
        name = f"{registry.address}/stop-signal:1"
        for auth in (None, pb.AuthConfig(username="me", password="wrong")):
            with pytest.raises(Refused, match=r"401|authorization failed"):
                pull(runtime, name, auth)
        right = pb.AuthConfig(username="me", password="secret")
        assert pull(runtime, name, right) == shelf["stop-signal:1"].id


WRONG, DOWN = Fault(path="*/blobs/*", wrong=True), Fault(status=503)


@pytest.mark.parametrize("fault", [WRONG, DOWN])
def test_what_goes_wrong_on_the_way_is_an_error(
    rig: ContainerdRig, runtime: RemoteRuntime, shelf: Shelf, fault: Fault
) -> None:
    built = build([shelf.base, shelf.marked(f"only here: {fault}")])
    with served(rig, shelf, faults=[fault]) as registry:
        registry.content.put("new:1", built)
        name = f"{registry.address}/new:1"
        with pytest.raises(Refused):
            pull(runtime, name)
        assert runtime.image_status(name) is None
        if fault is DOWN:  # what is wrong stays in containerd's hands, and spoils the next attempt
            registry.faults.clear()
            assert pull(runtime, name) == built.id
