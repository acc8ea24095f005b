"""`python -m wirelock`: the command line."""

from wirelock.cli import main

main()
