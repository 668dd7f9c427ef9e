"""Commands: a request as options of a parser, with text, and how its result is printed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seqmtl.commands._console import show
from seqmtl.commands._kinds import positive_int
from seqmtl.commands._request import Option, Request, name_of, options_of

#: Exit code if training stopped before reaching its tolerance.
NOT_CONVERGED = 3


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes
    ----------
    request : type
        Its options, and what it does.
    summary : str
        One line about it.
    text : str
        Examples, and what else its help tells.
    show : callable
        Text for people, given the request and what its ``run`` returned. It is not printed if JSON
        goes to standard output.
    has_converged : callable
        Whether the tolerance was reached, given what ``run`` returned.
    usage : str, optional
        First line of the help. Default: all options.
    adjust : callable
        Changes the parser.
    """

    request: type[Request]
    summary: str
    text: str
    show: Callable[[Any, Any], str] = lambda request, result: ""
    has_converged: Callable[[Any], bool] = lambda result: True
    usage: str | None = None
    adjust: Callable[[argparse.ArgumentParser], None] = lambda parser: None

    def add_to(self, subparsers: Any) -> None:
        """Add the command to a parser."""
        parser = subparsers.add_parser(
            name_of(self.request),
            help=self.summary,
            description=self.summary,
            epilog=f"examples:\n{self.text}",
            usage=self.usage,
            formatter_class=OneScreen if self.usage else argparse.RawDescriptionHelpFormatter,
        )
        quiet = "show only warnings and errors"
        parser.add_argument("-q", "--quiet", action="store_true", help=quiet)
        parser.add_argument("--log-json", action="store_true", help="log messages as JSON lines")
        parser.add_argument("--debug", action="store_true", help="show the traceback of errors")
        groups = {"": parser}
        for option in options_of(self.request):
            if option.group not in groups:
                groups[option.group] = parser.add_argument_group(option.group)
            add_option(groups[option.group], option)
        parser.set_defaults(of=self, usage_error=parser.error)
        self.adjust(parser)

    def finish(self, request: Any, result: Any) -> int:
        """Show the result; return the exit code."""
        if getattr(request, "json", None) != "-":
            show(self.show(request, result))
        return 0 if self.has_converged(result) else NOT_CONVERGED

    def request_of(self, args: argparse.Namespace, command_line: str) -> Request:
        """Return the request of parsed arguments."""
        names = {option.name for option in options_of(self.request)}
        given = {name: value for name, value in vars(args).items() if name in names}
        return self.request(**given, command_line=command_line)


class OneScreen(argparse.RawDescriptionHelpFormatter):
    """Compact help for a command with many options: no blank lines between groups."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def format_help(self) -> str:
        """Return the text."""
        return re.sub(r"\n\n(?=\S)", "\n", super().format_help())

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        metavar = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {metavar}"  # as Python 3.13 does


def add_option(parser: Any, option: Option) -> None:
    """Add an option to a parser or a group; its default is that of the request."""
    settings: dict[str, Any] = {"help": option.help, "default": argparse.SUPPRESS}
    if option.is_positional:
        nargs = None if option.is_required else "?"
        parser.add_argument(option.name, metavar=option.metavar, nargs=nargs, **settings)
        return
    long = f"--{option.name.replace('_', '-')}"
    flags = [*option.flags] if f"-{option.name}" in option.flags else [*option.flags, long]
    flags.sort(key=lambda flag: (flag.startswith("--"), flag != long))
    settings |= {"dest": option.name, "required": option.is_required}
    if option.kind.__name__ == "flag":
        action = "store_true"
    else:
        action = "append" if option.is_repeated else "store"
        metavar = "N" if option.kind is positive_int else None
        settings |= {"metavar": option.metavar or metavar, "type": _type_of(option)}
        settings |= {"choices": option.choices}
    parser.add_argument(*flags, action=action, **settings)


def _type_of(option: Option) -> Callable[[str], Any]:
    """Return the type of an option: its kind, with a description for the help."""

    def parse(text: str) -> Any:
        if text == "help" and option.manual is not None:
            show(f"{option.manual}\n")
            sys.exit(0)
        try:
            return option.kind(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse
