"""Our library behind our runtime: opened anew with each process, broken by a mutant."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import attrs

from conformance.cni.mutation import RuntimeMutant
from conformance.cni.runtimes.executor import RecorderExecutor
from conformance.cni.runtimes.subject import RuntimeRefusal, describe
from conformance.engine.mutants import Interposed
from refimpl.cni.config import ConfigError
from refimpl.cni.contract import CniError
from refimpl.cni.runtime import CacheError, Profile, Runtime, Trouble
from refimpl.cni.runtime.discovery import find
from refimpl.cni.runtime.pod import PodNetwork

__all__ = ["ERRORS", "Library", "quick", "refusing"]

ERRORS = (CniError, Trouble, ConfigError, CacheError, ExceptionGroup, ValueError, OSError)
"""What the library raises where it says no."""

_SHORT_S = 2.0


class Library:
    """What one process of the runtime holds: nothing but what lies on the disk."""

    def __init__(
        self,
        bin_dirs: Sequence[Path],
        cache_dir: Path,
        profile: Profile,
        mutant: RuntimeMutant | None = None,
    ) -> None:
        self._executor = RecorderExecutor(mutant)
        environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "CNI_FOO": "stray",
            "CNI_ARGS": "STRAY=1",
        }
        runtime = Runtime(
            bin_dirs,
            cache_dir,
            profile=profile,
            executor=self._executor,
            environ=environ,
            pause=lambda _seconds: time.sleep(0.2),
        )
        self._runtime = cast("Runtime", Interposed(runtime, mutant)) if mutant else runtime

    def network(self, conf_dir: Path, loopback: Callable[[str], None]) -> PodNetwork:
        """The networks of the folder as they are now; raises RuntimeRefusal."""
        with refusing():
            folder = find(conf_dir, self._runtime)
        return PodNetwork(self._runtime, folder.networks, loopback=loopback, seed=1)

    @contextlib.contextmanager
    def patience(self, seconds: float) -> Iterator[None]:
        """Ends every exec of this thread when the time is over."""
        self._executor.until.at = time.monotonic() + seconds
        try:
            yield
        finally:
            del self._executor.until.at


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Raises what the library raises as RuntimeRefusal, in its words."""
    try:
        yield
    except ERRORS as error:
        raise RuntimeRefusal(describe(error)) from error


def quick(chosen: Profile) -> Profile:
    """All networks of the folder count, and deadlines are such that a case can see them."""
    deadlines = {
        verb: min(seconds, _SHORT_S) if seconds < 3600 else seconds
        for verb, seconds in chosen.policy.deadlines.items()
    }
    return attrs.evolve(
        chosen,
        policy=attrs.evolve(chosen.policy, deadlines=deadlines),
        pods=attrs.evolve(chosen.pods, networks=0),
    )
