"""Links of the repository's files, as they are in the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

_LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")


def relinked(markdown: str, source: str, page: str, homes: Mapping[str, str]) -> str:
    """A file's text with links that work where the site shows it.

    Args:
        source: the file's path in the repository, from which its links are relative.
        page: the path of the page in the site.
        homes: by file outside of docs/, the page that shows it.
    """

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[2]))
        home = homes.get(target)
        if home is None and target.startswith("docs/"):
            home = target.removeprefix("docs/")
        if home is None:
            return found[0]
        return found[1] + posixpath.relpath(home, posixpath.dirname(page) or ".") + found[3]

    return _LINK.sub(link, markdown)
