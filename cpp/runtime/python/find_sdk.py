"""Prints where the CMake files of the installed executorch 1.5.1 are, or nothing."""

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

WANTED = "1.5.1"


def main() -> None:
    """Looks for the package without importing it."""
    try:
        if version("executorch").split("+")[0] != WANTED:
            return
    except PackageNotFoundError:
        return
    spec = find_spec("executorch")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found = Path(folder) / "lib" / "cmake" / "executorch"
        if (found / "executorch-config.cmake").is_file():
            print(found.as_posix())
            return


if __name__ == "__main__":
    main()
