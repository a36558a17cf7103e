"""critest, by which runtimes are judged everywhere, on our virtual runtime without any network."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from conformance.engine.targets.supervise import Supervised
from tests.live.critest_run import outcomes

pytestmark = pytest.mark.timeout(700)

SERVE = (sys.executable, "-m", "refimpl", "serve", "cri", "{endpoint}")
LOOPBACK = ("--model-option", "network=loopback")
"""critest asks web servers in pods for a page, and a port of this machine."""

SLOW_PULLS = "- when: {method: PullImage}\n  do: {delay: 0.02}\n"
"""critest gives one a millisecond, which is enough for what is made up."""

PARTS = {
    "containers": ["--ginkgo.focus-file", "/container"],
    "namespaces": ["--ginkgo.focus", "NamespaceOption"],
    "escalation": ["--ginkgo.focus", "NoNewPrivs"],
    "security": [
        *("--ginkgo.focus-file", "/security_context"),
        *("--ginkgo.skip", "NamespaceOption|NoNewPrivs"),
    ],
    "the rest": ["--ginkgo.skip-file", "/security_context|/container"],
}
"""Each on a runtime of its own, so that they may run beside each other. Only the last one has host
ports, which are fixed."""

KERNEL: Mapping[str, str] = {
    "mount with 'rshared' should support propagation from host": "mounts on this machine",
    "should support recursive readonly mounts": "a pipe between its commands",
    "runtime should support HostPID": "PID namespaces",
    "runtime should support ContainerPID": "PID namespaces",
    "runtime should support HostIpc is true": "IPC namespaces",
    "runtime should support HostNetwork is true": "network namespaces, and netstat in them",
    "runtime should support Privileged is false": "capabilities",
    "runtime should support adding capability": "capabilities",
    "runtime should support dropping capability": "capabilities",
    "runtime should support dropping ALL capabilities": "capabilities, told by procfs",
    "should support seccomp unconfined on the container": "seccomp, told by procfs",
    "should support seccomp localhost profile on the container": "seccomp",
    "should support seccomp default on the container": "seccomp, told by procfs",
    "should support nil profile, which is unconfined": "seccomp, told by procfs",
    "runtime should support an seccomp profile that blocks setting hostname": "seccomp",
    "should not allow privilege escalation when true": "a setuid program",
    "should allow privilege escalation when false": "a setuid program",
}
"""What fails, by the beginning of its own text: what of a kernel it needs."""

SKIPPED: Mapping[str, str] = {
    "AppArmor is disabled on this host": "the machine",
    "NRI socket not configured": "an interface of its own",
    "CRI Metrics endpoints not supported": "a service that is not done yet",
    "Runtime appears to have mounted the full image root": "image volumes: no content",
    "Runtime accepted non-existing subPath": "image volumes: no content",
    "The runtime does not support SupplementalGroupsPolicy": "groups of an image",
}
"""The beginnings of the reasons of critest itself: what that comes from."""


@pytest.mark.parametrize("part", PARTS)
def test_all_that_fails_needs_a_kernel(
    critest: Path, started: Callable[..., Supervised], tmp_path: Path, part: str
) -> None:
    """A spec that begins to pass has to leave the table, as one that begins to fail is news."""
    faults = tmp_path / "faults.yaml"
    faults.write_text(SLOW_PULLS)
    runtime = started(*SERVE, *LOOPBACK, "--faults", str(faults))
    told = outcomes(critest, str(runtime.endpoint), tmp_path, PARTS[part])
    failed = {title: why for title, why in told.items() if why.startswith("failed")}
    news = {title: why for title, why in failed.items() if not _known(title)}
    assert not news
    assert not [title for title in told if _known(title) and title not in failed], "they pass now"
    skips = [why for why in told.values() if why.startswith("skipped")]
    assert not [why for why in skips if not _explained(why)]
    assert len(told) - len(failed) - len(skips) == list(told.values()).count("passed")
    assert told


def _known(title: str) -> bool:
    return any(title.rpartition(" / ")[2].startswith(text) for text in KERNEL)


def _explained(why: str) -> bool:
    return any(why.removeprefix("skipped: ").startswith(text) for text in SKIPPED)
