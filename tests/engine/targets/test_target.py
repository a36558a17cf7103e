"""What the engine knows of the interfaces."""

from __future__ import annotations

import pytest

from conformance.engine.interface import load
from conformance.engine.interfaces import INTERFACES, interface
from conformance.engine.options import BadOption
from conformance.engine.targets.target import Loss
from tests.targets import resolved


def test_every_interface_has_its_suite() -> None:
    """All that its record names can be loaded."""
    for name, record in INTERFACES.items():
        assert record.name == name
        paths = [record.opener, record.settings, *record.fakes.values()]
        for path in filter(None, [*paths, record.leftovers]):
            assert callable(load(path))
        record.import_fakes()


def test_an_unknown_interface_is_a_usage_error_that_names_them() -> None:
    """`all` is none of them, but a word that is taken."""
    with pytest.raises(BadOption, match=r"interface .csy.: there is csi, .*or all"):
        interface("csy")


@pytest.mark.parametrize("name", list(INTERFACES))
def test_a_fake_is_opened_and_keeps_the_protocol(name: str) -> None:
    """Name, revision and record of calls; closing leaves nothing behind."""
    target = resolved(name).open()
    try:
        assert target.interface == name
        assert target.name
        assert target.revision
        assert target.calls(target.mark()) == []
        if asked := target.calls(0)[:1]:  # to get to know it
            assert isinstance(target.reproduce(asked), str)
        assert target.lost() is None
    finally:
        target.close()


def test_a_loss_is_for_good_unless_said_otherwise() -> None:
    """A driver that we did not start does not come back."""
    assert not Loss("gone").revived
