"""ExecSync."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import grpc

from conformance.cri.needs import IMAGE
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect, should, timeout
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.api.cri_pb2_grpc import RuntimeServiceStub
from refimpl.wire.status import Code, Refused

_SH = ("/bin/sh", "-c")
_LONG = ("/bin/sleep", "7531")
_MOST = 16 << 20
_MIB_64 = 64 << 20


def _expect_output(reply: pb.ExecSyncResponse, wanted: bytes, rule: str) -> None:
    expect(reply.stdout == wanted, rule, wanted=wanted, got=reply.stdout)


@case("CRI-EX-001", "CRI v1 ExecSyncResponse", needs=[IMAGE])
def test_the_output_of_a_command_is_returned(cri: CriTarget) -> None:
    """A probe looks at it."""
    reply = cri.kubelet.exec_sync(cri.pods.shared().run().id, ["/bin/echo", "-n", "hello"])
    _expect_output(reply, b"hello", "stdout is what it wrote")
    rest = (reply.stderr, reply.exit_code)
    expect(rest == (b"", 0), "stderr is empty, the exit code 0", wanted=(b"", 0), got=rest)


@case("CRI-EX-002", "CRI v1 ExecSyncResponse.exit_code", needs=[IMAGE])
def test_a_command_that_fails_is_no_error_of_the_call(cri: CriTarget) -> None:
    """Kubelet tells a failed probe from a runtime that failed."""
    command = (*_SH, "echo out; echo err >&2; exit 3")
    reply = cri.kubelet.exec_sync(cri.pods.shared().run().id, command)
    ended = (reply.stdout, reply.stderr, reply.exit_code)
    wanted = (b"out\n", b"err\n", 3)
    expect(ended == wanted, "outputs and exit code are returned", wanted=wanted, got=ended)


def _late(cri: CriTarget, id: str) -> str:
    """How an ExecSync ends whose time is over."""
    try:
        reply = cri.kubelet.exec_sync(id, _LONG, 1)
    except Refused as refusal:
        return refusal.code.name
    return f"exit code {reply.exit_code}"


@case("CRI-EX-003", "CRI v1 ExecSyncRequest.timeout", needs=[IMAGE])
def test_a_command_has_as_long_as_the_caller_gives_it(cri: CriTarget) -> None:
    """A probe that hangs has failed (D14: refused, or exit code -1)."""
    began = time.monotonic()
    outcome = _late(cri, cri.pods.shared().run().id)
    took = time.monotonic() - began
    expect(
        outcome in ("DEADLINE_EXCEEDED", "UNKNOWN", "exit code -1"),
        "a command that takes too long is over",
        wanted="DEADLINE_EXCEEDED or exit code -1",
        got=outcome,
    )
    expect(
        1 <= took < timeout(10), "it has its time, and no more", wanted="1 s", got=f"{took:.1f} s"
    )


@case("CRI-EX-004", "CRI v1 ExecSyncRequest.timeout: the process is gone", needs=[IMAGE])
def test_a_command_whose_time_is_over_leaves_no_process(cri: CriTarget) -> None:
    """Else each probe leaves one, until the pod has no memory."""
    container = cri.pods.shared().run()
    _late(cri, container.id)
    eventually(
        lambda: not container.runs(_LONG[1]),
        10.0,
        "the process of the command is gone",
    )
    state = container.status().state
    expect(state == pb.CONTAINER_RUNNING, "the container runs on", wanted=1, got=state)


@case("CRI-EX-005", "CRI v1 ExecSyncRequest.timeout: 0 is no limit", needs=[IMAGE])
def test_without_a_limit_a_command_may_take_its_time(cri: CriTarget) -> None:
    """It is the default: backups and migrations take their time."""
    reply = cri.kubelet.exec_sync(cri.pods.shared().run().id, (*_SH, "sleep 2; echo done"))
    _expect_output(reply, b"done\n", "it came to its end")


@case("CRI-EX-006", "CRI v1 ExecSync: 16 MiB of each stream", needs=[IMAGE])
def test_too_much_output_is_cut_and_no_error(cri: CriTarget) -> None:
    """The rest is dropped (D83: containerd's own limit of a message is in the way)."""
    container = cri.pods.shared().run()
    command = ("/bin/head", "-c", str(20 << 20), "/dev/zero")
    options = [("grpc.max_receive_message_length", _MIB_64)]
    with grpc.insecure_channel(str(cri.endpoint), options=options) as channel:
        stub = RuntimeServiceStub(channel)
        request = pb.ExecSyncRequest(container_id=container.id, cmd=command)
        try:
            reply = stub.ExecSync(request, timeout=timeout(60))
            got = f"exit code {reply.exit_code}, {len(reply.stdout)} bytes"
            whole = reply.exit_code == 0 and 0 < len(reply.stdout) <= _MOST
        except grpc.RpcError as error:
            got, whole = str(error.code()), False
    expect(whole, "20 MiB are cut to 16", wanted=f"exit code 0, <= {_MOST} bytes", got=got)


@case("CRI-EX-007", "CRI v1 ExecSyncResponse.stdout: bytes", needs=[IMAGE])
def test_bytes_are_returned_as_they_are(cri: CriTarget) -> None:
    """Whatever somebody copies out of a container."""
    text = "".join(f"\\{number:03o}" for number in range(256))
    reply = cri.kubelet.exec_sync(cri.pods.shared().run().id, (*_SH, f"printf '{text}'"))
    _expect_output(reply, bytes(range(256)), "all 256 come back")


@case("CRI-EX-008", "CRI v1 ExecSyncResponse.stdout: nothing added, nothing taken", needs=[IMAGE])
def test_newlines_are_returned_as_they_are(cri: CriTarget) -> None:
    """Also where there is none at the end, or nothing else."""
    id = cri.pods.shared().run().id
    for text in ("no end", "\\n\\n\\n", "a\\n\\nb\\n\\n"):
        reply = cri.kubelet.exec_sync(id, (*_SH, f"printf '{text}'"))
        _expect_output(reply, text.replace("\\n", "\n").encode(), f"{text!r} comes back")


@case("CRI-EX-009", "CRI-O, conmon: the end is that of the process", needs=[IMAGE])
def test_a_child_in_the_background_does_not_hold_the_call(cri: CriTarget) -> None:
    """A probe that starts a daemon would never end (D16)."""
    began = time.monotonic()
    try:
        cri.kubelet.exec_sync(cri.pods.shared().run().id, (*_SH, "sleep 8 & echo x"), 3)
    except Refused as refusal:
        expect(refusal.code == Code.DEADLINE_EXCEEDED, "it is late", wanted="late", got=refusal)
    took = time.monotonic() - began
    expect(took < timeout(6), "the call ends in time", wanted="3 s", got=f"{took:.1f} s")


@case("CRI-EX-010", "containerd, CRI-O: NotFound")
def test_a_command_needs_a_container(cri: CriTarget) -> None:
    """The pod is gone, and the probe is about it."""
    expect_refusal(
        lambda: cri.kubelet.exec_sync(cri.pods.unknown_id(), ["true"], 5),
        "a command in an unknown container is NOT_FOUND",
        preferred={Code.NOT_FOUND},
    )


@case("CRI-EX-011", "containerd: a process to join", needs=[IMAGE])
def test_a_command_needs_a_container_that_runs(cri: CriTarget) -> None:
    """There is no namespace to run it in."""
    pod = cri.pods.shared()
    exited = pod.run(command=("/bin/true",))
    exited.ended()
    for container, state in ((pod.create(), "CREATED"), (exited, "EXITED")):
        expect_refusal(
            lambda id=container.id: cri.kubelet.exec_sync(id, ["/bin/true"], 5),  # type: ignore[misc]
            f"a command in a container that is {state} is refused",
        )


@case("CRI-EX-012", "containerd, CRI-O: no command", needs=[IMAGE])
def test_a_call_names_a_command(cri: CriTarget) -> None:
    """An empty list runs nothing."""
    id = cri.pods.shared().run().id
    expect_refusal(lambda: cri.kubelet.exec_sync(id, [], 5), "an empty cmd is refused")


@case("CRI-EX-013", "containerd, CRI-O, shells: 126 and 127", needs=[IMAGE])
def test_a_program_that_is_missing_is_told(cri: CriTarget) -> None:
    """Refused, or as a shell tells it."""
    id = cri.pods.shared().run().id
    try:
        reply = cri.kubelet.exec_sync(id, ["/nonexistent/refimpl"], 10)
    except Refused:
        return
    code = reply.exit_code
    expect(code in (126, 127), "it is an error", wanted="an error, 126 or 127", got=code)


@case("CRI-EX-014", "CRI v1 ExecSync: in the container, as its user", needs=[IMAGE])
def test_a_command_runs_as_the_container_does(cri: CriTarget) -> None:
    """A probe sees what the program sees."""
    pod = cri.pods.shared()
    request = pod.request(user=1000, group=1000, env=[("GREETING", "good day")])
    request.config.working_dir = "/tmp"
    request.config.linux.security_context.supplemental_groups.append(2000)
    container = pod.ask(request)
    container.start()
    command = (*_SH, 'id -u; id -g; pwd; echo "$GREETING"; id -G')
    reply = cri.kubelet.exec_sync(container.id, command, 10)
    *lines, groups = reply.stdout.decode().splitlines() or [""]
    wanted = ["1000", "1000", "/tmp", "good day"]
    expect(lines == wanted, "user, folder and variables are its", wanted=wanted, got=lines)
    expect("2000" in groups.split(), "its groups are", wanted="2000", got=groups)


@case("CRI-EX-015", "kubelet: probes run at once", needs=[IMAGE])
def test_many_commands_at_once_have_an_output_each(cri: CriTarget) -> None:
    """50 in one container."""
    id = cri.pods.shared().run().id

    def run(number: int) -> bytes:
        return bytes(cri.kubelet.exec_sync(id, ["/bin/echo", f"number {number}"]).stdout)

    with ThreadPoolExecutor(50) as pool:
        outputs = list(pool.map(run, range(50)))
    wanted = [f"number {number}\n".encode() for number in range(50)]
    strange = [got for got, want in zip(outputs, wanted, strict=True) if got != want]
    expect(not strange, "each has its own", wanted=wanted[0], got=strange[:1])


@case("CRI-EX-016", "containerd, CRI-O: the namespace ends with its first process", needs=[IMAGE])
def test_a_command_ends_with_its_container(cri: CriTarget) -> None:
    """Else the probe of a pod that is gone waits for ever."""
    container = cri.pods.shared().run()

    def run() -> None:
        with contextlib.suppress(Refused):  # killed is killed, however it is told
            cri.kubelet.exec_sync(container.id, ["/bin/sleep", "7533"], 30)

    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(run)
        eventually(lambda: container.runs("7533"), 10.0, "the command runs")
        container.stop(0)
        eventually(call.done, 8.0, "the command has ended soon after its container")


@case("CRI-EX-064", "containerd: negative is no limit", needs=[IMAGE])
def test_a_negative_timeout_is_refused_or_no_limit(cri: CriTarget) -> None:
    """Which of both is nowhere said; a command killed at once is neither."""
    request = pb.ExecSyncRequest(
        container_id=cri.pods.shared().run().id, cmd=[*_SH, "sleep 1; echo done"], timeout=-5
    )
    try:
        reply = cri.runtime.ExecSync(request, timeout=timeout(20))
    except Refused as refusal:
        refused = refusal.code in (Code.INVALID_ARGUMENT, Code.UNKNOWN)
        expect(refused, "it is refused, or no limit", wanted="INVALID_ARGUMENT", got=refusal)
        return
    _expect_output(reply, b"done\n", "the command came to its end")


@case("CRI-EX-065", "containerd: the terminal is of the first process", needs=[IMAGE])
def test_outputs_are_two_also_where_the_container_has_a_terminal(cri: CriTarget) -> None:
    """ExecSync asks for none (D17: CRI-O merges them)."""
    pod = cri.pods.shared()
    request = pod.request()
    request.config.tty = True
    container = pod.ask(request)
    container.start()
    reply = cri.kubelet.exec_sync(container.id, (*_SH, "echo out; echo err >&2"), 10)
    got = (reply.stdout, reply.stderr)
    wanted = (b"out\n", b"err\n")
    should(got == wanted, "stdout and stderr stay apart", wanted=wanted, got=got)
