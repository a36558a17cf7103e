"""A driver behind a proxy that loses calls."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.csi.common.interposed import interposed
from refimpl.wire.faults import Faults
from refimpl.wire.status import Code, Refused

LOST = "- {when: {method: CreateVolume}, do: {drop_reply: {}}}"


def test_a_lost_answer_is_on_record_and_undone(csi: Any) -> None:
    """The effect was there: the volume goes when the case ends."""
    with interposed(csi, *Faults.from_yaml(LOST).rules) as driver:
        with pytest.raises(Refused) as raised:
            driver.controller.CreateVolume(csi.requests.volume())
        assert driver.identity.GetPluginInfo(csi_info()).name == csi.name
    assert raised.value.code == Code.UNAVAILABLE
    assert len(csi.fake.state.tables.volumes) == 1
    assert csi.journal.calls("CreateVolume")[-1].code == Code.UNAVAILABLE
    csi.scope.close()
    assert len(csi.fake.state.tables.volumes) == 0


def csi_info() -> Any:
    """An empty request."""
    from refimpl.csi.api import csi_pb2 as pb

    return pb.GetPluginInfoRequest()
