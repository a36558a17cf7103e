"""The profiles are data, and only strict is strict."""

import attrs
import pytest

from refimpl.cni.contract import Verb
from refimpl.cni.runtime import PROFILES, Profile, profile


def test_a_profile_is_found_by_name_or_is_one_already() -> None:
    """Callers may change a choice of their own."""
    own = attrs.evolve(PROFILES["strict"], name="own")
    assert profile("strict") is PROFILES["strict"]
    assert profile(own) is own


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    """What to write instead."""
    with pytest.raises(ValueError, match="strict, libcni, go-cni, ocicni"):
        profile("docker")


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_every_verb_has_a_deadline(profile: Profile) -> None:
    """RT-052: no exec without an end."""
    assert set(profile.policy.deadlines) == set(Verb)
    assert all(seconds > 0 for seconds in profile.policy.deadlines.values())


@pytest.mark.parametrize("name", ["libcni", "go-cni", "ocicni"])
def test_every_other_profile_stands_on_libcni(name: str) -> None:
    """All of them are programs around that library."""
    assert PROFILES[name].requests.document == "go"
    assert PROFILES[name].answers == PROFILES["libcni"].answers
