"""What the oci model is opened with, as `--model-option` gives it."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

import attrs

from refimpl.cni.host import syscalls

__all__ = ["Choices", "read"]

_PROGRAMS = {"": "runc", "kata": "virtual"}
"""What handlers run, where nothing else is said."""
_WHERE = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin"))
_IMAGES, _SCORES = ("made-up", "real"), ("kept", "raised")
_SYS_RESOURCE = 24  # CAP_SYS_RESOURCE, linux/capability.h
VIRTUAL = "virtual"
"""What a handler may be instead of a program: one of no OCI runtime."""
_KNOWN = ("cni-bin", "cni-conf", "default", "images", "oom_score", "plain")


@attrs.frozen(kw_only=True)
class Choices:
    """handlers: the command of the OCI runtime of each, whole path first; empty for one of the
    virtual model. plugins: where CNI
    plugins are. networks: folder of CNI configurations, None for a network of the model's own.
    raised: whether a negative oom score becomes 0. plain: a handler without
    features. real: whether all images are pulled."""

    handlers: Mapping[str, tuple[str, ...]]
    plugins: tuple[Path, ...] = ()
    networks: Path | None = None
    raised: bool = False
    plain: str = ""
    real: bool = False


def read(options: Mapping[str, str], handlers: Collection[str]) -> Choices:
    """`default=COMMAND` is what the default handler runs, `HANDLER=COMMAND` what another does,
    with flags where it needs them, or `virtual` where it runs nothing; without it a handler runs
    the program of its name, and kata is virtual.
    `cni-conf=FOLDER` and `cni-bin=FOLDER[:FOLDER]`, where not told, are $NETCONFPATH, and
    $CNI_PATH or /opt/cni/bin. `oom_score=raised` makes negative scores 0, as is done by
    itself where the kernel refuses them; `oom_score=kept` does not. `plain=HANDLER` takes the
    features of one away. `images=real`. Raises ValueError."""
    for name in options:
        if name not in (*_KNOWN, *handlers):
            raise ValueError(
                f"the oci model has no option {name}: there is {', '.join(_KNOWN)} and the name of"
                " each handler"
            )
    commands = {
        name: _command(name, options.get(name or "default", _PROGRAMS.get(name, name)))
        for name in handlers
    }
    networks = options.get("cni-conf") or os.environ.get("NETCONFPATH", "")
    plugins = options.get("cni-bin") or os.environ.get("CNI_PATH") or "/opt/cni/bin"
    return Choices(
        handlers=commands,
        plugins=tuple(map(Path, plugins.split(os.pathsep))),
        networks=Path(networks) if networks else None,
        raised=_one_of(options, "oom_score", _SCORES, _score()) == "raised",
        plain=options.get("plain", ""),
        real=_one_of(options, "images", _IMAGES, "made-up") == "real",
    )


def _score() -> str:
    """proc_pid_oom_score_adj(5): a lower one takes a capability."""
    return "kept" if syscalls.has_capability(_SYS_RESOURCE) else "raised"


def _one_of(options: Mapping[str, str], name: str, values: tuple[str, ...], otherwise: str) -> str:
    value = options.get(name, otherwise)
    if value not in values:
        raise ValueError(f"{name}={value}: there is {' and '.join(values)}")
    return value


def _command(handler: str, text: str) -> tuple[str, ...]:
    if text == VIRTUAL:
        return ()
    words = shlex.split(text)
    found = shutil.which(words[0], path=_WHERE) if words else None
    if found is None:
        option = handler or "default"
        raise ValueError(
            f"handler {handler!r} runs {text!r}, and there is no such program: name one by"
            f" --model-option {option}=/path/of/runc"
        )
    return (found, *words[1:])
