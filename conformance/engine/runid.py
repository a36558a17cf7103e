"""Run ids: what every object a run makes on a target carries in its name."""

from __future__ import annotations

import os
import secrets
import time

PREFIX = "refimpl"


def new_run_id() -> str:
    """Ten characters, unique enough for all runs against one target: time first, so they sort."""
    return f"{int(time.time()) % 0x1000000:06x}{secrets.token_hex(2)}"


def worker() -> str:
    """The xdist worker this process is (`gw0`), `main` without xdist."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")
