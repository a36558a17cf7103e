"""The pytest plugin: options and marks only, to cost nothing in test runs that are not ours.

It is loaded in every pytest run of an environment that has the package, also in a project with a
package `conformance` of its own, so it imports nothing of the suite. What judges a target is in
`conformance.engine.judging.session`: it comes in when one of our options is used, or with
`conformance/conftest.py`.
"""

from __future__ import annotations

from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--refimpl-target` and its companions; `refimpl test --help` explains them all."""
    group = parser.getgroup("refimpl", "conformance of Kubernetes node plugins")
    group.addoption(
        "--refimpl-target",
        metavar="TARGET",
        help="what the conformance cases judge: fake (default), unix:///path, a socket path, "
        "tcp://host:port, or a TOML target file",
    )
    group.addoption("--refimpl-revision", metavar="NAME", help="revision profile, e.g. csi-1.12")
    group.addoption(
        "--refimpl-level", metavar="LEVEL", help="judge must, should or may (default) and stricter"
    )
    group.addoption(
        "--refimpl-strict", action="store_true", help="a failed SHOULD or MAY fails the run"
    )
    group.addoption(
        "--refimpl-expect", metavar="FILE", action="append", help="known failures, TOML"
    )
    group.addoption("--refimpl-report-dir", metavar="DIR", help="write events and reports here")
    group.addoption("--refimpl-options", help="all of it as JSON (what `refimpl test` passes)")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marks of cases known wherever one is imported, also where xdist is switched off;
    brings the engine in where a target is named, in the process that controls workers, too.
    """
    config.addinivalue_line("markers", "looks_back: judges the whole run, so it comes last")
    config.addinivalue_line("markers", "xdist_group(name): cases of a group share a worker")
    if config.getoption("refimpl_target") or config.getoption("refimpl_options"):
        _session().attach(config)


def _session() -> Any:
    """The part of the suite that judges; raises UsageError where another package hides it."""
    try:
        from conformance.engine.judging import session
    except ModuleNotFoundError as error:
        import conformance

        raise pytest.UsageError(
            f"{' '.join(conformance.__path__)} hides the conformance suite of refimpl, which has"
            " the same name: run pytest from another folder"
        ) from error
    return session
