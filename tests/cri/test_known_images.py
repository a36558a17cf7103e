"""Images that somebody relies on, made up without a registry."""

from __future__ import annotations

import json

import pytest

from refimpl.cri.virtual.images import image_of
from refimpl.images.references import parse

STAGING = "gcr.io/k8s-staging-cri-tools"


@pytest.mark.parametrize(
    ("name", "user"),
    [
        ("test-image-user-uid", "1002"),
        ("test-image-user-username", "www-data"),
        ("test-image-predefined-group", "1000"),
        ("test-image-latest", ""),
    ],
)
def test_an_image_has_the_user_that_critest_counts_on(name: str, user: str) -> None:
    """In the record and in its OCI config alike."""
    image = image_of(parse(f"{STAGING}/{name}"))
    assert (image.user, json.loads(image.config)["config"]["User"]) == (user, user)


def test_tags_of_one_image_are_one_image() -> None:
    """As is an image at the registry that it was moved from; other tags are other images."""
    one, other = (image_of(parse(f"{STAGING}/test-image-tags:{tag}")) for tag in "12")
    assert one.id == other.id
    old, new = (image_of(parse(f"{host}/pause:3.9")) for host in ("k8s.gcr.io", "registry.k8s.io"))
    assert old.id == new.id
    assert image_of(parse("example.com/a:1")).id != image_of(parse("example.com/a:2")).id


def test_a_web_server_listens_by_itself() -> None:
    """What its image runs is a program that the model knows."""
    image = image_of(parse("registry.k8s.io/e2e-test-images/nginx:1.14-2"))
    assert image.entrypoint == ("httpd", "-f", "-p", "80")
