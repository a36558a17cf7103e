"""What the tests of the container runtime share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import SandboxKey
from refimpl.wire.status import Code, Refused

RefusedWith = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def refused() -> RefusedWith:
    """`with refused(Code.X, "part of the message"):` the block has to be refused so."""

    @contextmanager
    def expecting(code: Code, *parts: str) -> Iterator[None]:
        with pytest.raises(Refused) as caught:
            yield
        assert caught.value.code == code, str(caught.value)
        for part in parts:
            assert part in caught.value.message

    return expecting


@pytest.fixture
def state() -> RuntimeState:
    """A runtime of which time and ids are known: 1000, 1001 ... and aa0, aa1 ..."""
    ticks, numbers = itertools.count(1000), itertools.count()
    return RuntimeState(
        clock=lambda: next(ticks), ids=lambda: f"aa{next(numbers)}", handlers=("", "other")
    )


@pytest.fixture
def key() -> SandboxKey:
    """Metadata of a pod."""
    return SandboxKey("pod", "default", "uid-1")
