"""`python -m refimpl`, where the console script is not on the path."""

from refimpl.cli.main import main

main()
