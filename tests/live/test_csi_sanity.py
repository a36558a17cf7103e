"""csi-sanity judges our CSI fake: the program every driver's vendor runs today."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from conformance.engine.supervise import Supervised
from refimpl.csi.profiles import PROFILES

# csi-sanity 5.6.0 compares the topologies of a snapshot as Go structs; the expected one has been
# sent before and carries a cached size, so no driver that returns a topology can pass. The profile
# without snapshot topology in the answer is the proof that nothing else is wrong.
WRONG_ABOUT_TOPOLOGY = "CreateSnapshot should succeed when creating snapshot with accessibility"

# csi-sanity creates volumes in these specs without asking for CREATE_DELETE_VOLUME first.
CREATES_UNASKED: tuple[str, ...] = ()


def _serve(start: Callable[..., Supervised], *words: str) -> str:
    serve = [sys.executable, "-m", "refimpl", "serve", "csi", "{endpoint}"]
    return str(start(*serve, "--state-dir", "{dir}", *words).endpoint)


@pytest.mark.parametrize("revision", ["1.12", "1.13"])
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_no_spec_fails_on_any_profile(
    started: Callable[..., Supervised],
    run_csi_sanity: Callable[..., object],
    profile: str,
    revision: str,
) -> None:
    """A fake that a real harness refuses would teach its users wrong."""
    endpoint = _serve(started, "--profile", profile, "--revision", revision)
    found = run_csi_sanity(endpoint)
    assert found.messages == {}  # type: ignore[attr-defined]
