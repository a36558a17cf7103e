"""PullImage and registries: credentials, what goes wrong on the way, and formats."""

from __future__ import annotations

import base64
import socket
from functools import partial

from conformance.cri.images import layers
from conformance.cri.needs import REGISTRY
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, should, together
from refimpl.cri.api import cri_pb2 as pb
from refimpl.images.build import HOST, Platform, build, index
from refimpl.images.layers import Entry, Layer, folder, plain, removed
from refimpl.images.registry import Basic, Bearer, Fault
from refimpl.wire.status import Code, Refused

_USER, _PASSWORD, _IDENTITY = "somebody", "pa55word-of-refimpl", "identity-of-refimpl"
_UNAVAILABLE = "RegistryUnavailable"
_MANIFESTS, _BLOBS = "*/manifests/*", "*/blobs/*"
_SHORT_S = 0.5
_LONG_S = 60.0
_OTHER = Platform("riscv64" if HOST.architecture != "riscv64" else "s390x")
_auth = partial(pb.AuthConfig, username=_USER, password=_PASSWORD)


@case("CRI-IM-008", "cri-api pkg/errors: RegistryUnavailable")
def test_a_registry_that_is_down_is_told_with_its_word(cri: CriTarget) -> None:
    """Kubelet shows the pod why, and looks at the beginning of the message for it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    refusal = expect_refusal(
        lambda: cri.shelf.pull(f"127.0.0.1:{port}/refimpl/a:1", timeout=_LONG_S),
        "nobody listens there",
    )
    wanted = f"UNKNOWN, {_UNAVAILABLE} ..."
    right = refusal.code == Code.UNKNOWN and refusal.message.startswith(_UNAVAILABLE)
    expect(right, "the message begins with its word", wanted=wanted, got=refusal)


@case("CRI-IM-009", "gRPC deadlines", needs=[REGISTRY])
def test_a_pull_ends_with_its_deadline(cri: CriTarget) -> None:
    """A registry that is slow must not be waited for longer than somebody wants to."""
    slow = cri.shelf.serve([Fault(path=_MANIFESTS, times=1, delay_s=2.0)])
    name = cri.shelf.push(registry=slow).name()
    expect_status(
        lambda: cri.shelf.pull(name, timeout=_SHORT_S),
        {Code.DEADLINE_EXCEEDED},
        "a pull that is not done in time",
    )


@case("CRI-IM-010", "kubelet gives a pull up and tries it again", needs=[REGISTRY])
def test_a_pull_that_was_cancelled_can_be_repeated(cri: CriTarget) -> None:
    """Nothing of the first attempt stands in the way of the second."""
    slow = cri.shelf.serve([Fault(path=_BLOBS, times=1, delay_s=2.0)])
    image = cri.shelf.push(registry=slow)
    expect_status(
        lambda: cri.shelf.pull(image.name(), timeout=_SHORT_S),
        {Code.DEADLINE_EXCEEDED},
        "a pull that is not done in time",
    )
    reference = cri.shelf.pull(image.name(), timeout=_LONG_S)
    expect(reference == image.id, "the next one succeeds", wanted=image.id, got=reference)


@case("CRI-IM-011", "OCI image-spec descriptors: content has its digest", needs=[REGISTRY])
def test_content_that_is_not_that_of_its_digest_is_refused(cri: CriTarget) -> None:
    """A registry that was broken into, a proxy that breaks off. Where the runtime asks for the rest
    of what broke off, as containerd does, it may have all of it in the end."""
    wrong = cri.shelf.push(registry=cri.shelf.serve([Fault(path=_BLOBS, wrong=True)]))
    expect_refusal(
        partial(cri.shelf.pull, wrong.name(), timeout=_LONG_S), "blobs are other content"
    )
    status = cri.shelf.status(wrong.name())
    expect(status is None, "there is no half image", wanted=None, got=status)
    cut = cri.shelf.push(registry=cri.shelf.serve([Fault(path=_BLOBS, cut=10)]))
    try:
        reference = cri.shelf.pull(cut.name(), timeout=_LONG_S)
    except Refused:
        status = cri.shelf.status(cut.name())
        expect(status is None, "there is no half image", wanted=None, got=status)
    else:
        expect(reference == cut.id, "it is whole", wanted=cut.id, got=reference)


@case("CRI-IM-012", "OCI distribution-spec: 503", needs=[REGISTRY])
def test_an_overloaded_registry_is_asked_again(cri: CriTarget) -> None:
    """By the runtime itself, or when kubelet tries the next time."""
    image = cri.shelf.push(registry=cri.shelf.serve([Fault(status=503, times=2)]))
    try:
        cri.shelf.pull(image.name(), timeout=_LONG_S)
    except Refused as refusal:
        status = cri.shelf.status(image.name())
        expect(status is None, "there is no image after a refusal", wanted=None, got=refusal)
    reference = cri.shelf.pull(image.name(), timeout=_LONG_S)
    expect(reference == image.id, "the next pull succeeds", wanted=image.id, got=reference)


@case("CRI-IM-013", "CRI v1 AuthConfig.username, password", needs=[REGISTRY])
def test_a_name_and_its_password_let_in(cri: CriTarget) -> None:
    """imagePullSecrets of a pod; and nobody comes in without."""
    access = Basic(_USER, _PASSWORD)
    image = cri.shelf.push(registry=cri.shelf.serve(access=access))
    for kind, auth in (("none", None), ("a wrong one", _auth(password="wrong"))):
        expect_refusal(partial(cri.shelf.pull, image.name(), auth), f"of passwords there is {kind}")
    reference = cri.shelf.pull(image.name(), _auth())
    expect(reference == image.id, "the right one lets in", wanted=image.id, got=reference)


@case("CRI-IM-014", "CRI v1 AuthConfig.auth, server_address", needs=[REGISTRY])
def test_both_in_one_are_as_good_and_stay_at_their_registry(cri: CriTarget) -> None:
    """As a docker config has it; and a secret is not sent to another registry than its own."""
    image = cri.shelf.push(registry=cri.shelf.serve(access=Basic(_USER, _PASSWORD)))
    pair = base64.b64encode(f"{_USER}:{_PASSWORD}".encode()).decode()
    elsewhere = _auth(server_address="https://elsewhere.example")
    expect_refusal(
        lambda: cri.shelf.pull(image.name(), elsewhere),
        "credentials for another server_address are not used",
    )
    reference = cri.shelf.pull(image.name(), pb.AuthConfig(auth=pair))
    expect(reference == image.id, "auth lets in", wanted=image.id, got=reference)


@case("CRI-IM-015", "CRI v1 AuthConfig.identity_token, registry_token", needs=[REGISTRY])
def test_tokens_let_in(cri: CriTarget) -> None:
    """What credential helpers of clouds hand out."""
    access = Bearer(_USER, _PASSWORD, _IDENTITY)
    registry = cri.shelf.serve(access=access)
    with together() as check:
        for kind, auth in (
            ("identity_token", pb.AuthConfig(identity_token=_IDENTITY)),
            ("registry_token", pb.AuthConfig(registry_token=access.grant())),
        ):
            image = cri.shelf.push(registry=registry)
            with check:
                reference = expect_status(
                    partial(cri.shelf.pull, image.name(), auth),
                    {Code.OK},
                    f"{kind} lets in",
                )
                expect(reference == image.id, f"{kind}", wanted=image.id, got=reference)


@case("CRI-IM-016", "CRI v1 AuthConfig: secrets stay secret", needs=[REGISTRY])
def test_a_refusal_does_not_tell_the_secret(cri: CriTarget) -> None:
    """Messages of pulls are events that anybody in the namespace can read."""
    access = Bearer(_USER, "another", "another")
    image = cri.shelf.push(registry=cri.shelf.serve(access=access))
    with together() as check:
        for auth in (_auth(), pb.AuthConfig(identity_token=_IDENTITY)):
            with check:
                refusal = expect_refusal(
                    partial(cri.shelf.pull, image.name(), auth), "wrong credentials"
                )
                secret = auth.password or auth.identity_token
                shown = secret in refusal.message
                expect(not shown, "the message is without it", wanted="no secret", got=refusal)


@case("CRI-IM-017", "OCI image-spec index: platform", needs=[REGISTRY])
def test_an_index_picks_the_platform_of_the_node(cri: CriTarget) -> None:
    """And one without it is no image for this node."""
    mine, other = build(layers()), build(layers(), runs_on=_OTHER)
    both = cri.shelf.push(built=index({_OTHER: other, HOST: mine}))
    reference = cri.shelf.pull(both.name())
    expect(reference == mine.id, "that of the node is pulled", wanted=mine.id, got=reference)
    foreign = cri.shelf.push(built=index({_OTHER: other}))
    expect_refusal(lambda: cri.shelf.pull(foreign.name()), "there is none for this platform")


@case("CRI-IM-021", "OCI image-spec, Docker image manifest v2: media types", needs=[REGISTRY])
def test_each_format_is_pulled(cri: CriTarget) -> None:
    """Layers with and without gzip, in OCI's words and in Docker's. zstd is not judged: what makes
    it is not in Python."""
    with together() as check:
        for family in ("oci", "docker"):
            for compressed in (True, False):
                made = [Layer(each.entries, compressed=compressed) for each in layers()]
                image = cri.shelf.push(built=build(made, family=family))
                kind = f"{family}, {'gzip' if compressed else 'plain'}"
                with check:
                    reference = expect_status(
                        partial(cri.shelf.pull, image.name()),
                        {Code.OK},
                        f"{kind}: it is pulled",
                    )
                    expect(reference == image.id, kind, wanted=image.id, got=reference)


@case("CRI-IM-022", "OCI image-spec layer.md: whiteouts, hard links", needs=[REGISTRY])
def test_layers_take_away_and_link(cri: CriTarget) -> None:
    """An image is pulled whose upper layers take away files and folders of the lower ones."""
    lower = Layer([folder("data"), plain("data/gone", "x"), folder("old"), plain("old/in", "y")])
    links = Layer([plain("one", "same"), Entry("two", "hardlink", target="one")])
    upper = Layer([removed("data/gone"), folder("old"), plain("old/.wh..wh..opq", "")])
    image = cri.shelf.push(built=build([*layers(), lower, links, upper]))
    reference = cri.shelf.pull(image.name())
    expect(reference == image.id, "it is pulled", wanted=image.id, got=reference)


@case("CRI-IM-043", "practice: registries on this machine need no TLS", needs=[REGISTRY])
def test_a_registry_on_this_machine_needs_no_configuration(cri: CriTarget) -> None:
    """Whoever tries an image in a registry beside the runtime. One that answers TLS with something
    that is no HTTP is told by a refusal, or read all the same."""
    with together() as check:
        for tells_plain in (True, False):
            image = cri.shelf.push(registry=cri.shelf.serve(tells_plain=tells_plain))
            with check:
                accepted = {Code.OK} if tells_plain else {Code.OK, Code.UNKNOWN, Code.UNAVAILABLE}
                reference = expect_status(
                    partial(cri.shelf.pull, image.name(), timeout=_LONG_S),
                    accepted,
                    "it is pulled" if tells_plain else "a server that answers TLS with noise",
                )
                should(reference in (None, image.id), "its id", wanted=image.id, got=reference)
