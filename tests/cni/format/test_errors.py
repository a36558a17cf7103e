"""The error object."""

from __future__ import annotations

from refimpl.cni.contract import ErrorCode
from refimpl.cni.format.errors import NAMES, CniError


def test_every_code_has_its_name() -> None:
    """A person reads the name; the table of the judge has the same."""
    assert {code.value: code.name for code in ErrorCode} == NAMES


def test_a_version_stands_in_for_the_one_that_was_not_given() -> None:
    """The plugin knows it only when it answers."""
    assert CniError(7, "no").to_dict("1.0.0") == {"cniVersion": "1.0.0", "code": 7, "msg": "no"}
    assert CniError(7, "no", "", "0.4.0").to_dict("1.0.0")["cniVersion"] == "0.4.0"
