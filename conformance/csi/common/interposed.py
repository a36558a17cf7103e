"""The driver as seen through a proxy that loses or delays calls: what a bad moment looks like."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance.csi.target import CsiTarget
from conformance.engine.ledger.calls import LedgerChannel
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import FaultRule, Faults
from refimpl.wire.proxy import Proxy


@contextlib.contextmanager
def interposed(csi: CsiTarget, *rules: FaultRule) -> Iterator[Driver]:
    """The driver behind a proxy that obeys these fault rules, until the block ends.

    Calls are recorded, and what they make is undone, as for calls to the driver itself.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="refimpl-"))
        proxy = stack.enter_context(Proxy(csi.endpoint, faults=Faults(rules)))
        endpoint = proxy.start(Endpoint.parse(Path(folder) / "proxy.sock"))
        channel = stack.enter_context(Channel(endpoint, journal=csi.journal))
        yield Driver.over(LedgerChannel(channel, csi.cleanup.calls))
