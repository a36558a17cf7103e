"""csi-sanity judges our CSI fake: the program every driver's vendor runs today.

It passes in every shape it is able to test. Where one of its specs cannot pass on any driver of a
shape, the spec is named here with the proof.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.targets.supervise import Supervised
from refimpl.csi.fake import FakeDriver
from refimpl.csi.profiles import PROFILES

Start = Callable[..., Supervised]
Judge = Callable[..., Any]

# It makes SINGLE_NODE_WRITER volumes and asks every driver for create, stage and publish, offered
# or not, so it has no verdict on drivers of these shapes; see the tests of their own below.
OUT_OF_REACH = {"controller-only", "node-only", "read-only"}

# Compares the topologies of a snapshot as Go structs. The expected one has been sent before and
# carries a cached size, so a driver that returns a topology is refused whatever it returns.
TOPOLOGY_SPEC = (
    "CreateSnapshot [Controller Server] / "
    "should succeed when creating a snapshot with accessibility requirements"
)


def serve(start: Start, *words: str) -> str:
    """Our fake in a process of its own; returns its endpoint."""
    command = [sys.executable, "-m", "refimpl", "serve", "csi", "{endpoint}"]
    return str(start(*command, "--state-dir", "{dir}", *words).endpoint)


@pytest.fixture
def options(tmp_path: Path) -> tuple[str, ...]:
    """What csi-sanity has to be told of our fake to skip nothing."""
    mutable = tmp_path / "mutable.yaml"
    mutable.write_text('iops: "100"\n')
    return (f"--csi.testvolumemutableparameters={mutable}", "--csi.testnodevolumeattachlimit")


@pytest.mark.parametrize("access", ["mount", "block"])
def test_with_everything_advertised_nothing_fails_and_nothing_is_skipped(
    started: Start, run_csi_sanity: Judge, options: tuple[str, ...], access: str
) -> None:
    """All 102 specs that are switched on."""
    found = run_csi_sanity(serve(started), *options, f"--csi.testvolumeaccesstype={access}")
    assert found.messages == {}
    assert found.those("skipped") == []
    assert len(found.those("passed")) == 102


@pytest.mark.parametrize("revision", ["1.12", "1.13"])
@pytest.mark.parametrize("profile", sorted(set(PROFILES) - OUT_OF_REACH))
def test_no_spec_fails_on_any_shape_it_can_test(
    started: Start,
    run_csi_sanity: Judge,
    options: tuple[str, ...],
    profile: str,
    revision: str,
) -> None:
    """A fake that a real harness refuses would teach its users wrong."""
    endpoint = serve(started, "--profile", profile, "--revision", revision)
    failed = set(run_csi_sanity(endpoint, *options).messages)
    wrong = {TOPOLOGY_SPEC} if (profile, revision) == ("zonal-snapshots", "1.13") else set()
    assert failed == wrong


@pytest.mark.parametrize("revision", ["1.12", "1.13"])
def test_controller_and_node_pass_at_addresses_of_their_own(
    run_csi_sanity: Judge, options: tuple[str, ...], tmp_path: Path, revision: Any
) -> None:
    """The controller's half alone is out of csi-sanity's reach; beside a node it is not."""
    with FakeDriver(tmp_path / "csi.sock", revision=revision, split=True) as csi:
        node = str(csi.nodes[0])
        words = (*options, f"--csi.controllerendpoint={csi.endpoint}")
        assert run_csi_sanity(node, *words).messages == {}


@pytest.mark.parametrize(
    ("profile", "refusal"),
    [
        ("controller-only", "this driver has no Node"),
        ("node-only", "is not advertised"),
        ("read-only", "SINGLE_NODE_WRITER is not supported"),
    ],
)
def test_specs_that_ask_for_what_is_not_offered_are_all_that_fail(
    started: Start,
    run_csi_sanity: Judge,
    options: tuple[str, ...],
    profile: str,
    refusal: str,
) -> None:
    """The proof: each failure is the refusal of a call, or of a mode, that was never offered, or
    follows from one (a call that could not be made refuses nothing).
    """
    found = run_csi_sanity(serve(started, "--profile", profile), *options)
    assert found.messages
    assert [title for title, said in found.details.items() if refusal not in said] == []
