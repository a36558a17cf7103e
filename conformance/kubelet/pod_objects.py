"""Pods that are bound to a node in the API: their objects, the claims that they name, and drivers
for those."""

from __future__ import annotations

from pathlib import Path

from conformance.kubelet.claims import claim_status, claims_of
from conformance.kubelet.drivers import Drivers
from conformance.kubelet.reading import pod_state
from refimpl.apiserver.objects import Place
from refimpl.apiserver.server import ApiServer
from refimpl.node.pods import PodSpec, PodStatus

__all__ = ["PodObjects"]


class PodObjects:
    """The pods of one node in one API server. They are known by their uid also when gone."""

    def __init__(self, api: ApiServer, node: str) -> None:
        self._api, self._node = api, node
        self._drivers = Drivers()
        self._places: dict[str, Place] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._places

    def put(self, pod: PodSpec, registry: Path) -> None:
        """Binds a pod, or changes the spec of one that is bound; drivers serve in `registry`."""
        manifest = pod.manifest(self._node)
        if self.state(pod.uid) is not None:
            del manifest["status"]  # its kubelet has told more by now
        else:
            self._drivers.serve(registry, pod)
            for claim in claims_of(pod):
                self._api.put(claim)
            manifest["status"] |= claim_status(pod)
        self._places[pod.uid] = Place("v1/pods", pod.namespace, pod.name)
        self._api.put(manifest)

    def state(self, uid: str) -> PodStatus | None:
        """What is known of a pod; None for one that is gone."""
        place = self._places.get(uid)
        pod = place and self._api.get(place.resource, place.name, place.namespace)
        if not pod or pod["metadata"]["uid"] != uid:
            return None
        return pod_state(pod)

    def delete(self, uid: str) -> None:
        """Asks for the end of a pod, which is its kubelet's to bring about."""
        if self.state(uid) is not None:
            self._api.objects.remove(self._places[uid], uid=uid)

    def forget(self, uid: str) -> None:
        """Takes a pod out of the API at once."""
        if self.state(uid) is not None:
            self._api.objects.remove(self._places[uid], uid=uid, grace_s=0)

    def close(self) -> None:
        """Ends the drivers."""
        self._drivers.close()
