"""What runs the pages' blocks notices when they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import BlockError, Reader, blocks, check_output, patched, reader

_PAGE = """
```python title="a/b.py"
print("one 17")
```

1. Indented:

    ```sh
    python a/b.py
    ```

    ```text
    one 1,234
    ```

<!-- not run -->
```sh
exit 1
```

<!-- run: echo hidden -->
"""


@pytest.fixture
def somebody(tmp_path: Path) -> Reader:
    return reader(tmp_path / "x")


def test_a_page(somebody: Reader, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(_PAGE)
    somebody.follow(page)
    assert somebody.ran == ["python a/b.py\n", "echo hidden"]
    assert somebody.output == "hidden\n"
    assert [block.line for block in blocks(_PAGE)] == [2, 8, 12, 21]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("one 1,234", "two 1", "page.md:12: this is not printed"),
        ("one 1,234", "one 1\n    one 2", "page.md:12: this is not printed"),
        ("python a/b.py", "python c.py", "page.md:8: exit code 2"),
        ("python a/b.py", "false | true", "page.md:8: exit code 1"),
        ("echo hidden", "exit 3", "page.md:21: exit code 3"),
    ],
)
def test_pages_that_are_wrong(
    somebody: Reader, tmp_path: Path, old: str, new: str, problem: str
) -> None:
    page = tmp_path / "page.md"
    page.write_text(_PAGE.replace(old, new))
    with pytest.raises(BlockError, match=problem):
        somebody.follow(page)


def test_output_is_compared_in_order_with_any_numbers() -> None:
    check_output("a 1\n...\nb  2.50\n", "x\na 7\ny\nb 2\n")
    with pytest.raises(BlockError):
        check_output("b 1\na 1\n", "a 1\nb 1\n")


def test_diffs() -> None:
    assert patched("a\nb\nc\nd\n", " a\n-b\n+B\n@@\n d\n+e\n") == "a\nB\nc\nd\ne\n"
    with pytest.raises(BlockError, match="2 times"):
        patched("a\na\n", "-a\n+b\n")
    with pytest.raises(BlockError, match="0 times"):
        patched("a\n", "-b\n+c\n")
