"""Unary gRPC calls at endpoints, or on a driver that is started: grpcio is all it takes."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import grpc

from conformance.engine.replay.player.codec import Codec
from conformance.engine.replay.player.playing import (
    UNUSABLE,
    Answer,
    Call,
    Names,
    fresh,
    play,
    tell,
    undo,
)

DEADLINE_S = 60.0


class Caller:
    """Makes calls at the endpoints that stand for those of then."""

    def __init__(self, codec: Codec, endpoints: Mapping[str, str], deadline_s: float) -> None:
        self._codec, self._deadline_s = codec, deadline_s
        self._reached: set[str] = set()
        self._channels = {
            then: grpc.insecure_channel(
                now.replace("unix:///", "unix:/"),
                options=[("grpc.default_authority", "localhost")],
            )
            for then, now in endpoints.items()
        }

    def ask(self, call: Call, request: Any) -> Answer:
        """Status, message and reply of one call."""
        make_folders(request)
        raw = request.get("bytes") if call["raw"] else None
        data = base64.b64decode(raw) if raw else self._codec.encode(call["takes"], request)
        method: Any = self._channels[call["peer"]].unary_unary(call["method"])
        # A driver is waited for while it starts, and not once it has died.
        waits = call["peer"] not in self._reached
        self._reached.add(call["peer"])
        try:
            reply = method(data, timeout=self._deadline_s, wait_for_ready=waits)
        except grpc.RpcError as error:
            return error.code().name, error.details() or "", None
        return "OK", "", self._codec.decode(call["gives"], reply) if call["gives"] else {}


def make_folders(request: Any) -> None:
    """What a caller owes the driver: the staging path, the parent of a target path."""
    for field, given in (("staging_target_path", "{}"), ("target_path", "{}/..")):
        path = request.get(field, "") if isinstance(request, dict) else ""
        if path.startswith(tempfile.gettempdir()):
            os.makedirs(os.path.normpath(given.format(path)), exist_ok=True)


def start(command: Sequence[str], folder: str) -> tuple[subprocess.Popen[bytes], str]:
    """Starts the driver; the process and its endpoint."""
    endpoint = f"unix://{folder}/s"
    words = {"{endpoint}": endpoint, "{dir}": folder, "{node}": "refimpl-node"}
    filled = []
    for word in command:
        for name, value in words.items():
            word = word.replace(name, value)
        filled.append(word)
    environment = {**os.environ, "CSI_ENDPOINT": endpoint}
    with open(f"{folder}/log", "wb") as log:
        process = subprocess.Popen(
            filled, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    return process, endpoint


def main(record: Mapping[str, Any], arguments: Sequence[str]) -> int:
    """Plays the record at the endpoints that are given, or on a driver that is started."""
    peers, command = record["peers"], record["command"]
    secrets = {text: os.environ.get(name, "") for text, name in record["secrets"].items()}
    if missing := [name for text, name in record["secrets"].items() if not secrets[text]]:
        print(f"no record keeps secrets: set {', '.join(missing)}", file=sys.stderr)
        return UNUSABLE
    if len(arguments) not in (1, len(peers)) and not (command and not arguments):
        places = " ".join(f"ENDPOINT-FOR-{peer}" for peer in peers)
        print(f"usage: {sys.argv[0]} {places}", file=sys.stderr)
        return UNUSABLE
    folder = tempfile.mkdtemp(prefix="replay-")
    own = {then: f"{folder}/{number}" for number, then in enumerate(record["folders"])}
    names = Names({**own, **secrets, record["run"]: fresh()})
    try:
        return at(record, arguments, names, folder)
    finally:
        discard(folder)


def at(record: Mapping[str, Any], arguments: Sequence[str], names: Names, folder: str) -> int:
    """Plays the record there; a driver is started where no endpoint is given."""
    peers, process = record["peers"], None
    if not arguments:
        process, endpoint = start(record["command"], folder)
        arguments = [endpoint]
    given = list(arguments) * len(peers) if len(arguments) == 1 else list(arguments)
    codec = Codec(record["schema"], record["enums"])
    caller = Caller(codec, dict(zip(peers, given, strict=True)), DEADLINE_S)
    try:
        alike = play(record["calls"], caller.ask, names)
        undo(record["undo"], caller.ask, names)
    finally:
        if process:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
    return tell(alike, record["finding"])


def discard(folder: str) -> None:
    """Removes a folder, unless a driver has left something mounted in it."""
    with open("/proc/self/mountinfo") as mounts:
        if folder in mounts.read():
            print(f"something is still mounted in {folder}", file=sys.stderr)
            return
    shutil.rmtree(folder, ignore_errors=True)
