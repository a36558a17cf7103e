"""refimpl.csi.storage.machine: errno in the words of the wire."""

from __future__ import annotations

import errno
import os

import pytest

from refimpl.csi.storage.machine import machine
from refimpl.wire.status import Code, Refused


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, Code.RESOURCE_EXHAUSTED),
        (errno.EDQUOT, Code.RESOURCE_EXHAUSTED),
        (errno.EPERM, Code.PERMISSION_DENIED),
        (errno.EACCES, Code.PERMISSION_DENIED),
        (errno.ENOENT, Code.FAILED_PRECONDITION),
        (errno.ENAMETOOLONG, Code.INVALID_ARGUMENT),
        (errno.EBUSY, Code.ABORTED),
        (errno.ENOTCONN, Code.FAILED_PRECONDITION),
        (errno.EIO, Code.FAILED_PRECONDITION),
        (errno.EDOM, Code.INTERNAL),
    ],
)
def test_an_error_of_the_machine_gets_a_code_and_names_the_path(number: int, code: Code) -> None:
    """Nothing may surface as UNKNOWN, and a reader must know where to look."""
    with pytest.raises(Refused) as caught, machine("publish", "/the/path"):
        raise OSError(number, os.strerror(number))
    assert caught.value.code == code
    assert "cannot publish at '/the/path'" in caught.value.message


def test_a_path_that_no_system_takes_is_an_invalid_argument() -> None:
    """Python refuses NUL with ValueError before the system sees it."""
    with pytest.raises(Refused) as caught, machine("publish", "/a\0b"):
        os.mkdir("/a\0b")
    assert caught.value.code == Code.INVALID_ARGUMENT


def test_other_errors_pass() -> None:
    """A bug of ours must stay one."""
    with pytest.raises(ValueError, match="ours"), machine("publish", "/the/path"):
        raise ValueError("ours")
    with pytest.raises(Refused, match="kept"), machine("publish", "/the/path"):
        raise Refused(Code.ABORTED, "kept")
