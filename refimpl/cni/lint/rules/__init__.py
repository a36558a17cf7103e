"""The rules by topic; importing this package fills the tables of `refimpl.cni.lint.rule`."""

from refimpl.cni.lint.rules import (
    access,
    addresses,
    capabilities,
    chain,
    documents,
    files,
    folders,
    identity,
    installed,
    plugins,
    routes,
    spelling,
    stores,
    subdirectories,
    versions,
)

__all__ = [
    "access",
    "addresses",
    "capabilities",
    "chain",
    "documents",
    "files",
    "folders",
    "identity",
    "installed",
    "plugins",
    "routes",
    "spelling",
    "stores",
    "subdirectories",
    "versions",
]
