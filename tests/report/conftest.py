"""Summaries that the tests of all reporters share."""

from __future__ import annotations

import pytest

from onearena.summary.model import ProgramSummary
from tests.report.programs import (
    empty_file,
    hostile_file,
    no_methods_file,
    rich_file,
    summary_of,
)


@pytest.fixture(scope="session")
def rich(tmp_path_factory: pytest.TempPathFactory) -> ProgramSummary:
    return summary_of(rich_file(tmp_path_factory.mktemp("rich")))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> ProgramSummary:
    return summary_of(hostile_file(tmp_path_factory.mktemp("hostile")))


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> ProgramSummary:
    return summary_of(empty_file(tmp_path_factory.mktemp("empty")))


@pytest.fixture(scope="session")
def no_methods(tmp_path_factory: pytest.TempPathFactory) -> ProgramSummary:
    return summary_of(no_methods_file(tmp_path_factory.mktemp("none")))
