"""refimpl.wire.hiding: a secret is hidden however it is written."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.hiding import SHORTEST, hidden
from refimpl.wire.journal import Entry

SECRET = 'p@ss/wörd "+&1'
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON in UTF-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON of PHP": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "URL": lambda text: urllib.parse.quote(text, safe=""),
    "URL path": urllib.parse.quote,
    "URL in lower case": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "query": urllib.parse.quote_plus,
    "component of JavaScript": lambda text: urllib.parse.quote(text, safe="!*'()~"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 without padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "hex in upper case": lambda text: text.encode().hex().upper(),
    "hex with colons": lambda text: text.encode().hex(":"),
    "hex with spaces": lambda text: text.encode().hex(" "),
    "bytes": lambda text: repr(text.encode())[2:-1],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_hidden_in_every_form(form: str) -> None:
    """With nothing of it before or after; what stands beside it stays."""
    quoted = f"token ({FORMS[form](SECRET)}) is bad"
    assert hidden(quoted, [SECRET]) == "token (***) is bad"


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=25)
@given(secret=st.text(st.characters(exclude_categories=("Cs",)), min_size=SHORTEST, max_size=40))
@example(secret="canary")
@example(secret="',./;'[]-=")
@example(secret="\\\\\\\\\\\\")
def test_any_secret_is_hidden_in_every_form(form: str, secret: str) -> None:
    """Whatever characters it has."""
    assert FORMS[form](secret) not in hidden(f"<{FORMS[form](secret)}>", [secret])


@pytest.mark.parametrize("before", ["", "a", "ab", "user:", "realm\\user:"])
@pytest.mark.parametrize("after", ["", "z", "@host"])
@pytest.mark.parametrize("secret", ["canary", "canary1", "canary12", "canary+/?>>>"])
def test_a_secret_inside_of_something_in_base64_is_hidden(
    before: str, after: str, secret: str
) -> None:
    """As in `Authorization: Basic`: not one of its bytes can be read."""
    told = hidden(base64.b64encode(f"{before}{secret}{after}".encode()).decode(), [secret])
    left = told.split("***")
    assert len(left) == 2
    assert len("".join(left)) <= len(base64.b64encode(f"{before}{after}".encode())) + 2
    first = base64.b64decode(left[0][: len(left[0]) // 4 * 4])
    assert before.encode().startswith(first)


def test_values_are_hidden_and_keys_and_numbers_stay() -> None:
    """At whatever depth."""
    finding = {"got": "bad canary", "calls": [{"message": "canary?", "seq": 4}], "known": False}
    assert hidden(finding, ["canary"]) == {
        "got": "bad ***",
        "calls": [{"message": "***?", "seq": 4}],
        "known": False,
    }
    assert hidden(finding, []) is finding


def test_of_two_secrets_that_begin_alike_neither_leaves_a_rest() -> None:
    """The longer one first."""
    assert hidden("canary canary-bird", ["canary", "canary-bird"]) == "*** ***"


def test_what_only_resembles_a_secret_stays() -> None:
    """Findings have to be read."""
    text = "Canary can%61 63616e Y2Fu canar"
    assert hidden(text, ["canary"]) == text


def test_a_journal_hides_what_a_server_quotes_of_what_it_was_sent() -> None:
    """The schema marks the field of the request alone; a server may say it anywhere."""
    secret = "topsecret/1"
    request = pb.CreateVolumeRequest(name="v", secrets={"token": secret, "short": "v"})
    reply = pb.CreateVolumeResponse()
    reply.volume.volume_context["echo"] = base64.b64encode(secret.encode()).decode()
    call = Entry(
        method="/csi.v1.Controller/CreateVolume",
        message=f"bad token {urllib.parse.quote(secret, safe='')} of v",
        request_type=pb.CreateVolumeRequest,
        reply_type=pb.CreateVolumeResponse,
        requests=(request.SerializeToString(),),
        replies=(reply.SerializeToString(),),
    )
    line = call.to_dict()
    assert line["message"] == "bad token *** of v"
    assert line["replies"] == [{"volume": {"volume_context": {"echo": "***"}}}]
    assert line["requests"][0]["secrets"] == {"token": "***", "short": "***"}
    assert call.to_dict(reveal=True)["message"] == call.message
