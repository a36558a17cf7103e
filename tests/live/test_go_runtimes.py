"""What containerd and CRI-O call plugins through, and our profiles of it: the same to a plugin."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from refimpl.cni.host import sandbox
from refimpl.cni.host.kernel import Kernel
from refimpl.cni.runtime import PROFILES, BadAnswer, DaemonDies, Runtime, discovery
from refimpl.cni.runtime.cache import DEFAULT
from refimpl.cni.runtime.kubernetes import Pod, Port, Resolver
from refimpl.cni.runtime.pod import PodNetwork
from tests.live import peers
from tests.live.rigs.cni_sides import RECORDER, Side, kept

RESULT: dict[str, Any] = {
    "cniVersion": "1.1.0",
    "interfaces": [{"name": "eth0", "sandbox": "/ns"}],
    "ips": [{"address": "10.1.0.2/24", "interface": 0}],
}
ANSWERS = {
    "loopback.ADD": {"cniVersion": "0.3.1", "interfaces": [{"name": "lo"}]},
    "one.ADD": RESULT,
    "two.ADD": RESULT,
    "one.VERSION": {"cniVersion": "1.1.0", "supportedVersions": ["1.0.0", "1.1.0"]},
    "two.VERSION": {"cniVersion": "1.1.0", "supportedVersions": ["1.0.0", "1.1.0"]},
}
CAPABILITIES = (
    *("portMappings", "bandwidth", "dns", "aliases", "ipRanges", "cgroupPath"),
    "io.kubernetes.cri.pod-annotations",
)
LISTS = {
    "10-net.conflist": [
        {"type": "one", "n": 2**53 + 1, "capabilities": dict.fromkeys(CAPABILITIES, True)},
        {"type": "two"},
    ],
    "20-other.conflist": [{"type": "two"}],
}


@pytest.fixture(scope="session")
def runtimes() -> Path:
    """A program around go-cni and ocicni."""
    return peers.own_program("cni-runtimes", "1", "cni_runtimes")


@attrs.frozen
class Pair:
    """The Go program and our profile of it, for the same pod."""

    side: Side
    program: Path
    pods: PodNetwork
    pod: Pod

    def theirs(self, verb: str) -> tuple[int, str]:
        """Exit code and what it said."""
        base = self.side.base
        words = [self.pods.runtime.profile.name, verb, base / "net", base / "bin", self.pod.netns]
        done = subprocess.run(
            [self.program, *words], env=self.side.env, cwd="/", capture_output=True, check=False
        )
        return done.returncode, done.stderr.decode()

    def ours(self, verb: str) -> None:
        """The same with our profile."""
        acts: dict[str, Callable[[], object]] = {
            "setup": lambda: self.pods.setup(self.pod),
            "check": lambda: self.pods.check(self.pod),
            "status": self.pods.status,
            "remove": lambda: self.pods.teardown(self.pod),
            "gc": lambda: self.pods.collect([self.pod]),
        }
        acts[verb]()

    def seen(self) -> list[Any]:
        """Execs and kept files since the last time, without what a Go map puts in any order."""
        execs = [
            (name, {**env, "CNI_ARGS": sorted(env["CNI_ARGS"].split(";"))}, stdin)
            for name, env, stdin in self.side.recorded()
            if not name.endswith("VERSION")
        ]
        files = {name: json.loads(data) for name, data in kept().items()}
        for about in files.values():
            about["cniArgs"] = sorted(about["cniArgs"])
            # containerd's network of the loopback plugin has other white space.
            about["config"] = "" if about["networkName"] == "cni-loopback" else about["config"]
        return [sorted(execs, key=lambda each: (each[0], each[2])), files]


@pytest.fixture
def pair(tmp_path: Path, runtimes: Path) -> Iterator[Callable[[str], Pair]]:
    """Makes the pair of a profile, in namespaces of the test."""
    reason = sandbox.why_not()
    if reason:
        pytest.skip(reason)
    for name in ("bin", "log", "answers", "net"):
        (tmp_path / name).mkdir()
    for name in ("one", "two", "loopback"):
        (tmp_path / "bin" / name).write_text(RECORDER)
        (tmp_path / "bin" / name).chmod(0o755)
    for name, value in ANSWERS.items():
        (tmp_path / "answers" / name).write_text(json.dumps(value))
    for name, plugins in LISTS.items():
        value = {"cniVersion": "1.1.0", "name": name[3:-9], "plugins": plugins}
        (tmp_path / "net" / name).write_text(json.dumps(value))
    with sandbox.enter():
        kernel = Kernel()
        yield lambda profile: made(tmp_path, runtimes, kernel.make_netns(), profile)
        kernel.close()


def made(base: Path, program: Path, netns: str, name: str) -> Pair:
    """See `pair`."""
    env = {"PATH": "/usr/bin:/bin", "PWD": "/", "CNI_ARGS": "STRAY=1;x"}
    profile = PROFILES[name]
    # One after the other, as the program is told; at once, nothing could be compared.
    profile = attrs.evolve(profile, pods=attrs.evolve(profile.pods, parallel=False))
    runtime = Runtime([base / "bin"], DEFAULT, profile=profile, environ=env)
    pods = PodNetwork(runtime, discovery.find(base / "net", runtime).networks)
    pod = Pod(
        id="c1",
        netns=netns,
        name="web",
        namespace="shop",
        uid="u-1",
        annotations={"kubernetes.io/ingress-bandwidth": "10M"},
        ports=[Port(80, 8080)],
        dns=Resolver(("10.0.0.10",)),
        cgroup_parent="/kubepods/x",
        ip="10.1.0.9",
        mac="02:00:00:00:00:09",
        aliases=["www"],
        ip_ranges=[[{"subnet": "10.1.0.0/24"}]],
    )
    side = Side(base, program, netns, {**env, "CNI_PATH": str(base / "bin")})
    side.recorded()
    side.env.pop("CNI_PATH")
    return Pair(side, program, pods, pod)


@pytest.mark.parametrize(
    ("profile", "verbs"),
    [
        ("go-cni", ("status", "setup", "remove", "remove")),
        ("ocicni", ("status", "setup", "check", "gc", "remove", "setup", "remove", "gc")),
    ],
)
def test_a_pod_is_the_same_to_plugins(
    pair: Callable[[str], Pair], profile: str, verbs: tuple[str, ...]
) -> None:
    """Execs, environments, documents to the byte, kept files."""
    both = pair(profile)
    theirs = []
    for verb in verbs:
        status, said = both.theirs(verb)
        assert status == 0, said
        theirs.append(both.seen())
    shutil.rmtree(DEFAULT, ignore_errors=True)
    for verb, wanted in zip(verbs, theirs, strict=True):
        both.ours(verb)
        assert both.seen() == wanted, verb


@pytest.mark.parametrize(
    ("index", "status", "kind"), [(1, 2, DaemonDies), (-1, 2, DaemonDies), (2, 1, BadAnswer)]
)
def test_an_index_ends_go_cni_where_we_say_so(
    pair: Callable[[str], Pair], index: int, status: int, kind: type[Exception]
) -> None:
    """Exit code 2 is a panic."""
    both = pair("go-cni")
    bad = {**RESULT, "ips": [{"address": "10.1.0.2/24", "interface": index}]}
    (both.side.base / "answers" / "two.ADD").write_text(json.dumps(bad))
    assert both.theirs("setup")[0] == status
    with pytest.raises(kind):
        both.ours("setup")


def test_ocicni_asks_the_versions_of_every_plugin_at_load(pair: Callable[[str], Pair]) -> None:
    """With the same environment and document."""
    both = pair("ocicni")
    both.theirs("status")
    wanted = [each for each in both.side.recorded() if each[0].endswith("VERSION")]
    discovery.find(both.side.base / "net", both.pods.runtime)
    assert both.side.recorded() == wanted
    assert len(wanted) == 3
