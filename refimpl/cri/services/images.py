"""ImageService."""

from __future__ import annotations

import json

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.codec import images as codec
from refimpl.cri.state import RuntimeState
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

__all__ = ["ImageRpcs"]


class ImageRpcs:
    """All of it but StreamImages. `filesystem` is where images would lie: a path that exists."""

    def __init__(self, state: RuntimeState, filesystem: str) -> None:
        self._state, self._images = state, state.images
        self._filesystem = filesystem

    def ImageStatus(self, request: pb.ImageStatusRequest, call: Call) -> pb.ImageStatusResponse:
        """The image of that name or id; none where it is not there, which is no error."""
        image = self._images.find(request.image.image)
        if image is None:
            return pb.ImageStatusResponse()
        details = {"imageSpec": json.loads(image.config or "{}"), "layers": image.layers}
        info = {"info": json.dumps(details)} if request.verbose else {}
        return pb.ImageStatusResponse(image=codec.image(image), info=info)

    def ListImages(self, request: pb.ListImagesRequest, call: Call) -> pb.ListImagesResponse:
        """All that are there, or the one that the filter names."""
        name = request.filter.image.image
        images = self._images.present()
        if name and self._state.settings.images.filters:
            image = self._images.find(name)
            images = [] if image is None else [image]
        return pb.ListImagesResponse(images=[codec.image(each) for each in images])

    def PullImage(self, request: pb.PullImageRequest, call: Call) -> pb.PullImageResponse:
        """The id, as everywhere else."""
        if self._state.settings.images.checks_handler:
            self._state.processes(request.image.runtime_handler)
        credentials = codec.credentials(request.auth, self._state.settings.images)
        try:
            image = self._images.pull(request.image.image, credentials, call)
        except Refused as refusal:
            raise call.ending() if refusal.code == Code.CANCELLED else refusal from None
        return pb.PullImageResponse(image_ref=image.id)

    def RemoveImage(self, request: pb.RemoveImageRequest, call: Call) -> pb.RemoveImageResponse:
        """With all its names."""
        self._images.remove(request.image.image)
        return pb.RemoveImageResponse()

    def ImageFsInfo(self, request: pb.ImageFsInfoRequest, call: Call) -> pb.ImageFsInfoResponse:
        """One file system; kubelet looks it up by its path."""
        known = self._images.present()
        usage = pb.FilesystemUsage(
            timestamp=self._state.now(),
            fs_id=pb.FilesystemIdentifier(mountpoint=self._filesystem),
            used_bytes=pb.UInt64Value(value=sum(each.size for each in known)),
            inodes_used=pb.UInt64Value(value=len(known)),
        )
        return pb.ImageFsInfoResponse(image_filesystems=[usage], container_filesystems=[usage])
