"""A target as a user chose it, and what is known of it: resolved, started, asked by hooks."""
