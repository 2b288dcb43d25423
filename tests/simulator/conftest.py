"""Small programs without delegates, exported once per session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.simulator import nets

Exported = Callable[[str], Path]


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Exports a network of `nets` on first use; returns its path."""
    pytest.importorskip("torch", reason="simulates with torch")
    pytest.importorskip("executorch", reason="exports with executorch")
    folder = tmp_path_factory.mktemp("simulated")

    def build(name: str) -> Path:
        if name in nets.CORTEX_M and not nets.has_cortex_m():
            pytest.skip("needs the ethos-u extra of executorch")
        path: Path = folder / f"{name}.pte"
        if not path.exists():
            path.write_bytes(nets.EXPORTS[name]())
        return path

    return build
