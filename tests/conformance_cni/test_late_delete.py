"""What a DEL that comes late may touch."""

from __future__ import annotations

from conformance.cni.cases.plugins.test_delete_again import _apart_from
from conformance.cni.plugins.attachments import CniAttachment
from refimpl.cni.host import NamespaceView, Snapshot

GONE, NEXT = "/run/netns/gone", "/run/netns/next"


def changed(*files: str) -> list[str]:
    """What is seen to have changed where a DEL for the pod that is gone made these files."""
    before = Snapshot(namespaces={NEXT: NamespaceView()})
    after = Snapshot(namespaces=before.namespaces, files=dict.fromkeys(files, "a file"))
    pods = [CniAttachment("a", GONE, "eth0")]
    return _apart_from(pods, before).difference(_apart_from(pods, after))


def test_a_file_in_the_place_of_its_own_namespace_hurts_nobody() -> None:
    """The sbr plugin makes one to lock it; any other file is news."""
    assert changed(GONE) == []
    assert changed(GONE, "/run/lock") == ["/run/lock appeared: a file"]
