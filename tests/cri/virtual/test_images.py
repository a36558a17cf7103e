"""Images of the virtual model, over the socket."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.engine.verdict import eventually
from refimpl.cri import kubelet
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.fake import FakeRuntime
from refimpl.images.registry import Fault, Registry
from refimpl.images.shelf import Shelf
from refimpl.wire.status import Code, Refused
from tests.conftest import SmallDisk

SHELF = Shelf()


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry(SHELF) as registry:
        yield registry


@contextlib.contextmanager
def opened(**choices: Any) -> Iterator[tuple[FakeRuntime, kubelet.RemoteRuntime]]:
    with FakeRuntime(**choices) as fake:
        assert fake.endpoint
        with contextlib.closing(kubelet.connect(fake.endpoint)) as cri:
            yield fake, cri


def used(cri: kubelet.RemoteRuntime) -> int:
    (usage,) = cri.images.ImageFsInfo(pb.ImageFsInfoRequest()).image_filesystems
    return usage.used_bytes.value


def blobs(fake: FakeRuntime) -> set[str]:
    return set(fake._model.images._real.blobs.digests())  # type: ignore[attr-defined]


def test_what_a_registry_here_serves_is_there_as_it_was_made(registry: Registry) -> None:
    with opened() as (fake, cri):
        name = f"{registry.address}/user-name-group:1"
        assert cri.pull_image(name) == SHELF["user-name-group:1"].id
        request = pb.ImageStatusRequest(image=pb.ImageSpec(image=name), verbose=True)
        reply = cri.images.ImageStatus(request)
        assert reply.image.username == "www-data"
        assert json.loads(reply.info["info"])["imageSpec"]["config"]["User"] == "www-data:100"
        assert used(cri) == reply.image.size
        assert blobs(fake)
        cri.images.RemoveImage(pb.RemoveImageRequest(image=request.image))
        assert used(cri) == 0
        assert blobs(fake) == set()


def test_several_who_pull_the_same_load_each_blob_once(registry: Registry) -> None:
    registry.faults.add(Fault(path="*/manifests/*", times=1, delay_s=0.3))
    with opened() as (_, cri):
        ids: list[str] = []
        name = f"{registry.address}/busybox:1"
        threads = [
            threading.Thread(target=lambda: ids.append(cri.pull_image(name))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert ids == [SHELF["busybox:1"].id] * 8
        paths = [each.path for each in registry.requests]
        assert len(paths) == len(set(paths))


def test_a_pull_that_is_cancelled_leaves_nothing_and_can_be_repeated(registry: Registry) -> None:
    registry.faults.add(Fault(path="*/blobs/*", times=1, delay_s=1.0))
    with opened() as (fake, cri):
        spec = pb.ImageSpec(image=f"{registry.address}/busybox:1")
        with pytest.raises(Refused) as caught:
            cri.images.PullImage(pb.PullImageRequest(image=spec), timeout=0.2)
        assert caught.value.code == Code.DEADLINE_EXCEEDED
        eventually(lambda: not blobs(fake), 10.0, "nothing is left of it")
        assert cri.image_status(spec.image) is None
        assert cri.pull_image(spec.image) == SHELF["busybox:1"].id


def test_a_pull_onto_a_full_disk_is_refused_and_can_be_repeated(
    registry: Registry, small_disk: SmallDisk
) -> None:
    state = small_disk.folder / "state"
    with opened(state_dir=state) as (_, cri):
        small_disk.fill()
        name = f"{registry.address}/user-name-group:1"
        with pytest.raises(Refused) as caught:
            cri.pull_image(name)
        assert caught.value.code == Code.RESOURCE_EXHAUSTED
        assert "No space left" in caught.value.message
        assert cri.image_status(name) is None
        assert [path for path in (state / "blobs").rglob("*") if path.is_file()] == []
        small_disk.free()
        assert cri.pull_image(name) == SHELF["user-name-group:1"].id


def test_crio_takes_names_away_one_by_one_and_keeps_what_is_used(registry: Registry) -> None:
    with opened(profile="crio") as (_, cri):
        names = [f"{host}:{registry.port}/busybox:1" for host in ("localhost", "127.0.0.1")]
        for name in names:
            cri.pull_image(name)
        pod = kubelet.sandbox_config("pod")
        sandbox = cri.run_pod_sandbox(pod)
        config = kubelet.container_config("c", names[0])
        container = cri.runtime.CreateContainer(
            pb.CreateContainerRequest(pod_sandbox_id=sandbox, config=config, sandbox_config=pod)
        ).container_id
        remove = [pb.RemoveImageRequest(image=pb.ImageSpec(image=name)) for name in names]
        with pytest.raises(Refused, match="that of a container"):
            cri.images.RemoveImage(remove[0])
        cri.remove_container(container)
        cri.images.RemoveImage(remove[0])
        image = cri.image_status(names[1])
        assert image is not None
        assert list(image.repo_tags) == [names[1]]
        cri.images.RemoveImage(remove[1])
        assert cri.image_status(image.id) is None


def test_containerd_does_not_tell_that_a_registry_is_down() -> None:
    for profile, tells in (("strict", True), ("containerd", False)):
        with opened(profile=profile) as (_, cri), pytest.raises(Refused) as caught:
            cri.pull_image("127.0.0.1:1/a:1")
        assert (caught.value.code, caught.value.message.startswith("RegistryUnavailable")) == (
            Code.UNKNOWN,
            tells,
        )


def test_a_model_may_have_real_images_only_and_says_what_it_does_not_know() -> None:
    with opened(model_options={"images": "real"}) as (_, cri), pytest.raises(Refused):
        cri.pull_image("nobody.invalid/a:1")
    with pytest.raises(ValueError, match="images=made-up"):
        FakeRuntime(model_options={"images": "some"})
