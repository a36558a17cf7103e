"""ReopenContainerLog."""

from __future__ import annotations

import itertools
import shutil

from conformance.cri.logs import Log, logged
from conformance.cri.needs import IMAGE
from conformance.cri.pods import WAITING
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code

_LINES, _BATCHES = 10_000, 20
_TWO_PARTS = ("/bin/sh", "-c", "echo before; sleep 1; echo after")


def _started(cri: CriTarget) -> Log:
    log = logged(cri, _TWO_PARTS)
    log.container.start()
    log.until(b"before\n")
    return log


@case("CRI-LG-013", "CRI v1 ReopenContainerLog: after a rotation", needs=[IMAGE])
def test_after_a_rotation_the_new_file_is_there_and_the_old_one_stays(cri: CriTarget) -> None:
    """Kubelet compresses the old one at once."""
    log = _started(cri)
    old = log.rotate()
    expect(log.path.exists(), "the new file is there on return", wanted=log.path, got="no file")
    before = old.read_bytes()
    log.all(b"after\n")
    expect(
        old.read_bytes() == before,
        "the old file stays as it was",
        wanted=before,
        got=old.read_bytes(),
    )


@case("CRI-LG-014", "kubelet: a rotation loses nothing", needs=[IMAGE])
def test_no_line_is_lost_or_told_twice(cri: CriTarget) -> None:
    """Twenty rotations while a container writes."""
    each = _LINES // _BATCHES
    parts = [f"seq {each * i + 1} {each * (i + 1)}; sleep 0.05" for i in range(_BATCHES)]
    log = logged(cri, ("/bin/sh", "-c", f"echo begin; {'; '.join(parts)}; sleep 1"))
    log.container.start()
    log.until(b"begin\n")
    olds = [log.rotate(f"old{number}") for number in range(_BATCHES)]
    log.container.ended()
    got = b"".join(log.text(path) for path in (*olds, log.path)).split()
    wanted = [b"begin", *(str(number).encode() for number in range(1, _LINES + 1))]
    differ = [pair for pair in itertools.zip_longest(wanted, got) if pair[0] != pair[1]]
    expect(not differ, "all lines are there once, in order", wanted=wanted[:3], got=differ[:3])


@case("CRI-LG-015", "containerd, CRI-O: the same file goes on", needs=[IMAGE])
def test_what_was_not_rotated_goes_on_in_its_file(cri: CriTarget) -> None:
    """Kubelet renames the file back where something failed."""
    log = _started(cri)
    log.reopen()
    log.all(b"before\nafter\n")


@case("CRI-LG-016", "CRI v1 ReopenContainerLog: no file after an error", needs=[IMAGE])
def test_what_does_not_run_gets_a_file_only_where_it_is_not_refused(cri: CriTarget) -> None:
    """Kubelet would rename the old log onto it."""
    created = logged(cri, WAITING)
    ended = logged(cri, ("/bin/echo", "one"))
    ended.container.start()
    ended.all(b"one\n")
    ended.path.unlink()
    for state, log in (("CREATED", created), ("EXITED", ended)):
        wanted, got = log.reopened(), log.path.exists()
        expect(
            wanted == got,
            f"of one that is {state}: a file where the answer is OK, none else",
            wanted=wanted,
            got=got,
        )


@case("CRI-LG-017", "containerd: NOT_FOUND")
def test_an_unknown_container_has_no_log(cri: CriTarget) -> None:
    """Kubelet gives up on it then."""
    request = pb.ReopenContainerLogRequest(container_id=cri.pods.unknown_id())
    expect_refusal(
        lambda: cri.runtime.ReopenContainerLog(request),
        "it is refused",
        preferred={Code.NOT_FOUND},
    )


@case("CRI-LG-018", "containerd makes the folder again", needs=[IMAGE])
def test_a_folder_that_is_gone_does_not_end_the_container(cri: CriTarget) -> None:
    """Somebody has cleaned up below /var/log."""
    log = logged(cri, WAITING)
    log.container.start()
    shutil.rmtree(log.path.parent)
    wanted, got = log.reopened(), log.path.exists()
    expect(wanted == got, "a new file where the answer is OK, none else", wanted=wanted, got=got)
    state = log.container.status().state
    expect(state == pb.CONTAINER_RUNNING, "the container runs on", wanted=1, got=state)
