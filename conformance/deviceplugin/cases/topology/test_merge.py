"""One placement out of the hints of all resources, and whether the pod is admitted with it (TM).

The cases are the vectors of these ids in fixtures/vectors/topology.toml.
"""

from __future__ import annotations

from conformance.deviceplugin.vectors.cases import cases_of
from conformance.deviceplugin.vectors.rows import MergeRow, StartRow, of_kind

globals().update(cases_of(__name__, *of_kind(MergeRow, StartRow)))
