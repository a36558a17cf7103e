"""What every verb about an attachment says alike."""

import pytest

from refimpl.cni.runtime import Attachment
from refimpl.cni.runtime.attachment import check_names


def test_arguments_are_pairs_in_order_however_they_are_given() -> None:
    """A list, or a mapping."""
    assert Attachment("c", args=[("B", "2"), ("A", "1")]).args_text == "B=2;A=1"
    assert Attachment("c", args={"B": "2"}).args == (("B", "2"),)


def test_gc_knows_it_by_container_and_interface() -> None:
    """The network is the one that is collected."""
    assert Attachment("c", ifname="net1").pair == ("c", "net1")
    assert str(Attachment("c", ifname="net1")) == "c/net1"


@pytest.mark.parametrize(
    ("network", "about"),
    [
        ("../x", Attachment("c")),
        ("", Attachment("c")),
        ("net", Attachment("-c")),
        ("net", Attachment("c", ifname="a:b")),
    ],
)
def test_names_that_lead_elsewhere_are_refused(network: str, about: Attachment) -> None:
    """They become parts of a file name."""
    with pytest.raises(ValueError, match="name"):
        check_names(network, about)


def test_sound_names_pass() -> None:
    """Dots, dashes, and letters beyond ASCII in an interface."""
    assert check_names("a.b-c_1", Attachment("C.1", ifname="ethé")) is None
