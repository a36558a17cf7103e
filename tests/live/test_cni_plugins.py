"""The suite judges the CNI reference plugins: what it finds in two of their releases is known."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone, Run
from tests.live import peers
from tests.live.rigs import nobody

INTERFACE = ("bridge", "ptp", "macvlan", "tap", "host-device", "loopback")
CHAINED = ("portmap", "firewall", "tuning", "bandwidth", "sbr")
IPAM = ("host-local", "static", "dhcp")
WITHOUT_ROOT = ("bridge", "ptp", "macvlan", "loopback", "host-local")
CHECKOUT = Path(__file__).parents[2]

# What fails whatever the library's habits are taken for: by plugin, of the MUST rows.
BEYOND_PRACTICE = {
    "bridge": {"CNI-PLG-051", "CNI-PLG-100"},
    "host-local": set[str](),
}


@attrs.frozen
class Judged:
    """A run of the suite on a plugin: its exit code, what it was run on, each case, and stderr."""

    exit_code: int
    target: str
    cases: dict[str, CaseDone]
    said: str

    @property
    def surprises(self) -> dict[str, str]:
        """What is neither right nor known to be wrong, by case id; what the run said of itself."""
        odd = {
            id: f"{case.outcome}: {case.message}; wanted {case.wanted}, got {case.got}"
            for id, case in self.cases.items()
            if case.outcome not in ("pass", "skip", "xfail")
        }
        return odd if odd or not self.exit_code else {f"exit {self.exit_code}": self.said}


def judged(program: Path, *options: str, alone: Path | None = None) -> Judged:
    """`refimpl test cni exec:PROGRAM` with options; alone: as nobody, with a folder for mounts."""
    words = [sys.executable, "-m", "refimpl", "test", "cni", f"exec:{program}", "--json", *options]
    if alone:
        shown = (Path(sys.base_prefix), Path(sys.prefix), CHECKOUT, program.parent)
        words = nobody.as_nobody(words, shown=shown, folder=alone)
    done = subprocess.run(
        words,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        timeout=280,
        check=False,
    )
    said = done.stderr.decode(errors="replace")
    found = events.read(io.BytesIO(done.stdout))
    run = next((event for event in found if isinstance(event, Run)), None)
    assert run, said
    cases = {event.id: event for event in found if isinstance(event, CaseDone)}
    return Judged(done.returncode, run.target, cases, f"{said}\n{found[-1]}")


def all_judged(folder: Path, names: Iterable[str], alone: Path | None = None) -> dict[str, Judged]:
    """The plugins that there are, several at a time, each with its expectations."""

    def one(name: str) -> tuple[str, Judged]:
        place = alone and alone / name
        if place:
            place.mkdir()
        return name, judged(folder / name, "--expect", f"cni-{name}", alone=place)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(pool.map(one, [name for name in names if (folder / name).exists()]))


@pytest.fixture(params=["cni_plugins", "debian_cni"])
def folder(request: pytest.FixtureRequest) -> Path:
    """The plugins of two releases, between which CNI 1.1.0 came."""
    found: Path = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def root() -> None:
    """Plugins work on the network of a sandbox."""
    if os.geteuid():
        pytest.skip("the plugins are judged as root, and once more without")


@pytest.mark.usefixtures("root")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("names", [INTERFACE, CHAINED, IPAM], ids=["interface", "chained", "ipam"])
def test_all_that_is_wrong_with_the_plugins_is_known(folder: Path, names: tuple[str, ...]) -> None:
    """Each entry was checked by hand against the text; a case more or less is news."""
    found = all_judged(folder, names)
    assert {name: run.surprises for name, run in found.items() if run.surprises} == {}
    assert set(names) - set(found) <= {"tap"}, "Debian's release has no tap, and all the others"


@pytest.mark.timeout(400)
def test_the_same_is_known_without_any_right(cni_plugins: Path, tmp_path: Path) -> None:
    """In a user namespace plugins do what they do as root, so developers need no root."""
    reason = nobody.why_not()
    if reason:
        pytest.skip(reason)
    found = all_judged(cni_plugins, WITHOUT_ROOT, alone=tmp_path)
    assert {name: run.surprises for name, run in found.items() if run.surprises} == {}
    assert set(found) == set(WITHOUT_ROOT)
    for run in found.values():
        attached = run.cases["CNI-PLG-029"]
        assert attached.outcome == "pass", attached.message  # an ADD, so nothing was skipped


@pytest.mark.usefixtures("root")
def test_the_policy_practice_leaves_only_what_no_library_explains(cni_plugins: Path) -> None:
    """Who writes a plugin with the same library is not told what he cannot change."""
    for name, expected in BEYOND_PRACTICE.items():
        found = judged(cni_plugins / name, "--policy", "practice", "--level", "must")
        assert {id for id, told in found.surprises.items() if told.startswith("fail")} == expected
        assert found.exit_code == bool(expected), found.said


@pytest.mark.usefixtures("root")
def test_a_plugin_that_go_installed_tells_its_version(cni_plugins: Path) -> None:
    """Reports name it; the plugin itself says `version unknown`."""
    run = judged(cni_plugins / "static", "--only", "CNI-PLG-001")
    assert run.target.startswith(f"static {peers.CNI_PLUGINS} ")
