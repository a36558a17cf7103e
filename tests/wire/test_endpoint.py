"""Endpoints are read once, probed before use, and bound without taking anything over."""

import fcntl
import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.wire import endpoint as endpoint_module
from refimpl.wire.endpoint import SUN_PATH, Endpoint, EndpointError, bound, probe


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Path]:
    """The path of a socket that someone listens on."""
    path = tmp_path / "live.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield path


def stale(path: Path) -> Path:
    """Leaves a socket file that nobody listens on."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    return path


@pytest.mark.parametrize("text", ["unix:///run/x.sock", "/run/x.sock", "unix:/run/x.sock"])
def test_every_spelling_of_a_path_is_one_endpoint(text: str) -> None:
    """Kubelet flags, grpcurl and shells each have their own habit."""
    parsed = Endpoint.parse(text)
    assert parsed == Endpoint("unix", "/run/x.sock")
    assert str(parsed) == "unix:///run/x.sock"
    assert parsed.target == "unix:/run/x.sock"


@pytest.mark.parametrize("text", ["./x.sock", "x.sock", "unix:x.sock", Path("x.sock")])
def test_a_relative_path_is_taken_from_the_working_directory(
    text: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may change its directory between parsing and binding."""
    monkeypatch.chdir(tmp_path)
    assert Endpoint.parse(text).path == str(tmp_path / "x.sock")


@pytest.mark.parametrize(
    ("text", "endpoint", "target"),
    [
        ("tcp://localhost:80", Endpoint("tcp", host="localhost", port=80), "localhost:80"),
        ("tcp://[::1]:0", Endpoint("tcp", host="::1", port=0), "[::1]:0"),
        ("dns:///csi.example:9", Endpoint("dns", host="csi.example", port=9), None),
    ],
)
def test_hosts_keep_their_spelling(text: str, endpoint: Endpoint, target: str | None) -> None:
    """What a report prints can be pasted back into a command line."""
    assert Endpoint.parse(text) == endpoint
    assert str(endpoint) == text
    assert endpoint.target == (target or text)


def test_a_target_survives_characters_that_mean_something_in_a_uri() -> None:
    """grpc decodes %41 and cuts at # or ?, and would then listen elsewhere."""
    assert Endpoint.parse("/run/a%41 #?.sock").target == "unix:/run/a%2541%20%23%3F.sock"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("unix:", "is empty"),
        ("unix://", "three slashes"),
        ("unix://run/x.sock", "three slashes"),
        ("/run/", "names a directory"),
        ("/run/a\0b", "NUL"),
        ("localhost:8080", "tcp://localhost:8080 or ./localhost:8080"),
        ("http://localhost:80", "no known form"),
        ("tcp:localhost:80", "no known form"),
        ("dns://resolver/x:1", "no known form"),
        ("npipe:////./pipe/x", "no known form"),
        ("tcp://localhost", "not host:port"),
        ("tcp://::1:80", "not host:port"),
        ("tcp://localhost:65536", "above 65535"),
    ],
)
def test_what_cannot_be_an_endpoint_is_named_with_its_reason(text: str, message: str) -> None:
    """The reader sees what was given, what is wrong and what to write instead."""
    with pytest.raises(EndpointError) as caught:
        Endpoint.parse(text)
    assert message in str(caught.value)
    assert repr(text) in str(caught.value)


def test_a_path_of_107_bytes_fits_and_one_of_108_does_not() -> None:
    """The kernel would cut or refuse it with a message that names no length."""
    longest = "/" + "x" * (SUN_PATH - 1)
    assert Endpoint.parse(longest).path == longest
    with pytest.raises(EndpointError, match=r"108 bytes.*at most 107"):
        Endpoint.parse(longest + "x")
    with pytest.raises(EndpointError, match="108 bytes"):
        Endpoint.parse("/" + "x" * 105 + "ü")  # bytes count, not characters


def test_a_probe_tells_the_four_states_of_a_path_apart(tmp_path: Path, listener: Path) -> None:
    """Only a stale socket may be removed, so each state must be certain."""
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    states = {
        name: probe(Endpoint.parse(tmp_path / name))
        for name in ("nothing", "file", "link", stale(tmp_path / "old.sock").name, listener.name)
    }
    assert states == {
        "nothing": "absent",
        "file": "not a socket",
        "link": "not a socket",
        "old.sock": "stale",
        "live.sock": "live",
    }


def test_a_socket_of_another_type_counts_as_live(tmp_path: Path) -> None:
    """It refuses our connection although someone uses it."""
    path = tmp_path / "datagram.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as peer:
        peer.bind(str(path))
        assert probe(Endpoint.parse(path)) == "live"


def test_a_probe_of_tcp_knows_live_and_absent() -> None:
    """A port has no file that could be stale."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = Endpoint.parse(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        assert probe(endpoint) == "live"
    assert probe(endpoint) == "absent"


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, bound(Endpoint.parse(path)):
        server.bind(str(path))


def test_the_directory_is_private_and_so_is_the_socket(tmp_path: Path) -> None:
    """Whoever can connect is root on the node, as far as CSI or CRI go."""
    path = tmp_path / "new" / "x.sock"
    bind(path)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_but_the_socket_appears_in_the_directory(tmp_path: Path) -> None:
    """CSI: an orchestrator may refuse a directory that holds anything beside the socket."""
    with bound(Endpoint.parse(tmp_path / "x.sock")):
        assert list(tmp_path.iterdir()) == []


def test_the_umask_is_put_back(tmp_path: Path) -> None:
    """It belongs to the whole process; a failed bind must not change it either."""
    before = os.umask(0o022)
    with pytest.raises(ZeroDivisionError), bound(Endpoint.parse(tmp_path / "x.sock")):
        1 / 0  # noqa: B018
    assert os.umask(before) == 0o022


def test_threads_that_bind_at_once_leave_the_umask_as_it_was(tmp_path: Path) -> None:
    """In directories of their own, which they make; nobody could enter one of mode 0600."""
    before = os.umask(0o022)
    inside, leave = threading.Event(), threading.Event()

    def bind_slowly() -> None:
        with bound(Endpoint.parse(tmp_path / "a" / "x.sock")):
            inside.set()
            assert leave.wait(10)

    first = threading.Thread(target=bind_slowly)
    first.start()
    assert inside.wait(10)
    second = threading.Thread(target=bind, args=(tmp_path / "b" / "x.sock",))
    second.start()
    leave.set()
    first.join()
    second.join()
    assert os.umask(before) == 0o022
    for name in "ab":
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700


def test_a_stale_socket_makes_room(tmp_path: Path) -> None:
    """A killed driver leaves one, and CSI wants it to come up again at the same path."""
    path = stale(tmp_path / "x.sock")
    before = path.stat().st_ctime_ns
    bind(path)
    assert path.stat().st_ctime_ns != before


def test_a_live_socket_is_never_taken_over(listener: Path) -> None:
    """grpc would unlink it without a word, and the first server would look hung."""
    with (
        pytest.raises(EndpointError, match="another server listens there"),
        bound(Endpoint.parse(listener)),
    ):
        pytest.fail("bound a live socket")
    assert probe(Endpoint.parse(listener)) == "live"


def test_a_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    """It may be somebody's work."""
    path = tmp_path / "file"
    path.write_text("precious")
    with pytest.raises(EndpointError, match="is no socket"), bound(Endpoint.parse(path)):
        pytest.fail("bound over a file")
    assert path.read_text() == "precious"


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """Root's permissions hide most causes; a file as parent is one that remains."""
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(EndpointError, match="its directory: "),
        bound(Endpoint.parse(tmp_path / "file" / "x.sock")),
    ):
        pytest.fail("bound below a file")


def test_of_two_that_bind_at_once_the_second_waits_and_then_sees_the_first(
    tmp_path: Path,
) -> None:
    """Between a probe and a bind there must be no gap for another server."""
    endpoint = Endpoint.parse(tmp_path / "x.sock")
    refused: list[str] = []

    def second() -> None:
        try:
            with bound(endpoint):
                refused.append("got in")
        except EndpointError as error:
            refused.append(str(error))

    thread = threading.Thread(target=second)
    with socket.socket(socket.AF_UNIX) as server:
        with bound(endpoint):
            thread.start()
            server.bind(endpoint.path)
            server.listen()
            assert refused == []
        thread.join(10)
    assert len(refused) == 1
    assert "another server listens there" in refused[0]


def test_a_lock_that_is_never_released_ends_in_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that waits for ever tells nobody why it does not come up."""
    monkeypatch.setattr(endpoint_module, "LOCK_WAIT_S", 0.0)
    holder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        with (
            pytest.raises(EndpointError, match="another process has held the lock"),
            bound(Endpoint.parse(tmp_path / "x.sock")),
        ):
            pytest.fail("got in")
    finally:
        os.close(holder)


@pytest.mark.parametrize("text", ["tcp://127.0.0.1:0", "tcp://[::1]:0", "tcp://localhost:0"])
def test_loopback_needs_no_permission(text: str) -> None:
    """Only this machine can call it."""
    with bound(Endpoint.parse(text)) as nothing:
        assert nothing is None


def test_other_machines_are_let_in_only_on_demand() -> None:
    """The protocols carry credentials and have no login of their own."""
    everywhere = Endpoint.parse("tcp://0.0.0.0:0")
    with pytest.raises(EndpointError, match="open to other machines"), bound(everywhere):
        pytest.fail("bound to every address")
    with bound(everywhere, allow_remote=True) as nothing:
        assert nothing is None


def test_a_name_to_resolve_cannot_be_bound() -> None:
    """dns:/// may lead to any number of servers."""
    with pytest.raises(EndpointError, match="names a server to call"):
        bound(Endpoint.parse("dns:///localhost:1")).__enter__()
