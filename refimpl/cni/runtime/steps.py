"""A verb over all plugins of a list: requests made, answers read, results handed on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from refimpl.cni import config
from refimpl.cni.config import ConfigError, NetworkList, PluginConf
from refimpl.cni.contract import ConversionError, ShapeError, Verb, at_least
from refimpl.cni.execute import Request
from refimpl.cni.runtime import answers, goresult, namespaces, requests
from refimpl.cni.runtime.attachment import NOBODY, Attachment
from refimpl.cni.runtime.cache import CacheError, Kept, Store
from refimpl.cni.runtime.calls import Calls
from refimpl.cni.runtime.chains import walk
from refimpl.cni.runtime.gojson import as_map, marshal
from refimpl.cni.runtime.trouble import NotAttached, PluginUnusable

__all__ = ["Job", "Steps"]


@attrs.frozen
class Job:
    """What a verb is about. version: as plugins are told; final: the result that ADD ended with."""

    network: NetworkList
    version: str
    attachment: Attachment = NOBODY
    final: Mapping[str, Any] | None = None


class Steps:
    """Goes through network lists as one profile does. What it needs to know is in the `Job`."""

    def __init__(self, calls: Calls, store: Store) -> None:
        self.calls, self.store = calls, store
        self.profile = calls.profile

    def version_of(self, network: NetworkList) -> str:
        """The version plugins are told; raises ConfigError where none is supported."""
        future = self.profile.policy.future_version
        return requests.version_of(self.profile.requests, network, future=future)

    def add(self, job: Job) -> dict[str, Any]:
        """ADD through the list; the last plugin's document. Raises the first error."""
        result: dict[str, Any] | None = None

        def step(plugin: PluginConf) -> None:
            nonlocal result
            result = self._ask(job, plugin, Verb.ADD, prev_result=result)

        walk(Verb.ADD, job.network.plugins, step)
        if result is None:
            raise ConfigError(f'network "{job.network.name}" has no plugins; add at least one')
        return result

    def delete(self, job: Job, *, after_failed_add: bool = False) -> None:
        """DEL through the list in reverse; raises the first error, the rest is not called."""
        # A plugin that could not be started for ADD either has nothing to take back.
        skips = after_failed_add and self.profile.policy.skip_unrun
        self._walk(job, Verb.DEL, skip=(PluginUnusable,) if skips else ())

    def check(self, job: Job) -> None:
        """CHECK through the list; raises the first error."""
        self._walk(job, Verb.CHECK)

    def status(self, job: Job) -> None:
        """STATUS through the list; raises the first error."""
        self._walk(job, Verb.STATUS)

    def collect(self, job: Job, valid: Iterable[tuple[str, str]] | None) -> list[Exception]:
        """GC through the list; the errors of all plugins."""
        return self._walk(job, Verb.GC, valid=None if valid is None else list(valid))

    def _walk(
        self,
        job: Job,
        verb: Verb,
        *,
        skip: tuple[type[Exception], ...] = (),
        valid: list[tuple[str, str]] | None = None,
    ) -> list[Exception]:
        def step(plugin: PluginConf) -> None:
            self._ask(job, plugin, verb, prev_result=job.final, valid=valid)

        return walk(verb, job.network.plugins, step, skip=skip)

    def _ask(
        self,
        job: Job,
        plugin: PluginConf,
        verb: Verb,
        *,
        prev_result: Mapping[str, Any] | None,
        valid: list[tuple[str, str]] | None = None,
    ) -> dict[str, Any] | None:
        """One call of one plugin; its result document for ADD."""
        rules = self.profile.requests
        program = self.calls.find(plugin.type, verb)
        about = job.attachment
        stdin = requests.document(
            rules,
            job.network,
            plugin,
            verb,
            version=job.version,
            prev_result=prev_result,
            capability_args=about.capability_args,
            valid=valid,
        )
        env = requests.environment(rules, verb, self.calls.path, self.calls.ambient, about)
        outcome = self.calls.run(program, verb, Request(verb, env, stdin))
        if verb is Verb.ADD:
            return answers.read_result(self.profile.answers, program, verb, outcome, job.version)
        answers.read_nothing(self.profile.answers, program, verb, outcome)
        return None

    def kept(self, job: Job, result: dict[str, Any] | None) -> Kept:
        """What is remembered of a job: the whole list, so that DEL can be made from it alone."""
        network = job.network
        inlined = len(network.raw.get("plugins", ()))
        if self.profile.requests.document == "go":
            data = _go_bytes(network) if network.single else network.bytes
        else:
            data = network.bytes if inlined == len(network.plugins) else config.dump(network)
        return Kept(network.name, job.attachment, data, result)

    def recall(self, network: NetworkList, attachment: Attachment, verb: Verb, later: str) -> Job:
        """The job of DEL or CHECK from what ADD left, `later` saying whose parameters count.

        DEL goes on, and forgets, where the kept file cannot be read; CHECK raises CacheError then.
        """
        try:
            kept = self.store.read(network.name, attachment)
            job = self._recalled(network, attachment, kept, later)
        except (CacheError, ShapeError, ConversionError, NotAttached) as error:
            if verb is not Verb.DEL:
                if isinstance(error, CacheError):
                    raise
                raise CacheError(f"kept result of {network.name} {attachment}: {error}") from error
            self.store.remove(network.name, attachment)
            job = Job(network, self.version_of(network), attachment)
        if verb is Verb.DEL and self.profile.policy.check_netns:
            return attrs.evolve(job, attachment=_without_gone(job.attachment))
        return job

    def _recalled(
        self, network: NetworkList, attachment: Attachment, kept: Kept | None, later: str
    ) -> Job:
        if kept and later == "cached":
            network = self._network_of(kept) or network
            attachment = attrs.evolve(
                attachment,
                netns=attachment.netns or kept.attachment.netns,
                args=kept.attachment.args,
                capability_args=kept.attachment.capability_args,
            )
        version = self.version_of(network)
        # DEL has had a prevResult since 0.4.0, CHECK has always been there since.
        takes = kept is not None and at_least(version, "0.4.0")
        return Job(network, version, attachment, self._final(kept, version) if takes else None)

    def _network_of(self, kept: Kept) -> NetworkList | None:
        """The network as it was at ADD, None where the kept document cannot be read."""
        try:
            network = config.parse(kept.config)
        except ConfigError:
            return None
        return network if network.plugins and network.name == kept.network else None

    def _final(self, kept: Kept | None, version: str) -> Mapping[str, Any] | None:
        """The kept result in the version of the network, None where there is none."""
        result = kept.result if kept else None
        if self.profile.answers.reader == "exact":
            return None if result is None else answers.in_version(result, version)
        held = goresult.decode(result or {}, str((result or {}).get("cniVersion", "")))
        return answers.go_in_version(held, version)


def _go_bytes(network: NetworkList) -> bytes:
    """The list that libcni makes of a single plugin's document."""
    return marshal(
        {
            "name": network.name,
            "cniVersion": network.raw.get("cniVersion", ""),
            "plugins": [as_map(plugin.raw) for plugin in network.plugins],
        }
    )


def _without_gone(attachment: Attachment) -> Attachment:
    # CNI 1.1 DEL: no CNI_NETNS says that the namespace is gone.
    if namespaces.usable(attachment.netns):
        return attachment
    return attrs.evolve(attachment, netns="")
