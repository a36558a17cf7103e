"""Members of one plugin object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., Any]


def one(**members: Any) -> dict[str, Any]:
    """A list of one plugin with these members."""
    plugin = {"type": "t", **members}
    return {"cniVersion": "1.1.0", "name": "n", "plugins": [plugin]}


@pytest.mark.parametrize("key", ["runtimeConfig", "args", "prevResult", "cni.dev/x"])
def test_a_reserved_member_is_an_error_at_its_name(judged: Judged, key: str) -> None:
    """Runtimes overwrite it, drop it or forward it: nobody can tell which."""
    (finding,) = judged(one(**{key: {}}))
    assert (finding.id, finding.severity) == ("CNI-CFG-018", "error")
    assert finding.column == 64


@pytest.mark.parametrize("server", ["10.0.0.10", "fd00::a", "::1"])
def test_addresses_are_nameservers(judged: Judged, server: str) -> None:
    """Of both families."""
    assert judged(one(dns={"nameservers": [server], "domain": "example.org"})) == []


@pytest.mark.parametrize(
    "dns",
    [
        {"nameservers": ["example.org"]},
        {"nameservers": ["10.0.0.1/8"]},
        {"nameservers": "10.0.0.1"},
        {"search": [1]},
        {"options": {"ndots": 5}},
        {"domain": 1},
        [],
    ],
)
@pytest.mark.parametrize("place", ["plugin", "ipam"])
def test_wrong_dns_is_an_error_wherever_it_stands(judged: Judged, dns: Any, place: str) -> None:
    """The static plugin reads it from ipam, the others from the plugin."""
    document = one(dns=dns) if place == "plugin" else one(ipam={"type": "static", "dns": dns})
    assert {finding.id for finding in judged(document)} == {"CNI-CFG-027"}


def test_an_empty_ipam_is_only_worth_knowing(judged: Judged) -> None:
    """Widespread, and the same as none."""
    (finding,) = judged(one(ipam={}))
    assert (finding.id, finding.severity) == ("CNI-CFG-022", "info")


@pytest.mark.parametrize(
    ("type", "severity"), [("bridge", "error"), ("macvlan", "error"), ("cilium-cni", "warning")]
)
def test_an_ipam_without_type_is_wrong_where_the_plugin_runs_another(
    judged: Judged, type: str, severity: str
) -> None:
    """Others have settings there for addresses that they give themselves."""
    (finding,) = judged(one(type=type, ipam={"pre-allocate": 1}))
    assert (finding.id, finding.severity) == ("CNI-CFG-022", severity)


@pytest.mark.parametrize("value", ["true", 1, None])
def test_ip_masq_is_a_boolean(judged: Judged, value: Any) -> None:
    """Go plugins refuse the whole document otherwise."""
    (finding,) = judged(one(ipMasq=value))
    assert (finding.id, finding.severity) == ("CNI-CFG-028", "error")


def test_a_list_without_plugins_and_without_a_folder_is_an_error(judged: Judged) -> None:
    """Nothing would ever be run."""
    (finding,) = judged({"cniVersion": "1.1.0", "name": "n"})
    assert (finding.id, finding.severity) == ("CNI-CFG-011", "error")
