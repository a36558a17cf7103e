"""Pulling from the registry that comes with us, and from ones that lie."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable

import attrs
import pytest

from refimpl.images.blobs import OCI, Blob, document
from refimpl.images.build import Built, build
from refimpl.images.client import Pulled, pull
from refimpl.images.credentials import NOBODY, Credentials
from refimpl.images.layers import Layer, plain
from refimpl.images.references import parse
from refimpl.images.registry import Basic, Bearer, Fault, Registry
from refimpl.images.shelf import Shelf
from refimpl.images.store import MemoryBlobs
from refimpl.wire.status import Code, Refused

SHELF = Shelf()
RIGHT, WRONG = Credentials("me", "secret"), Credentials("me", "wrong")


class Patient:
    """Waits until it is told to leave."""

    def __init__(self) -> None:
        self.gone = False
        self.callbacks: list[Callable[[], object]] = []

    def cancelled(self) -> bool:
        return self.gone

    def on_cancel(self, callback: Callable[[], object]) -> None:
        self.callbacks.append(callback)

    def leave(self) -> None:
        self.gone = True
        for callback in self.callbacks:
            callback()


def pulled(
    registry: Registry, name: str, who: Credentials = NOBODY, blobs: MemoryBlobs | None = None
) -> Pulled:
    return pull(parse(f"{registry.address}/{name}"), blobs or MemoryBlobs(), Patient(), who)


def refused(registry: Registry, name: str, code: Code, who: Credentials = NOBODY) -> str:
    with pytest.raises(Refused) as caught:
        pulled(registry, name, who)
    assert caught.value.code == code, str(caught.value)
    return caught.value.message


@pytest.mark.parametrize("name", ["busybox:1", "uncompressed:1", "docker:1", "whiteouts:1"])
def test_each_format_is_pulled_whole(name: str) -> None:
    blobs = MemoryBlobs()
    with Registry(SHELF) as registry:
        image = pulled(registry, name, blobs=blobs)
    assert image.id == SHELF[name].id
    assert blobs.digests() == set(image.blobs) == {*SHELF[name].blobs, SHELF[name].manifest.digest}
    assert image.size == sum(blobs.size(digest) for digest in image.blobs)


def test_an_index_picks_this_machine() -> None:
    with Registry(SHELF) as registry:
        image = pulled(registry, "platforms:1")
        assert image.id == SHELF["busybox:1"].id
        assert image.digest == SHELF["platforms:1"].manifest.digest
        assert "has nothing for linux/" in refused(registry, "foreign:1", Code.NOT_FOUND)


def test_a_digest_is_pulled_and_what_is_not_there_is_not_found() -> None:
    with Registry(SHELF) as registry:
        digest = SHELF["busybox:1"].manifest.digest
        assert pulled(registry, f"busybox@{digest}").id == SHELF["busybox:1"].id
        assert "404" in refused(registry, "busybox:99", Code.NOT_FOUND)


@pytest.mark.parametrize("access", [Basic("me", "secret"), Bearer("me", "secret", "identity")])
def test_who_is_let_in(access: Basic | Bearer) -> None:
    with Registry(SHELF, access=access) as registry:
        assert pulled(registry, "bare:1", RIGHT).id == SHELF["bare:1"].id
        elsewhere = attrs.evolve(RIGHT, server="https://elsewhere.example/v1/")
        for who in (NOBODY, WRONG, elsewhere):
            assert "secret" not in refused(registry, "bare:1", Code.UNAUTHENTICATED, who)
        here = attrs.evolve(RIGHT, server=f"http://{registry.address}")
        assert pulled(registry, "bare:1", here)


def test_tokens_stand_for_a_password() -> None:
    access = Bearer("me", "secret", "identity")
    with Registry(SHELF, access=access) as registry:
        assert pulled(registry, "bare:1", Credentials(identity="identity"))
        assert pulled(registry, "bare:1", Credentials(token=access.grant()))
        for who in (Credentials(identity="other"), Credentials(token="other")):
            refused(registry, "bare:1", Code.UNAUTHENTICATED, who)


@pytest.mark.parametrize(
    "fault", [Fault(path="*/blobs/*", wrong=True), Fault(path="*/manifests/*", wrong=True)]
)
def test_content_that_is_not_that_of_its_digest_is_refused(fault: Fault) -> None:
    digest = SHELF["bare:1"].manifest.digest
    with Registry(SHELF, faults=[fault]) as registry:
        refused(registry, f"bare@{digest}", Code.FAILED_PRECONDITION)


def test_an_overloaded_registry_is_asked_again() -> None:
    with Registry(SHELF, faults=[Fault(status=503, times=2)]) as registry:
        assert pulled(registry, "bare:1").id == SHELF["bare:1"].id
        registry.faults.add(Fault(path="*/blobs/*", cut=5))
        assert refused(registry, "busybox:1", Code.UNKNOWN).startswith("RegistryUnavailable")


def test_a_registry_that_is_down_is_told_with_the_word_of_kubelet() -> None:
    with Registry(SHELF) as registry:
        pass
    assert refused(registry, "bare:1", Code.UNKNOWN).startswith("RegistryUnavailable: 127.0.0.1")


def test_who_leaves_ends_a_pull_from_a_registry_that_says_nothing() -> None:
    waiter, ends = Patient(), []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        reference = parse(f"127.0.0.1:{silent.getsockname()[1]}/a:1")

        def run() -> None:
            try:
                pull(reference, MemoryBlobs(), waiter)
            except Refused as refusal:
                ends.append(refusal.code)

        thread = threading.Thread(target=run)
        thread.start()
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(10)
            waiter.leave()
            thread.join(10)
    assert ends == [Code.CANCELLED]


def manifest(**members: object) -> Built:
    """An image with other members in its manifest."""
    built = SHELF["bare:1"]
    changed = {**json.loads(built.manifest.content), **members}
    return Built(Blob(OCI.manifest, document(changed)), built.blobs, built.id)


LAYER = json.loads(SHELF["bare:1"].manifest.content)["layers"][0]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Built(Blob(OCI.manifest, b"{"), {}), "no JSON"),
        (Built(Blob(OCI.manifest, b"[]"), {}), "no JSON object"),
        (Built(Blob("text/html", b"{}"), {}), "text/html"),
        (manifest(layers="all"), "no list"),
        (manifest(layers=[{"digest": "../../etc"}]), "no descriptor"),
        (manifest(layers=[]), "names 1 layers"),
        (manifest(layers=[{**LAYER, "size": 3}]), "longer than the 3 bytes"),
        (manifest(config={**LAYER}), "no image's"),
        (manifest(layers=[{**LAYER, "mediaType": OCI.layer}]), "does not unpack"),
    ],
)
def test_a_broken_image_is_named(broken: Built, words: str) -> None:
    with Registry(SHELF) as registry:
        registry.content.put("broken:1", broken)
        assert words in refused(registry, "broken:1", Code.FAILED_PRECONDITION)


def test_a_layer_that_unpacks_to_something_else_is_refused() -> None:
    one, other = (build([Layer([plain("a", text)])]) for text in "ab")
    members = json.loads(one.manifest.content)
    members["layers"] = json.loads(other.manifest.content)["layers"]
    mixed = Built(Blob(OCI.manifest, document(members)), {**one.blobs, **other.blobs}, one.id)
    with Registry(SHELF) as registry:
        registry.content.put("mixed:1", mixed)
        assert "does not unpack" in refused(registry, "mixed:1", Code.FAILED_PRECONDITION)
