"""What Register checks before it dials."""

from __future__ import annotations

import pytest

from refimpl.deviceplugin import names
from refimpl.wire.status import Code, Refused


@pytest.mark.parametrize(
    "name",
    [
        "a/b",
        "smarter-devices/net_tun",
        "x.io/GPU.v1",
        "x.io/" + "n" * 63,
        "d" * 243 + "/n",
        "d" * 244 + "/n",
        "requests/x",
    ],
)
def test_names_of_extended_resources_pass(name: str) -> None:
    """DP-KUB-004: up to 63 characters behind, up to 244 in front of the slash."""
    names.check_registration("v1beta1", name)
    assert names.is_extended_resource(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "cpu",
        "foo",
        "kubernetes.io/x",
        "a.kubernetes.io/x",
        "requests.x/y",
        "-a/b",
        "A.b/c",
        "a/b/c",
        "a/" + "n" * 64,
        "d" * 245 + "/n",
        "a..b/c",
        "a/",
        "/b",
        "a/-b",
        "a/b\n",
        "a/ä",
    ],
)
def test_other_names_are_refused_with_a_reason(name: str) -> None:
    """DP-KUB-003: the answer names what was sent."""
    with pytest.raises(Refused, match="send vendor-domain/name") as refused:
        names.check_registration("v1beta1", name)
    assert refused.value.code == Code.UNKNOWN
    assert ascii(name) in refused.value.message
    assert not names.is_extended_resource(name)


@pytest.mark.parametrize("version", ["v1alpha1", "", "V1beta1"])
def test_other_versions_are_refused_before_the_name_is_read(version: str) -> None:
    """DP-KUB-002: the text names both versions."""
    with pytest.raises(Refused, match=r"supports v1beta1") as refused:
        names.check_registration(version, "cpu")
    assert ascii(version) in refused.value.message


def test_one_supported_version_of_several_is_enough() -> None:
    """A watched plugin names all it speaks."""
    names.check_versions(["v2", "v1beta1"])
    with pytest.raises(Refused, match="'v2', 'v3' is not"):
        names.check_versions(["v2", "v3"])
    with pytest.raises(Refused, match="none is not"):
        names.check_versions([])


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [
        ("x.sock", "/k/device-plugins/x.sock"),
        ("", "/k/device-plugins"),
        ("../x.sock", "/k/x.sock"),
        ("sub/x.sock", "/k/device-plugins/sub/x.sock"),
        ("/tmp/x.sock", "/k/device-plugins/tmp/x.sock"),
    ],
)
def test_an_endpoint_is_joined_and_not_checked(endpoint: str, path: str) -> None:
    """DP-KUB-006: wherever it leads, it is dialled."""
    assert names.socket_path("/k/device-plugins/", endpoint) == path
