"""Mounts in a user namespace: whom their files belong to."""

from __future__ import annotations

from conformance.cri.needs import HOST, IMAGE, POD_NETWORK, USER_NAMESPACES
from conformance.cri.node import folder, mount, said
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb

_FIRST, _LENGTH = 1 << 20, 1 << 20
"""Of the ids on the node: no range of anybody's, and as many as there are of users."""


@case(
    "CRI-MT-027",
    "CRI v1 Mount.uidMappings, gidMappings",
    needs=[IMAGE, HOST, POD_NETWORK, USER_NAMESPACES],
)
def test_files_of_a_mount_belong_to_whom_they_do(cri: CriTarget) -> None:
    """Without them each would belong to nobody in a user namespace, and could not be written."""
    ids = [pb.IDMapping(host_id=_FIRST, container_id=0, length=_LENGTH)]
    users = pb.UserNamespace(mode=pb.POD, uids=ids, gids=ids)
    config = cri.pods.config(host_network=False)
    config.linux.security_context.namespace_options.userns_options.CopyFrom(users)
    file = folder(cri) / "file"
    file.write_text("")
    status = file.stat()
    pod = cri.pods.ask(config)
    request = pod.request(mounts=[mount(file.parent, uidMappings=ids, gidMappings=ids)])
    own = request.config.linux.security_context.namespace_options
    own.CopyFrom(config.linux.security_context.namespace_options)
    container = pod.ask(request)
    container.start()
    owner = said(container, "stat", "-c", "%u:%g", "/data/file").strip()
    wanted = f"{status.st_uid}:{status.st_gid}"
    expect(owner == wanted, "the owner inside is that on disk", wanted=wanted, got=owner)
