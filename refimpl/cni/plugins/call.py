"""One call as the plugin sees it."""

from __future__ import annotations

from refimpl.cni.format.versions import LATEST
from refimpl.cni.plugins.json import parse_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from refimpl.cni.plugins.stdio import Process

    Executed = tuple[int, bytes, bytes]
    ExecDelegate = Callable[[str, Mapping[str, str], bytes], Executed]
    Step = Callable[..., Any]
    Wrapper = Callable[..., Any]

__all__ = ["Call"]


class Call:
    """A call that is being answered. `container_id` and `ifname` are the key of the attachment,
    `netns` is "" when the namespace is gone; `config` is the decoded stdin, `version` the one it
    asks for; `log` goes to stderr. `execute` runs delegates, None those of CNI_PATH. `knobs` are
    the faults to be committed with their arguments, `wrappers` what they put in front of steps."""

    def __init__(
        self,
        environ: Mapping[str, str],
        stdin: bytes,
        settings: dict[str, Any],
        execute: ExecDelegate | None = None,
        process: Process | None = None,
    ) -> None:
        self.environ, self.stdin, self.settings = environ, stdin, settings
        self.execute, self.process = execute, process
        self.verb = environ.get("CNI_COMMAND", "")
        self.container_id = environ.get("CNI_CONTAINERID", "")
        self.ifname = environ.get("CNI_IFNAME", "")
        self.netns = environ.get("CNI_NETNS", "")
        self.config: dict[str, Any] = {}
        self.version = _asked_version(stdin) or LATEST
        self.log: list[bytes] = []
        self.knobs: dict[str, dict[str, Any]] = {}
        self.wrappers: dict[Step, list[Wrapper]] = {}

    @property
    def name(self) -> str:
        """The network's name."""
        return str(self.config.get("name", ""))

    def say(self, text: str) -> None:
        """One line for stderr."""
        self.log.append(text.encode(errors="backslashreplace") + b"\n")


def _asked_version(stdin: bytes) -> str:
    """The cniVersion of a request as far as it can be read, "" otherwise: errors echo it."""
    try:
        version = parse_object(stdin).get("cniVersion", "0.1.0")
    except ValueError:
        return ""
    return (version or "0.1.0") if isinstance(version, str) else ""
