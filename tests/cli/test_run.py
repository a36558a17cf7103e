"""`refimpl run` plays the calling side and shows each call."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from refimpl.cli.run import FLOWS, PLAYERS
from refimpl.cli.run_cni import STEPS
from refimpl.cni.host import sandbox
from tests.cli.conftest import Command

PLUGIN = """#!/bin/sh
cat > /dev/null
echo "${0##*/} $CNI_COMMAND $CNI_CONTAINERID $CNI_IFNAME $CNI_ARGS" >> "${0%/*}/../calls"
cat "${0%/*}/../answer.$CNI_COMMAND" 2> /dev/null || exit 0
exit "$(cat "${0%/*}/../status.$CNI_COMMAND" 2> /dev/null || echo 0)"
"""
RESULT = {
    "cniVersion": "1.1.0",
    "interfaces": [{"name": "eth0", "sandbox": "/ns"}],
    "ips": [{"address": "10.1.0.2/24", "interface": 0}],
}


@attrs.frozen
class Node:
    """Plugins one and two, a configuration, a namespace that is a plain file."""

    base: Path

    @property
    def config(self) -> str:
        """A list of both plugins."""
        return str(self.base / "net.conflist")

    @property
    def options(self) -> list[str]:
        """The options that keep everything inside the folder."""
        folders = {"--cni-path": "bin", "--cache-dir": "cache", "--netns": "ns"}
        return [word for name, place in folders.items() for word in (name, str(self.base / place))]

    @property
    def calls(self) -> list[str]:
        """`one ADD` for each exec so far."""
        lines = (self.base / "calls").read_text().splitlines()
        return [" ".join(line.split()[:2]) for line in lines]

    def answers(self, verb: str, value: Any, status: int = 0) -> None:
        """What both plugins print and how they end."""
        (self.base / f"answer.{verb}").write_text(json.dumps(value))
        (self.base / f"status.{verb}").write_text(str(status))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node whose two plugins write down their calls and answer ADD with RESULT."""
    (tmp_path / "bin").mkdir()
    for name in ("one", "two"):
        (tmp_path / "bin" / name).write_text(PLUGIN)
        (tmp_path / "bin" / name).chmod(0o755)
    network = {"cniVersion": "1.1.0", "name": "net", "plugins": [{"type": "one"}, {"type": "two"}]}
    (tmp_path / "net.conflist").write_text(json.dumps(network))
    (tmp_path / "ns").touch()
    (tmp_path / "calls").touch()
    node = Node(tmp_path)
    node.answers("ADD", RESULT)
    return node


def test_the_flows_are_named(refimpl: Command) -> None:
    """Of all interfaces, or of one."""
    result = refimpl("run", "--list")
    assert result.returncode == 0
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        [interface, name] for interface, flows in FLOWS.items() for name in flows
    ]
    assert refimpl("run", "cni", "--list").stdout.startswith("cni  pod ")


def test_every_flow_can_be_played() -> None:
    """The list is kept apart from the code, so that it costs no import."""
    assert PLAYERS.keys() == FLOWS.keys()
    assert STEPS.keys() == FLOWS["cni"].keys()


def test_a_pod_lives_and_every_exec_is_a_line(refimpl: Command, node: Node) -> None:
    """Verb, plugin, milliseconds, what was answered."""
    result = refimpl("run", "cni", node.config, "--flow", "pod", *node.options)
    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [f"{words[1]} {words[0]}" for words in lines] == node.calls
    assert node.calls == [
        *("one ADD", "two ADD", "one CHECK", "two CHECK"),
        *("one STATUS", "two STATUS", "two DEL", "one DEL"),
    ]
    assert lines[0][3:] == ["ms", "eth0", "10.1.0.2/24"]
    assert lines[2][3:] == ["ms", "ok"]
    assert list((node.base / "cache" / "results").iterdir()) == []


def test_the_profile_shows_in_the_calls(refimpl: Command, node: Node) -> None:
    """What is not called is said, too."""
    words = ("--flow", "pod", "--profile", "ocicni", *node.options)
    assert refimpl("run", "cni", node.config, *words).returncode == 0
    words = ("--flow", "pod", "--profile", "go-cni", *node.options)
    result = refimpl("run", "cni", node.config, *words)
    assert result.returncode == 1
    assert "loopback ADD: no regular file of that name" in result.stderr
    assert "CHECK" not in result.stdout


def test_add_check_and_del_find_each_other(refimpl: Command, node: Node) -> None:
    """Three commands, one attachment: the id comes from the namespace."""
    for flow in ("add", "check", "del"):
        result = refimpl(
            "run", "cni", node.config, "--flow", flow, *node.options, "--ifname", "net1"
        )
        assert (result.returncode, result.stderr) == (0, "")
    words = [line.split() for line in (node.base / "calls").read_text().splitlines()]
    assert len({word[2] for word in words}) == 1
    assert {word[3] for word in words} == {"net1"}
    assert not list((node.base / "cache" / "results").iterdir())


def test_add_prints_the_result(refimpl: Command, node: Node) -> None:
    """As cnitool does; with arguments and capabilities as it takes them."""
    words = ("--args", "A=1;B=2", "--cap-args", '{"mac": "x"}', "--container-id", "c1")
    result = refimpl("run", "cni", node.config, "--flow", "add", *words, *node.options)
    assert json.loads(result.stdout[result.stdout.index("{") :]) == RESULT
    assert "one ADD c1 eth0 A=1;B=2" in (node.base / "calls").read_text()


def test_verbose_shows_environment_and_documents(refimpl: Command, node: Node) -> None:
    """All that is needed to repeat a call by hand."""
    result = refimpl("run", "cni", node.config, "--flow", "status", "-v", *node.options)
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert "CNI_COMMAND=STATUS" in lines
    assert '< {"cniVersion":"1.1.0","name":"net","type":"one"}' in lines


def test_a_failing_plugin_is_exit_code_1_with_its_error(refimpl: Command, node: Node) -> None:
    """And with what was done about it."""
    node.answers("ADD", {"cniVersion": "1.1.0", "code": 7, "msg": "no subnet"}, 1)
    node.answers("DEL", {"cniVersion": "1.1.0", "code": 100, "msg": "stuck"}, 1)
    result = refimpl("run", "cni", node.config, "--flow", "pod", *node.options)
    assert result.returncode == 1
    assert "exit 1: no subnet (code 7 INVALID_CONFIG)" in result.stdout
    assert "add: one ADD: no subnet (code 7 INVALID_CONFIG)" in result.stderr
    assert "the DEL that followed failed, too, and has to be repeated" in result.stderr
    assert node.calls == ["one ADD", "two DEL"]


def test_a_pod_that_fails_its_check_is_detached(refimpl: Command, node: Node) -> None:
    """What was attached is never left behind."""
    node.answers("CHECK", {"cniVersion": "1.1.0", "code": 7, "msg": "gone"}, 1)
    result = refimpl("run", "cni", node.config, "--flow", "pod", *node.options)
    assert result.returncode == 1
    assert node.calls[-2:] == ["two DEL", "one DEL"]


def test_gc_keeps_what_is_known_unless_told_otherwise(refimpl: Command, node: Node) -> None:
    """A node must not lose its pods to a command that names none; cnitool's way is libcni's."""
    add = ("--flow", "add", "--container-id", "c1", *node.options)
    assert refimpl("run", "cni", node.config, *add).returncode == 0
    results = node.base / "cache" / "results"
    for words, remaining in (((), 1), (("--valid", "c1/eth0"), 1), (("--valid", "c2/eth0"), 0)):
        result = refimpl("run", "cni", node.config, "--flow", "gc", *words, *node.options)
        assert (result.returncode, len(list(results.iterdir()))) == (0, remaining)
    assert refimpl("run", "cni", node.config, *add).returncode == 0
    libcni = ("--flow", "gc", "--profile", "libcni", *node.options)
    assert refimpl("run", "cni", node.config, *libcni).returncode == 0
    assert not list(results.iterdir())


def test_a_folder_is_read_as_the_profile_reads_it(refimpl: Command, node: Node) -> None:
    """What is left out is said on stderr."""
    (node.base / "a.conf").write_text("{")
    words = ("--flow", "status", *node.options)
    result = refimpl("run", "cni", str(node.base), *words)
    assert (result.returncode, node.calls) == (0, ["one STATUS", "two STATUS"])
    assert "skipped" in result.stderr
    assert refimpl("run", "cni", str(node.base), *words, "--profile", "go-cni").returncode == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "name the interface and its target"),
        (["run", "csi", "x"], "'csi' is not"),
        (["run", "cni", "{config}"], "choose one of pod, add"),
        (["run", "cni", "{config}", "--flow", "fly"], "--flow fly: choose one of pod, add"),
        (["run", "cni", "none.conflist", "--flow", "status"], "none.conflist: No such file"),
        (["run", "cni", "{config}", "--flow", "status", "--profile", "x"], "profile 'x' is none"),
        (["run", "cni", "{config}", "--flow", "del"], "del needs --container-id"),
        (["run", "cni", "{config}", "--flow", "status", "--args", "x"], "--args"),
        (["run", "cni", "{config}", "--flow", "status", "--cap-args", "[]"], "write an object"),
        (["run", "cni", "{config}", "--flow", "gc", "--valid", "x"], "CONTAINER-ID/INTERFACE"),
        (["run", "cni", "{config}", "--flow", "add", "--netns", "/none"], "is not there"),
    ],
)
def test_what_cannot_be_played_is_usage(
    refimpl: Command, node: Node, words: list[str], message: str
) -> None:
    """Exit code 4 and a sentence, and nothing was called."""
    words = [word.format(config=node.config) for word in words]
    where = ["--cache-dir", str(node.base / "cache")] if "--flow" in words else []
    result = refimpl(*words, *where)
    assert message in result.message
    assert result.returncode == (1 if message == "is not there" else 4)
    assert node.calls == []


def test_without_a_namespace_one_is_made_and_gone_afterwards(node: Node) -> None:
    """In a sandbox of the process, with a cache of its own."""
    reason = sandbox.why_not() if os.geteuid() == 0 else ""
    if reason:
        pytest.skip(reason)
    command = [sys.executable, "-m", "refimpl", "run", "cni", node.config, "--flow", "pod", "-v"]
    result = subprocess.run(
        [*command, "--cni-path", str(node.base / "bin")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    (netns,) = {line.strip() for line in result.stdout.splitlines() if "CNI_NETNS=" in line}
    assert netns.startswith("CNI_NETNS=/run/netns/")
    assert not Path(netns.partition("=")[2]).exists()


def test_the_list_costs_no_import_of_the_runtime() -> None:
    """`refimpl run --list` and `--help` answer at once."""
    code = "import sys, refimpl.cli.run; print([m for m in sys.modules if 'refimpl.cni' in m])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
