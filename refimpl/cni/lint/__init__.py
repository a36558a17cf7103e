"""Lint for network configurations: a file, or a folder as each runtime sees it."""

from refimpl.cni.lint.check import Checked, Report, lint, lint_bytes
from refimpl.cni.lint.finding import Finding, Severity
from refimpl.cni.lint.rule import Unanswered
from refimpl.cni.lint.runtimes import Choice

__all__ = ["Checked", "Choice", "Finding", "Report", "Severity", "Unanswered", "lint", "lint_bytes"]
