"""Playing the cluster of a fake kubelet over its control socket: pods, restarts, what it knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from refimpl.deviceplugin.devicemanager.hosting import Hosting
from refimpl.deviceplugin.state.admission import NotStarted
from refimpl.deviceplugin.state.models import Container, Pod
from refimpl.wire.control import Route
from refimpl.wire.routes import route

__all__ = ["Orders"]

_CONTAINER = {"name": str, "limits": dict, "restartable": bool}


class Orders(Hosting):
    """Part of `kubelet.FakeKubelet`: its routes."""

    def node(self) -> Any:
        """The node's counts."""
        raise NotImplementedError

    def restart(self, mode: Any = "A", *, gap_s: float | None = None) -> Any:
        """One of the ways in which a kubelet may come back."""
        raise NotImplementedError

    @property
    def notes(self) -> list[str]:
        """What kubelet would have logged."""
        raise NotImplementedError

    def routes(self) -> Mapping[str, Route]:
        """GET /node, /pods, /notes; POST /pods {uid, containers, init}, DELETE {uid} /pods; POST
        /containers {uid, name} starts one (again); POST /finish {uid}; POST /restart {mode, gap_s}.
        """
        return {
            "GET /node": route(self._told_node),
            "GET /notes": route(lambda: {"notes": self.notes}),
            "GET /pods": route(self._told_pods),
            "POST /pods": route(self._told_admit, uid=str, containers=list, init=(list,)),
            "DELETE /pods": route(self._told_remove, uid=str),
            "POST /containers": route(self._told_start, uid=str, name=str),
            "POST /finish": route(self._told_finish, uid=str),
            "POST /restart": route(self._told_restart, mode=(str,), gap_s=(int | float,)),
        }

    def _told_node(self) -> dict[str, Any]:
        tables, counted = self.state.tables, self.node()
        with tables.lock:
            devices = {
                name: [attrs.asdict(each) for each in tables.devices.of(name).values()]
                for name in counted.capacity
            }
        counts = {"capacity": counted.capacity, "allocatable": counted.allocatable}
        return {**counts, "devices": devices}

    def _told_pods(self) -> dict[str, Any]:
        return {"pods": [self._told_pod(run.pod.uid) for run in self.workload]}

    def _told_pod(self, uid: str) -> dict[str, Any]:
        tables, pod = self.state.tables, self.workload[uid].pod
        with tables.lock:
            held = {
                container.name: {
                    record.resource: sorted(record.ids)
                    for record in tables.records.of_container(uid, container.name)
                }
                for container in pod.containers
            }
        return {"uid": uid, "status": self.status(uid), "devices": held}

    def _told_admit(
        self, uid: str, containers: list[Any], init: list[Any] | None = None
    ) -> dict[str, Any]:
        app, first = (tuple(map(_container, each or ())) for each in (containers, init))
        admission = self.admit(Pod(uid, app, first, name=uid))
        return attrs.asdict(admission)

    def _told_remove(self, uid: str) -> None:
        self.remove(uid)

    def _told_start(self, uid: str, name: str) -> dict[str, Any]:
        try:
            return {"config": self.restart_container(uid, name)}
        except NotStarted as error:
            return {"waiting": str(error)}

    def _told_finish(self, uid: str) -> None:
        self.finish(uid)

    def _told_restart(self, mode: str = "A", gap_s: float | None = None) -> dict[str, Any]:
        known = ("A", "B", "C", "D", "E")
        if mode not in known:
            raise ValueError(f"mode={mode!r}: it is {', '.join(known)}")
        admissions = self.restart(mode, gap_s=gap_s)
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
