"""Entry point of `rosenblatt` and `python -m rosenblatt`."""

import rosenblatt.clock as clock


def main() -> None:
    """Handle Ctrl-C before anything else is imported, then run the command line."""
    clock.install_handler()
    from rosenblatt.cli import main

    main()


if __name__ == "__main__":
    main()
