"""ImageService, beside a registry of ours."""
