"""Objects of resource.k8s.io/v1, judged as an API server of Kubernetes 1.37 judges them.

`validate(object)` gives all that is wrong, with the field paths and reasons of Kubernetes.
"""

from refimpl.dra.validation.gates import ALPHA, Gates
from refimpl.dra.validation.objects import KINDS, validate, validate_status
from refimpl.dra.validation.problems import Problem, Reason

__all__ = ["ALPHA", "KINDS", "Gates", "Problem", "Reason", "validate", "validate_status"]
