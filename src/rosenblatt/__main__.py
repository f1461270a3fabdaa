"""`python -m rosenblatt`: the command line."""

from rosenblatt.cli import main

main()
