"""Kubelets and scripted plugins that end with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refimpl.deviceplugin.kubelet import FakeKubelet
from tests.deviceplugin.kubelet_rig import Scripted, kubelet_folder

Kubelets = Callable[..., FakeKubelet]
Plugins = Callable[..., Scripted]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Kubelet's folder."""
    with kubelet_folder() as folder:
        yield folder


@pytest.fixture
def kubelets(folder: Path) -> Iterator[Kubelets]:
    """Makes a kubelet over the folder and starts it."""
    running: list[FakeKubelet] = []

    def start(**choices: Any) -> FakeKubelet:
        running.append(FakeKubelet(folder, **choices))
        running[-1].start()
        return running[-1]

    yield start
    for kubelet in running:
        kubelet.stop()


@pytest.fixture
def kubelet(kubelets: Kubelets) -> FakeKubelet:
    """A kubelet as it comes."""
    return kubelets()


@pytest.fixture
def scripted(folder: Path) -> Iterator[Plugins]:
    """Makes a plugin that does not serve yet."""
    plugins: list[Scripted] = []

    def make(name: str = "plugin.sock", resource: str = "example.com/gpu") -> Scripted:
        plugins.append(Scripted(folder, name, resource))
        return plugins[-1]

    yield make
    for plugin in plugins:
        plugin.stop()
