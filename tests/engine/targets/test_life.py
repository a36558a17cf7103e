"""The life of a target: its death and its silence are noticed, and it is waited for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.engine.targets import life
from conformance.engine.targets.life import Guarded, Life
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.status import Code, Refused

DELETE, LIST = "/csi.v1.Controller/DeleteVolume", "/csi.v1.Controller/ListVolumes"


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[FakeDriver]:
    """One that serves, and that a test may stop."""
    fake = FakeDriver(tmp_path / "csi.sock", storage="directory")
    with fake:
        yield fake


def ended(method: str, code: Code) -> Entry:
    """A call that has ended."""
    return Entry(method=method, side="client", code=code)


def living(driver: FakeDriver, *signs: str) -> Life:
    """A life that answers so when it is asked for a sign, the last one from then on."""
    left = list(signs) or [""]
    return Life(
        [driver.endpoint], Journal(keep=100), lambda: left.pop(0) if len(left) > 1 else left[0]
    )


def died(subject: Life, driver: FakeDriver) -> None:
    """DeleteVolume ended it, told as a channel does; somebody starts it again."""
    driver.stop()
    call = ended(DELETE, Code.UNAVAILABLE)
    subject.journal.add(call)
    subject.observe(call)
    again = threading.Timer(0.05, driver.start)
    again.start()
    loss = subject.lost()
    again.join()
    assert loss
    assert loss.revived


def test_a_target_that_serves_is_not_lost(driver: FakeDriver) -> None:
    """Whatever it refuses."""
    subject = living(driver)
    subject.journal.add(ended(LIST, Code.UNAVAILABLE))
    assert subject.lost() is None


def test_a_target_that_does_not_come_back_is_lost(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason says what it was asked last, and for how long it was waited for."""
    monkeypatch.setattr(life, "BACK_S", 0.05)
    subject = living(driver)
    subject.journal.add(ended(LIST, Code.OK))
    subject.journal.add(ended(DELETE, Code.UNAVAILABLE))
    subject.journal.add(ended(LIST, Code.UNAVAILABLE))
    driver.stop()
    loss = subject.lost()
    assert loss
    assert not loss.revived
    assert f"nobody answers at {driver.endpoint} any more (DeleteVolume)" in loss.reason
    monkeypatch.setattr(life, "BACK_S", 600.0)
    assert subject.lost() is loss, "it is waited for once"


def test_a_target_of_somebody_elses_gets_a_while_to_come_back(driver: FakeDriver) -> None:
    """A container is started again by kubelet, a service by systemd."""
    subject = living(driver)
    driver.stop()
    again = threading.Timer(0.1, driver.start)
    again.start()
    loss = subject.lost()
    again.join()
    assert loss
    assert loss.revived
    assert "it was back" in loss.reason
    assert subject.lost() is None


def test_nothing_is_asked_of_a_target_that_answers_nothing(driver: FakeDriver) -> None:
    """Each call would last as long as its deadline."""
    subject = living(driver, "no sign of life", "no sign of life", "")
    subject.check(LIST)
    subject.observe(ended(LIST, Code.DEADLINE_EXCEEDED))
    with pytest.raises(pytest.skip.Exception, match="no sign of life"):
        subject.check(LIST)
    loss = subject.lost()
    assert loss
    assert loss.revived
    subject.check(LIST)


def test_a_deadline_of_a_target_that_lives_is_its_own_matter(driver: FakeDriver) -> None:
    """A case may have given up on purpose."""
    subject = living(driver)
    subject.observe(ended(LIST, Code.DEADLINE_EXCEEDED))
    subject.check(LIST)
    assert subject.lost() is None


def test_what_it_dies_of_is_known_until_it_answers(driver: FakeDriver) -> None:
    """After three deaths in a row nobody calls it any more; other methods are called."""
    subject = living(driver)
    assert not subject.in_vain(DELETE)
    for _ in range(2):
        died(subject, driver)
    assert subject.in_vain(DELETE)
    subject.check(DELETE)
    subject.observe(ended(DELETE, Code.OK))
    assert not subject.in_vain(DELETE)
    for _ in range(3):
        died(subject, driver)
    subject.check(LIST)
    with pytest.raises(pytest.skip.Exception, match="needs DeleteVolume, and the target died"):
        subject.check(DELETE)


def test_a_guarded_channel_calls_as_it_is_until_then(driver: FakeDriver) -> None:
    """Replies and refusals pass; afterwards nothing reaches the target."""
    subject = living(driver)
    with Channel(driver.endpoint, journal=subject.journal) as channel:
        stubs = Driver.over(Guarded(channel, subject))
        assert stubs.identity.GetPluginInfo(pb.GetPluginInfoRequest()).name
        with pytest.raises(Refused):
            stubs.controller.DeleteVolume(pb.DeleteVolumeRequest())
        before = subject.journal.seq
        subject.silence = "it sleeps"
        with pytest.raises(pytest.skip.Exception):
            stubs.identity.GetPluginInfo(pb.GetPluginInfoRequest())
        assert subject.journal.seq == before
