"""`python -m onearena`, and the command `onearena`."""

from __future__ import annotations

import sys


def run() -> int:
    """Runs the command line. Ctrl-C while it is still being imported ends it quietly, too."""
    try:
        from onearena.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("onearena: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
