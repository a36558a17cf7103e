"""What cases read from results and stores of IPAM plugins."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.reservations import Reservations, addresses, failed, pool
from conformance.engine.verdict import Broken
from refimpl.cni.execute import Outcome


@pytest.fixture
def store(tmp_path: Path) -> Reservations:
    """Of a network called blue, in which nothing is yet."""
    plugin = cast("PluginUnderTest", SimpleNamespace(data_dir=tmp_path, network="blue"))
    return Reservations(plugin)


@pytest.mark.parametrize(
    "result",
    [
        {"ips": [{"address": "10.1.0.2/24"}, {"address": "fd00::2/64"}]},
        {"ip4": {"ip": "10.1.0.2/24"}, "ip6": {"ip": "fd00::2/64"}},
    ],
)
def test_addresses_are_read_from_every_shape(result: dict[str, Any]) -> None:
    """They are compared with others, so the prefix length is not among them."""
    assert addresses(result) == ["10.1.0.2", "fd00::2"]


def test_what_is_no_address_stays_as_it_is() -> None:
    """A finding shows what the plugin said."""
    assert addresses({"ips": [{"address": "ten"}, {"address": 10}]}) == ["ten"]


def test_a_pool_has_as_many_addresses_as_asked_for() -> None:
    """Cases exhaust it."""
    assert (pool(2)["rangeStart"], pool(2)["rangeEnd"]) == ("10.88.7.10", "10.88.7.11")


def test_a_store_that_was_never_made_is_empty(store: Reservations) -> None:
    """The first ADD makes it."""
    assert store.owners() == {}
    assert store.internals() == set()


def test_entries_name_their_owners(store: Reservations) -> None:
    """Also those of old versions; the store's own files are apart."""
    store.folder.mkdir()
    store.write("10.88.0.2", "one", "eth0")
    store.write("10.88.0.3", "old")
    (store.folder / "lock").touch()
    assert store.owners() == {"10.88.0.2": ("one", "eth0"), "10.88.0.3": ("old", "")}
    assert store.internals() == {"lock"}


@pytest.mark.parametrize("code", [11, 100, 999])
def test_a_failure_may_have_a_code_of_the_plugins_own(code: int) -> None:
    """Beside those that the case names."""
    failed(_refusal(code), "it fails", 11)


@pytest.mark.parametrize("outcome", [Outcome(0), Outcome(1), Outcome(1, b'{"code": 7}')])
def test_other_ends_break_the_rule(outcome: Outcome) -> None:
    """Success, silence, and codes for something else."""
    with pytest.raises(Broken, match="it fails"):
        failed(outcome, "it fails", 11)


def _refusal(code: int) -> Outcome:
    return Outcome(1, b'{"cniVersion": "1.1.0", "code": %d, "msg": "no"}' % code)
