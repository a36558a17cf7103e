"""DEL when the namespace is gone: after a reboot, after a crash, after another's clean-up."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import attrs

from conformance.cni.needs import SERVED, V0_4, V1_1
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.delegates import Delegate
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.execute import Outcome
from refimpl.cni.host import tree


@attrs.frozen
class _Attachment:
    """A pod that was ADDed where that is possible here, and how its release is seen."""

    plugin: PluginUnderTest
    pod: CniAttachment
    before: frozenset[str]
    ipam: Delegate | None

    def released(self, outcome: Outcome, how: str) -> None:
        """Raises Broken unless DEL succeeded and the address was given back, as far as the plugin
        has to do with addresses."""
        with together() as check:
            with check:
                succeeded(outcome, f"DEL with {how} succeeds")
            if not self.plugin.attaches:
                return  # nothing was added: there is no need to ask IPAM about it
            with check:
                if self.ipam:
                    expect(
                        self.ipam.calls("DEL"),
                        f"DEL with {how} asks IPAM to release the address",
                        wanted="DEL of the IPAM plugin",
                        got=[each.verb for each in self.ipam.calls()],
                    )
                elif self.plugin.kind == "ipam":
                    kept = sorted(_store(self.plugin) - self.before)
                    expect(
                        not kept,
                        f"DEL with {how} releases the address",
                        wanted="no entry",
                        got=kept,
                    )


def _store(plugin: PluginUnderTest) -> frozenset[str]:
    """The files of an IPAM plugin that keeps its addresses in ipam.dataDir."""
    return frozenset(tree(plugin.data_dir))


def _attachment(plugin: PluginUnderTest, number: int = 0) -> _Attachment:
    ipam = None
    if plugin.subject.delegates:
        ipam = Delegate(plugin, place=f"delegates-{number}")
    pod = plugin.pod()
    pod.config = ipam.config() if ipam else plugin.config()
    if plugin.kind == "ipam":  # lock and folders of the store stay
        plugin.added(pod, pod.config)
        plugin.delete(pod)
    before = _store(plugin)
    if plugin.attaches:
        plugin.added(pod, pod.config)
    return _Attachment(plugin, pod, before, ipam)


@case("CNI-PLG-073", "CNI 1.1 DEL", needs=[SERVED, V0_4])
def test_delete_releases_the_address_without_a_namespace(plugin: PluginUnderTest) -> None:
    """Runtimes forget the path once the namespace is gone; the address has to be free again, or
    the pool runs dry.
    """
    with together() as check:
        for number, (how, netns) in enumerate(
            {"an empty CNI_NETNS": "", "no CNI_NETNS": None}.items()
        ):
            attachment = _attachment(plugin, number)
            request = plugin.request("DEL", attachment.pod, attachment.pod.config)
            with check:
                attachment.released(plugin.run(request.with_env(CNI_NETNS=netns)), how)


@case("CNI-PLG-074", "CNI 1.1 DEL", needs=[SERVED, V0_4])
def test_delete_releases_the_address_when_the_path_is_missing(plugin: PluginUnderTest) -> None:
    """After a reboot every path of the runtime's records leads nowhere."""
    attachment = _attachment(plugin)
    pod, how = attachment.pod, "a CNI_NETNS that is not there"
    if plugin.has_host:
        plugin.host.remove_netns(pod.netns)
    outcome = plugin.delete(pod)
    exists = os.path.lexists(pod.netns)
    if exists:
        plugin.scope.callback(lambda: os.unlink(pod.netns))
    with together() as check:
        with check:
            attachment.released(outcome, how)
        with check:
            expect(
                not exists,
                f"DEL with {how} makes none",
                wanted="no file",
                got=f"a file at {pod.netns}",
            )


@case("CNI-PLG-075", "CNI 1.1 DEL", needs=[SERVED, V1_1])
def test_delete_releases_the_address_when_the_path_is_no_namespace(plugin: PluginUnderTest) -> None:
    """A file without its mount is what a crash leaves of a named namespace."""
    placed: dict[str, Callable[[Path], object]] = {
        "a plain file at CNI_NETNS": Path.touch,
        "a dangling symlink at CNI_NETNS": lambda path: path.symlink_to(f"{path}-gone"),
    }
    with together() as check:
        for number, (how, place) in enumerate(placed.items()):
            attachment = _attachment(plugin, number)
            path = Path(attachment.pod.netns)
            if plugin.has_host:
                plugin.host.remove_netns(str(path))
            place(path)
            plugin.scope.callback(lambda path=path: path.unlink(missing_ok=True))  # type: ignore[misc]
            with check:
                attachment.released(plugin.delete(attachment.pod), how)
