"""Which devices a container gets, and what its plugin is asked for it (TM).

The cases are the vectors of these ids in fixtures/vectors/topology.toml.
"""

from __future__ import annotations

from conformance.deviceplugin.vectors.cases import cases_of
from conformance.deviceplugin.vectors.rows import RequestRow, SelectionRow, of_kind

globals().update(cases_of(__name__, *of_kind(SelectionRow, RequestRow)))
