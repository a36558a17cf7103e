"""How large volumes are asked for."""

from __future__ import annotations

import pytest

from conformance.csi.settings import CsiSettings
from conformance.csi.sizes import Sizes
from refimpl.csi.api import csi_pb2 as pb

MIB, GIB = 1 << 20, 1 << 30


def sizes(
    *, low: int | None = None, high: int | None = None, least: int = 0, **chosen: int
) -> tuple[Sizes, list[int]]:
    """Sizes of a driver that tells `low` and `high`, and makes volumes of `least` bytes or more;
    and those that were tried."""
    told, tried = pb.GetCapacityResponse(), list[int]()
    if low is not None:
        told.minimum_volume_size.value = low
    if high is not None:
        told.maximum_volume_size.value = high

    def makes(size: int) -> bool:
        tried.append(size)
        return size >= least

    return Sizes(CsiSettings(**chosen), lambda: told, makes), tried  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("driver", "usual"),
    [
        ({}, 64 * MIB),
        ({"least": GIB}, GIB),
        ({"least": 20 * GIB}, 64 * MIB),  # of none of them: cases will say why
        ({"low": 2 * GIB}, 2 * GIB),
        ({"low": 0, "high": 16 * MIB}, 16 * MIB),
        ({"least": GIB, "high": 512 * MIB}, 64 * MIB),
        ({"high": 0}, 64 * MIB),  # a full pool; none of size 0 can be asked for
        ({"volume_size": 5, "least": GIB}, 5),
    ],
)
def test_the_usual_size_is_the_smallest_that_fits(driver: dict[str, int], usual: int) -> None:
    """Between what the driver tells, unless the user has chosen."""
    assert sizes(**driver)[0].usual == usual


def test_sizes_are_tried_once_and_only_where_there_is_a_choice() -> None:
    """A trial is a volume on somebody's storage."""
    some, tried = sizes(least=GIB)
    assert some.usual == some.usual == GIB
    assert tried == [64 * MIB, GIB]
    some, tried = sizes(low=16 * GIB)
    assert some.usual == 16 * GIB
    assert tried == []


def test_a_volume_grows_to_twice_its_size_unless_told() -> None:
    """As little as shows."""
    assert sizes()[0].larger == 128 * MIB
    assert sizes(expand_size=6)[0].larger == 6


def test_what_the_driver_says_no_volume_has_is_not_asked_for() -> None:
    """The case is skipped, as a refusal would prove nothing."""
    some, _ = sizes(high=100 * MIB)
    assert some.at_least(MIB) == some.usual == 64 * MIB
    assert some.at_least(100 * MIB) == 100 * MIB
    for ask in (lambda: some.at_least(GIB), lambda: some.larger):
        with pytest.raises(pytest.skip.Exception, match="maximum_volume_size is 104857600"):
            ask()
