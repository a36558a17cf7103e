"""Pods as the API server sends them, and as the device manager sees them."""

from __future__ import annotations

from refimpl.deviceplugin.state.models import Container, Pod
from refimpl.node.pods import Amounts, Claim, ContainerSpec, PodSpec, device_pod

GPU = "example.com/gpu"


def test_the_device_manager_is_given_extended_resources_alone() -> None:
    """CPUs, memory and claims are the business of others."""
    setup = ContainerSpec("setup", {GPU: 1}, restartable=True, claimed=frozenset({GPU}))
    main = ContainerSpec(limits={GPU: 2}, env={"A": "1"}, amounts=Amounts(1, 64))
    pod = device_pod(PodSpec("p", "u", app=(main,), init=(setup,), pod_level=True))
    assert pod == Pod(
        "u",
        app=(Container("main", {GPU: 2}),),
        init=(Container("setup", {GPU: 1}, restartable=True, claimed=frozenset({GPU})),),
        pod_level=True,
        name="p",
    )


def test_a_manifest_names_what_was_asked_for_and_nothing_else() -> None:
    """A container without resources has none, and so has a pod."""
    claim = Claim("one", "d.example.com", "pool", "gpu-0")
    main = ContainerSpec(limits={GPU: 2}, amounts=Amounts(cpus=1), claims=(claim,))
    manifest = PodSpec("p", "u", app=(main, ContainerSpec("idle"))).manifest("node-1")
    first, second = manifest["spec"]["containers"]
    amounts = {GPU: "2", "cpu": "1"}
    assert first["resources"] == {
        "limits": amounts,
        "requests": amounts,
        "claims": [{"name": "one"}],
    }
    assert "resources" not in second
    assert manifest["spec"]["nodeName"] == "node-1"
    assert manifest["spec"]["resourceClaims"] == [{"name": "one", "resourceClaimName": "one"}]
    assert "resources" not in manifest["spec"]


def test_resources_of_a_pod_as_such_stand_in_its_spec() -> None:
    """Beside those of its containers."""
    pod = PodSpec("p", "u", pod_level=True, amounts=Amounts(cpus=2, memory_mi=128))
    amounts = {"cpu": "2", "memory": "128Mi"}
    resources = pod.manifest("node-1")["spec"]["resources"]
    assert resources == {"limits": amounts, "requests": amounts}
