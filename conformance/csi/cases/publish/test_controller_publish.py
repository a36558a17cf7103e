"""ControllerPublishVolume on one node: what is refused, and that asking again changes nothing."""

from __future__ import annotations

from functools import partial

from conformance.csi.common.uses import described, other_type
from conformance.csi.needs import (
    CREATE_DELETE_VOLUME,
    NODE_ID,
    PUBLISH_READONLY,
    PUBLISH_UNPUBLISH_VOLUME,
    SINGLE_NODE_READER,
    VOLUMES,
    without,
)
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 ControllerPublishVolume"
# How the access mode of a volume that can be written on one node may be widened or narrowed.
_OTHER_MODES = (
    Mode.MULTI_NODE_MULTI_WRITER,
    Mode.MULTI_NODE_READER_ONLY,
    Mode.SINGLE_NODE_READER_ONLY,
)


@case("CSI-PUB-001", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES])
def test_a_publish_that_lacks_a_required_field_is_refused(csi: CsiTarget) -> None:
    """A driver that guesses the volume, the node or the use attaches the wrong thing."""
    request = csi.requests.publish(csi.shared.volume())
    with together() as check:
        for field in ("volume_id", "node_id", "volume_capability"):
            with check:
                lacking = pb.ControllerPublishVolumeRequest()
                lacking.CopyFrom(request)
                lacking.ClearField(field)
                expect_status(
                    partial(csi.controller.ControllerPublishVolume, lacking),
                    {Code.INVALID_ARGUMENT},
                    f"ControllerPublishVolume without {field} is refused",
                )


@case("CSI-PUB-002", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID])
def test_an_unknown_volume_cannot_be_published(csi: CsiTarget) -> None:
    """The caller has to learn that the volume is gone; with another code it goes on trying."""
    nowhere = pb.Volume(volume_id=csi.requests.unknown_volume_id())
    expect_status(
        lambda: csi.steps.attach(nowhere),
        {Code.NOT_FOUND},
        "ControllerPublishVolume of a volume that does not exist is refused, though the node does",
    )


@case("CSI-PUB-003", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES])
def test_a_volume_cannot_be_published_to_an_unknown_node(csi: CsiTarget) -> None:
    """A node that has left the cluster must not count as one that holds the volume."""
    volume = csi.shared.volume()
    expect_status(
        lambda: csi.steps.attach(volume, node_id=csi.requests.fresh_name("node")),
        {Code.NOT_FOUND},
        "ControllerPublishVolume to a node that does not exist is refused",
    )


@case("CSI-PUB-004", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES])
def test_a_repeated_publish_answers_the_same(csi: CsiTarget) -> None:
    """The attacher asks again after every lost answer; the node finds the disk by this context."""
    volume = csi.shared.volume()
    first = csi.steps.attach(volume)
    for _ in range(2):
        again = csi.steps.attach(volume)
        expect(
            again == first,
            "the same ControllerPublishVolume answers with the same publish_context",
            wanted=first,
            got=again,
        )


@case(
    "CSI-PUB-005",
    _SOURCE,
    needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, PUBLISH_READONLY, CREATE_DELETE_VOLUME],
)
def test_a_published_volume_does_not_change_its_readonly_flag(csi: CsiTarget) -> None:
    """An OK would let a pod write to what was attached read-only, or fail it at its first write."""
    volume = csi.shared.volume()
    with together() as check:
        for readonly in (False, True):
            csi.steps.attach(volume, readonly=readonly)
            with check:
                expect_status(
                    partial(csi.steps.attach, volume, readonly=not readonly),
                    {Code.ALREADY_EXISTS},
                    f"a volume published to a node with readonly = {readonly} is not published"
                    f" there with readonly = {not readonly} as well",
                )
            csi.controller.ControllerUnpublishVolume(csi.requests.unpublish(volume.volume_id))


@case("CSI-PUB-006", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, CREATE_DELETE_VOLUME])
def test_a_published_volume_does_not_change_its_use(csi: CsiTarget) -> None:
    """An OK would promise a use that the attachment was not made for.

    The other access type may also be refused as none that this volume has (CSI-PUB-018)."""
    usual = csi.requests.capability()
    variants = [([usual], other_type(csi), {Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION})]
    for mode in _OTHER_MODES:
        if mode != usual.access_mode.mode and csi.preconditions.makes(usual.access_mode.mode, mode):
            variants.append(
                ([usual, csi.requests.capability(mode)], csi.requests.capability(mode), set())
            )
            break
    with together() as check:
        for made_for, other, also in variants:
            with check:
                volume = csi.steps.volume(csi.requests.volume(capabilities=made_for))
                csi.steps.attach(volume)
                expect_status(
                    partial(csi.steps.attach, volume, capability=other),
                    {Code.ALREADY_EXISTS, *also},
                    f"a volume published to a node as {described(usual)} is not published there as"
                    f" {described(other)} as well",
                )


@case(
    "CSI-PUB-011",
    _SOURCE,
    needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES, without(PUBLISH_READONLY)],
)
def test_a_readonly_flag_nobody_offered_is_refused_or_ignored(csi: CsiTarget) -> None:
    """Callers must not send it; one that does should not meet an error it will never get over."""
    volume = csi.steps.volume()
    expect_status(
        lambda: csi.steps.attach(volume, readonly=True),
        {Code.OK, Code.INVALID_ARGUMENT},
        "ControllerPublishVolume with readonly, without PUBLISH_READONLY, is refused or ignores it",
    )


@case(
    "CSI-PUB-012",
    _SOURCE,
    needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, CREATE_DELETE_VOLUME, SINGLE_NODE_READER],
)
def test_a_volume_for_readers_is_published_without_the_readonly_flag_or_refused(
    csi: CsiTarget,
) -> None:
    """Kubernetes knows no readonly flag for many drivers and sends none. Where the answer is OK
    the mode alone has to keep writers out, which CSI-NPUB-014 looks at."""
    reader = csi.requests.capability(Mode.SINGLE_NODE_READER_ONLY)
    volume = csi.steps.volume(csi.requests.volume(capabilities=[reader]))
    expect_status(
        lambda: csi.steps.attach(volume, capability=reader, readonly=False),
        {Code.OK, Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION},
        "ControllerPublishVolume for SINGLE_NODE_READER_ONLY with readonly = False is done or"
        " refused as contradictory",
    )


@case("CSI-PUB-016", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES])
def test_a_wrong_volume_context_is_refused_or_ignored(csi: CsiTarget) -> None:
    """A hand-written PersistentVolume with a mistyped attribute must not bring the driver down."""
    volume = csi.shared.volume()
    wrong = pb.Volume(volume_id=volume.volume_id)
    wrong.volume_context.update(dict.fromkeys(volume.volume_context, "of another volume"))
    wrong.volume_context["refimpl.example/unknown"] = "x"
    expect_status(
        lambda: csi.steps.attach(wrong),
        {Code.OK, Code.INVALID_ARGUMENT},
        "ControllerPublishVolume with a volume_context that is not the volume's is refused or"
        " ignores it",
    )


@case(
    "CSI-PUB-017",
    "Kubernetes 1.37 external-provisioner, external-attacher",
    needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES],
)
def test_entries_the_provisioner_adds_to_the_context_are_borne(csi: CsiTarget) -> None:
    """The provisioner writes its identity beside the driver's own entries; a driver that insists
    on its own set alone can attach nothing that Kubernetes has provisioned."""
    volume = csi.shared.volume()
    key = "storage.kubernetes.io/csiProvisionerIdentity"
    volume.volume_context[key] = f"1700000000000-8081-{csi.capabilities.name}"[:128]
    expect_status(
        lambda: csi.steps.attach(volume),
        {Code.OK},
        f"ControllerPublishVolume bears the entry {key} in volume_context",
    )


@case("CSI-PUB-018", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, CREATE_DELETE_VOLUME])
def test_a_use_the_volume_was_not_made_for_is_refused(csi: CsiTarget) -> None:
    """The driver has to make sure that the volume can be used as described, or the pod fails later
    at a mount that nobody understands. OK is right only where the driver stands by it in
    ValidateVolumeCapabilities."""
    volume = csi.shared.volume()
    nothing = pb.VolumeCapability(access_mode=Mode(mode=csi.requests.usual_mode))
    with together() as check:
        with check:
            expect_status(
                lambda: csi.steps.attach(volume, capability=nothing),
                {Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION},
                "ControllerPublishVolume with a volume_capability without access type is refused",
            )
        wrong_kind = other_type(csi)
        reply = expect_status(
            lambda: csi.steps.attach(volume, capability=wrong_kind),
            {Code.OK, Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION},
            f"ControllerPublishVolume as {described(wrong_kind)} is refused or done",
        )
        if reply is not None:
            request = csi.requests.validate(volume, [wrong_kind])
            answer = csi.controller.ValidateVolumeCapabilities(request)
            with check:
                expect(
                    answer.HasField("confirmed"),
                    "a use that ControllerPublishVolume answers with OK is one the volume supports",
                    wanted=f"ValidateVolumeCapabilities confirms {described(wrong_kind)}",
                    got=answer,
                )
