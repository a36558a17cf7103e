"""conformance.cni.plugins.delegates: the recorder in the place of a configured IPAM plugin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.cni.cases.plugins.test_interface_delete import test_delete_undoes_an_add as _a_case
from conformance.cni.plugins.delegates import Delegate
from conformance.cni.plugins.plugin import PluginUnderTest
from tests.conformance_cni.conftest import as_a_case_gets_it


@pytest.fixture
def plugin() -> Iterator[PluginUnderTest]:
    """The fake interface plugin, as a case gets it."""
    yield from as_a_case_gets_it(_a_case)


def test_it_notes_calls_and_passes_them_on(plugin: PluginUnderTest) -> None:
    """The address is one of the configured ranges; what it notes changes no state."""
    ipam, pod = Delegate(plugin), plugin.pod()
    result = plugin.added(pod, ipam.config())
    assert result["ips"][0]["address"].startswith("10.88.0.")
    before = plugin.state()
    plugin.checked(pod)
    assert before.difference(plugin.state()) == []
    plugin.deleted(pod)
    assert [each.verb for each in ipam.calls()] == ["ADD", "CHECK", "DEL"]
    assert ipam.calls("ADD")[0].document["ipam"]["type"] == ipam.name
    assert ipam.calls("DEL")[0].env["CNI_CONTAINERID"] == pod.container_id


def test_it_answers_as_told_until_told_otherwise(plugin: PluginUnderTest) -> None:
    """A verb that is left out is passed on again."""
    ipam, pod = Delegate(plugin, {"ADD": {"error": {"code": 111, "msg": "no"}}}), plugin.pod()
    refused = plugin.add(pod, ipam.config()).error
    assert refused is not None
    assert refused.code == 111
    ipam.answer()
    plugin.added(pod, ipam.config())


def test_a_fault_takes_a_process(plugin: PluginUnderTest) -> None:
    """A delegate that hangs is no function of this process."""
    ipam = Delegate(plugin, faults=[{"verb": "ADD", "do": "hang", "seconds": 0.01}])
    plugin.added(plugin.pod(), ipam.config())
    assert [each.status for each in ipam.calls()] == [0]


def test_one_that_is_not_searched_is_not_found(plugin: PluginUnderTest) -> None:
    """Cases about CNI_PATH put it there themselves."""
    ipam = Delegate(plugin, searched=False)
    assert not plugin.add(plugin.pod(), ipam.config()).ok
    assert ipam.calls() == []
