"""Links of the repository's files, as they are in the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

_LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


@dataclass(frozen=True)
class Places:
    """Where the files of the repository are shown.

    Attributes:
        homes: by file outside of docs/, the page that shows it.
        files: all files and folders of the repository.
        url: where the repository can be read, such as https://host/owner/name; empty when it is
            not known.
    """

    homes: Mapping[str, str]
    files: Collection[str] = ()
    url: str = ""


def relinked(markdown: str, source: str, page: str, places: Places) -> str:
    """A file's text with links that work where the site shows it.

    Links to files that no page shows lead to the repository or, where that is not known, become
    plain text. Links to nothing stay as they are, for MkDocs to complain about.

    Args:
        source: the file's path in the repository, from which its links are relative.
        page: the path of the page in the site.
    """

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], _target(source, found[2]), found[3] or ""
        home = places.homes.get(target)
        if home is None and target.startswith("docs/"):
            home = target.removeprefix("docs/")
        if home is not None:
            return f"[{text}]({posixpath.relpath(home, posixpath.dirname(page) or '.')}{anchor})"
        if target not in places.files:
            return found[0]
        return f"[{text}]({places.url}/blob/main/{target}{anchor})" if places.url else text

    return _LINK.sub(link, markdown)


def _target(source: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
