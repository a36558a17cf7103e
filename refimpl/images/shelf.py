"""The images that we make: each has a name, and all that a suite or a kubelet needs is among them.

Where a busybox is given they are real; without one they have the same names, configs and files, and
programs that a runtime which really runs them cannot start.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from refimpl.images.build import HOST, Built, Platform, build, index
from refimpl.images.elf import PAUSE
from refimpl.images.layers import Entry, Layer, folder, link, plain, removed

__all__ = ["Shelf", "find_busybox"]

_APPLETS = """
    cat chmod chown dd df echo env false free grep head hostname httpd id ifconfig ip ipcs kill ls
    mkdir mount nc netstat nslookup od pgrep ping printf ps pwd rm sed seq sh sha256sum sleep sort
    stat stty sync sysctl tail tee test timeout top touch true tty umount uname wc wget whoami yes
"""
_PLACES = ("/bin", "/usr/bin", "/usr/sbin")
_PLACEHOLDER = b"#!/bin/false\n"
_LARGE = 16 << 20

_PASSWD = """\
root:x:0:0:root:/root:/bin/sh
default-user:x:1000:1000::/home/default-user:/bin/sh
www-data:x:33:33::/var/www:/bin/false
nobody:x:65534:65534::/:/bin/false
"""
_GROUP = """\
root:x:0:
default-user:x:1000:
www-data:x:33:
predefined:x:50000:default-user
nogroup:x:65534:
"""
# `sleep` as the first process of a container ignores SIGTERM; a shell with a trap does not.
_FOREVER = ("/bin/sh", "-c", 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done')
_SERVES = ("sh", "-c", 'trap "exit 0" TERM INT; httpd -f -p 80 -h /www & wait $!')


def find_busybox() -> Path | None:
    """The busybox of this machine, where it has one: the first in PATH."""
    folders = os.pathsep.join((os.environ.get("PATH", os.defpath), *_PLACES))
    found = shutil.which("busybox", path=folders)
    return Path(found) if found else None


class Shelf(Mapping[str, Built]):
    """`repository:tag` -> image, made when it is asked for first. busybox: the program's bytes."""

    def __init__(self, busybox: bytes | None = None) -> None:
        self._program = _PLACEHOLDER if busybox is None else busybox
        self._made: dict[str, Built] = {}

    def __getitem__(self, name: str) -> Built:
        if name not in self._made:
            self._made[name] = _IMAGES[name](self)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_IMAGES)

    def __len__(self) -> int:
        return len(_IMAGES)

    @functools.cached_property
    def base(self) -> Layer:
        """Busybox with its names, users and groups, and a page for a web server."""
        entries: list[Entry] = [
            folder(name) for name in ("bin", "etc", "home", "root", "var", "www")
        ]
        entries += [folder("tmp", 0o1777), plain("bin/busybox", self._program, 0o755)]
        entries += [link(f"bin/{name}", "busybox") for name in _APPLETS.split()]
        entries += [plain("etc/passwd", _PASSWD), plain("etc/group", _GROUP)]
        entries += [plain("www/index.html", "<h1>refimpl</h1>\n")]
        entries += [plain("etc/os-release", 'ID=refimpl\nPRETTY_NAME="refimpl busybox"\n')]
        return Layer(entries)

    def marked(self, text: str) -> Layer:
        """A small layer that tells one image from the next."""
        return Layer([plain("etc/image", f"{text}\n")])


def _of(name: str, **config: object) -> Callable[[Shelf], Built]:
    chosen = {"command": ("sh",)} | config
    return lambda shelf: build([shelf.base, shelf.marked(name)], **chosen)  # type: ignore[arg-type]


def _pause(_shelf: Shelf) -> Built:
    return build([Layer([plain("pause", PAUSE, 0o755)])], entrypoint=["/pause"], environment=())


def _bare(_shelf: Shelf) -> Built:
    return build([Layer([plain("etc/image", "bare\n")])])


def _platforms(shelf: Shelf) -> Built:
    other = Platform("riscv64" if HOST.architecture != "riscv64" else "s390x")
    mine = _IMAGES["busybox:1"](shelf)
    return index({other: build([shelf.marked("other")], runs_on=other), HOST: mine})


def _foreign(shelf: Shelf) -> Built:
    other = Platform("riscv64" if HOST.architecture != "riscv64" else "s390x")
    return index({other: build([shelf.marked("other")], runs_on=other)})


def _whiteouts(shelf: Shelf) -> Built:
    lower = Layer([folder("data"), plain("data/gone", "x"), plain("data/kept", "y"), folder("old")])
    more = Layer([plain("old/inside", "z")])
    upper = Layer([removed("data/gone"), folder("old"), plain("old/.wh..wh..opq", "")])
    return build([shelf.base, lower, more, upper], command=("sh",))


def _links(shelf: Shelf) -> Built:
    entries = [
        plain("data", "same"),
        Entry("again", "hardlink", target="data"),
        link("soft", "data"),
    ]
    return build([shelf.base, Layer(entries)], command=("sh",))


def _plain(shelf: Shelf) -> Built:
    return build([Layer(shelf.base.entries, compressed=False)], command=("sh",))


def _docker(shelf: Shelf) -> Built:
    return build([shelf.base, shelf.marked("docker")], command=("sh",), family="docker")


def _large(shelf: Shelf) -> Built:
    # Text that no compression makes small, and that is the same each time.
    block = b"".join(number.to_bytes(8, "little") for number in range(_LARGE // 8))
    return build([shelf.base, Layer([plain("large", block)], compressed=False)], command=("sh",))


_IMAGES: dict[str, Callable[[Shelf], Built]] = {
    "pause:1": _pause,
    "busybox:1": _of("busybox", command=("sh",)),
    "busybox:latest": _of("busybox", command=("sh",)),
    "sleeper:1": _of("sleeper", entrypoint=_FOREVER, command=()),
    "web:1": _of("web", command=_SERVES),
    "bare:1": _bare,
    **{f"tags:{tag}": _of("tags") for tag in ("1", "2", "3")},
    **{f"several-{number}:latest": _of(f"several {number}") for number in (1, 2, 3)},
    "user-uid:1": _of("uid", user="1002"),
    "user-name:1": _of("name", user="www-data"),
    "user-uid-group:1": _of("uid and group", user="1003:1003"),
    "user-name-group:1": _of("name and group", user="www-data:100"),
    "user-root:1": _of("root", user="0:0"),
    "user-groups:1": _of("groups", user="default-user"),
    "stop-signal:1": _of("stop signal", stop_signal="SIGUSR1"),
    "working-dir:1": _of("working dir", working_dir="/var/work"),
    "environment:1": _of("environment", environment=("PATH=/bin", "IMAGE=refimpl")),
    "volumes:1": _of("volumes", volumes=("/data", "/cache")),
    "entrypoint:1": _of("entrypoint", entrypoint=("echo", "entry"), command=("command",)),
    "platforms:1": _platforms,
    "foreign:1": _foreign,
    "whiteouts:1": _whiteouts,
    "links:1": _links,
    "uncompressed:1": _plain,
    "docker:1": _docker,
    "large:1": _large,
}
