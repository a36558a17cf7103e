"""The checkpoint: there and back, and files of others."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.deviceplugin.state.checkpoint import Saved, Unreadable, checksum, dump, load
from refimpl.deviceplugin.state.models import ContainerResponse
from refimpl.deviceplugin.state.records import DeviceRecord

R = "example.com/gpu"
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
IDS = st.lists(WORDS, unique=True, max_size=4).map(tuple)
RESPONSES = st.builds(
    ContainerResponse, envs=st.dictionaries(WORDS, WORDS, max_size=2), cdi_devices=IDS
)
RECORDS = st.builds(
    DeviceRecord,
    WORDS,
    WORDS,
    WORDS,
    st.dictionaries(st.integers(-1, 3), IDS, max_size=3),
    RESPONSES,
)
REGISTERED = st.dictionaries(WORDS, IDS.map(sorted).map(tuple), max_size=3)
SAVED = st.builds(Saved, st.lists(RECORDS, max_size=3).map(tuple), REGISTERED, WORDS)


def encode(response: ContainerResponse) -> bytes:
    """Stands for the protobuf message."""
    return json.dumps([response.envs, response.cdi_devices]).encode()


def decode(data: bytes) -> ContainerResponse:
    envs, cdi_devices = json.loads(data or b"[{}, []]")
    return ContainerResponse(envs, cdi_devices=tuple(cdi_devices))


def foreign(**data: Any) -> str:
    """A file as a real kubelet writes it."""
    content = {"PodDeviceEntries": None, "RegisteredDevices": {R: None}} | data
    try:
        total = checksum(content)
    except Unreadable:
        total = 123
    return json.dumps({"Data": content, "Checksum": total})


def entry(**more: Any) -> dict[str, Any]:
    names = {"PodUID": "u1", "ContainerName": "c", "ResourceName": R}
    return names | {"DeviceIDs": {"0": ["a"], "1": ["a", "b"], "-1": None}, "AllocResp": ""} | more


@given(SAVED)
def test_what_is_written_is_read_again(saved: Saved) -> None:
    """Byte for byte through JSON."""
    assert load(json.dumps(dump(saved, encode)), decode) == saved


def test_the_file_has_the_fields_that_others_read() -> None:
    """Programs beside kubelet take ids of pods out of it."""
    record = DeviceRecord("u1", "c", R, {0: ("a",)})
    content = dump(Saved((record,), {R: ("b", "a")}), encode)
    data = content["Data"]
    assert data["RegisteredDevices"] == {R: ["a", "b"]}
    assert data["PodDeviceEntries"][0]["DeviceIDs"] == {"0": ["a"]}
    assert base64.b64decode(data["PodDeviceEntries"][0]["AllocResp"]) == b"[{}, []]"
    assert content["Checksum"] == checksum(data)
    assert "BootID" not in content


def test_a_real_file_is_read_with_its_nulls() -> None:
    """Its sum cannot be checked; a device of two nodes is one."""
    saved = load(foreign(PodDeviceEntries=[entry()]), decode)
    assert saved.registered == {R: ()}
    assert saved.records[0].ids == {"a", "b"}
    assert saved.records[0].ids_by_node == {0: ("a",), 1: ("a", "b"), -1: ()}
    assert load(foreign(), decode).records == ()


def test_ids_without_nodes_are_read_on_request() -> None:
    """DP-KUB-057: the shape before 1.20, which kubelets of today refuse."""
    text = foreign(PodDeviceEntries=[entry(DeviceIDs=["a", "b"])])
    assert load(text, decode).records[0].ids_by_node == {-1: ("a", "b")}
    with pytest.raises(Unreadable, match=r"DeviceIDs of example.com/gpu in c of u1 is a list"):
        load(text, decode, flat_ids=False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("\udce4", "no JSON"),
        ("[]", "the file is a list"),
        ("{}", "Data is missing"),
        (foreign(RegisteredDevices=[1]), "RegisteredDevices is a list"),
        (foreign(RegisteredDevices={R: "a"}), f"RegisteredDevices.{R} is a str"),
        (foreign(PodDeviceEntries={}), "PodDeviceEntries is a dict"),
        (foreign(PodDeviceEntries=[1]), "an entry of PodDeviceEntries is a int"),
        (foreign(PodDeviceEntries=[entry(PodUID=None)]), "lacks its names"),
        (foreign(PodDeviceEntries=[entry(DeviceIDs={"x": []})]), "DeviceIDs of .*: invalid"),
        (foreign(PodDeviceEntries=[entry(AllocResp="!")]), "AllocResp beside"),
        (foreign(PodDeviceEntries=[entry(AllocResp="eA==")]), "AllocResp beside"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text: str, reason: str) -> None:
    """DP-KUB-057: whoever starts from it goes on with nothing, and a sentence for the log."""
    with pytest.raises(Unreadable, match=reason):
        load(text, decode)


def test_a_changed_file_is_noticed() -> None:
    """DP-KUB-057: cut, or edited by hand."""
    content = dump(Saved(registered={R: ("a",)}), encode)
    text = json.dumps(content).replace('"a"', '"b"')
    with pytest.raises(Unreadable, match=r"Checksum .* is not that of Data"):
        load(text, decode)
    with pytest.raises(Unreadable, match="no JSON"):
        load(text[:-10], decode)


# Made by kubelet 1.37.2's own functions.
REAL = {
    "PodDeviceEntries": [
        {
            "PodUID": "uid-1",
            "ContainerName": "main",
            "ResourceName": R,
            "DeviceIDs": {"-1": ["a", 'b "q" \u00e9'], "0": None, "1": ["c"], "10": []},
            "AllocResp": "CgUA/w==",
        },
        {
            "PodUID": "uid-2",
            "ContainerName": "x",
            "ResourceName": "r",
            "DeviceIDs": {},
            "AllocResp": None,
        },
    ],
    "RegisteredDevices": {"a/d": [], "b/c": None, R: ["a", "b"]},
}


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (REAL, 2880769349),
        ({"PodDeviceEntries": None, "RegisteredDevices": None}, 1944006890),
    ],
)
def test_the_sum_is_kubelets(data: dict[str, Any], wanted: int) -> None:
    """Else a real kubelet would start with nothing on a file of ours."""
    assert checksum(data) == wanted
