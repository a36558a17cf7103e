"""The calling side of the contract: ADD, DEL, CHECK, STATUS, GC and VERSION over network lists.

What a runtime may decide differently stands in `profiles`, the order of plugins in `chains`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from refimpl.cni.config import NetworkList
from refimpl.cni.contract import SINCE, CniError, Result, Verb, at_least
from refimpl.cni.execute import Executor, Log, Processes
from refimpl.cni.runtime import answers, namespaces, versions
from refimpl.cni.runtime.attachment import Attachment, check_names
from refimpl.cni.runtime.cache import DEFAULT, CacheError, Kept, Store
from refimpl.cni.runtime.calls import Calls, Observer
from refimpl.cni.runtime.locks import Locks
from refimpl.cni.runtime.profiles import Profile, profile
from refimpl.cni.runtime.steps import Job, Steps
from refimpl.cni.runtime.trouble import NotAttached, Refusal, Trouble

__all__ = ["Runtime"]


class Runtime:
    """What calls plugins: strict by the specification, or as one of the known runtimes does.

    bin_dirs: where plugins are looked for. cache_dir: libcni's, also read and written by it.
    environ: the runtime's own environment. pause: how it waits for a plugin that is being written.
    Errors: CniError (PluginFailed: what a plugin answered), Trouble (PluginMissing, PluginUnusable,
    BadAnswer, NotAttached, Refusal), ConfigError, CacheError, ValueError for unusable names.
    """

    def __init__(
        self,
        bin_dirs: Sequence[str | Path],
        cache_dir: str | Path = DEFAULT,
        *,
        profile: str | Profile = "strict",
        executor: Executor | None = None,
        observers: Sequence[Observer] = (),
        environ: Mapping[str, str] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.profile = _named(profile)
        self.calls = Calls(
            bin_dirs,
            self.profile,
            executor or Processes(),
            observers=observers,
            environ=environ,
            pause=pause,
        )
        self._store = Store(Path(cache_dir), self.profile)
        self._steps = Steps(self.calls, self._store)
        self._locks = Locks(Path(cache_dir), wanted=self.profile.policy.one_at_a_time)

    @property
    def log(self) -> Log:
        """Every exec there was."""
        return self.calls.log

    @property
    def kept(self) -> list[Kept]:
        """Every attachment that is remembered; raises OSError."""
        return list(self._store)

    def version(self, plugin: str) -> tuple[str, ...]:
        """The versions that the plugin says it supports."""
        return tuple(versions.probe(self.calls, plugin))

    def add(
        self, network: NetworkList, attachment: Attachment, *, clean: bool | None = None
    ) -> Result:
        """Attaches; the final result. After an error, DEL of the whole list has been tried where
        the profile (or `clean`) says so; where that failed, too, `delete` can repeat it.
        """
        check_names(network.name, attachment)
        job = Job(network, self._steps.version_of(network), attachment)
        with self._locks.container(attachment.container_id):
            self._refuse_add(job)
            if self.profile.cache.begin:
                self._store.write(self._steps.kept(job, None))
            try:
                document = self._steps.add(job)
                self._store.write(self._steps.kept(job, document))
            except (CniError, Trouble, OSError) as error:
                if self.profile.policy.clean if clean is None else clean:
                    self._clean(job, error)
                raise
        return answers.as_result(document)

    def _refuse_add(self, job: Job) -> None:
        """Raises Refusal where ADD must not be called."""
        about, policy = job.attachment, self.profile.policy
        if policy.check_netns:
            _check_netns(about)
        if policy.again == "refuse" and self._attached(job):
            # CNI 1.1 ADD: not twice for one interface without DEL between.
            what = f"network {job.network.name} has {about} already; delete it first"
            raise Refusal("", Verb.ADD, what)

    def _attached(self, job: Job) -> bool:
        try:
            return self._store.read(job.network.name, job.attachment) is not None
        except CacheError:
            return True

    def _clean(self, job: Job, cause: Exception) -> None:
        """DEL of the list after a failed ADD; what fails is a note to the cause."""
        try:
            self._steps.delete(job, after_failed_add=True)
        except (CniError, Trouble) as error:
            cause.add_note(f"the DEL that followed failed, too, and has to be repeated: {error}")
        else:
            self._store.remove(job.network.name, job.attachment)

    def delete(self, network: NetworkList, attachment: Attachment) -> None:
        """Detaches. What is kept is forgotten when all plugins succeeded, so that a failed DEL can
        be repeated; nothing kept is no error, the plugins are asked all the same.
        """
        self._check_names(network, attachment)
        with self._locks.container(attachment.container_id):
            self._delete(network, attachment, self.profile.cache.later)

    def _delete(self, network: NetworkList, attachment: Attachment, later: str) -> None:
        job = self._steps.recall(network, attachment, Verb.DEL, later)
        self._steps.delete(job)
        self._store.remove(network.name, attachment)

    def check(self, network: NetworkList, attachment: Attachment) -> str:
        """Asks whether the attachment is still in order; why the plugins were not asked, or ""."""
        self._check_names(network, attachment)
        reason = self._no_check(network)
        if reason:
            return reason
        with self._locks.container(attachment.container_id):
            later = self.profile.cache.later
            job = self._steps.recall(network, attachment, Verb.CHECK, later)
            reason = self._no_check(job.network)
            if not reason and job.final is None and self.profile.cache.needed_by_check:
                what = f"network {network.name} keeps no result of {attachment}; add it first"
                raise NotAttached("", Verb.CHECK, what)
            if not reason:
                self._steps.check(job)
        return reason

    def _no_check(self, network: NetworkList) -> str:
        reason = self.unasked(network, Verb.CHECK)
        if reason and self.profile.policy.old_check == "error":
            raise Refusal("", Verb.CHECK, reason)
        return reason or ("disableCheck is true" if network.disable_check else "")

    def unasked(self, network: NetworkList, verb: Verb) -> str:
        """Why the network is too old for the verb, or ""; raises ConfigError for no version."""
        version = self._steps.version_of(network)
        since = SINCE[verb]
        return "" if at_least(version, since) else f"version {version} is before {since}"

    def status(self, network: NetworkList) -> str:
        """Asks whether the network takes ADD; why the plugins were not asked, or ""."""
        reason = self.unasked(network, Verb.STATUS)
        if not reason:
            self._steps.status(Job(network, self._steps.version_of(network)))
        return reason

    def gc(self, network: NetworkList, valid: Iterable[tuple[str, str]] | None = None) -> str:
        """Removes what belongs to no valid attachment, given as (container id, interface): DEL of
        kept attachments, then GC of the plugins. Returns why the plugins were not asked, or "".

        All errors come together as one ExceptionGroup. Without `valid`, cnitool's way, everything
        goes; strict refuses that with ValueError.
        """
        if network.disable_gc:
            return "disableGC is true"
        if valid is None and self.profile.policy.gc_without_list == "refuse":
            raise ValueError("gc: give the valid attachments; an empty list removes all others")
        pairs = None if valid is None else list(valid)
        with self._locks.everything():
            stale = self._stale(network, frozenset(pairs or ()))
            if stale is None:
                return "the kept attachments cannot be listed"
            errors = self._delete_stale(network, stale)
            reason = self.unasked(network, Verb.GC)
            if not reason:
                job = Job(network, self._steps.version_of(network))
                errors += self._steps.collect(job, pairs)
        if errors:
            raise ExceptionGroup(f"GC of network {network.name}", errors)
        return reason

    def _stale(self, network: NetworkList, valid: frozenset[tuple[str, str]]) -> list[Kept] | None:
        try:
            kept = self.kept
        except OSError:
            if self.profile.policy.gc_unreadable_cache == "error":
                raise
            return None
        mine = (each for each in kept if each.network == network.name)
        return [each for each in mine if each.attachment.pair not in valid]

    def _delete_stale(self, network: NetworkList, stale: list[Kept]) -> list[Exception]:
        errors: list[Exception] = []
        for each in stale:
            try:
                self._delete(network, each.attachment, self.profile.cache.gc_from)
            except (CniError, Trouble) as error:
                error.add_note(f"while deleting the stale attachment {each.attachment}")
                errors.append(error)
        return errors

    def _check_names(self, network: NetworkList, attachment: Attachment) -> None:
        if self.profile.policy.check_names:
            check_names(network.name, attachment)


def _named(choice: str | Profile) -> Profile:
    return profile(choice)


def _check_netns(attachment: Attachment) -> None:
    """CNI 1.1: the runtime makes the namespace before ADD, and it is not its own."""
    netns = attachment.netns
    if not namespaces.usable(netns):
        raise Refusal("", Verb.ADD, f"namespace {netns!r} of {attachment} is not there; make it")
    if namespaces.is_own(netns):
        raise Refusal("", Verb.ADD, f"namespace {netns} of {attachment} is the runtime's own")
