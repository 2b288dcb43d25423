"""The parser that the schema tests rely on must not skip anything silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pte.fbs import FbsField, parse

_TEXT = """
// table Comment { x: int; }
include "other.fbs";
namespace a.b;
file_identifier "AB12";  file_extension "x";
/* enum Hidden : byte { NONE } */
enum Kind : short { A, B = 5, C, }
union Any { Leaf, Second: Leaf, }
table Leaf {}
table Root {
  a: uint64 = 3;  // table Inner {}
  b: [ubyte] (deprecated, force_align: 16);
  c:Any; d: Kind = B; f: float = -1.5;
}
root_type Root;
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "other.fbs").write_text("enum Other : byte { X = -1, Y }")
    (tmp_path / "a.fbs").write_text(_TEXT)
    return tmp_path / "a.fbs"


def test_everything_is_found(path: Path) -> None:
    schema = parse(path)
    assert schema.identifier == "AB12"
    assert schema.root == "Root"
    assert schema.enums == {"Other": {"X": -1, "Y": 0}, "Kind": {"A": 0, "B": 5, "C": 6}}
    assert schema.enum_types == {"Other": "b", "Kind": "h"}
    assert schema.unions == {"Any": (("Leaf", "Leaf"), ("Second", "Leaf"))}
    assert schema.tables == {
        "Leaf": (),
        "Root": (
            FbsField("a", "uint64", False, "3", {}),
            FbsField("b", "ubyte", True, None, {"deprecated": "", "force_align": "16"}),
            FbsField("c", "Any", False, None, {}),
            FbsField("d", "Kind", False, "B", {}),
            FbsField("f", "float", False, "-1.5", {}),
        ),
    }


@pytest.mark.parametrize("text", ["struct S { x: int; }", "table T { x: int", "table T { x int; }"])
def test_what_is_not_understood_is_refused(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(ValueError, match=r"unexpected|ends in the middle|expected"):
        parse(path)
