"""What keeps the repository in order: the documentation site, the changelog, the wheels."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The repository."""
