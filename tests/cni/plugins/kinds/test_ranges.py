"""Which addresses a range gives, and in what order."""

from __future__ import annotations

from refimpl.cni.format.addresses import address, text
from refimpl.cni.plugins.kinds.ranges import parse


def sets(*given):
    return parse({"ipam": {"ranges": list(given)}})


def order(ranges, latest=None):
    value = address(latest)[1] if latest else None
    return [text(each.family, number) for each, number in ranges.after(value)]


def test_network_broadcast_and_gateway_are_never_given() -> None:
    """Of IPv6 the last address is one like the others, but ranges end before it."""
    (four,) = sets([{"subnet": "10.0.0.0/29"}])
    assert order(four) == [f"10.0.0.{n}" for n in range(2, 7)]
    (own,) = sets([{"subnet": "10.0.0.0/29", "gateway": "10.0.0.4"}])
    assert order(own) == ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.5", "10.0.0.6"]
    (six,) = sets([{"subnet": "fd00::/126"}])
    assert order(six) == ["fd00::2"]


def test_the_search_goes_on_behind_the_latest_and_round() -> None:
    """Through every range of the set, each address once."""
    (ranges,) = sets(
        [
            {"subnet": "10.0.0.0/24", "rangeStart": "10.0.0.5", "rangeEnd": "10.0.0.7"},
            {"subnet": "10.0.1.0/24", "rangeStart": "10.0.1.5", "rangeEnd": "10.0.1.6"},
        ]
    )
    assert order(ranges, "10.0.0.6") == ["10.0.0.7", "10.0.1.5", "10.0.1.6", "10.0.0.5", "10.0.0.6"]
    assert order(ranges, "10.0.1.6")[0] == "10.0.0.5"
    assert order(ranges, "10.9.9.9")[0] == "10.0.0.5"
    assert ranges.find(4, address("10.0.1.5")[1]).cidr(address("10.0.1.5")[1]) == "10.0.1.5/24"
    assert ranges.find(4, address("10.0.1.9")[1]) is None


def test_what_is_free_is_counted_without_a_walk() -> None:
    """A /64 has more addresses than anybody can count."""
    (six,) = sets([{"subnet": "fd00::/64"}])
    assert six.free(set()) == 2**64 - 3
    (four,) = sets([{"subnet": "10.0.0.0/29"}])
    assert four.free({address("10.0.0.2"), address("10.0.0.1"), address("10.9.0.1")}) == 4
