"""The table of rules."""

from __future__ import annotations

import re
from pathlib import Path

from refimpl.cdi import rules
from refimpl.cdi.rules import RULES


def test_every_rule_counts_for_someone_and_says_what_to_do() -> None:
    """The policy of a rule is where text and library part."""
    for name, rule in RULES.items():
        assert rule.strict or rule.practice, name
        assert rule.hint, name
        assert (rule.level("strict"), rule.level("practice")) == (rule.strict, rule.practice)
        if rule.source == "CDI SPEC and Go library":
            assert (rule.strict, rule.practice) == ("error", "error"), name


def test_every_rule_is_used_and_every_used_one_is_there() -> None:
    """A rule nobody breaks would be a promise that is not kept."""
    sources = "".join(
        path.read_text()
        for path in Path(rules.__file__).parent.glob("*.py")
        if path.stem != "rules"
    )
    notes = {"byte-order-mark", "number", "word", "duplicate-key"}
    rules_named = {name for name in RULES if f'"{name}"' in sources} | notes
    assert rules_named == set(RULES)
    assert set(re.findall(r'findings\.add\(\s*"([a-z-]+)"', sources)) <= set(RULES)
