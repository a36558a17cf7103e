"""Breaking a driver by the hooks of a user."""

from __future__ import annotations

import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.csi.common import fault_injection
from conformance.csi.settings import Hook
from conformance.engine.targets.hooks import Hooks

Stub = Callable[..., Any]


@pytest.fixture
def hooked(stub: Stub, tmp_path: Path) -> Any:
    """A foreign driver whose hooks write down how they were called."""
    log = tmp_path / "log"

    def hook(name: str, *words: str) -> list[str]:
        return ["sh", "-c", f'echo {name} "$@" >> {log}', name, *words]

    words = ("{volume_id}", "{status}", "{reason}", "{node}")
    hooks = Hooks({name: hook(name, *words) for name in typing.get_args(Hook)})
    driver = stub(hooks=hooks, fake=None)
    driver.log = lambda: log.read_text().splitlines()
    return driver


def test_what_was_broken_is_repaired_even_when_the_case_fails(hooked: Any) -> None:
    """With everything filled in that the hook may want to know."""
    with (
        pytest.raises(ZeroDivisionError),
        fault_injection.sick(hooked, "v", "DEGRADED", "PathLost"),
    ):
        raise ZeroDivisionError
    first, second = hooked.log()
    assert first == "break_volume v DEGRADED PathLost {node}"
    assert second.startswith("repair_volume v ")


@pytest.mark.parametrize(
    ("block", "names"),
    [
        (
            lambda csi: fault_injection.missing_dependency(csi),
            ["break_dependency", "repair_dependency"],
        ),
        (
            lambda csi: fault_injection.sick_storage(csi, "STORAGE_DEGRADED"),
            ["break_storage", "repair_storage"],
        ),
        (lambda csi: fault_injection.held_volume(csi, "v"), ["hold_volume", "release_volume"]),
    ],
)
def test_each_way_to_break_has_its_pair_of_hooks(hooked: Any, block: Any, names: Any) -> None:
    """The second comes when the block ends."""
    with block(hooked):
        assert [line.split()[0] for line in hooked.log()] == names[:1]
    assert [line.split()[0] for line in hooked.log()] == names


def test_our_fake_is_broken_by_its_own_methods(csi: Any) -> None:
    """At once, so that nothing has to be waited for."""
    volume_id = csi.steps.volume().volume_id
    with fault_injection.sick(csi, volume_id, "DEGRADED", "PathLost"):
        assert csi.fake.settings
    assert fault_injection.settle_s(csi) < fault_injection.settle_s(
        type("Foreign", (), {"fake": None})
    )
