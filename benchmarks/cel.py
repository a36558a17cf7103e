"""Expressions about devices: ours beside cel-python's own runners, in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import celpy
from celpy import celtypes

from refimpl.dra.cel import Device, compiled

DRIVER = "gpu.example.com"
EXPRESSION = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].model == "A100"'
TIMES, TURNS = 20_000, 7
LIMIT_US = 2.0


def main() -> int:
    """An evaluation takes two microseconds at most."""
    device = Device.of(DRIVER, {"attributes": {"model": {"string": "A100"}}})
    expression = compiled(EXPRESSION)
    run, activation = _cel_python()
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(_each(lambda: expression.matches(device), TIMES))
        theirs.append(_each(lambda: run(activation), TIMES // 100))
    own, other = statistics.median(ours), statistics.median(theirs)
    fine = own <= LIMIT_US
    told = "ok" if fine else "TOO SLOW"
    print(f"{EXPRESSION}\n  ours {own:.2f} us, cel-python {other:.0f} us: {told}")
    return 0 if fine else 1


def _each(call: Callable[[], object], times: int) -> float:
    """Microseconds of one call."""
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begin) / times * 1e6


def _cel_python() -> tuple[Callable[[dict[str, Any]], object], dict[str, Any]]:
    environment = celpy.Environment()
    program = environment.program(environment.compile(EXPRESSION))
    text = celtypes.StringType
    attributes = celtypes.MapType({text(DRIVER): celtypes.MapType({text("model"): text("A100")})})
    device = celtypes.MapType({text("driver"): text(DRIVER), text("attributes"): attributes})
    return program.evaluate, {"device": device}
