"""Images pulled from a registry over HTTP or HTTPS (OCI distribution-spec 1.1)."""

from refimpl.images.client.pull import Pulled, pull

__all__ = ["Pulled", "pull"]
