"""CHECK of any plugin: what is asked of it, and that a healthy attachment passes."""

from __future__ import annotations

from conformance.cni.needs import ATTACHES, V0_4
from conformance.cni.plugins.failures import refused
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni import contract
from refimpl.cni.contract import ErrorCode

_TIMES = 5


@case("CNI-PLG-085", "CNI 1.1 CHECK", needs=[V0_4])
def test_check_is_refused_for_versions_before_it(plugin: PluginUnderTest) -> None:
    """CHECK came with 0.4.0; a success would tell a runtime that something was looked at."""
    with together() as check:
        for version in contract.VERSIONS:
            if not contract.at_least(version, "0.4.0"):
                outcome = plugin.check(plugin.pod(), plugin.config(version))
                rule = f"CHECK with cniVersion {version} is refused as incompatible"
                with check:
                    refused(outcome, {ErrorCode.INCOMPATIBLE_VERSION}, rule)


@case("CNI-PLG-086", "CNI 1.1 CHECK", needs=[ATTACHES, V0_4])
def test_check_of_a_fresh_attachment_succeeds_and_changes_nothing(plugin: PluginUnderTest) -> None:
    """Runtimes CHECK on every status of a pod: one false alarm and the pod is restarted. Five times
    here, to find what only the first call forgives.
    """
    pod = plugin.attached()
    before = plugin.state()
    with together() as check:
        with check:
            for number in range(1, _TIMES + 1):
                succeeded(plugin.check(pod), f"CHECK number {number} right after ADD succeeds")
        with check:
            changed = before.difference(plugin.state())
            expect(
                not changed,
                "CHECK changes nothing",
                wanted="no difference",
                got="; ".join(changed),
            )


@case("CNI-PLG-087", "CNI 1.1 CHECK", needs=[ATTACHES, V0_4])
def test_check_without_prev_result_fails(plugin: PluginUnderTest) -> None:
    """There is nothing to compare with; a success would hide that the runtime lost its record."""
    outcome = plugin.check(plugin.attached(), prev_result=None)
    expect(
        not outcome.ok,
        "CHECK without prevResult fails",
        wanted="a failure",
        got=outcome.brief(),
    )
