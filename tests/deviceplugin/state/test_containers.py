"""Answers of plugins in the configuration of a container."""

from __future__ import annotations

from refimpl.deviceplugin.state.containers import merge
from refimpl.deviceplugin.state.models import ContainerResponse, DeviceNode, Mount


def test_the_first_of_two_envs_wins_and_a_different_one_is_reported() -> None:
    """DP-KUB-047: two resources in one container."""
    one = ContainerResponse({"SAME": "1", "OTHER": "1"})
    two = ContainerResponse({"SAME": "1", "OTHER": "2"})
    config, conflicts = merge({}, [one, two])
    assert config["envs"] == [{"key": "SAME", "value": "1"}, {"key": "OTHER", "value": "1"}]
    assert conflicts == ("env OTHER: 2 is dropped for 1",)


def test_a_path_is_mounted_once() -> None:
    """DP-KUB-048: devices and mounts alike; only another path on the host is a conflict."""
    one = ContainerResponse(
        mounts=(Mount("/m", "/h", True),), devices=(DeviceNode("/dev/x", "/dev/x", "r"),)
    )
    two = ContainerResponse(
        mounts=(Mount("/m", "/other"),), devices=(DeviceNode("/dev/x", "/dev/x", "rw"),)
    )
    config, conflicts = merge({}, [one, two])
    assert config["mounts"] == [{"container_path": "/m", "host_path": "/h", "readonly": True}]
    assert config["devices"] == [
        {"container_path": "/dev/x", "host_path": "/dev/x", "permissions": "r"}
    ]
    assert len(conflicts) == 1
    assert conflicts[0].startswith("mount /m: /other is dropped")


def test_the_pods_envs_and_mounts_come_after_the_plugins() -> None:
    """DP-KUB-049: where the last one counts, the pod has its way."""
    config = {"envs": [{"key": "V", "value": "pod"}], "mounts": [{"container_path": "/p"}]}
    answer = ContainerResponse({"V": "plugin"}, (Mount("/m", "/h"),))
    merged, _ = merge(config, [answer])
    assert [env["value"] for env in merged["envs"]] == ["plugin", "pod"]
    assert [mount["container_path"] for mount in merged["mounts"]] == ["/m", "/p"]
    assert config["envs"] == [{"key": "V", "value": "pod"}]


def test_each_cdi_device_is_named_once() -> None:
    """DP-KUB-050; a kubelet before CDI names none."""
    one, two = (ContainerResponse(cdi_devices=names) for names in (("v/c=a", "v/c=b"), ("v/c=a",)))
    assert merge({}, [one, two])[0]["CDI_devices"] == [{"name": "v/c=a"}, {"name": "v/c=b"}]
    assert merge({}, [one], cdi=False)[0]["CDI_devices"] == []


def test_an_annotation_of_kubelet_is_not_overwritten() -> None:
    """DP-KUB-051."""
    answer = ContainerResponse(annotations={"io.kubernetes.container.hash": "x", "v/own": "y"})
    merged, _ = merge({"annotations": {"io.kubernetes.container.hash": "1"}}, [answer])
    assert merged["annotations"] == {"io.kubernetes.container.hash": "1", "v/own": "y"}
