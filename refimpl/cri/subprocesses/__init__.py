"""The process model of real processes: those of the user, without any isolation."""
