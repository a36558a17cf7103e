"""What the cases see of a folder."""

from __future__ import annotations

from pathlib import Path

from conformance.deviceplugin.watching import Watching


def test_events_are_told_in_their_order(tmp_path: Path) -> None:
    """And again with those that came since; a write is none."""
    with Watching(tmp_path) as watching:
        assert watching.seen == []
        (tmp_path / "a").write_text("x")
        (tmp_path / "a").rename(tmp_path / "b")
        first = [("created", "a"), ("moved in", "b")]
        assert watching.seen == first
        (tmp_path / "b").unlink()
        assert watching.seen == [*first, ("deleted", "b")]
