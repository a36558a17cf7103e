"""What is in a log."""

from __future__ import annotations

from itertools import pairwise

from conformance.cri.logs import logged, written
from conformance.cri.needs import IMAGE
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect

_LONG = 64 << 10


@case("CRI-LG-001", "CRI v1 log format: time, stream, tag, content", needs=[IMAGE])
def test_each_line_is_a_record(cri: CriTarget) -> None:
    """kubectl logs shows nothing of a line that it cannot read."""
    log = written(cri, "/bin/sh", "-c", "echo one; echo two words")
    log.all(b"one\ntwo words\n")
    got = [(each.stream, each.tag, each.content) for each in log.records()]
    wanted = [("stdout", "F", b"one"), ("stdout", "F", b"two words")]
    expect(got == wanted, "a line that is whole is final", wanted=wanted, got=got)


@case("CRI-LG-002", "CRI v1 log format: stdout or stderr", needs=[IMAGE])
def test_each_stream_is_told_from_the_other(cri: CriTarget) -> None:
    """kubectl logs --stream=Stderr shows one of them."""
    log = written(cri, "/bin/sh", "-c", "echo good; echo bad >&2")
    log.all(b"good\n")
    got = log.text(stream="stderr")
    expect(got == b"bad\n", "what went to stderr says so", wanted=b"bad\n", got=got)


@case("CRI-LG-003", "CRI v1 log format: P, to be continued", needs=[IMAGE])
def test_a_long_line_is_put_together_again(cri: CriTarget) -> None:
    """Readers have a bound for a line; how long records are is up to the runtime."""
    line = b"0123456789abcdef" * (_LONG // 16)
    log = written(cri, "/bin/printf", f"{line.decode()}\\n")
    log.all(line + b"\n")
    *partial, last = [each.tag for each in log.records()]
    expect(
        {*partial} <= {"P"} and last == "F",
        "the last part alone is final",
        wanted="P... F",
        got=[*partial, last],
    )


@case("CRI-LG-004", "CRI v1 log format: F ends a line", needs=[IMAGE])
def test_the_end_of_the_output_is_no_end_of_a_line(cri: CriTarget) -> None:
    """Whoever joins the parts would add a line feed that nobody wrote."""
    log = written(cri, "/bin/printf", "one\\ntwo")
    log.all(b"one\ntwo")


@case("CRI-LG-005", "CRI v1 log format: content may be empty", needs=[IMAGE])
def test_empty_lines_are_kept(cri: CriTarget) -> None:
    """Output is told as it was."""
    written(cri, "/bin/printf", "a\\n\\n\\nb\\n").all(b"a\n\n\nb\n")


@case("CRI-LG-006", "containerd drops a carriage return, CRI-O keeps it", needs=[IMAGE])
def test_a_carriage_return_is_kept_or_dropped_and_nothing_else(cri: CriTarget) -> None:
    """Programs from Windows end their lines so."""
    log = written(cri, "/bin/printf", "a\\r\\nb\\r\\n")
    kept, dropped = b"a\r\nb\r\n", b"a\nb\n"
    log.all(kept if b"\r" in log.text() else dropped)


@case("CRI-LG-007", "CRI v1 log format: content is bytes", needs=[IMAGE])
def test_bytes_that_are_no_text_are_kept(cri: CriTarget) -> None:
    """A log is not always text."""
    written(cri, "/bin/printf", "a\\000\\377\\tb\\n").all(b"a\0\xff\tb\n")


@case("CRI-LG-008", "CRI v1 log format: RFC 3339 with nanoseconds", needs=[IMAGE])
def test_times_never_go_back(cri: CriTarget) -> None:
    """kubectl logs --since-time stops reading where they do."""
    script = "echo 1; sleep 0.1; echo 2; echo x >&2; sleep 0.1; echo 3; echo y >&2"
    log = written(cri, "/bin/sh", "-c", script)
    log.all(b"1\n2\n3\n")
    for stream in ("stdout", "stderr"):
        times = [each.at for each in log.records() if each.stream == stream]
        ordered = all(first <= second for first, second in pairwise(times))
        expect(ordered, f"the times of {stream} are in order", wanted=sorted(times), got=times)
    status = log.container.status()
    first = log.records()[0].at
    expect(
        first >= status.created_at,
        "none is before the container was made",
        wanted=f">= {status.created_at}",
        got=first,
    )


@case("CRI-LG-009", "CRI v1 ContainerConfig.tty: a terminal has one output", needs=[IMAGE])
def test_a_terminal_has_no_stderr(cri: CriTarget) -> None:
    """Both are the same file for the container."""
    log = written(cri, "/bin/sh", "-c", "echo good; echo bad >&2", tty=True)
    contents = [each.content.rstrip(b"\r") for each in log.records()]
    streams = {each.stream for each in log.records()}
    expect(
        contents == [b"good", b"bad"],
        "all that it wrote is there",
        wanted=[b"good", b"bad"],
        got=contents,
    )
    expect(streams == {"stdout"}, "all of it is of stdout", wanted={"stdout"}, got=streams)


@case("CRI-LG-010", "containerd, CRI-O: no path, no log there", needs=[IMAGE])
def test_a_container_without_a_path_works_and_has_no_file_there(cri: CriTarget) -> None:
    """Whoever makes a container by hand need not think of it."""
    log = written(cri, "/bin/echo", "one", within="")
    files = [str(each) for each in log.folder.rglob("*")]
    expect(files == [], "nothing is written to the log directory", wanted=[], got=files)
    code = log.container.status().exit_code
    expect(code == 0, "the container works", wanted=0, got=code)


@case("CRI-LG-011", "kubelet: a folder for each container, which it has made", needs=[IMAGE])
def test_the_file_is_where_path_and_directory_lead(cri: CriTarget) -> None:
    """kubectl logs opens this path."""
    log = logged(cri, ("/bin/echo", "one"), within="main/deep/1.log")
    log.container.start()
    log.all(b"one\n")
    path = log.container.status().log_path
    expect(path == str(log.path), "log_path is the whole path", wanted=log.path, got=path)


@case("CRI-LG-012", "kubelet reads a log once its container has ended", needs=[IMAGE])
def test_all_output_is_there_when_the_end_is_told(cri: CriTarget) -> None:
    """The last words of a container that crashed are what people look for."""
    log = logged(cri, ("/bin/sh", "-c", "seq 5000; printf last"))
    log.container.start()
    log.all("".join(f"{number}\n" for number in range(1, 5001)).encode() + b"last")
