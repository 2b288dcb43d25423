"""From sizes to a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from onearena.checking.amounts import Amount, Sizes, method_amount, program_amount
from onearena.checking.budget import Quantity, parse_budgets
from onearena.checking.load import base_paths, load_sizes
from onearena.checking.sizes import parse_growth
from onearena.checking.verdict import Check, Outcome, Rules, Verdict, evaluate
from onearena.errors import FormatError, UsageError
from onearena.pte.schema import NamedData, SubsegmentOffsets
from tests.checking.programs import delegated_method, relu_method, sizes_of, write
from tests.cli.programs import chain_payload
from tests.pte.build import Method, file_bytes, pte_file

ARENA_BYTES = 2 * 4096  # of relu_method()


def budget(sizes: Sizes, text: str, allow_unknown: bool = False) -> Verdict:
    return evaluate(sizes, Rules(parse_budgets([text]), allow_unknown=allow_unknown))


def by_name(verdict: Verdict) -> dict[str, Check]:
    return {check.name: check for check in verdict.checks}


def test_a_limit_may_be_reached_but_not_passed(tmp_path: Path) -> None:
    sizes = sizes_of(tmp_path / "a.pte", relu_method())
    assert budget(sizes, f"arena={ARENA_BYTES}").passes
    verdict = budget(sizes, f"arena={ARENA_BYTES - 1}")
    (check,) = verdict.failures
    assert (check.name, check.outcome, check.over_bytes) == ("forward:arena", Outcome.OVER, 1)


def test_the_reason_names_method_step_and_tensors(tmp_path: Path) -> None:
    sizes = sizes_of(tmp_path / "a.pte", relu_method(tensor_name="conv1"))
    (check,) = budget(sizes, "arena=0").failures
    (found,) = check.explanations
    assert (found.method, found.memory_id, found.size_bytes) == ("forward", 1, ARENA_BYTES)
    assert found.step == "instruction 0: aten::relu.out"
    assert [(part.name, part.size_bytes) for part in found.parts] == [
        ("conv1", 4096),
        ("output 0", 4096),
    ]


def two_methods() -> tuple[Method, Method]:
    """Each has the larger one of two arenas."""
    first, second = relu_method("first", 1000), relu_method("second", 500)
    first.tensor(10, offset=0, memory_id=2)
    second.tensor(900, offset=0, memory_id=2)
    return first, second


def test_a_program_needs_the_largest_of_each_arena(tmp_path: Path) -> None:
    sizes = sizes_of(tmp_path / "a.pte", *two_methods())
    arena = Quantity("arena")
    assert method_amount(sizes, "first", arena) == Amount(8040)
    assert method_amount(sizes, "second", arena) == Amount(7600)
    assert method_amount(sizes, "second", Quantity("arena", 2)) == Amount(3600)
    assert program_amount(sizes, arena) == Amount(8000 + 3600, ("first", "second"))
    assert program_amount(sizes, Quantity("arena", 1)) == Amount(8000, ("first",))
    assert program_amount(sizes, Quantity("arena", 7)) == Amount(0)
    assert program_amount(sizes, Quantity("total")).size_bytes == 11600
    checks = by_name(budget(sizes, "arena=11600,first:arena=8039,second:arena=7600"))
    assert {name: check.outcome.value for name, check in checks.items()} == {
        "arena": "ok",
        "first:arena": "over",
        "second:arena": "ok",
    }


def test_the_workspace_is_shared_and_pointers_are_not(tmp_path: Path) -> None:
    both = delegated_method("first"), delegated_method("second")
    sizes = sizes_of(tmp_path / "a.pte", *both)
    workspace = method_amount(sizes, "first", Quantity("workspace")).size_bytes
    assert workspace
    assert program_amount(sizes, Quantity("workspace")) == Amount(workspace, ("first",))
    assert program_amount(sizes, Quantity("total")).size_bytes == 32768 + workspace
    methods = tuple(
        replace(m, delegates=tuple(replace(d, indirection_bytes=100) for d in m.delegates))
        for m in sizes.summary.methods
    )
    sizes = Sizes(replace(sizes.summary, methods=methods))
    assert program_amount(sizes, Quantity("indirection")) == Amount(200, ("first", "second"))
    (check,) = budget(sizes, "total=1").failures
    assert {found.subject.value for found in check.explanations} == {"arena", "workspace"}


def test_what_the_file_takes(tmp_path: Path) -> None:
    sizes = sizes_of(tmp_path / "a.pte", delegated_method())
    size = (tmp_path / "a.pte").stat().st_size
    assert program_amount(sizes, Quantity("file")) == Amount(size)
    assert program_amount(sizes, Quantity("constants")) == Amount(0)
    (check,) = budget(sizes, f"file={size - 1},constants=0").failures
    (found,) = check.explanations
    assert {part.name for part in found.parts} >= {"program description", "delegate payloads"}
    assert sum(part.size_bytes for part in found.parts) == size


def test_every_part_of_a_file_is_told(tmp_path: Path) -> None:
    """Where XNNPACK's weights are, too: there are six parts, more than of other things."""
    path = tmp_path / "a.pte"
    file = pte_file(
        delegated_method(),
        segments=[chain_payload(), b"c" * 200, b"s" * 300, b"n" * 4000],
        constant_segment=SubsegmentOffsets(1, (0, 0)),
        mutable_data_segments=(SubsegmentOffsets(2, (0,)),),
        named_data=(NamedData("weights", 3),),
    )
    path.write_bytes(file_bytes(file))
    (check,) = budget(load_sizes(str(path)), "file=1").failures
    (found,) = check.explanations
    sizes = {part.name: part.size_bytes for part in found.parts}
    assert (sizes["named data"], sizes["initial state"], sizes["constants"]) == (4000, 300, 200)
    assert found.parts[0].name == "named data"
    assert (sum(sizes.values()), found.more) == (path.stat().st_size, 0)


def test_unknown_is_not_zero(tmp_path: Path) -> None:
    sizes = sizes_of(tmp_path / "a.pte", delegated_method(backend="MysteryBackend"))
    for quantity in ("workspace", "total", "indirection"):
        verdict = budget(sizes, f"{quantity}=1GB")
        (check,) = verdict.failures
        assert verdict.outcome is Outcome.UNKNOWN
        assert "MysteryBackend" in (check.unknown or "")
        assert budget(sizes, f"{quantity}=1GB", allow_unknown=True).passes
    # what is known is still held against its limit
    assert not budget(sizes, "total=1GB,arena=1", allow_unknown=True).passes
    assert budget(sizes, "arena=1MB").passes


def test_one_unknown_method_makes_the_program_unknown(tmp_path: Path) -> None:
    sizes = sizes_of(
        tmp_path / "a.pte", relu_method("known"), delegated_method("dark", "MysteryBackend")
    )
    (check,) = budget(sizes, "total=1GB").failures
    assert (check.name, check.outcome) == ("total", Outcome.UNKNOWN)
    assert check.after.methods == ("dark",)
    assert budget(sizes, "known:total=1GB").passes


def test_the_method_allocator_is_known_only_when_asked(tmp_path: Path) -> None:
    sizes = sizes_of(tmp_path / "a.pte", relu_method("f"), relu_method("g"))
    assert not budget(sizes, "method_allocator=1GB").passes
    known = Sizes(sizes.summary, {"f": Amount(1000), "g": Amount(500)})
    assert budget(known, "method_allocator=1500,f:method_allocator=1000").passes
    assert not budget(known, "method_allocator=1499").passes


def test_a_budget_for_no_method_is_bad_usage(tmp_path: Path) -> None:
    sizes = sizes_of(tmp_path / "a.pte", relu_method("f\n"))
    with pytest.raises(UsageError, match="there is no such method; the program has 'f\\\\n'"):
        budget(sizes, "forward:arena=1MB")


def test_an_arena_that_nobody_has_is_noted(tmp_path: Path) -> None:
    verdict = budget(sizes_of(tmp_path / "a.pte", relu_method()), "arena.5=1")
    assert verdict.passes
    assert verdict.notes == ("no method has an arena 5; it counts as 0 bytes",)


def test_of_two_limits_the_tighter_one_counts(tmp_path: Path) -> None:
    sizes = sizes_of(tmp_path / "a.pte", relu_method())
    for text in ("arena=1MB,forward:arena=1kB", "arena=1kB,forward:arena=1MB"):
        (check,) = budget(sizes, text).checks
        assert check.budget_bytes == 1000


# -- against a base -----------------------------------------------------------------------------


def compare(after: Sizes, before: Sizes, growth: str = "0", text: str | None = None) -> Verdict:
    budgets = parse_budgets([text]) if text else {}
    return evaluate(after, Rules(budgets, parse_growth(growth)), before)


def test_growth(tmp_path: Path) -> None:
    before = sizes_of(tmp_path / "a.pte", relu_method(elements=1000))
    after = sizes_of(tmp_path / "b.pte", relu_method(elements=1010))
    assert compare(before, before).passes
    assert compare(before, after).passes  # less is fine
    assert not compare(after, before).passes
    assert compare(after, before, "1%").passes
    assert not compare(after, before, "0.999%").passes
    assert compare(after, before, "80").passes
    assert not compare(after, before, "79").passes
    assert list(by_name(compare(after, before))) == [
        "file",
        "forward:arena",
        "forward:workspace",
        "forward:total",
    ]


def test_what_is_budgeted_is_compared(tmp_path: Path) -> None:
    before = sizes_of(tmp_path / "a.pte", relu_method(elements=1000))
    after = sizes_of(tmp_path / "b.pte", relu_method(elements=1010))
    (check,) = compare(after, before, "0", "arena=9000").checks
    assert (check.budget_bytes, check.growth_bytes, check.limit_bytes) == (9000, 8000, 8000)
    assert check.over_bytes == 80
    assert compare(after, before, "0", "state=0").passes


def test_from_nothing_any_percentage_is_too_much(tmp_path: Path) -> None:
    before = sizes_of(tmp_path / "a.pte", relu_method())
    after = sizes_of(tmp_path / "b.pte", delegated_method())
    check = by_name(compare(after, before, "1000%"))["forward:workspace"]
    assert (check.growth_bytes, check.outcome) == (0, Outcome.OVER)


def test_methods_that_come_and_go(tmp_path: Path) -> None:
    before = sizes_of(tmp_path / "a.pte", relu_method("same"), relu_method("old"))
    after = sizes_of(tmp_path / "b.pte", relu_method("same"), relu_method("new", 9000))
    verdict = compare(after, before)
    assert (verdict.new_methods, verdict.removed_methods) == (("new",), ("old",))
    checks = by_name(verdict)
    assert checks["same:arena"].outcome is Outcome.OK
    # a new method is nobody's growth but the program's
    assert checks["arena"].outcome is Outcome.OVER
    assert checks["arena"].explanations[0].method == "new"
    assert not any(name.startswith(("new:", "old:")) for name in checks)


def test_a_budget_of_a_new_method_holds(tmp_path: Path) -> None:
    before = sizes_of(tmp_path / "a.pte", relu_method("old"))
    after = sizes_of(tmp_path / "b.pte", relu_method("old"), relu_method("new"))
    verdict = compare(after, before, "100%", "new:arena=1")
    (check,) = verdict.checks
    assert (check.before, check.growth_bytes, check.outcome) == (None, None, Outcome.OVER)


def test_growth_from_or_to_unknown(tmp_path: Path) -> None:
    known = sizes_of(tmp_path / "a.pte", delegated_method())
    dark = sizes_of(tmp_path / "b.pte", delegated_method(backend="MysteryBackend"))
    for after, before in ((known, dark), (dark, known), (dark, dark)):
        verdict = compare(after, before, "0", "workspace=1GB")
        assert verdict.outcome is Outcome.UNKNOWN
        assert not verdict.passes
    # over the budget is over, whatever the base was
    assert compare(known, dark, "0", "workspace=1").outcome is Outcome.OVER


# -- files --------------------------------------------------------------------------------------


def test_two_methods_of_one_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pte", relu_method("f"), relu_method("f", 9))
    with pytest.raises(FormatError, match="has two methods named 'f'"):
        load_sizes(str(path))


def test_bases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "base/models/a.pte", relu_method())
    models = ["models/a.pte", "./models/../models/a.pte", "b.pte"]
    found = "base/models/a.pte"
    assert base_paths(models, ["base"]) == [found, found, None]
    assert base_paths(models, []) == [None, None, None]
    assert base_paths(["a", "b"], ["c", "d"]) == ["c", "d"]
    with pytest.raises(UsageError, match="1 bases for 2 models"):
        base_paths(["a", "b"], ["c"])
    for outside in ("../a.pte", str(tmp_path / "a.pte"), "models/../../a.pte"):
        with pytest.raises(UsageError, match="below the working directory"):
            base_paths([outside], ["base"])
