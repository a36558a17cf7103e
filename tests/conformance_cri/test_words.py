"""Refusals without a code, lines that repeat a call, and needs that are found out."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from conformance.cri import features, reproduce, rpcs
from conformance.cri.refusals import expect_refusal
from conformance.engine.verdict import Broken, Doubtful
from refimpl.cri import kubelet
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.fake import FakeRuntime
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry
from refimpl.wire.status import Code, Refused

ENDPOINT = Endpoint.parse("unix:///run/cri.sock")


def refusing(code: Code) -> object:
    """A call that is refused so."""

    def call() -> None:
        raise Refused(code, "no")

    return call


def test_any_refusal_will_do_and_some_are_better() -> None:
    """But none that says that nobody answered."""
    unknown: object = refusing(Code.UNKNOWN)
    assert expect_refusal(unknown, "rule").code == Code.UNKNOWN  # type: ignore[arg-type]
    with pytest.raises(Doubtful, match="NOT_FOUND"):
        expect_refusal(unknown, "rule", preferred={Code.NOT_FOUND})  # type: ignore[arg-type]
    for code in (Code.UNAVAILABLE, Code.UNIMPLEMENTED, Code.DEADLINE_EXCEEDED):
        with pytest.raises(Broken, match=code.name):
            expect_refusal(refusing(code), "rule")  # type: ignore[arg-type]
    with pytest.raises(Broken, match="OK, done"):
        expect_refusal(lambda: "done", "rule")


def entry(rpc: str, request: object) -> Entry:
    """A call with that request."""
    method = next(each for each in rpcs.every() if each.name == rpc)
    made = Entry(method=method.method, request_type=method.request, reply_type=method.reply)
    made.requests_are(request.SerializeToString())  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize(
    ("rpc", "request_", "words"),
    [
        ("Version", pb.VersionRequest(), ["version"]),
        ("StopPodSandbox", pb.StopPodSandboxRequest(pod_sandbox_id="a b"), ["stopp", "a b"]),
        (
            "StopContainer",
            pb.StopContainerRequest(container_id="c", timeout=5),
            ["stop", "--timeout", "5", "c"],
        ),
        ("PullImage", pb.PullImageRequest(image=pb.ImageSpec(image="a:1")), ["pull", "a:1"]),
    ],
)
def test_a_line_of_crictl_repeats_a_call(rpc: str, request_: object, words: list[str]) -> None:
    """Quoted for a shell."""
    line = reproduce.line(entry(rpc, request_), ENDPOINT)
    assert shlex.split(line) == ["crictl", "-r", "unix:///run/cri.sock", *words]


def test_a_configuration_is_written_first() -> None:
    """crictl reads it from a file."""
    request = pb.RunPodSandboxRequest(config=kubelet.sandbox_config("pod"), runtime_handler="x")
    line = reproduce.line(entry("RunPodSandbox", request), ENDPOINT)
    assert line.startswith("printf %s '{")
    assert line.endswith("> pod.json; crictl -r unix:///run/cri.sock runp --runtime x pod.json")


def test_what_crictl_cannot_say_grpcurl_can() -> None:
    """An empty id, for one."""
    line = reproduce.line(entry("StopPodSandbox", pb.StopPodSandboxRequest()), ENDPOINT)
    assert line.startswith("grpcurl ")
    assert line.endswith("runtime.v1.RuntimeService/StopPodSandbox")


def test_a_runtime_is_asked_what_it_lacks(tmp_path: Path) -> None:
    """RPCs by an empty request, images and handlers by their lists."""
    with (
        FakeRuntime(tmp_path / "cri.sock", profile="legacy-1.7") as fake,
        kubelet.connect(fake.endpoint) as runtime,
    ):
        image = features.image_of(runtime, "")
        lacks = features.lacks(runtime, image, lambda: "there is no way", {}, ours=False)
        assert lacks["registry"] == "there is no way"
        assert "no image" in lacks["image"]
        assert "no handler" in lacks["handler"]
        assert lacks["pod network"] == ""
        assert "our own fake" in lacks["ours"]
        assert lacks["rpc Status"] == ""
        assert "does not serve RuntimeConfig" in lacks["rpc RuntimeConfig"]
        runtime.pull_image("example.com/a:1")
        assert features.image_of(runtime, "") == "example.com/a:1"
        with pytest.raises(KeyError):
            lacks["no such feature"]
