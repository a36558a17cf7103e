"""Where objects lie in the API: kinds, plurals, and the paths of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from refimpl.apiserver.manifests import Malformed
from refimpl.apiserver.objects import Place

__all__ = ["kind_of", "place_at", "place_of", "version_of"]

_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[a-z]+))?"
)
_KINDS = {
    "clustertrustbundles": "ClusterTrustBundle",
    "configmaps": "ConfigMap",
    "csidrivers": "CSIDriver",
    "csinodes": "CSINode",
    "leases": "Lease",
    "namespaces": "Namespace",
    "nodes": "Node",
    "pods": "Pod",
    "podcertificaterequests": "PodCertificateRequest",
    "resourceclaims": "ResourceClaim",
    "resourceslices": "ResourceSlice",
    "runtimeclasses": "RuntimeClass",
    "secrets": "Secret",
    "serviceaccounts": "ServiceAccount",
    "services": "Service",
}
_PLURALS = {kind: resource for resource, kind in _KINDS.items()}


def place_at(path: str) -> tuple[Place, str] | None:
    """What the path of a request names, and the subresource (`status`), empty for none; None for a
    path that is not served."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    version = "/".join(part for part in (match["group"], match["version"]) if part)
    resource = f"{version}/{match['resource']}"
    place = Place(resource, match["namespace"] or "", match["name"] or "")
    return place, match["subresource"] or ""


def place_of(manifest: Mapping[str, Any]) -> Place:
    """Where an object belongs. Raises Malformed for a kind that is not among ours, and for one
    without a name."""
    try:
        metadata = manifest["metadata"]
        resource = f"{manifest['apiVersion']}/{_PLURALS[manifest['kind']]}"
        return Place(resource, metadata.get("namespace", ""), metadata["name"])
    except KeyError as error:
        raise Malformed(f"an object without a known {error}") from error


def kind_of(place: Place) -> str:
    """The kind of the objects there, such as Pod."""
    return _KINDS.get(place.resource.rpartition("/")[2], "Unknown")


def version_of(place: Place) -> str:
    """Their group and version, such as resource.k8s.io/v1."""
    return place.resource.rpartition("/")[0]
