"""ImageService: any image is there, and pulling one takes no time."""

from __future__ import annotations

from refimpl.cri import codec
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state import RuntimeState
from refimpl.wire.server import Call

__all__ = ["ImageService"]


class ImageService:
    """All of it but StreamImages. `filesystem` is where images would lie: a path that exists."""

    def __init__(self, state: RuntimeState, filesystem: str) -> None:
        self._state, self._images = state, state.images
        self._filesystem = filesystem

    def ImageStatus(self, request: pb.ImageStatusRequest, call: Call) -> pb.ImageStatusResponse:
        """The image of that name or id, whatever it is."""
        image = self._images.find(request.image.image)
        return pb.ImageStatusResponse(image=codec.image_out(image))

    def ListImages(self, request: pb.ListImagesRequest, call: Call) -> pb.ListImagesResponse:
        """Those that were pulled or used."""
        name = request.filter.image.image
        images = [each for each in self._images.known() if name in ("", each.name, each.id)]
        return pb.ListImagesResponse(images=[codec.image_out(each) for each in images])

    def PullImage(self, request: pb.PullImageRequest, call: Call) -> pb.PullImageResponse:
        """The id, as everywhere else."""
        return pb.PullImageResponse(image_ref=self._images.use(request.image.image).id)

    def RemoveImage(self, request: pb.RemoveImageRequest, call: Call) -> pb.RemoveImageResponse:
        """Not listed any more; whoever asks for it has it again."""
        self._images.remove(request.image.image)
        return pb.RemoveImageResponse()

    def ImageFsInfo(self, request: pb.ImageFsInfoRequest, call: Call) -> pb.ImageFsInfoResponse:
        """One file system; kubelet looks it up by its path."""
        known = self._images.known()
        usage = pb.FilesystemUsage(
            timestamp=self._state.now(),
            fs_id=pb.FilesystemIdentifier(mountpoint=self._filesystem),
            used_bytes=pb.UInt64Value(value=sum(each.size for each in known)),
            inodes_used=pb.UInt64Value(value=len(known)),
        )
        return pb.ImageFsInfoResponse(image_filesystems=[usage], container_filesystems=[usage])
