"""Errors say which plugin, which verb, and what came."""

from refimpl.cni.contract import CniError
from refimpl.cni.execute import Outcome
from refimpl.cni.runtime import BadAnswer, PluginFailed, Refusal


def test_a_bad_answer_shows_what_came() -> None:
    """Shortened, however long it was."""
    outcome = Outcome(3, b"x" * 5000, b"it broke")
    text = str(BadAnswer("bridge", "ADD", "no result", outcome))
    assert text.startswith("bridge ADD: no result; it ended with exit 3, stdout xxx")
    assert text.endswith("stderr it broke")
    assert len(text) < 800


def test_a_failed_plugin_is_an_error_object_with_its_origin() -> None:
    """Callers that know CniError need to know no more."""
    outcome = Outcome(1)
    error = PluginFailed("bridge", "ADD", CniError(7, "no", "why", "1.1.0"), outcome)
    assert isinstance(error, CniError)
    assert error.to_dict() == {"cniVersion": "1.1.0", "code": 7, "msg": "no", "details": "why"}
    assert (error.plugin, error.verb, error.outcome) == ("bridge", "ADD", outcome)


def test_a_refusal_needs_no_plugin() -> None:
    """It is about the call itself."""
    assert str(Refusal("", "ADD", "not twice")) == "ADD: not twice"
