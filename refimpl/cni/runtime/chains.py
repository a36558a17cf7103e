"""In which order a verb goes through the plugins of a list, and what an error does to the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import attrs

from refimpl.cni.config import PluginConf
from refimpl.cni.contract import CniError, Verb
from refimpl.cni.runtime.trouble import Trouble

__all__ = ["CHAINS", "Chain", "walk"]


@attrs.frozen
class Chain:
    """reverse: from the last plugin to the first. halts: at the first error; else errors are
    gathered. hands: the prevResult a plugin gets: of the plugin before it, the final one, none.
    """

    reverse: bool
    halts: bool
    hands: Literal["previous", "final", "none"]


# CNI 1.1 section 3, "Lifecycle and ordering", and the paragraphs on each verb.
CHAINS: Mapping[Verb, Chain] = {
    Verb.ADD: Chain(reverse=False, halts=True, hands="previous"),
    Verb.DEL: Chain(reverse=True, halts=True, hands="final"),
    Verb.CHECK: Chain(reverse=False, halts=True, hands="final"),
    Verb.STATUS: Chain(reverse=False, halts=True, hands="none"),
    Verb.GC: Chain(reverse=False, halts=False, hands="none"),
}


def walk(
    verb: Verb,
    plugins: Sequence[PluginConf],
    step: Callable[[PluginConf], None],
    *,
    skip: tuple[type[Exception], ...] = (),
) -> list[Exception]:
    """Takes the step for each plugin in the verb's order; the errors it went on after.

    Raises the first error where the chain halts at it. `skip`: errors that are passed over.
    """
    chain = CHAINS[verb]
    errors: list[Exception] = []
    for plugin in reversed(plugins) if chain.reverse else plugins:
        try:
            step(plugin)
        except (CniError, Trouble) as error:
            if isinstance(error, skip):
                continue
            if chain.halts:
                raise
            errors.append(error)
    return errors
