"""Commands in virtual containers: a shell, and the programs that people run in it."""
