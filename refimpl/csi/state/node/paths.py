"""What a storage needs after a restart: the paths in use, and which content has an owner."""

from __future__ import annotations

from collections.abc import Iterator

from refimpl.csi.state.models import Publication
from refimpl.csi.state.ports import VolumePath
from refimpl.csi.state.tables import DriverTables


def volume_paths(tables: DriverTables) -> Iterator[VolumePath]:
    """Every staging and every publication of all nodes."""
    with tables.lock:
        for staging in tables.stagings.values():
            yield VolumePath(staging.volume_id, staging.path, staging.capability, staged=True)
        for publication in tables.publications.values():
            readonly = effective_readonly(tables, publication)
            yield VolumePath(
                publication.volume_id, publication.target, publication.capability, readonly
            )


def owned_keys(tables: DriverTables) -> frozenset[str]:
    """Ids of all volumes and snapshots: content under any other key is what a crash left."""
    with tables.lock:
        return frozenset(tables.volumes) | frozenset(tables.snapshots)


def effective_readonly(tables: DriverTables, publication: Publication) -> bool:
    """Whether a workload may write: the call, the mode or the attachment may each forbid it."""
    if publication.readonly or publication.capability.mode.read_only:
        return True
    nodes = tables.attachments.get(publication.volume_id, {})
    attachment = nodes.get(publication.node_id)
    return attachment is not None and attachment.readonly
