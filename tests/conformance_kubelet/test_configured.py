"""Cases that want the client configured otherwise, and what others find after them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.engine.options import BadOption
from conformance.engine.scope import CaseScope
from conformance.kubelet.ours import OurKubelet
from conformance.kubelet.target import ClientTarget
from refimpl.node.choices import KubeletChoices
from refimpl.wire.journal import Journal
from tests.targets import resolved

SPREAD = KubeletChoices(policy="best-effort", nodes={0: (10, 20), 1: (20, 10)})
REFUSED = KubeletChoices(policy="restricted", nodes=dict.fromkeys(range(9), (10,) * 9))


@pytest.fixture
def client() -> OurKubelet:
    return OurKubelet()


@pytest.fixture
def target(client: OurKubelet) -> Iterator[ClientTarget]:
    target = ClientTarget(client, resolved("deviceplugin", side="client"), Journal(), quiet_s=0.1)
    yield target
    target.close()


@pytest.fixture
def case() -> CaseScope:
    """Closed at the end of each case, as the judge does it."""
    return CaseScope()


def test_cases_that_choose_alike_share_one_running_client(
    client: OurKubelet, target: ClientTarget, case: CaseScope
) -> None:
    """A real one takes seconds to start."""
    for _ in range(3):
        node = target.node(case)
        node.configured(SPREAD)
        assert node.client is client
        case.close()
    assert client.kubelet.starts == 2


def test_the_next_case_finds_the_client_as_it_comes(
    client: OurKubelet, target: ClientTarget, case: CaseScope
) -> None:
    """It is started again when the case first uses it."""
    first = target.node(case)
    first.configured(SPREAD)
    case.close()
    second = target.node(case)
    assert (client.kubelet.starts, second.choices) == (2, SPREAD)
    plugin = second.joined("a")
    assert (client.kubelet.starts, second.choices) == (3, KubeletChoices())
    assert second.podresources.allocatable(plugin.resource) == {"a"}
    case.close()


def test_what_a_case_can_do_is_known_without_a_start(
    client: OurKubelet, target: ClientTarget, case: CaseScope
) -> None:
    """A case asks before it chooses."""
    first = target.node(case)
    first.configured(SPREAD)
    case.close()
    second = target.node(case)
    assert "numa" in second.able
    assert str(second.revision) == "kubernetes-1.37"
    assert client.kubelet.starts == 2


def test_pods_and_plugins_go_with_the_configuration(target: ClientTarget, case: CaseScope) -> None:
    """A kubelet would judge the pods by its new policy when it starts."""
    node = target.node(case)
    plugin = node.joined("a")
    pod = node.pods.running(limits={plugin.resource: 1})
    node.configured(SPREAD)
    assert not plugin.serving
    assert node.client.state(pod.uid) is None
    case.close()


def test_a_configuration_that_is_refused_is_forgotten(
    client: OurKubelet, target: ClientTarget, case: CaseScope
) -> None:
    """The next case has a client that runs."""
    node = target.node(case)
    with pytest.raises(BadOption, match="9 NUMA nodes are more than 8"):
        node.configured(REFUSED)
    assert not client.running()
    case.close()
    again = target.node(case)
    again.pods.running(again.pods.run())
    assert again.choices == KubeletChoices()
    case.close()
