"""The tables: what is written down, and what a later run makes of it."""

from __future__ import annotations

from typing import Any

from refimpl.csi.state.models import ContentSource, Publication, Staging
from refimpl.csi.state.tables import load


def facts(tables: Any) -> dict[str, Any]:
    """Everything that callers can see, and the indexes behind it."""
    return {
        "volumes": tables.volumes,
        "names": (tables.volume_names, tables.snapshot_names, tables.group_names),
        "snapshots": tables.snapshots,
        "of": {key: list(order.walk()) for key, order in tables.snapshots_of.items()},
        "groups": tables.groups,
        "attachments": tables.attachments,
        "attached": +tables.attached,
        "uses": (tables.uses, tables.stagings, tables.publications),
        "health": (tables.health, list(tables.health_order.walk())),
        "storage": tables.storage_faults,
        "charged": +tables.charged,
        "copies": tables.copies,
    }


def busy(desk: Any) -> None:
    """Something of everything, and something that is gone again."""
    a, b, dropped = desk.volume("a"), desk.volume("b"), desk.volume("gone")
    desk.volume("clone", source=ContentSource("volume", a.id))
    desk.attach(a)
    desk.snapshot(a)
    desk.state.groups.create("g", [a.id, b.id], {}, {})
    tables = desk.state.tables
    tables.put_staging(Staging(a.id, "node-0", "/s", desk.mount()))
    tables.put_publication(Publication(a.id, "node-0", "/t", desk.mount(), False, "/s"))
    tables.put_publication(Publication(b.id, "node-0", "/u", desk.mount()))
    tables.drop_publication("node-0", "/u")
    desk.state.health.break_volume(a.id, "DEGRADED", "Slow")
    desk.state.health.break_storage("STORAGE_DEGRADED", "Slow")
    desk.state.volumes.delete(dropped.id, {})


def test_a_later_run_knows_what_was_written_down(open_desk: Any) -> None:
    """The last record of each object, in the order of first appearance, makes the same state."""
    desk, later = open_desk(), open_desk()
    busy(desk)
    latest: dict[tuple[str, str], Any] = {}
    for kind, key, record in desk.changes:
        if record is None:
            latest.pop((kind, key), None)
        else:
            latest[kind, key] = record
    load(later.state.tables, latest.values())
    assert facts(later.state.tables) == facts(desk.state.tables)
    assert later.changes == []


def test_nothing_is_left_when_everything_is_undone(desk: Any) -> None:
    """An index that keeps an entry would grow for ever, or refuse what is free."""
    busy(desk)
    state, tables = desk.state, desk.state.tables
    tables.drop_publication("node-0", "/t")
    tables.drop_staging("node-0", "/s")
    for volume_id in list(tables.attachments):
        state.attachments.unpublish(volume_id, "", {})
    for group in list(tables.groups.values()):
        state.groups.delete(group.id, [member.id for member in group.members], {})
    for snapshot_id in list(tables.snapshots):
        state.snapshots.delete(snapshot_id, {})
    for volume_id in list(tables.volumes):
        state.volumes.delete(volume_id, {})
    state.health.repair_storage()
    empty = facts(
        type(desk)(
            type(state)(state.settings, clock=desk.clock, ids=tables.ids), desk.clock, []
        ).state.tables
    )
    assert facts(tables) == empty


def test_preprovisioned_volumes_are_there_from_the_start(open_desk: Any) -> None:
    """Usable in every mode, and not written down: the settings know them."""
    desk = open_desk(preprovisioned=("static-0", "static-1"))
    assert desk.ids() == ["static-0", "static-1"]
    assert desk.state.tables.volumes["static-0"].access == "mount"
    assert desk.changes == []
    devices = open_desk(preprovisioned=("d",), access_types=frozenset({"block"}))
    assert devices.state.tables.volumes["d"].access == "block"
