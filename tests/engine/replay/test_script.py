"""A script shows a finding again, on what is broken alone, and has nothing of ours in it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.engine import events, mutants
from conformance.engine.events import CaseDone, Run
from conformance.engine.options import BadOption, Options
from conformance.engine.replay.recorded import Recorded
from conformance.engine.replay.script import script
from refimpl.cni.host import sandbox
from refimpl.csi.fake import FakeDriver


def recorded(folder: Path, id: str, *words: str) -> Recorded:
    """The finding of a run of the suite with these words."""
    command = [sys.executable, "-m", "refimpl", "test", *words, "--only", id, "-q"]
    done = subprocess.run(
        [*command, "--report-dir", str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return Recorded.find(events.read(folder / "events.jsonl"), id, "events.jsonl")


def played(text: str, folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The script, run where nothing of ours can be imported."""
    path = folder / "again.py"
    path.write_text(text)
    here = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, str(path), *words],
        cwd="/",
        env={**here, **env},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_a_script_of_rpcs_tells_the_broken_driver_from_the_mended_one(tmp_path: Path) -> None:
    """It makes its volume, its folders and its names anew, and undoes what it made."""
    finding = recorded(tmp_path, "CSI-NPUB-006", "csi", "mutant:ForgetsReadOnly")
    text = script(finding, finding.options())
    assert not [line for line in text.splitlines() if line.startswith(("from conf", "from refi"))]
    for broken in (True, False):
        mutant = mutants.load("csi", "ForgetsReadOnly")
        driver = mutants.fake(FakeDriver, mutant, broken=broken, revision="1.13")
        with driver:
            places = [*(str(driver.endpoint),), *(str(node) for node in driver.nodes)]
            peers = len(dict.fromkeys(call["peer"] for call in finding.done.calls))
            done = played(text, tmp_path, *places[:peers], TMPDIR=str(tmp_path))
            assert done.returncode == int(broken), done.stdout + done.stderr
            assert "MUST a published volume does not change its readonly flag" in done.stdout
            assert not driver.state.tables.volumes, "what the script made is still there"
    assert not list(tmp_path.glob("replay-*"))


BROKEN = """#!/bin/sh
[ "$CNI_COMMAND" = VERSION ] || exit 1
echo '{"cniVersion": "VERSIONS", "supportedVersions": ["0.4.0", "1.0.0", "1.1.0"]}'
"""


def plugin(folder: Path, version: str) -> Path:
    """A plugin that tells its versions and nothing else."""
    folder.mkdir()
    path = folder / "loopback"
    path.write_text(BROKEN.replace("VERSIONS", version))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.skipif(bool(sandbox.why_not()), reason="no namespaces can be made")
def test_a_script_of_execs_takes_another_plugin(tmp_path: Path) -> None:
    """In namespaces of its own, by unshare."""
    target = f"exec:{plugin(tmp_path / 'a', '9.9.9')}"
    finding = recorded(tmp_path, "CNI-PLG-002", "cni", target)
    text = script(finding, finding.options())
    same = played(text, tmp_path)
    assert same.returncode == 1, same.stdout + same.stderr
    assert "loopback VERSION -> exit 0" in same.stdout
    mute = tmp_path / "b" / "loopback"
    mute.parent.mkdir()
    mute.write_text("#!/bin/sh\nexit 7\n")
    mute.chmod(0o755)
    other = played(text, tmp_path, str(mute))
    assert other.returncode == 0, other.stdout + other.stderr
    assert "-> exit 7    (then: exit 0)" in other.stdout


RUN = Run(interface="csi", target="x", revision="", suite="0", seed=1, started=0, config={})
METHOD = "/csi.v1.Controller/CreateVolume"


def finding_of(*calls: dict[str, Any], id: str = "CSI-CTRL-014", **facts: Any) -> Recorded:
    """A finding with these calls."""
    done = CaseDone(
        id=id, level="MUST", outcome="fail", duration_s=0, calls=list(calls), title="t", **facts
    )
    return Recorded(RUN, done, ())


def rpc(**facts: Any) -> dict[str, Any]:
    """A call on record."""
    plain = {"method": METHOD, "peer": "unix:/x", "requests": [{}], "replies": [], "code": "OK"}
    return {**plain, "side": "client", **facts}


def execed(**facts: Any) -> dict[str, Any]:
    """An exec on record."""
    plain = {"method": "x ADD", "peer": "/x", "env": {}, "requests": [{}], "replies": []}
    return {**plain, "code": "exit 0", **facts}


WITHOUT = [
    (finding_of(), "it made no call of its own"),
    (finding_of(rpc(side="server")), "it made no call of its own"),
    (finding_of(rpc(), id="DP-KUB-042"), "the client under test makes the calls"),
    (finding_of(rpc(requests=[{"bytes": "***"}])), "may hold secrets is not on record"),
    (finding_of(execed(conditions={"closed": [0]})), "no script has closed"),
    (finding_of(execed(stdin_left_out=5_000_000)), "of that size is not on record"),
    (finding_of(execed(peer="cnitool")), "is no exec"),
    (finding_of({"method": "pod", "requests": []}), "no call of a program"),
]


@pytest.mark.parametrize(("finding", "sentence"), WITHOUT)
def test_what_no_script_can_do_is_said(finding: Recorded, sentence: str) -> None:
    """And what can: replay itself."""
    with pytest.raises(BadOption, match=sentence):
        script(finding, Options(interface="csi"))


def test_a_secret_is_asked_for_when_the_script_runs(tmp_path: Path) -> None:
    """No record has it."""
    finding = finding_of(rpc(requests=[{"name": "a", "secrets": {"token": "***"}}]))
    text = script(finding, Options(interface="csi"))
    done = played(text, tmp_path, "unix:///nowhere")
    assert (done.returncode, "set SECRET_token" in done.stderr) == (2, True)


def test_acts_of_an_adapter_are_a_shell_script() -> None:
    """The line of the finding is whole already."""
    finding = finding_of({"method": "load", "requests": []}, id="CDI-DOC-001", reproduce="echo x")
    text = script(finding, Options(interface="cdi"))
    assert text == "#!/bin/sh\n# CDI-DOC-001 MUST t\necho x\n"


def test_bytes_that_are_no_message_are_sent_as_they_were(tmp_path: Path) -> None:
    """Of a driver that hangs up on them."""
    finding = finding_of(rpc(method="/no.Such/Method", requests=[{"bytes": "AAA="}], code="X"))
    text = script(finding, Options(interface="csi"))
    with FakeDriver(tmp_path / "c.sock", storage="memory") as driver:
        done = played(text, tmp_path, str(driver.endpoint))
    assert "Method -> UNIMPLEMENTED" in done.stdout, done.stderr
