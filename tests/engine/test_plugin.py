"""The part of us that is loaded in every pytest run of a user's environment."""

from __future__ import annotations

import subprocess
import sys


def test_the_plugin_imports_neither_grpc_nor_schemas() -> None:
    """Somebody else's test run must not pay for us."""
    script = "import sys, conformance.engine.plugin; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert "conformance.engine.plugin" in loaded
    heavy = ("grpc", "google.protobuf", "rich", "jinja2", "msgspec", "refimpl.wire")
    assert [name for name in loaded if name.startswith(heavy)] == []


def test_the_help_of_the_command_imports_only_click() -> None:
    """`refimpl --help` answers at once."""
    script = "import sys, refimpl.cli.main; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    heavy = ("grpc", "google", "rich", "jinja2", "msgspec", "attr", "pytest", "conformance")
    assert [name for name in done.stdout.split() if name.startswith(heavy)] == []
