"""The exec contract of CNI, pure: versions, environment, results, errors. No I/O, no clock.

`problems` says what is wrong with a document, `decode` and `encode` go between JSON values and
`Result`, `convert` between versions. Source: CNI SPEC 0.1.0 to 1.1.0.
"""

from refimpl.cni.contract.checking import (
    error_problems,
    problems,
    supported_versions,
    version_problems,
)
from refimpl.cni.contract.codec import decode, encode
from refimpl.cni.contract.conversion import convert, lossless
from refimpl.cni.contract.environment import (
    env_problems,
    format_args,
    parse_args,
    valid_container_id,
    valid_ifname,
    variables,
)
from refimpl.cni.contract.errors import (
    MEANINGS,
    SPECIFIED,
    CniError,
    ErrorCode,
    allowed_code,
    read_error,
)
from refimpl.cni.contract.problem import ConversionError, Kind, Problem, ShapeError
from refimpl.cni.contract.results import (
    Address,
    Dns,
    Interface,
    Result,
    Route,
    abbreviated,
    normalised,
    stripped,
)
from refimpl.cni.contract.versions import LATEST, SINCE, VERSIONS, Verb, at_least, version_key

__all__ = [
    "LATEST",
    "MEANINGS",
    "SINCE",
    "SPECIFIED",
    "VERSIONS",
    "Address",
    "CniError",
    "ConversionError",
    "Dns",
    "ErrorCode",
    "Interface",
    "Kind",
    "Problem",
    "Result",
    "Route",
    "ShapeError",
    "Verb",
    "abbreviated",
    "allowed_code",
    "at_least",
    "convert",
    "decode",
    "encode",
    "env_problems",
    "error_problems",
    "format_args",
    "lossless",
    "normalised",
    "parse_args",
    "problems",
    "read_error",
    "stripped",
    "supported_versions",
    "valid_container_id",
    "valid_ifname",
    "variables",
    "version_key",
    "version_problems",
]
