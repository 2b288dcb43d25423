"""The site's navigation: folders of numbered pages need not be listed page by page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any


def expanded(nav: Sequence[Any], docs: Path, upcoming: Collection[str]) -> list[Any]:
    """The navigation with `folder/` replaced by the folder's pages, sorted by name.

    Args:
        nav: entries as in mkdocs.yml: a path, or one title with a path or entries.
        upcoming: pages and folders that may be missing; every other missing one is MkDocs' to
            complain about.
    """
    result: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            ((title, inner),) = entry.items()
            kept = expanded(inner if isinstance(inner, list) else [inner], docs, upcoming)
            if kept:
                is_page = isinstance(inner, str) and not inner.endswith("/")
                result.append({title: kept[0] if is_page else kept})
        elif entry in upcoming and not (docs / entry).exists():
            continue
        elif entry.endswith("/") and (docs / entry).is_dir():
            result += [f"{entry}{page.name}" for page in sorted((docs / entry).glob("*.md"))]
        else:
            result.append(entry)
    return result
