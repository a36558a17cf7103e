"""A finding of a run, shown again on a fresh target: by its case, or by a script of its calls."""
