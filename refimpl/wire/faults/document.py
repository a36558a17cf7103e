"""The YAML document around fault rules (JSON is YAML, too): limits, and the line of each rule."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

from refimpl.wire.faults.rules import FaultError

__all__ = ["LARGEST_TEXT", "load"]

LARGEST_TEXT = 256 * 1024
"""Bytes of YAML accepted; a rule has some 100 to 300."""


def load(text: str | bytes) -> list[tuple[int, Any]]:
    """The raw rules, each with the line it begins on.

    The document is a list of rules, a mapping {rules: [...]} or a single rule. Raises FaultError.
    """
    size = len(text.encode() if isinstance(text, str) else text)
    if size > LARGEST_TEXT:
        raise FaultError(f"fault rules: {size} bytes of YAML, at most {LARGEST_TEXT} are read")
    try:
        root, content = _compose(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise FaultError(f"{where}not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise FaultError(f"fault rules: not YAML: {error}") from error
    except RecursionError:
        raise FaultError("fault rules: the YAML is nested too deeply") from None
    if isinstance(root, yaml.MappingNode) and "do" not in content:
        root, content = _below_rules(root, content)
    if root is None or content is None:
        return []
    if isinstance(root, yaml.MappingNode):
        return [(_line(root), content)]
    if not isinstance(root, yaml.SequenceNode):
        raise FaultError("fault rules: a list of rules is wanted, each with `when` and `do`")
    return [(_line(node), raw) for node, raw in zip(root.value, content, strict=True)]


def _compose(text: str | bytes) -> tuple[yaml.Node | None, Any]:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        return root, None if root is None else loader.construct_document(root)
    finally:
        loader.dispose()


def _below_rules(root: yaml.MappingNode, content: dict[Any, Any]) -> tuple[yaml.Node, Any]:
    if list(content) != ["rules"]:
        keys = ", ".join(map(str, content)) or "an empty mapping"
        raise FaultError(
            f"line {_line(root)}: a rule needs `do`, a mapping of rules the one key `rules`;"
            f" here is {keys}"
        )
    ((_, node),) = root.value
    return node, content["rules"]


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


class _Loader(yaml.SafeLoader):
    """Safe YAML without anchors (which can grow without bound) and without keys given twice."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not supported here", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in keys:
                problem = f"key {key.value!r} is given twice or is no scalar"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep)


def _integer(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    return int(node.value, 16 if node.value.startswith("0x") else 10)


# As in YAML 1.2: `off`, `no`, dates and 12:30 are text, 0644 and 1e3 are decimal.
_Loader.yaml_implicit_resolvers = {}
for _tag, _form, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan",
        list("-+.0123456789"),
    ),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_form})$"), _first)
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
