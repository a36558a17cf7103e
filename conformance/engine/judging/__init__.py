"""From what pytest saw to the verdict on a case, its words, and the record of a run."""
