"""Network configurations as documents, and directories of them."""
