"""What a pre-commit hook calls: `onearena verify` for each of the files it is given."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from onearena.cli.main import main


def verify_each(paths: Sequence[str] | None = None) -> int:
    """Verifies every file and returns the largest exit code.

    Args:
        paths: of programs; by default the command line's arguments.
    """
    paths = sys.argv[1:] if paths is None else paths
    return max((main(["verify", "--", path]) for path in paths), default=0)


if __name__ == "__main__":
    sys.exit(verify_each())
