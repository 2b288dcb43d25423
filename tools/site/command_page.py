"""The reference of the command line, made from its parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

_INTRODUCTION = """# Commands

Made from the parser of `onearena` when this site was built. Exit codes: 0 fine, 1 the answer
is no, 2 bad usage or bad input. Every command has `--json`: [its keys](json.md).

| command | what it is for |
|---|---|
"""


def command_page(parser: argparse.ArgumentParser) -> str:
    """The page, in Markdown: one section per command, with every argument it takes."""
    commands = subcommands(parser)
    page = [_INTRODUCTION]
    helps = _helps(parser)
    page += [f"| [`{name}`](#{name}) | {_cell(helps.get(name, ''))} |\n" for name in commands]
    for name, command in commands.items():
        page.append(f"\n## {name}\n\n{command.description or ''}\n\n{_usage(command)}")
        page += _arguments(command)
    return "".join(page)


def json_page(root: Path) -> str:
    """The keys of `--json`: the README's table, on a page of its own.

    Raises:
        ValueError: the README has no such table any more.
    """
    readme = (root / "README.md").read_text(encoding="utf-8")
    start = readme.index("| command | keys that stay |")
    end = readme.index("\n## ", start)
    introduction = "Every command prints one JSON object with `--json`. These keys stay:"
    return f"# Keys of --json\n\n{introduction}\n\n{readme[start:end]}"


def subcommands(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The commands of a parser, in the order of its help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _helps(parser: argparse.ArgumentParser) -> Mapping[str, str]:
    return {
        choice.dest: choice.help or ""
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for choice in action._choices_actions
    }


def _usage(command: argparse.ArgumentParser) -> str:
    text = " ".join(command.format_usage().split()).removeprefix("usage: ")
    return f"```\n{text}\n```\n"


def _arguments(command: argparse.ArgumentParser) -> Iterable[str]:
    shown = [a for a in command._actions if a.help != argparse.SUPPRESS and a.dest != "help"]
    if shown:
        yield "\n| argument | what it means |\n|---|---|\n"
    for action in shown:
        yield f"| {_names(action)} | {_cell(_help(action, command.prog))} |\n"


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    value = ""
    if action.nargs != 0:
        value = f" {action.metavar or _choices(action) or action.dest.upper()}"
    return ", ".join(f"`{option}{value}`" for option in action.option_strings).replace("|", "\\|")


def _choices(action: argparse.Action) -> str:
    return "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""


def _help(action: argparse.Action, prog: str) -> str:
    names = {**vars(action), "prog": prog}
    return (action.help or "") % names if "%" in (action.help or "") else action.help or ""


def _cell(text: str) -> str:
    """Text in a cell of a table; `<` is no tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
