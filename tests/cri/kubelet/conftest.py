"""What the tests of the calling side share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from refimpl.cri.fake import FakeRuntime
from refimpl.cri.kubelet import RemoteRuntime, connect
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Entry

Serving = Callable[..., RemoteRuntime]


@pytest.fixture
def calls() -> list[Entry]:
    """What was called, as the caller sees it."""
    return []


@pytest.fixture
def serving(calls: list[Entry], monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    """A fake with these faults, connected to; deadlines are as they are without a slow machine."""
    monkeypatch.delenv("REFIMPL_TIMEOUT_FACTOR", raising=False)
    with ExitStack() as stack:

        def start(faults: str = "", request_s: float = 120.0) -> RemoteRuntime:
            fake = FakeRuntime(faults=Faults.from_yaml(faults) if faults else None)
            stack.callback(fake.stop)
            return stack.enter_context(
                connect(fake.start(), request_s=request_s, observers=[calls.append])
            )

        yield start


@pytest.fixture
def runtime(serving: Serving) -> RemoteRuntime:
    """A fake without faults."""
    return serving()
