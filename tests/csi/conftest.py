"""What the tests of the CSI driver share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from refimpl.wire.status import Code, Refused

RefusedWith = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def refused() -> RefusedWith:
    """`with refused(Code.X, "part of the message"):` the block has to be refused so."""

    @contextmanager
    def expecting(*codes: Code | str) -> Iterator[None]:
        with pytest.raises(Refused) as caught:
            yield
        expected = [code for code in codes if isinstance(code, Code)]
        assert caught.value.code in expected, str(caught.value)
        for part in codes:
            assert isinstance(part, Code) or part in caught.value.message

    return expecting
