"""An IPAM plugin of ours in the configured one's place: it notes its calls and answers as told.

    ipam = Delegate(plugin)                 # passes everything on to the configured one
    pod = plugin.pod()
    plugin.added(pod, ipam.config())
    plugin.deleted(pod, ipam.config())
    assert len(ipam.calls("DEL")) == 1

Answers are the recorder's (`refimpl.cni.plugins.recorder`), by verb, a list for one after another:
`{"result": {...}}`, `{"error": {"code": 11, "msg": "..."}}`, `{"stdout": "junk", "status": 0}`.
What is not told the configured plugin answers, so that addresses and gateways fit the network.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import attrs

from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.subject import directories
from refimpl.cni.plugins import configure, install, records, settings_of
from refimpl.documents import json as documents

RECORDER = "refimpl-recorder"
"""The `type` under which a configuration names it."""


@attrs.frozen
class DelegateCall:
    """One call that reached the delegate. status: None for one that was killed or goes on."""

    verb: str
    env: Mapping[str, str]
    stdin: bytes
    status: int | None
    start_ns: int
    end_ns: int | None

    @property
    def document(self) -> Any:
        """stdin as a JSON value; raises DocumentError."""
        return documents.parse(self.stdin, name="the delegate's stdin").value


class Delegate:
    """The recorder, installed below the case's folder and first in the plugin's CNI_PATH.

    Needs `DELEGATES`. faults: knobs of `refimpl.cni.plugins`, such as {"verb": "ADD", "do":
    "signal"}. place: the folder's name, where a case installs several; searched: whether it goes
    into CNI_PATH. `plugin.state()` does not change by its calls.
    """

    def __init__(
        self,
        plugin: PluginUnderTest,
        answers: Mapping[str, Any] | None = None,
        *,
        faults: list[dict[str, Any]] | None = None,
        name: str = RECORDER,
        place: str = "delegates",
        searched: bool = True,
    ) -> None:
        self._plugin, self.name = plugin, name
        self.folder = plugin.folder / place
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = install(
            self.folder,
            name,
            "recorder",
            target=plugin.subject.ipam_type,
            answers=answers or {},
            faults=faults or [],
        )
        settings = settings_of(self.path)
        self._journal, self._counts = settings["journal"], settings["counts"]
        self._make_files()
        if searched:
            plugin.cni_path = directories(str(self.folder), plugin.cni_path)

    def config(self, version: str = "", **members: Any) -> dict[str, Any]:
        """The plugin's document with this delegate as its IPAM plugin."""
        return self._plugin.config(
            version, **{"ipam": self._plugin.ipam(type=self.name), **members}
        )

    def answer(self, **answers: Any) -> None:
        """Other answers from the next call on, by verb; a verb left out is passed on again."""
        configure(self.path, answers=answers)
        self._make_files()

    def _make_files(self) -> None:
        """Before the first call, so that no difference of states shows them."""
        for file in (self._journal, self._counts):
            os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))

    def calls(self, *verbs: str) -> list[DelegateCall]:
        """What it was asked so far, in order; only these verbs where some are given."""
        return [
            DelegateCall(*(each[name] for name in attrs.fields_dict(DelegateCall)))
            for each in records(self._journal)
            if not verbs or each["verb"] in verbs
        ]
