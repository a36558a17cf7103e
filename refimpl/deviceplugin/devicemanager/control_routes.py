"""Playing the cluster of a fake kubelet over its control socket: pods, restarts, what it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import attrs

from refimpl.deviceplugin.devicemanager.hosting import Hosting
from refimpl.deviceplugin.devicemanager.processes import KubeletProcesses
from refimpl.deviceplugin.state.admission import NotStarted
from refimpl.deviceplugin.state.capacity import Capacity
from refimpl.deviceplugin.state.models import Admission, Container, Device, Pod
from refimpl.wire.control import Route
from refimpl.wire.routes import route

__all__ = ["ControlRoutes", "SteeredKubelet"]

_CONTAINER = {"name": str, "limits": dict, "restartable": bool}
_MODES = ("A", "B", "C", "D", "E")


class SteeredKubelet(Protocol):
    """What the routes have of a fake kubelet besides its pods."""

    @property
    def notes(self) -> Sequence[str]:
        """What kubelet would have logged."""

    def node(self) -> Capacity:
        """The node's counts."""

    def devices(self, resource: str) -> Mapping[str, Device]:
        """The last list of a resource, by id."""

    def restart(self, mode: Any, *, gap_s: float | None = None) -> Mapping[str, Admission]:
        """One of the ways in which a kubelet may come back."""


class ControlRoutes:
    """The routes of a fake kubelet, to its `pods` and to itself."""

    def __init__(self, kubelet: SteeredKubelet, pods: Hosting, processes: KubeletProcesses) -> None:
        self._kubelet, self._pods, self._processes = kubelet, pods, processes

    def routes(self) -> Mapping[str, Route]:
        """GET /node, /pods, /notes; POST /pods {uid, containers, init}, DELETE {uid} /pods; POST
        /containers {uid, name} starts one (again); POST /finish {uid}; POST /restart {mode, gap_s}.
        """
        return {
            "GET /node": route(self._node),
            "GET /notes": route(lambda: {"notes": self._kubelet.notes}),
            "GET /pods": route(self._all_pods),
            "POST /pods": route(self._admit, uid=str, containers=list, init=(list,)),
            "DELETE /pods": route(self._pods.remove, uid=str),
            "POST /containers": route(self._start, uid=str, name=str),
            "POST /finish": route(self._finish, uid=str),
            "POST /restart": route(self._restart, mode=(str,), gap_s=(int | float,)),
        }

    def _node(self) -> dict[str, Any]:
        counts = self._kubelet.node()
        devices = {
            name: [attrs.asdict(each) for each in self._kubelet.devices(name).values()]
            for name in counts.capacity
        }
        return {**attrs.asdict(counts), "devices": devices}

    def _all_pods(self) -> dict[str, Any]:
        return {"pods": [self._pod(run.pod.uid) for run in self._pods.workload]}

    def _pod(self, uid: str) -> dict[str, Any]:
        tables = self._processes.living().state.tables
        with tables.lock:
            held = {
                container.name: {
                    record.resource: sorted(record.ids)
                    for record in tables.records.of_container(uid, container.name)
                }
                for container in self._pods.workload[uid].pod.containers
            }
        return {"uid": uid, "status": self._pods.status(uid), "devices": held}

    def _admit(
        self, uid: str, containers: list[Any], init: list[Any] | None = None
    ) -> dict[str, Any]:
        app, first = (tuple(map(_container, each or ())) for each in (containers, init))
        return attrs.asdict(self._pods.admit(Pod(uid, app, first, name=uid)))

    def _start(self, uid: str, name: str) -> dict[str, Any]:
        try:
            return {"config": self._pods.restart_container(uid, name)}
        except NotStarted as error:
            return {"waiting": str(error)}

    def _finish(self, uid: str) -> None:
        self._pods.finish(uid)

    def _restart(self, mode: str = "A", gap_s: float | None = None) -> dict[str, Any]:
        if mode not in _MODES:
            raise ValueError(f"mode={mode!r}: it is {', '.join(_MODES)}")
        admissions = self._kubelet.restart(mode, gap_s=gap_s)
        return {"admissions": {uid: attrs.asdict(each) for uid, each in admissions.items()}}


def _container(given: Any) -> Container:
    """{name, limits, restartable}; raises ValueError."""
    good = isinstance(given, dict) and "name" in given and not given.keys() - _CONTAINER.keys()
    if not good or not all(isinstance(given[key], _CONTAINER[key]) for key in given):
        raise ValueError(f"{given!r}: a container is {{name, limits: {{resource: count}}}}")
    counts = given.get("limits", {})
    if not all(type(count) is int and count >= 0 for count in counts.values()):
        raise ValueError(f"limits={counts!r}: a resource has a whole number, 0 or more")
    return Container(given["name"], counts, given.get("restartable", False))
