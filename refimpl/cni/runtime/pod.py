"""The networks of a pod: what containerd and CRI-O do around the contract, and what strict does.

Which of them does what stands in `profiles.Pods`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import attrs

from refimpl.cni import config
from refimpl.cni.config import ConfigError, NetworkList
from refimpl.cni.contract import CniError, Result, Verb
from refimpl.cni.runtime import kubernetes, namespaces
from refimpl.cni.runtime.attachment import Attachment
from refimpl.cni.runtime.cache import Kept
from refimpl.cni.runtime.kubernetes import Pod
from refimpl.cni.runtime.podaddress import addresses_of
from refimpl.cni.runtime.runtime import Runtime
from refimpl.cni.runtime.trouble import BadAnswer, DaemonDies, Trouble

__all__ = ["LOOPBACK", "Attached", "PodNetwork"]

LOOPBACK: Final = config.parse(
    b'{"cniVersion": "0.3.1", "name": "cni-loopback", "plugins": [{"type": "loopback"}]}'
)
"""The network that containerd runs the loopback plugin as."""

_ERRORS: Final = (CniError, Trouble)


@attrs.frozen
class Attached:
    """What a pod got. results: network, interface, result; addresses: of eth0, without prefix."""

    results: tuple[tuple[str, str, Result], ...]
    addresses: tuple[str, ...] = ()


class PodNetwork:
    """Attaches pods to networks in their order: eth0 is of the first.

    loopback: sets `lo` of a namespace up where no plugin does. seed: of the order that a Go map
    gives CNI_ARGS.
    """

    def __init__(
        self,
        runtime: Runtime,
        networks: Sequence[NetworkList],
        *,
        loopback: Callable[[str], None] = namespaces.raise_loopback,
        seed: int | None = None,
    ) -> None:
        self.runtime, self.networks = runtime, tuple(networks)
        self.rules = runtime.profile.pods
        self._loopback = loopback
        self._random = random.Random(seed)

    def attachments(self, pod: Pod) -> list[tuple[NetworkList, Attachment]]:
        """Network and parameters of each ADD for the pod, in order, loopback's included.

        Raises ValueError for a pod whose names or annotations cannot be told to plugins.
        """
        pairs = [
            (network, self._attachment(pod, network, f"eth{index}"))
            for index, network in enumerate(self._wanted(pod))
        ]
        if self.rules.loopback == "exec":
            pairs.insert(0, (LOOPBACK, self._attachment(pod, LOOPBACK, "lo")))
        return pairs

    def _wanted(self, pod: Pod) -> Sequence[NetworkList]:
        """The networks the pod is attached to; raises ValueError for a name that is none."""
        if self.rules.attach == "all":
            return self.networks
        named = {each.name: each for each in self.networks}
        unknown = [name for name in pod.networks if name not in named]
        if unknown:
            known = ", ".join(named)
            raise ValueError(f"pod {pod.name} asks for network {unknown[0]!r}; there are {known}")
        return [named[name] for name in pod.networks] or self.networks[:1]

    def _attachment(self, pod: Pod, network: NetworkList, ifname: str) -> Attachment:
        ambient = self.runtime.calls.ambient
        args = kubernetes.args_of(pod, self.rules, ambient, self._random.shuffle)
        has = kubernetes.capabilities_of(pod, self.rules, network.name)
        return Attachment(pod.id, pod.netns, ifname, args, has)

    def setup(self, pod: Pod) -> Attached:
        """Attaches the pod to every network; after an error everything is taken back first.

        Raises the first error; DaemonDies where the runtime of the profile ends, nothing taken
        back. A note on the error tells of a DEL that failed, too.
        """
        pairs = self.attachments(pod)
        if self.rules.loopback == "netlink":
            self._loopback(pod.netns)
        done: list[tuple[NetworkList, Attachment]] = []
        try:
            return self._attached(pairs, self._add_all(pairs, done))
        except DaemonDies:
            raise
        except _ERRORS as error:
            mine = self.rules.delete == "reverse"
            self._take_back(pod, error, done[::-1] if mine else self._to_delete(pod))
            raise

    def _add_all(
        self,
        pairs: Sequence[tuple[NetworkList, Attachment]],
        done: list[tuple[NetworkList, Attachment]],
    ) -> list[Result]:
        """One result a network, one after the other or all at once; `done` grows by the successes
        of the former."""
        if self.rules.parallel:
            with ThreadPoolExecutor(len(pairs)) as pool:
                started = [pool.submit(self._add, *pair) for pair in pairs]
            return [each.result() for each in started]
        results = []
        for pair in pairs:
            results.append(self._add(*pair))
            done.append(pair)
        return results

    def _add(self, network: NetworkList, attachment: Attachment) -> Result:
        # What takes back here takes all networks back.
        return self.runtime.add(network, attachment, clean=self.rules.delete == "reverse")

    def _take_back(
        self, pod: Pod, cause: Exception, pairs: Sequence[tuple[NetworkList, Attachment]]
    ) -> None:
        try:
            self._delete(pod, pairs)
        except (*_ERRORS, ExceptionGroup) as error:
            again = "nobody repeats it" if self.rules.forget else "it has to be repeated"
            cause.add_note(f"the DEL that followed failed, too ({again}): {error}")

    def _attached(
        self, pairs: Sequence[tuple[NetworkList, Attachment]], results: Sequence[Result]
    ) -> Attached:
        about = tuple(
            (network.name, attachment.ifname, result)
            for (network, attachment), result in zip(pairs, results, strict=True)
        )
        addresses: list[str] = []
        for name, _, result in about:
            addresses += addresses_of(self.rules, name, result)
        if self.rules.need_ip and not addresses:
            raise BadAnswer(pairs[-1][0].name, Verb.ADD, "no address for eth0 in any result")
        return Attached(about, tuple(addresses))

    def teardown(self, pod: Pod) -> None:
        """Detaches the pod from every network. Raises the first error, or all of them as one
        ExceptionGroup where the profile goes on after an error.
        """
        if not namespaces.usable(pod.netns):
            pod = attrs.evolve(pod, netns="")
        self._delete(pod, self._to_delete(pod))

    def _delete(self, pod: Pod, pairs: Sequence[tuple[NetworkList, Attachment]]) -> None:
        errors: list[Exception] = []
        for network, attachment in pairs:
            try:
                self.runtime.delete(network, attachment)
            except _ERRORS as error:
                if self._forgiven(str(error), pod.netns):
                    continue
                if self.rules.on_delete_error == "halt":
                    raise
                errors.append(error)
        if errors:
            raise ExceptionGroup(f"DEL of pod {pod.namespace}/{pod.name}", errors)

    def _to_delete(self, pod: Pod) -> list[tuple[NetworkList, Attachment]]:
        if self.rules.delete == "reverse":
            return self.attachments(pod)[::-1]
        if self.rules.delete == "forward":
            return self.attachments(pod)
        # CRI-O trusts what was kept; with nothing kept it asks the networks it knows.
        return self._kept(pod) or self.attachments(pod)

    def _kept(self, pod: Pod) -> list[tuple[NetworkList, Attachment]]:
        """What is kept of the pod, whether or not its networks are still in the folder."""
        known = {network.name: network for network in self.networks}
        attachments = []
        for each in self.runtime.kept:
            if each.attachment.container_id == pod.id and each.network != LOOPBACK.name:
                network = known.get(each.network) or _network_of(each)
                about = attrs.evolve(each.attachment, netns=pod.netns)
                attachments += [(network, about)] if network else []
        return attachments

    def _forgiven(self, text: str, netns: str) -> bool:
        lost = not netns and "no such file or directory" in text and bool(self.rules.forgive)
        return lost or any(each in text for each in self.rules.forgive)

    def check(self, pod: Pod) -> list[str]:
        """CHECK of every network; a sentence for each not asked. Raises the first error."""
        if not self.rules.check:
            return [f"{self.runtime.profile.name} never calls CHECK"]
        skipped = []
        for network, attachment in self.attachments(pod):
            reason = self.runtime.unasked(network, Verb.CHECK)
            reason = reason or self.runtime.check(network, attachment)
            skipped += [f"{network.name}: {reason}"] if reason else []
        return skipped

    def status(self) -> list[str]:
        """STATUS of the networks that readiness hangs on; a sentence for each that was not asked.

        Raises the first error: then the node's network is not ready.
        """
        if self.rules.status == "never":
            return [f"{self.runtime.profile.name} never calls STATUS"]
        networks = self.networks if self.rules.status == "all" else self.networks[:1]
        reasons = [(network.name, self.runtime.status(network)) for network in networks]
        return [f"{name}: {reason}" for name, reason in reasons if reason]

    def collect(self, pods: Iterable[Pod]) -> list[str]:
        """GC of every network with the attachments of the pods; a sentence for each not asked.

        Raises the ExceptionGroup of the first network with errors.
        """
        if self.rules.gc == "never":
            return [f"{self.runtime.profile.name} never calls GC"]
        valid: dict[str, list[tuple[str, str]]] = {each.name: [] for each in self.networks}
        for pod in pods:
            for network, attachment in self.attachments(pod):
                valid.setdefault(network.name, []).append(attachment.pair)
        reasons = [(each.name, self.runtime.gc(each, valid[each.name])) for each in self.networks]
        return [f"{name}: {reason}" for name, reason in reasons if reason]


def _network_of(kept: Kept) -> NetworkList | None:
    try:
        return config.parse(kept.config)
    except ConfigError:
        return None
