"""Images that are made up, as in the virtual model, but of programs that run: busybox with what is
known of the name."""

from __future__ import annotations

import functools

from refimpl.cri.virtual.images import refuse_nobody
from refimpl.cri.virtual.known_images import known
from refimpl.images.build import Built, build
from refimpl.images.elf import EFFECTIVE_USER, PAUSE
from refimpl.images.layers import Entry, Layer, plain
from refimpl.images.references import Reference
from refimpl.images.shelf import Shelf, find_busybox
from refimpl.wire.status import Code, Refused

__all__ = ["made_up"]

_SERVER = "httpd"
_SETUID = 0o4755
_TELLS_USER = "nonewprivs"


def made_up(named: Reference) -> Built:
    """The same each time. FAILED_PRECONDITION where the machine has no busybox to make it of;
    UNKNOWN for a registry that nobody serves."""
    refuse_nobody(named)
    facts = known(named.repository)
    command, folder = facts.command, ""
    if command[0] == _SERVER:
        # As the first process it would not hear of its end.
        served = " ".join(command)
        command = ("sh", "-c", f'trap "exit 0" TERM INT; {served} & wait $!')
    if _SERVER in " ".join(command):
        folder = "/www"
    if named.repository.endswith(_TELLS_USER):
        command = (f"/{_TELLS_USER}",)
    content = named.digest or facts.content or f"{named.repository}:{named.tag}"
    own = Layer([plain("etc/image", f"{content}\n"), *_programs()])
    return build([_shelf().base, own], entrypoint=command, user=facts.user, working_dir=folder)


def _programs() -> list[Entry]:
    return [
        plain("pause", PAUSE, 0o755),
        plain(_TELLS_USER, EFFECTIVE_USER, _SETUID),
    ]


@functools.cache
def _shelf() -> Shelf:
    path = find_busybox()
    if path is None:
        raise Refused(
            Code.FAILED_PRECONDITION,
            "no image can be made up without a busybox on this machine: install busybox-static, or"
            " serve the image from a registry on this machine",
        )
    return Shelf(path.read_bytes())
