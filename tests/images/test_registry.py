"""The registry, asked as runtimes ask it."""

from __future__ import annotations

import base64
import http.client
import json
import socket
from collections.abc import Mapping

import pytest

from refimpl.images.blobs import OCI, Blob, digest_of, document
from refimpl.images.build import Built
from refimpl.images.registry import Basic, Bearer, Fault, Registry
from refimpl.images.shelf import Shelf

NAME = "/v2/busybox"


def ask(
    registry: Registry,
    path: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: str | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers in lower case, content."""
    connection = http.client.HTTPConnection("127.0.0.1", registry.port, timeout=10)
    try:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, found, answer.read()
    finally:
        connection.close()


def basic(user: str, password: str) -> dict[str, str]:
    shown = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {shown}"}


def test_an_image_can_be_walked_from_its_tag_to_its_layers() -> None:
    with Registry(Shelf()) as registry:
        assert ask(registry, "/v2/")[0] == 200
        status, headers, content = ask(registry, f"{NAME}/manifests/1")
        assert status == 200
        assert headers["docker-content-digest"] == digest_of(content)
        manifest = json.loads(content)
        assert headers["content-type"] == manifest["mediaType"]
        for part in (manifest["config"], *manifest["layers"]):
            status, headers, blob = ask(registry, f"{NAME}/blobs/{part['digest']}")
            assert (status, digest_of(blob), len(blob)) == (200, part["digest"], part["size"])
        again = ask(registry, f"{NAME}/manifests/{digest_of(content)}")
        assert again[2] == content
        status, headers, nothing = ask(registry, f"{NAME}/manifests/1", "HEAD")
        assert (status, headers["content-length"], nothing) == (200, str(len(content)), b"")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"{NAME}/manifests/9", "MANIFEST_UNKNOWN"),
        ("/v2/nobody/manifests/1", "MANIFEST_UNKNOWN"),
        (f"{NAME}/blobs/sha256:{'0' * 64}", "BLOB_UNKNOWN"),
        ("/v2/nobody/tags/list", "NAME_UNKNOWN"),
        ("/v1/", "UNSUPPORTED"),
    ],
)
def test_what_is_not_there_is_told_by_its_code(path: str, code: str) -> None:
    with Registry(Shelf()) as registry:
        status, _, content = ask(registry, path)
        assert status == 404
        assert json.loads(content)["errors"][0]["code"] == code


def test_tags_come_in_pages() -> None:
    with Registry(Shelf()) as registry:
        _, headers, content = ask(registry, "/v2/tags/tags/list?n=2")
        assert json.loads(content) == {"name": "tags", "tags": ["1", "2"]}
        assert headers["link"] == '</v2/tags/tags/list?n=2&last=2>; rel="next"'
        _, headers, content = ask(registry, "/v2/tags/tags/list?n=2&last=2")
        assert json.loads(content)["tags"] == ["3"]
        assert "link" not in headers


def test_a_part_of_a_blob_can_be_had() -> None:
    with Registry(Shelf()) as registry:
        manifest = json.loads(ask(registry, f"{NAME}/manifests/1")[2])
        path = f"{NAME}/blobs/{manifest['config']['digest']}"
        whole = ask(registry, path)[2]
        status, headers, part = ask(registry, path, headers={"Range": "bytes=3-9"})
        assert (status, part) == (206, whole[3:10])
        assert headers["content-range"] == f"bytes 3-9/{len(whole)}"
        assert ask(registry, path, headers={"Range": "bytes=5-"})[2] == whole[5:]


def test_a_password_is_asked_for() -> None:
    with Registry(Shelf(), access=Basic("me", "secret")) as registry:
        status, headers, _ = ask(registry, "/v2/")
        assert (status, headers["www-authenticate"]) == (401, 'Basic realm="refimpl"')
        assert ask(registry, "/v2/", headers=basic("me", "wrong"))[0] == 401
        assert ask(registry, "/v2/", headers={"Authorization": "Basic ???"})[0] == 401
        assert ask(registry, "/v2/", headers=basic("me", "secret"))[0] == 200


def test_a_token_is_fetched_with_the_password_or_an_identity() -> None:
    access = Bearer("me", "secret", identity="it is me")
    with Registry(Shelf(), access=access) as registry:
        status, headers, _ = ask(registry, f"{NAME}/manifests/1")
        assert status == 401
        assert headers["www-authenticate"] == (
            f'Bearer realm="http://127.0.0.1:{registry.port}/token",service="refimpl",'
            'scope="repository:busybox:pull"'
        )
        assert ask(registry, "/token")[0] == 401
        tokens = [json.loads(ask(registry, "/token", headers=basic("me", "secret"))[2])["token"]]
        form = "grant_type=refresh_token&refresh_token=it+is+me"
        tokens.append(json.loads(ask(registry, "/token", "POST", body=form)[2])["token"])
        for token in tokens:
            shown = {"Authorization": f"Bearer {token}"}
            assert ask(registry, f"{NAME}/manifests/1", headers=shown)[0] == 200
        assert ask(registry, "/token", "POST", body="refresh_token=me")[0] == 401


def test_faults_come_as_often_as_they_were_asked_for() -> None:
    faults = [Fault(path="*/manifests/*", status=503, times=2)]
    with Registry(Shelf(), faults=faults) as registry:
        statuses = [ask(registry, f"{NAME}/manifests/1")[0] for _ in range(3)]
        assert statuses == [503, 503, 200]
        assert ask(registry, "/v2/")[0] == 200


def test_content_can_be_wrong_or_cut() -> None:
    with Registry(Shelf()) as registry:
        manifest = json.loads(ask(registry, f"{NAME}/manifests/1")[2])
        path = f"{NAME}/blobs/{manifest['config']['digest']}"
        whole = ask(registry, path)[2]
        registry.faults.add(Fault(path="*/blobs/*", wrong=True, times=1))
        wrong = ask(registry, path)[2]
        assert len(wrong) == len(whole)
        assert wrong != whole
        registry.faults.add(Fault(path="*/blobs/*", cut=5, times=1))
        with pytest.raises(http.client.IncompleteRead):
            ask(registry, path)
        assert ask(registry, path)[2] == whole


def test_who_tries_tls_hears_that_it_is_http() -> None:
    with (
        Registry(Shelf()) as registry,
        socket.create_connection(("127.0.0.1", registry.port), 5) as connection,
    ):
        connection.sendall(b"\x16\x03\x01\x00\x05hello")
        assert connection.recv(100).startswith(b"HTTP/1.0 400")


def test_who_refers_to_an_image_is_listed_with_type_and_annotations() -> None:
    """OCI distribution-spec 1.1, Listing Referrers."""
    subject = Shelf()["bare:1"].manifest
    config = {"mediaType": "application/vnd.example.config"}
    members = {"subject": subject.descriptor(), "config": config}
    kinds: dict[str, dict[str, object]] = {
        "typed": {**members, "artifactType": "a/b", "annotations": {"k": "v"}},
        "untyped": members,
        "index": {"subject": subject.descriptor(), "manifests": []},
    }
    with Registry(Shelf()) as registry:
        for tag, each in kinds.items():
            registry.content.put(f"bare:{tag}", Built(Blob(OCI.manifest, document(each)), {}))
        path = f"/v2/bare/referrers/{subject.digest}"
        listed = json.loads(ask(registry, path)[2])["manifests"]
        assert sorted(each.get("artifactType", "") for each in listed) == [
            *("", "a/b", "application/vnd.example.config")
        ]
        _, headers, content = ask(registry, f"{path}?artifactType=a/b")
        (only,) = json.loads(content)["manifests"]
        assert only["annotations"] == {"k": "v"}
        assert headers["oci-filters-applied"] == "artifactType"
        assert ask(registry, "/v2/bare/referrers/none")[0] == 400
        status, _, content = ask(registry, f"/v2/bare/referrers/sha512:{'0' * 128}")
        assert (status, json.loads(content)["manifests"]) == (200, [])
