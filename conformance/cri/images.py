"""Images of a case, and the registry that serves them: made here, on loopback, without a network.

Each image is tiny and there is no other like it, so that cases which run at once, or on a node with
images of others, do not meet.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from conformance.engine.scope import CaseScope
from refimpl.cni.host import syscalls
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.kubelet import RemoteRuntime
from refimpl.images.build import Built, build
from refimpl.images.elf import PAUSE
from refimpl.images.layers import Layer, plain
from refimpl.images.registry import Fault, Registry
from refimpl.wire.status import Refused

__all__ = ["REPOSITORY", "Images", "Pushed", "layers"]

REPOSITORY = "refimpl-suite"
"""With what all repositories begin."""
_TRY_S = 20.0


@attrs.frozen
class Pushed:
    """An image in a registry. id: as every runtime calls it."""

    registry: Registry
    repository: str
    built: Built

    @property
    def id(self) -> str:
        """The digest of its config."""
        return self.built.id

    def name(self, tag: str = "1", host: str = "127.0.0.1") -> str:
        """Its whole name; `host` may be `localhost`, which is another registry to a runtime."""
        return f"{host}:{self.registry.port}/{self.repository}:{tag}"

    @property
    def bare(self) -> str:
        """Without a tag."""
        return self.name().rpartition(":")[0]

    @property
    def digested(self) -> str:
        """By its digest."""
        return f"{self.bare}@{self.built.manifest.digest}"


def layers() -> list[Layer]:
    """Those of an image that runs until it is ended, and that is like no other."""
    entries = [plain("pause", PAUSE, 0o755), plain("etc/image", uuid.uuid4().hex)]
    return [Layer(entries)]


class Images:
    """What cases push and pull. netns: path of the network namespace where the registry is to be;
    empty for that of this process."""

    def __init__(
        self, runtime: RemoteRuntime, scope: Callable[[], CaseScope], netns: str = ""
    ) -> None:
        self._runtime, self._scope, self._netns = runtime, scope, netns
        self._shared: Registry | None = None

    # The registry

    def registry(self) -> Registry:
        """That of the run, where anybody may read."""
        if self._shared is None:
            self._shared = self._opened()
            self._shared.start()
        return self._shared

    def serve(self, faults: Iterable[Fault] = (), **choices: Any) -> Registry:
        """One of the case's own."""
        return self._scope().enter(self._opened(faults=faults, **choices))

    def push(
        self,
        *tags: str,
        registry: Registry | None = None,
        built: Built | None = None,
        **config: Any,
    ) -> Pushed:
        """A new image in a repository of its own. tags: "1" where none is given. config: of
        `images.build.build`."""
        where = registry or self.registry()
        image = built or build(layers(), **{"entrypoint": ["/pause"], **config})
        repository = f"{REPOSITORY}/{uuid.uuid4().hex}"
        for tag in tags or ("1",):
            where.content.put(f"{repository}:{tag}", image)
        return Pushed(where, repository, image)

    def close(self) -> None:
        """Ends the registry of the run."""
        if self._shared is not None:
            self._shared.close()

    def why_not(self) -> str:
        """Why the runtime cannot be served by us; empty if it can."""
        pushed = self.push()
        try:
            self._runtime.images.PullImage(
                pb.PullImageRequest(image=pb.ImageSpec(image=pushed.name())), timeout=_TRY_S
            )
        except Refused as refusal:
            if not any(pushed.repository in each.path for each in pushed.registry.requests):
                return (
                    f"the runtime does not come to a registry at {pushed.registry.address}:"
                    f" {refusal}; where it is in a network namespace of its own, [cri] netns names"
                    " that"
                )
        return ""

    # The runtime

    def pull(self, name: str, auth: pb.AuthConfig | None = None, **more: Any) -> str:
        """The reference that comes back; raises Refused. more: of the call, such as `timeout`."""
        request = pb.PullImageRequest(image=pb.ImageSpec(image=name), auth=auth)
        return self._runtime.images.PullImage(request, **more).image_ref

    def pulled(self, *tags: str, **config: Any) -> Pushed:
        """A new image that is on the node, under all of its tags."""
        pushed = self.push(*tags, **config)
        for tag in tags or ("1",):
            self.pull(pushed.name(tag))
        return pushed

    def status(self, name: str) -> pb.Image | None:
        """None where it is not there; raises Refused."""
        return self._runtime.image_status(name)

    def remove(self, name: str) -> None:
        """Raises Refused."""
        self._runtime.images.RemoveImage(pb.RemoveImageRequest(image=pb.ImageSpec(image=name)))

    def listed(self, name: str = "") -> Sequence[pb.Image]:
        """All, or those that a filter fits. Raises Refused."""
        selected = pb.ImageFilter(image=pb.ImageSpec(image=name)) if name else None
        request = pb.ListImagesRequest(filter=selected)
        return list(self._runtime.images.ListImages(request).images)

    # Inside

    def _opened(self, **choices: Any) -> Registry:
        with syscalls.inside_path(self._netns):
            return Registry({}, **choices)
