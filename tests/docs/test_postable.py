"""The proposal can be posted as it is: within GitHub's limit, with links that work there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools import ROOT
from tools.postable import LONGEST, main, postable

_URL = "https://host.example/owner/onearena"
_RFC = sorted((ROOT / "docs" / "rfc").glob("*.md"))


@pytest.mark.parametrize("path", _RFC, ids=lambda path: path.stem)
def test_the_proposal_fits_into_a_comment(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(path), _URL]) == 0
    text = capsys.readouterr().out
    assert 10_000 < len(text) <= LONGEST
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    for link in links:
        assert link.startswith("https://"), link
        own = re.fullmatch(f"{_URL}/blob/main/([^#]+)(#.*)?", link)
        assert own is None or (ROOT / own[1]).exists(), link


_TEXT = """# Title

One,
two [a](../b.md#c)
and [d](#title).

```
x
y
```

1. p
   q
2. r
"""
_LINES = """# Title

One, two [a](u/blob/main/docs/b.md#c) and [d](u/blob/main/docs/rfc/e.md#title).

```
x
y
```

1. p q
2. r
"""


def test_paragraphs_are_lines() -> None:
    assert postable(_TEXT, "docs/rfc/e.md", "u") == _LINES


def test_what_is_too_long_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ROOT / "docs" / "rfc" / _RFC[0].name
    monkeypatch.setattr("tools.postable.LONGEST", 100)
    assert main([str(path), _URL]) == 1
    assert "a comment has 100 at most" in capsys.readouterr().err
