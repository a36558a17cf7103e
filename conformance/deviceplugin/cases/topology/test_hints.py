"""Where a request for devices could be placed: the hints of the device manager (TM).

The cases are the vectors of these ids in fixtures/vectors/topology.toml.
"""

from __future__ import annotations

from conformance.deviceplugin.vectors.cases import cases_of
from conformance.deviceplugin.vectors.rows import HintsRow, of_kind

globals().update(cases_of(__name__, *of_kind(HintsRow)))
