"""The part of us that is loaded in every pytest run of a user's environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_plugin_imports_neither_grpc_nor_schemas() -> None:
    """Somebody else's test run must not pay for us."""
    script = "import sys, refimpl.pytest_plugin; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert "refimpl.pytest_plugin" in loaded
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


def test_a_package_of_the_same_name_does_no_harm(tmp_path: Path) -> None:
    """Somebody else's project may have one; whoever asks for the suite there is told."""
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "__init__.py").touch()
    (tmp_path / "test_theirs.py").write_text("def test_theirs():\n    import conformance\n")
    plain = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    done = subprocess.run(plain, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    asked = (*plain, "--refimpl-target", "fake")
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert f"{tmp_path}/conformance hides the conformance suite of refimpl" in done.stderr
    assert "Traceback" not in done.stderr
