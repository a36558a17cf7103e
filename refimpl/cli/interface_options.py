"""The options of the interfaces, as their records list them; one that several share comes once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from conformance.engine.interface import Option
from conformance.engine.interfaces import INTERFACES

__all__ = ["given_options", "interface_options"]

F = TypeVar("F", bound=Callable[..., Any])


def interface_options(function: F) -> F:
    """Adds every option; `given_options` takes their values out of the arguments."""
    for option in reversed(_options().values()):
        function = click.option(
            f"--{option.flag}",
            _parameter(option.flag),
            metavar=option.metavar or None,
            multiple=option.many,
            help=option.text,
            **_kind(option),
        )(function)
    return function


def _kind(option: Option) -> dict[str, Any]:
    if option.choices:
        return {"type": click.Choice(option.choices)}
    return {"is_flag": True} if option.kind is bool else {"type": option.kind}


def given_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Flag to value of the options that the user gave."""
    return {flag: arguments[_parameter(flag)] for flag in _options() if arguments[_parameter(flag)]}


def _options() -> dict[str, Option]:
    return {
        option.flag: option for interface in INTERFACES.values() for option in interface.options
    }


def _parameter(flag: str) -> str:
    return "of_" + flag.replace(".", "_").replace("-", "_")
