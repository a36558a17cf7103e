"""Names of images."""

from __future__ import annotations

import pytest

from refimpl.images.references import Malformed, Reference, parse

DIGEST = f"sha256:{'0a' * 32}"


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("busybox", Reference("docker.io", "library/busybox", "latest")),
        ("busybox:1.36", Reference("docker.io", "library/busybox", "1.36")),
        ("me/tool", Reference("docker.io", "me/tool", "latest")),
        ("localhost/tool", Reference("localhost", "tool", "latest")),
        ("127.0.0.1:5000/a/b:x", Reference("127.0.0.1:5000", "a/b", "x")),
        ("registry.k8s.io/pause:3.9", Reference("registry.k8s.io", "pause", "3.9")),
        (f"a.b/c@{DIGEST}", Reference("a.b", "c", "", DIGEST)),
        (f"a.b/c:t@{DIGEST}", Reference("a.b", "c", "t", DIGEST)),
        ("[::1]:5000/a", Reference("[::1]:5000", "a", "latest")),
        ("a__b/c-d.e_f", Reference("docker.io", "a__b/c-d.e_f", "latest")),
    ],
)
def test_what_is_left_out_is_filled_in(text: str, reference: Reference) -> None:
    assert parse(text) == reference
    assert parse(str(reference)) == reference


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "repository"),
        ("a b", "repository"),
        ("UPPER/x", "repository"),
        ("a.b/UPPER", "repository"),
        ("a//b", "repository"),
        ("a:", "tag"),
        ("a:-x", "tag"),
        (f"a:{'x' * 129}", "tag"),
        ("a@sha256:beef", "digest"),
        (f"a@sha256:{'G' * 64}", "digest"),
        ("-a.b/c", "registry"),
        (f"a.b/{'c' * 256}", "255"),
        ("/a", "a repository is lower case"),
    ],
)
def test_what_is_no_name_is_told(text: str, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        parse(text)
