"""STATUS: whether the plugin could serve an ADD."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.cni.needs import DEPENDENT, IPAM, RANGES, V1_1
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.reservations import pool, ranged
from conformance.engine.case import case
from conformance.engine.verdict import expect, should, together
from refimpl.cni.contract import Verb
from refimpl.cni.execute import Outcome

_UNAVAILABLE, _LIMITED = 50, 51
_SOON_S = 1.0


@case("CNI-PLG-103", "CNI 1.1 STATUS", needs=[V1_1])
def test_status_of_a_healthy_plugin_is_success(plugin: PluginUnderTest) -> None:
    """Runtimes ask every few seconds; a node whose network plugin does not answer gets no pod."""
    before = plugin.state()
    outcome = plugin.run(plugin.request(Verb.STATUS), deadline_s=_SOON_S)
    rule = "STATUS without an attachment's variables succeeds at once"
    with together() as check:
        with check:
            succeeded(outcome, rule)
        with check:
            expect(
                not outcome.stdout.strip(),
                f"{rule} and prints nothing",
                wanted="",
                got=outcome.brief(),
            )
        with check:
            changed = before.difference(plugin.state())
            expect(not changed, f"{rule} and changes nothing", wanted="no difference", got=changed)


@case("CNI-PLG-104", "CNI 1.1 STATUS", needs=[DEPENDENT, V1_1])
def test_status_fails_where_what_the_plugin_depends_on_is_down(plugin: PluginUnderTest) -> None:
    """A scheduler sends pods to a node that calls itself ready, and every one of them fails.

    A delegate that cannot be run is a MUST, a store or a daemon that cannot be reached a SHOULD.
    """
    if plugin.subject.delegates:
        config = plugin.config(ipam=plugin.ipam(type="refimpl-missing"))
        outcome = plugin.status(config)
        rule = "STATUS fails where the IPAM plugin is not in CNI_PATH"
        expect(_tells(outcome), rule, wanted="a failure with its error", got=outcome.brief())
        _coded(outcome, rule)
        return
    down = _down(plugin)
    if not down:
        pytest.skip(
            f"nothing that {plugin.name} depends on can be taken down: its store is its own"
        )
    with together() as check:
        for rule, config in down.items():
            outcome = plugin.status(config)
            with check:
                told = _tells(outcome)
                should(told, rule, wanted="a failure with its error", got=outcome.brief())
                _coded(outcome, rule)


def _down(plugin: PluginUnderTest) -> dict[str, dict[str, Any]]:
    """Documents that name what cannot be reached, by the rule."""
    ipams = {}
    if plugin.subject.daemon:
        ipam = plugin.ipam(daemonSocketPath=str(plugin.folder / "nobody.sock"))
        ipams["STATUS fails where nobody listens on ipam.daemonSocketPath"] = ipam
    if plugin.subject.ranged and plugin.settings.data_dir:
        plain = plugin.folder / "a-file"
        plain.touch()
        ipam = plugin.ipam(dataDir=str(plain / "ipam"))
        ipams["STATUS fails where ipam.dataDir cannot be made"] = ipam
    return {rule: plugin.config(ipam=ipam) for rule, ipam in ipams.items()}


def _tells(outcome: Outcome) -> bool:
    return not outcome.ok and outcome.error is not None


def _coded(outcome: Outcome, rule: str) -> None:
    code = outcome.error.code if outcome.error else None
    rule = f"{rule}, with a code of STATUS"
    should(code in (_UNAVAILABLE, _LIMITED), rule, wanted="code 50 or 51", got=outcome.brief())


@case("CNI-PLG-105", "CNI 1.1 STATUS", needs=[IPAM, RANGES, V1_1])
def test_status_fails_where_no_address_is_left(plugin: PluginUnderTest) -> None:
    """The node is full for every pod to come; somebody has to know before they are sent there."""
    config = ranged(plugin, pool(1))
    succeeded(plugin.status(config), "STATUS succeeds where one address is free")
    plugin.added(plugin.pod(), config)
    outcome = plugin.status(config)
    rule = "STATUS fails with code 50 where no address is free"
    code = None if outcome.ok or not outcome.error else outcome.error.code
    expect(code == _UNAVAILABLE, rule, wanted="code 50", got=outcome.brief())
