"""Member names in another letter case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., Any]
ROW = "CNI-CFG-037"


def network(**members: Any) -> dict[str, Any]:
    """A list of one plugin with members added."""
    return {"cniVersion": "1.1.0", "name": "n", "plugins": [{"type": "bridge", **members}]}


@pytest.mark.parametrize(
    ("document", "written", "right"),
    [
        ({**network(), "CNIVersion": "1.0.0"}, "CNIVersion", "cniVersion"),
        ({**network(), "disablecheck": True}, "disablecheck", "disableCheck"),
        (network(IPAM={"type": "x"}), "IPAM", "ipam"),
        (network(ipmasq=True), "ipmasq", "ipMasq"),
        (network(isgateway=True), "isgateway", "isGateway"),
        (network(ipam={"type": "host-local", "Subnet": "10.1.0.0/16"}), "Subnet", "subnet"),
        (network(ipam={"type": "host-local", "datadir": "/x"}), "datadir", "dataDir"),
        (network(ipam={"type": "x", "routes": [{"dst": "::/0", "GW": "::1"}]}), "GW", "gw"),
        (network(dns={"NameServers": []}), "NameServers", "nameservers"),
        (network(runtimeConfig={"portMappings": [{"hostport": 1}]}), "hostport", "hostPort"),
        (network(runtimeConfig={"bandwidth": {"IngressRate": 1}}), "IngressRate", "ingressRate"),
        (network(runtimeConfig={"ipRanges": [[{"Subnet": "x"}]]}), "Subnet", "subnet"),
    ],
)
def test_another_letter_case_is_a_warning_at_the_name(
    judged: Judged, document: dict[str, Any], written: str, right: str
) -> None:
    """Plugins in Go never notice, plugins in other languages miss the member."""
    (finding,) = judged(document, only=ROW)
    assert finding.severity == "warning"
    assert f'"{written}"' in finding.message
    assert right in finding.message


def test_both_spellings_at_once_are_told(judged: Judged) -> None:
    """Which of them counts depends on the reader."""
    (finding,) = judged({**network(), "Name": "m"}, only=ROW)
    assert "one member" in finding.message


def test_members_of_vendors_are_their_own(judged: Judged) -> None:
    """Nobody knows how they are to be written."""
    assert judged(network(acme={"Type": 1, "DNS": 2}, MyOption=1)) == []
