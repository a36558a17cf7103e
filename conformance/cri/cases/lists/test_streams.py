"""Lists as streams (KEP 5825)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.cri.listings import LISTINGS, Listing
from conformance.cri.needs import IMAGE, OURS, served
from conformance.cri.pods import PodUnderTest
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cri.api import cri_pb2 as pb

_STREAMS = served("StreamPodSandboxes")
_LABEL = "refimpl.example/list"
_LARGE, _NUMBER = 1 << 20, 24
"""Bytes of an annotation, and of how many containers: more than the 16 MiB of a message."""


def _filter(listing: Listing, cri: CriTarget, pod: PodUnderTest) -> Any:
    """One that selects what a case has made."""
    if listing.wanted is None:
        return None
    if listing.wanted is pb.ImageFilter:
        return pb.ImageFilter(image=pb.ImageSpec(image=cri.image))
    return listing.wanted(label_selector={_LABEL: pod.config.metadata.uid})


def _unknown(listing: Listing, cri: CriTarget) -> Any:
    """One that selects nothing."""
    if listing.wanted is pb.ImageFilter:
        return pb.ImageFilter(image=pb.ImageSpec(image="refimpl.invalid/none:1"))
    return listing.wanted(id=cri.pods.unknown_id())


def _pod(cri: CriTarget) -> PodUnderTest:
    config = cri.pods.config()
    config.labels[_LABEL] = config.metadata.uid
    pod = cri.pods.ask(config)
    for _ in range(3):
        pod.run(labels={_LABEL: config.metadata.uid})
    return pod


def _each(cri: CriTarget, act: Callable[[Listing], None], *, filtered: bool = False) -> None:
    """Does it for each of the streams that the runtime has."""
    with together() as check:
        for listing in LISTINGS:
            if (listing.wanted or not filtered) and not listing.missing(cri):
                with check:
                    act(listing)


@case("CRI-LS-001", "CRI v1 list streams: the same as the list", needs=[IMAGE, _STREAMS])
def test_a_stream_has_what_the_list_has(cri: CriTarget) -> None:
    """Kubelet takes the one for the other."""
    _pod(cri)  # whatever else there is
    pod = _pod(cri)

    def same(listing: Listing) -> None:
        wanted = _filter(listing, cri, pod)
        whole, streamed = sorted(listing.listed(cri, wanted)), sorted(listing.streamed(cri, wanted))
        if listing.wanted is None:  # those of others come and go
            whole, streamed = (
                [each for each in ids if each == pod.id] for ids in (whole, streamed)
            )
        expect(whole, f"{listing.whole} has what was made", wanted="one at least", got=whole)
        expect(streamed == whole, f"{listing.stream} has the same", wanted=whole, got=streamed)

    _each(cri, same)


@case("CRI-LS-002", "CRI v1 list streams: no item, no message", needs=[_STREAMS])
def test_an_empty_list_is_a_stream_without_a_message(cri: CriTarget) -> None:
    """A client that waits for a first item would wait for ever."""
    cri.pods.run()

    def empty(listing: Listing) -> None:
        messages = [list(items) for items in listing.messages(cri, _unknown(listing, cri))]
        expect(messages == [], f"{listing.stream} has no message", wanted=[], got=messages)

    _each(cri, empty, filtered=True)


@case("CRI-LS-003", "CRI v1 list streams: one item at least, none twice", needs=[IMAGE, _STREAMS])
def test_no_message_is_empty_and_nothing_comes_twice(cri: CriTarget) -> None:
    """Whoever reads them appends."""
    _pod(cri)

    def clean(listing: Listing) -> None:
        messages = [list(items) for items in listing.messages(cri)]
        ids = [listing.id(each) for items in messages for each in items]
        expect(
            all(messages),
            f"each message of {listing.stream} has an item",
            wanted="one",
            got=[len(each) for each in messages],
        )
        twice = sorted({each for each in ids if ids.count(each) > 1})
        expect(not twice, f"{listing.stream} has nothing twice", wanted=[], got=twice)

    _each(cri, clean)


@case("CRI-LS-004", "KEP 5825: lists beyond 16 MiB", needs=[IMAGE, OURS, _STREAMS])
def test_a_list_too_long_for_a_message_comes_in_several(cri: CriTarget) -> None:
    """It is what streams are for."""
    pod, listing = cri.pods.run(), LISTINGS[1]
    ids = [pod.create(annotations={"large": "x" * _LARGE}).id for _ in range(_NUMBER)]
    wanted = pb.ContainerFilter(pod_sandbox_id=pod.id)
    sizes = [len(items) for items in listing.messages(cri, wanted)]
    expect(len(sizes) > 1, "it comes in several messages", wanted="> 1", got=len(sizes))
    got = listing.streamed(cri, wanted)
    expect(sorted(got) == sorted(ids), "all are there", wanted=len(ids), got=len(got))


@case("CRI-LS-005", "gRPC: a client may leave", needs=[IMAGE, _STREAMS])
def test_a_client_that_leaves_early_does_no_harm(cri: CriTarget) -> None:
    """Kubelet's time is over before the list is."""
    pod = _pod(cri)

    def again(listing: Listing) -> None:
        wanted = _filter(listing, cri, pod)
        call = listing.call(cri, listing.stream)(listing.request(listing.stream, wanted))
        next(iter(call), None)
        call.cancel()
        got = listing.streamed(cri, wanted)
        expect(got, f"{listing.stream} answers the next client", wanted="items", got=got)

    _each(cri, again)
