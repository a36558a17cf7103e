"""What the suites ask of a kubelet, or of a client like it, under test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from refimpl.deviceplugin.kubelet import Capacity
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import PodSpec, PodStatus

__all__ = ["ABILITIES", "DEADLINE_S", "Ability", "Client"]

DEADLINE_S = 20.0
"""For what a client does by itself, in seconds; a case goes on as soon as it is done."""

Ability = Literal[
    "plugins",  # lets plugins register
    "pods",  # runs the pods that it is given
    "capacity",  # tells capacity and allocatable of its node
    "configs",  # shows the CRI ContainerConfig of what it starts
    "clock",  # time can be advanced
    "restart",  # can be ended and started again over the same folder
    "metrics",  # counts, under kubelet's names
    "checkpoint",  # keeps kubelet's checkpoint file in device-plugins
    "numa",  # `KubeletChoices.nodes` can be had
    "gates",  # `KubeletChoices.gates` can be had
    "pod-resources",  # serves pod resources
    "pods-api",  # serves the pods of the node at pods-api/pods-api.sock
    "watcher",  # looks for plugins in plugins_registry
    "topology",  # answers `topology` questions
    "claims",  # knows containers whose resource a DRA claim backs
    "cpus",  # `KubeletChoices.cpu_policy` and `memory_policy` can be static
    "root-dir",  # `KubeletChoices.root` can be had
    "listener",  # `deafen` can be had
]
ABILITIES: frozenset[Ability] = frozenset(Ability.__args__)  # type: ignore[attr-defined]


class Client(Protocol):
    """One client over `folder`, which is /var/lib/kubelet to it: device-plugins, plugins_registry
    and pod-resources lie in it.

    `profile` is the Kubernetes release whose rules hold where releases differ, such as 1.37.
    `quiet_s`: for how long it has to be watched before it is believed to do nothing.
    """

    name: str
    version: str
    profile: str
    quiet_s: float
    folder: Path
    able: frozenset[Ability]

    @property
    def root(self) -> Path:
        """Its --root-dir as it runs now: plugins_registry and pod-resources lie in it."""

    def start(self, choices: KubeletChoices | None = None) -> None:
        """Starts it, as before or with other choices, and waits until plugins can register.

        Raises BadOption for choices that it cannot have, Unreachable with its last words if it
        does not come up.
        """

    def end(self, *, kill: bool = False) -> None:
        """SIGTERM, or SIGKILL; pods go on running. Nothing if it does not run."""

    def running(self) -> bool:
        """Whether it is alive."""

    def fate(self) -> str:
        """Why it ended by itself: exit status and last words; empty if it did not."""

    def silence(self) -> str:
        """Why it answers nothing although it runs; empty where it answers, or nobody can tell."""

    def run(self, pod: PodSpec) -> None:
        """Binds the pod to the node and returns; what becomes of it is in its state. While it does
        not run this may be another spec of a pod that it has admitted."""

    def delete(self, uid: str) -> None:
        """Deletes a pod and waits until it is gone."""

    def forget(self, uid: str) -> None:
        """Takes a pod out of the API while the client does not run: it is an orphan afterwards."""

    def state(self, uid: str) -> PodStatus | None:
        """What is known of a pod; None for one that is gone."""

    def exit(self, uid: str, container: str, status: int = 0) -> None:
        """The process of a container ends; its pod says whether it is started again."""

    def reboot(self) -> None:
        """While it does not run: all containers are gone, and the node has another boot id."""

    def configs(self, uid: str, container: str) -> list[dict[str, Any]]:
        """The CRI ContainerConfig of each start of a container, oldest first, with the field names
        of the protocol; values of variables are text."""

    def node(self) -> Capacity:
        """What the node's status says, renewed within a second or two."""

    def advance(self, seconds: float) -> None:
        """Lets that much time pass."""

    def deafen(self) -> None:
        """Has accept fail at the socket where plugins register."""

    def healthy(self) -> bool:
        """What its health check says."""

    def metrics(self) -> Mapping[str, float]:
        """`name{label="value",…}` -> value of every counter and gauge."""

    def topology(self, question: str, values: Mapping[str, Any]) -> Any:
        """The answer of its topology manager to a question of `refimpl.deviceplugin.topology`."""

    def close(self) -> None:
        """Ends it and everything of it."""
