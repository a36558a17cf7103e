"""What a run has made and must undo: on file before it is made, so that a sweep can work it off."""
