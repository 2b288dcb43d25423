"""A document as a comment on GitHub wants it: `python -m tools.postable DOCUMENT.md URL`.

In a comment every line break is one, links are not relative to a repository, and headings cannot be
linked to. Prints the text with a line for each paragraph and with links to the repository at URL,
such as https://host/owner/name. The exit code is 1 when it is longer than a comment may be.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import mdformat

from tools import ROOT

LONGEST = 65_536
"""What GitHub takes, in characters."""
_LINK = re.compile(r"\]\((?P<target>[^)#:\s]*)(?P<anchor>#[^)\s]*)?\)")
_OPTIONS = {"wrap": "no", "number": True, "compact_tables": True}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the text; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=Path)
    parser.add_argument("url", help="of the repository")
    options = parser.parse_args(arguments)
    source = options.document.resolve().relative_to(ROOT).as_posix()
    text = postable(options.document.read_text(encoding="utf-8"), source, options.url)
    print(text, end="")
    if len(text) > LONGEST:
        print(f"{len(text)} characters, a comment has {LONGEST} at most", file=sys.stderr)
        return 1
    return 0


def postable(markdown: str, source: str, url: str) -> str:
    """A document with long lines and absolute links.

    Args:
        source: its path in the repository, from which its links are relative.
        url: where the repository can be read.
    """

    def absolute(found: re.Match[str]) -> str:
        target, anchor = found["target"], found["anchor"] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        return f"]({url}/blob/main/{path if target else source}{anchor})"

    text = mdformat.text(markdown, options=_OPTIONS, extensions={"gfm"})
    return _LINK.sub(absolute, text)


if __name__ == "__main__":
    sys.exit(main())
