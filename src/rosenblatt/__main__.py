"""The program: `rosenblatt`, or `python -m rosenblatt`."""

import rosenblatt.interrupts as interrupts


def main() -> None:
    """Listen for Ctrl-C before anything else is imported, then run the command line."""
    interrupts.listen()
    from rosenblatt.cli import main

    main()


if __name__ == "__main__":
    main()
