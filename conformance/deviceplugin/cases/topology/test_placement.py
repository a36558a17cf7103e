"""Which devices lie where a container was placed, and in which order they are taken (TM).

The cases are the vectors of these ids in fixtures/vectors/topology.toml.
"""

from __future__ import annotations

from conformance.deviceplugin.vectors.cases import cases_of
from conformance.deviceplugin.vectors.rows import BucketsRow, of_kind

globals().update(cases_of(__name__, *of_kind(BucketsRow)))
