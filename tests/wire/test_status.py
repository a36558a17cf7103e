"""A refusal carries a code of gRPC and a message through every layer unchanged."""

import pickle

import grpc
import pytest

from refimpl.wire.status import Code, Refused


def test_the_codes_are_those_of_grpc() -> None:
    """`state` may not import grpc, so the table is ours and must not drift."""
    assert {code.name: int(code) for code in Code} == {
        code.name: code.value[0] for code in grpc.StatusCode
    }


def test_a_refusal_reads_as_code_and_message() -> None:
    """Reports and tracebacks show str()."""
    refused = Refused(Code.NOT_FOUND, "volume 'a' is unknown", details=b"\x08\x05")
    assert str(refused) == "NOT_FOUND: volume 'a' is unknown"
    assert (refused.code, refused.message, refused.details) == (
        Code.NOT_FOUND,
        "volume 'a' is unknown",
        b"\x08\x05",
    )


def test_a_refusal_has_no_details_unless_given() -> None:
    """CRI and CSI clients read the code; an unexpected trailer only confuses them."""
    assert Refused(Code.ABORTED, "busy").details == b""


def test_a_message_is_always_text_that_can_be_sent() -> None:
    """Names of files and devices may hold bytes that are no UTF-8."""
    name = b"vol-\xff".decode("utf-8", "surrogateescape")
    assert Refused(Code.NOT_FOUND, f"no {name}").message == "no vol-\\udcff"


def test_ok_is_no_refusal() -> None:
    """A reply that never comes with status OK would break the caller in obscure ways."""
    with pytest.raises(ValueError, match="return a reply"):
        Refused(Code.OK, "fine")


def test_a_plain_number_becomes_a_code() -> None:
    """Fault rules and proxies know the number only."""
    assert Refused(5, "gone").code is Code.NOT_FOUND  # type: ignore[arg-type]


def test_a_refusal_crosses_processes() -> None:
    """Parallel test workers send their exceptions home pickled."""
    refused = Refused(Code.ABORTED, "busy", details=b"x")
    copy = pickle.loads(pickle.dumps(refused))
    assert (str(copy), copy.code, copy.details) == ("ABORTED: busy", Code.ABORTED, b"x")
