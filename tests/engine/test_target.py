"""What the engine knows of the interfaces."""

from __future__ import annotations

import importlib

import pytest

from conformance.engine.options import BadOption, Options
from conformance.engine.target import INTERFACES, Loss, interface


def test_every_interface_has_its_suite() -> None:
    """A package with cases and a way to open a target."""
    for name, kind in INTERFACES.items():
        assert kind.name == name
        assert callable(importlib.import_module(f"{kind.package}.target").open_target)


def test_an_unknown_interface_is_a_usage_error_that_names_them() -> None:
    """`all` is none of them, but a word that is taken."""
    with pytest.raises(BadOption, match=r"interface .csy.: there is csi, .*or all"):
        interface("csy")


@pytest.mark.parametrize("name", list(INTERFACES))
def test_a_fake_is_opened_and_keeps_the_protocol(name: str) -> None:
    """Name, revision and record of calls; closing leaves nothing behind."""
    target = interface(name).open(Options(interface=name, run_id="1"))
    try:
        assert target.interface == name
        assert target.name
        assert target.revision
        assert target.calls(target.mark()) == []
        for call in target.calls(0)[:1]:  # what was asked to get to know it
            assert target.reproduce(call)
        assert target.lost() is None
    finally:
        target.close()


def test_a_loss_is_for_good_unless_said_otherwise() -> None:
    """A driver that we did not start does not come back."""
    assert not Loss("gone").revived
