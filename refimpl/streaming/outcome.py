"""How a command ended, and the words for it on the error stream (Kubernetes' Status as JSON)."""

from __future__ import annotations

import json
from typing import Any

import attrs

__all__ = ["Outcome"]


@attrs.frozen
class Outcome:
    """exit_code: of the command. error: why there is none, as it never ran or was lost."""

    exit_code: int = 0
    error: str = ""

    def status(self) -> bytes:
        """The JSON that ends a stream from v4 on, whether it went well or not."""
        return json.dumps(self._status(), separators=(",", ":")).encode()

    def text(self) -> bytes:
        """What stands on the error stream before v4: nothing where it went well."""
        if self.error:
            return self.error.encode()
        failed = f"command terminated with non-zero exit code: {self.exit_code}"
        return failed.encode() if self.exit_code else b""

    def _status(self) -> dict[str, Any]:
        if self.error:
            return _failure("InternalError", self.error) | {"code": 500}
        if not self.exit_code:
            return {"metadata": {}, "status": "Success"}
        cause = {"reason": "ExitCode", "message": str(self.exit_code)}
        return _failure("NonZeroExitCode", self.text().decode()) | {"details": {"causes": [cause]}}

    @classmethod
    def parse(cls, told: bytes) -> Outcome:
        """What a client reads at the end, JSON or text; raises ValueError for JSON that is none."""
        if not told:
            return cls()
        if not told.startswith(b"{"):
            return cls(error=told.decode(errors="replace"))
        status = json.loads(told)
        if status.get("status") == "Success":
            return cls()
        causes = (status.get("details") or {}).get("causes") or []
        codes = [cause["message"] for cause in causes if cause.get("reason") == "ExitCode"]
        if status.get("reason") == "NonZeroExitCode" and codes:
            return cls(exit_code=int(codes[0]))
        return cls(error=str(status.get("message") or status))


def _failure(reason: str, message: str) -> dict[str, Any]:
    return {"metadata": {}, "status": "Failure", "reason": reason, "message": message}
