"""Reports are pure functions of one stream of events: made when a run ends, or at any later time.

A stream without its end (a killed run) is told as such in each of them.
"""

from conformance.engine.reports.badge import badge
from conformance.engine.reports.html import html
from conformance.engine.reports.junit import junit
from conformance.engine.reports.markdown import markdown

__all__ = ["badge", "html", "junit", "markdown"]
