"""What becomes of the devices of a node: hooks of the user, or of our fake, change them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from conformance.deviceplugin.plugins.sessions import Sessions

__all__ = ["DeviceHooks"]


class DeviceHooks:
    """Hooks of the node of the present session: break_device, mend_device, add_device,
    remove_device, break_source, mend_source. Needs of a case say which it uses."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def has(self, name: str) -> bool:
        """Whether there is such a hook."""
        return self._sessions.setup.hooks.has(name)

    def run(self, name: str, id: str = "") -> None:
        """Runs it, with the id of a device; raises BadOption for one that fails."""
        self._sessions.setup.hooks.run(name, **self._sessions.place().values, id=id)

    def run_if_any(self, name: str, id: str = "") -> None:
        """The same, where there is such a hook: to put a node in order again."""
        if self.has(name):
            self.run(name, id)

    @contextlib.contextmanager
    def broken(self, id: str) -> Iterator[None]:
        """While inside, a device is unhealthy (BREAKABLE); mended afterwards (else: a new
        session)."""
        self.run("break_device", id)
        try:
            yield
        finally:
            self.run_if_any("mend_device", id)
            if not self.has("mend_device"):
                self._sessions.current.spoilt = True
