"""A fake plugin called as a function of this process."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from refimpl.cni.execute import Outcome, Request
from refimpl.cni.plugins import main


def called(settings: dict[str, Any], request: Request, **how: Any) -> Outcome:
    """The outcome that an exec of the plugin with these settings would have.

    how: keywords of `refimpl.cni.plugins.main`. Raises ProcessOnly for a fault that takes one.
    """
    began = time.monotonic()
    env: Mapping[str, str] = dict(request.env)
    status, out, err = main(settings["kind"], env, request.stdin, settings, **how)
    took = time.monotonic() - began
    return Outcome(status, out, err, took, stdout_bytes=len(out), stderr_bytes=len(err))
