"""Where volumes are used: the half of the tables about attachments, stagings and publications."""

from __future__ import annotations

from collections import Counter

from refimpl.csi.state.models import Publication, Staging, VolumeAttachment
from refimpl.csi.state.ports import OnChange

Use = tuple[str, str, str]
"""("staging" or "publication", node id, path)"""


class UseTables:
    """Part of `tables.DriverTables`, under its lock and with its `on_change`."""

    def __init__(self, on_change: OnChange) -> None:
        self.on_change = on_change
        self.attachments: dict[str, dict[str, VolumeAttachment]] = {}
        """volume id -> node id -> attachment"""
        self.attached: Counter[str] = Counter()
        """node id -> number of attachments"""
        self.stagings: dict[tuple[str, str], Staging] = {}
        """(node id, staging path) -> staging"""
        self.publications: dict[tuple[str, str], Publication] = {}
        """(node id, target path) -> publication"""
        self.uses: dict[str, set[Use]] = {}
        """volume id -> its stagings and publications on all nodes"""

    def put_attachment(self, attachment: VolumeAttachment) -> None:
        """Record that a volume is attached to a node."""
        self.on_change("attachment", f"{attachment.volume_id}@{attachment.node_id}", attachment)
        self._enter_attachment(attachment)

    def drop_attachment(self, volume_id: str, node_id: str) -> None:
        """Forget that a volume is attached to a node."""
        self.on_change("attachment", f"{volume_id}@{node_id}", None)
        nodes = self.attachments[volume_id]
        del nodes[node_id]
        if not nodes:
            del self.attachments[volume_id]
        self.attached[node_id] -= 1

    def _enter_attachment(self, attachment: VolumeAttachment) -> None:
        nodes = self.attachments.setdefault(attachment.volume_id, {})
        if attachment.node_id not in nodes:
            self.attached[attachment.node_id] += 1
        nodes[attachment.node_id] = attachment

    def put_staging(self, staging: Staging) -> None:
        """Record that a volume is staged."""
        self.on_change("staging", f"{staging.node_id}:{staging.path}", staging)
        self._enter_staging(staging)

    def drop_staging(self, node_id: str, path: str) -> None:
        """Forget what is staged at `path`."""
        self.on_change("staging", f"{node_id}:{path}", None)
        staging = self.stagings.pop((node_id, path))
        self._drop_use(staging.volume_id, ("staging", node_id, path))

    def put_publication(self, publication: Publication) -> None:
        """Record that a volume is published at a target."""
        key = f"{publication.node_id}:{publication.target}"
        self.on_change("publication", key, publication)
        self._enter_publication(publication)

    def drop_publication(self, node_id: str, target: str) -> None:
        """Forget what is published at `target`."""
        self.on_change("publication", f"{node_id}:{target}", None)
        publication = self.publications.pop((node_id, target))
        self._drop_use(publication.volume_id, ("publication", node_id, target))

    def _enter_staging(self, staging: Staging) -> None:
        self.stagings[staging.node_id, staging.path] = staging
        uses = self.uses.setdefault(staging.volume_id, set())
        uses.add(("staging", staging.node_id, staging.path))

    def _enter_publication(self, publication: Publication) -> None:
        self.publications[publication.node_id, publication.target] = publication
        uses = self.uses.setdefault(publication.volume_id, set())
        uses.add(("publication", publication.node_id, publication.target))

    def _drop_use(self, volume_id: str, use: Use) -> None:
        uses = self.uses[volume_id]
        uses.discard(use)
        if not uses:
            del self.uses[volume_id]
