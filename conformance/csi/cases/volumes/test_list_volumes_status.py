"""What ListVolumes tells about each volume, and how much it says at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from conformance.csi.common.pagination import volumes
from conformance.csi.needs import (
    CONTROLLER_CONDITION,
    CREATE_DELETE_VOLUME,
    EXPAND_VOLUME,
    LIST_PUBLISHED_NODES,
    LIST_VOLUMES,
    NODE_ID,
    PUBLISH_UNPUBLISH_VOLUME,
    REVISION_1_12,
)
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, should, together
from refimpl.csi.api import csi_pb2 as pb

_SOURCE = "CSI 1.13 ListVolumes"
_OWN = [LIST_VOLUMES, CREATE_DELETE_VOLUME]
_DEFAULT_LIMIT = 4 << 20  # of a message, for a gRPC client that sets none


@case("CSI-LV-012", "robustness: size of messages", needs=_OWN, heavy=True)
def test_a_long_list_fits_into_the_messages_of_an_ordinary_client(csi: CsiTarget) -> None:
    """An answer of 4 MiB or more never reaches a client of default settings, which sees an error
    instead of its volumes; the driver can page by itself. 5000 volumes are what a large cluster
    has: where their entries are too small to fill such a message nothing can go wrong, otherwise
    as many volumes are made as would."""
    listing = volumes(csi)
    small = [_small(csi) for _ in range(3)]
    size = max(_entry(csi, volume).ByteSize() for volume in small)
    if size * 5000 >= _DEFAULT_LIMIT:
        with ThreadPoolExecutor(4) as pool:
            small += pool.map(lambda _: _small(csi), range(_DEFAULT_LIMIT // size))
    pages = listing.pages()
    largest = max(page.ByteSize() for page in pages)
    with together() as check:
        with check:
            expect(
                largest < _DEFAULT_LIMIT,
                "an answer of ListVolumes is smaller than 4 MiB, with a next_token if need be",
                wanted=f"less than {_DEFAULT_LIMIT} bytes",
                got=f"{largest} bytes on one of {len(pages)} pages",
            )
        missing = {volume.volume_id for volume in small}.difference(listing.ids(*pages))
        with check:
            expect(
                not missing,
                "all volumes are listed",
                wanted=len(small),
                got=len(small) - len(missing),
            )


@case(
    "CSI-LV-013",
    _SOURCE,
    needs=[
        LIST_PUBLISHED_NODES,
        LIST_VOLUMES,
        NODE_ID,
        PUBLISH_UNPUBLISH_VOLUME,
        CREATE_DELETE_VOLUME,
    ],
)
def test_the_nodes_that_have_a_volume_are_listed(csi: CsiTarget) -> None:
    """The attacher compares this list with what it wants and attaches again what is missing. The
    nodes it was taken off are better not listed, though CSI lets further ones be."""
    first, second = csi.capabilities.node_id, csi.preconditions.near_node_id
    many = bool(second) and csi.preconditions.makes(Mode.MULTI_NODE_MULTI_WRITER)
    use = csi.requests.capability(Mode.MULTI_NODE_MULTI_WRITER if many else None)
    volume = csi.steps.volume(csi.requests.volume(capabilities=[use]))
    with together() as check:
        for node in (first, second)[: 1 + many]:
            csi.steps.attach(volume, node_id=node, capability=use)
            nodes = _nodes(csi, volume)
            rule = f"a volume published to node {node} is listed with it"
            with check:
                expect(node in nodes, rule, wanted=node, got=nodes)
        csi.controller.ControllerUnpublishVolume(csi.requests.unpublish(volume.volume_id, first))
        nodes = _nodes(csi, volume)
        if many:
            rule = f"a volume that only {first} gave up is still listed with {second}"
            with check:
                expect(second in nodes, rule, wanted=second, got=nodes)
        rule = f"a volume unpublished from {first} is no longer listed with it"
        with check:
            should(first not in nodes, rule, wanted=f"without {first}", got=nodes)


@case("CSI-LV-014", _SOURCE, needs=[LIST_PUBLISHED_NODES, *_OWN])
def test_every_entry_has_a_status(csi: CsiTarget) -> None:
    """Without one, "published nowhere" cannot be told from "nobody knows"."""
    assert csi.shared.volume().volume_id  # so that there is one
    with together() as check:
        for page in volumes(csi).pages():
            with check:
                for entry in page.entries:
                    expect(
                        entry.HasField("status"),
                        "with LIST_VOLUMES_PUBLISHED_NODES every entry has a status",
                        wanted="status",
                        got=entry,
                    )


@case("CSI-LV-015", _SOURCE, needs=[*_OWN, EXPAND_VOLUME])
def test_an_expanded_volume_is_listed_with_its_new_size(csi: CsiTarget) -> None:
    """Otherwise whoever reads the list sees a volume smaller than its claim."""
    volume = csi.steps.volume()
    request = pb.ControllerExpandVolumeRequest(
        volume_id=volume.volume_id,
        capacity_range=pb.CapacityRange(required_bytes=csi.sizes.larger),
        secrets=csi.settings.secrets_for("ControllerExpandVolume"),
        volume_capability=csi.requests.capability(),
    )
    size = csi.controller.ControllerExpandVolume(request).capacity_bytes
    listed = _entry(csi, volume).volume.capacity_bytes
    sized = bool(volume.capacity_bytes)  # 0 means that the size is not known
    expect(
        listed == size or not (listed or sized),
        "ListVolumes tells the size that ControllerExpandVolume gave",
        wanted=size,
        got=listed,
    )


@case("CSI-LV-016", _SOURCE, needs=_OWN)
def test_a_listed_volume_is_the_one_that_was_created(csi: CsiTarget) -> None:
    """volume_context cannot change, and a volume does not move: two versions of either would make
    the same volume two things."""
    volume = csi.shared.volume()
    listed = _entry(csi, volume).volume
    with together() as check:
        for field in ("volume_context", "accessible_topology"):
            with check:
                created, now = getattr(volume, field), getattr(listed, field)
                expect(
                    not now or now == created,
                    f"ListVolumes tells the {field} that CreateVolume told, or none",
                    wanted=created,
                    got=now,
                )


@case(
    "CSI-LV-017",
    "CSI 1.12 ListVolumes",
    needs=[REVISION_1_12, *_OWN, CONTROLLER_CONDITION],
)
def test_every_entry_tells_the_condition_of_its_volume(csi: CsiTarget) -> None:
    """The health monitor reads it from here; a condition without a message tells nobody what to
    do."""
    condition = _entry(csi, csi.steps.volume()).status
    expect(
        condition.HasField("volume_condition") and condition.volume_condition.message,
        "with VOLUME_CONDITION every entry has a condition, and that a message",
        wanted="status.volume_condition with a message",
        got=condition,
    )


def _small(csi: CsiTarget) -> pb.Volume:
    return csi.steps.volume(csi.requests.volume())


def _entry(csi: CsiTarget, volume: pb.Volume) -> pb.ListVolumesResponse.Entry:
    entry = volumes(csi).find(volume.volume_id)
    if entry is None:
        raise Broken("ListVolumes lists a volume that was created", volume.volume_id, "no entry")
    assert isinstance(entry, pb.ListVolumesResponse.Entry)
    return entry


def _nodes(csi: CsiTarget, volume: pb.Volume) -> list[str]:
    return list(_entry(csi, volume).status.published_node_ids)
