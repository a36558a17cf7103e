"""Which addresses are a pod's."""

import pytest

from refimpl.cni.contract import Address, Interface, Result
from refimpl.cni.runtime import PROFILES, BadAnswer, DaemonDies
from refimpl.cni.runtime.podaddress import addresses_of


def result(*addresses: Address) -> Result:
    """Host side and container side of one pair."""
    interfaces = (Interface("veth1"), Interface("eth0", sandbox="/ns"))
    return Result("1.1.0", interfaces, addresses)


def test_those_of_eth0_and_those_of_nobody_count() -> None:
    """In the order of the result, both families, without prefix."""
    attached = result(
        Address("10.1.0.1/24", interface=0),
        Address("10.1.0.2/24", interface=1),
        Address("fd00::2/64"),
    )
    for profile in PROFILES.values():
        assert addresses_of(profile.pods, "net", attached) == ["10.1.0.2", "fd00::2"]


@pytest.mark.parametrize(("index", "kind"), [(2, DaemonDies), (-1, DaemonDies), (3, BadAnswer)])
def test_an_index_without_an_interface(index: int, kind: type[Exception]) -> None:
    """RT-019: ends containerd, or is an error; nobody else looks."""
    attached = result(Address("10.1.0.2/24", interface=index))
    with pytest.raises(kind, match=f"interface index {index} with 2 interfaces"):
        addresses_of(PROFILES["go-cni"].pods, "net", attached)
    assert addresses_of(PROFILES["ocicni"].pods, "net", attached) == []
