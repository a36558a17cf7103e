"""The addresses of a pod in the results of its networks, and what a wrong index there does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refimpl.cni.contract import Interface, Result, Verb
from refimpl.cni.runtime.choices import Pods
from refimpl.cni.runtime.trouble import BadAnswer, DaemonDies

__all__ = ["DEFAULT", "addresses_of"]

DEFAULT: Final = "eth0"
"""The interface whose addresses are the pod's."""


def addresses_of(rules: Pods, network: str, result: Result) -> list[str]:
    """The addresses that a result gives to eth0, without prefix; one without an index is eth0's.

    Raises BadAnswer or DaemonDies for an index that the runtime of the profile stumbles over.
    """
    return [
        each.address.partition("/")[0]
        for each in result.ips
        if _owner(rules, network, result.interfaces, each.interface) == DEFAULT
    ]


def _owner(rules: Pods, network: str, interfaces: Sequence[Interface], index: int | None) -> str:
    if index is None:
        return DEFAULT
    if 0 <= index < len(interfaces):
        return interfaces[index].name
    if rules.index == "ignore":
        return ""
    what = f"interface index {index} with {len(interfaces)} interfaces"
    if index > len(interfaces):
        raise BadAnswer(network, Verb.ADD, what)
    # The bound is tested with ">", so that these two get through to the list itself.
    raise DaemonDies(network, Verb.ADD, f"{what} ends the daemon; no DEL follows")
