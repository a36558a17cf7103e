"""Where the specification and the plugins and runtimes in the field part, by case.

Under `--policy strict` the specification's text counts, under `practice` the case takes what the
reference library does, and under `report` a failure is told as a warning and fails nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from conformance.engine.targets.resolve import ResolvedTarget

# Case -> what parts: the specification | what is done.
DIVERGENCES = {
    "CNI-PLG-002": "VERSION answers in the version asked with | in the library's own",
    "CNI-PLG-009": "no CNI_COMMAND is a failure | exit 0 and a name on stderr",
    "CNI-PLG-014": "CNI_PATH is optional | it is demanded",
    "CNI-PLG-028": "keys are told apart by case | any case is taken",
    "CNI-PLG-031": "an error has a cniVersion | it has none",
    "CNI-PLG-032": "one document on stdout | a result, then an error, in the own namespace",
    "CNI-PLG-033": "codes below 100 are those of the table | 8 is used as well",
    "CNI-PLG-052": "a refused ADD changes nothing | the own namespace is refused after the work",
    "CNI-PLG-062": "prevResult is preserved | members that are not known are dropped",
    "CNI-PLG-100": "a plugin of 1.1.0 does GC | success, and nothing is done",
    "CNI-PLG-126": "a refused DEL changes nothing | the own namespace is refused after the work",
    "CNI-RT-008": "members arrive unchanged | numbers become floats",
    "CNI-RT-009": "capabilities are taken out | they are left in",
    "CNI-RT-050": "one network after the other | all at once",
}


def warned(resolved: ResolvedTarget) -> Collection[str]:
    """Under `--policy report`, the ids where the field leaves the text."""
    return DIVERGENCES if resolved.settings.policy == "report" else ()
