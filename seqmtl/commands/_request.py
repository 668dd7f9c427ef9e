"""Requests: the options of a command, or of the Python function of its name, and its work.

A request is a frozen dataclass whose fields are options. Its fields are both the options of the
command line and the arguments of the Python function (:func:`python_function`). They hold plain
values: texts, numbers, and tuples of them.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from seqmtl._checks import check_choice
from seqmtl._surroundings import usual_floats
from seqmtl.commands._kinds import Kind, flag, positive_float, positive_int, text
from seqmtl.exceptions import UsageError
from seqmtl.files.pipes import pipes_read_once
from seqmtl.files.write import STDOUT

#: What a class body assigns to a field; the type of the field is that of its annotation.
Field: TypeAlias = Any
#: What a command returns, and writes as JSON.
Document: TypeAlias = dict[str, Any]

_Result = TypeVar("_Result", covariant=True)
#: Types of values by their kinds, for docstrings.
_TYPES = {"flag": "bool", "text": "str or path", "data_file": "str or path"}
#: Kinds of fields by their annotations.
_KINDS: dict[str, Kind] = {"int": positive_int, "float": positive_float, "bool": flag}


@dataclass(frozen=True)
class Option:
    """What a field of a request says of itself.

    Attributes
    ----------
    name : str
        Name of the field.
    default : object
        Default; ``MISSING`` if the option is required. It is a flag if that is False.
    flags : tuple of str
        Further names on the command line, such as ``-o``, besides the name of the field with
        dashes. ``-C`` is all there is for a field C.
    help : str
        Help, as on the command line.
    kind : callable
        Rule for each value.
    choices : tuple of str, optional
        Values allowed.
    metavar : str, optional
        How the help shows a value.
    affects_output : bool
        Whether the results depend on it; not so for threads, resuming, paths of outputs.
    group : str
        Title of the group of options in the help.
    is_repeated : bool
        Whether it may be given several times; the field then holds a tuple.
    takes_several : bool
        Whether it may have several values at once.
    is_positional : bool
        Whether it is an argument without a flag.
    long_help : str, optional
        What the value ``help`` shows on the command line.
    """

    name: str
    default: object
    flags: tuple[str, ...]
    help: str
    kind: Kind
    choices: tuple[str, ...] | None = None
    metavar: str | None = None
    affects_output: bool = True
    group: str = ""
    is_repeated: bool = False
    takes_several: bool = False
    is_positional: bool = False
    long_help: str | None = None

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    @property
    def is_flag(self) -> bool:
        """Whether it takes no value on the command line."""
        return self.kind is flag

    @property
    def names(self) -> tuple[str, ...]:
        """Its names on the command line, the long one last."""
        if self.is_positional:
            return (self.metavar or self.name,)
        long = () if f"-{self.name}" in self.flags else (f"--{self.name.replace('_', '-')}",)
        return (*self.flags, *long)

    def value(self, value: object) -> object:
        """Return a value, or several, in the form that the field holds.

        Raises
        ------
        ValueError
            If it breaks a rule; the message names the option.
        """
        if value is None and self.default is None:
            return None
        try:
            return self._all(value) if self.is_repeated else self._one(value)
        except ValueError as error:
            raise UsageError(str(error), self.name) from error

    def _all(self, values: object) -> tuple[object, ...]:
        if isinstance(values, Mapping):
            values = values.items()
        elif isinstance(values, (str, os.PathLike)):
            values = [values]
        return tuple(map(self._one, cast("Iterable[object]", values)))

    def _one(self, value: object) -> object:
        if isinstance(value, str) and not value.strip() and self.choices is None:
            raise ValueError("must have a value, got an empty text")
        converted = self.kind(value)
        if self.choices is not None:
            check_choice("", converted, self.choices)
        is_output = not self.affects_output and self.metavar not in ("DIR", "FOLDER")
        return "-" if is_output and converted in STDOUT else converted


def option(*texts: str, default: object = None, **about: object) -> Field:
    """Return a field of a request; see :class:`Option` for what it can say of itself.

    Texts are flags, and the help. The kind is by default that of the annotation: text or path, an
    integer of at least 1, a number above 0, or true or false. The help states the default.
    """
    flags = tuple(text for text in texts if text.startswith("-"))
    help_text = "".join(text for text in texts if not text.startswith("-"))
    if about.get("is_repeated") and default is None:
        default = ()
    return field(default=default, metadata={"flags": flags, "help": help_text, **about})


def required(*texts: str, **about: object) -> Field:
    """Return a field of a request that has no default."""
    return option(*texts, default=MISSING, **about)


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of a command; subclasses add options, and :meth:`run`.

    Attributes
    ----------
    command_line : str
        The command as it was typed; "" if Python asks.
    """

    command_line: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        for each in options_of(type(self)):
            object.__setattr__(self, each.name, each.value(getattr(self, each.name)))
        self.check()

    def check(self) -> None:
        """Refuse options that do not go together, before any file is read.

        Raises
        ------
        UsageError
            If so.
        """

    def refuse(self, names: Iterable[str], reason: str) -> None:
        """Refuse options that do not apply, if they are not at their defaults.

        Parameters
        ----------
        names : iterable of str
            Names of options; those that the command lacks are ignored.
        reason : str
            The message after the name of the option.

        Raises
        ------
        UsageError
            For the first of them that was given.
        """
        given = {each.name: each for each in self.given()}
        for name in names:
            if name in given:
                raise UsageError(f"{given[name].names[-1]} {reason}")

    def given(self) -> list[Option]:
        """Return the options that are not at their defaults."""
        return [each for each in options_of(type(self)) if getattr(self, each.name) != each.default]

    def run(self) -> object:
        """Do it; return the result."""
        raise NotImplementedError

    def show(self, result: Any) -> str:
        """Return a text for people about the result, unless JSON goes to standard output."""
        return ""

    def has_converged(self, result: Any) -> bool:
        """Return whether a training reached the tolerance."""
        return True

    def __call__(self) -> object:
        """Do it; return the result."""
        with pipes_read_once():
            return self.run()

    @property
    def command(self) -> str:
        """The command as it was typed, or the Python call."""
        given = [f"{each.name}={_as_argument(getattr(self, each.name))!r}" for each in self.given()]
        name = name_of(type(self)).replace("-", "_")
        return self.command_line or f"seqmtl.{name}({', '.join(given)})"

    def fingerprint(self, *without: str) -> Document:
        """Return the options that change the results, as JSON values, except some."""
        return {
            each.name: _as_json(getattr(self, each.name))
            for each in options_of(type(self))
            if each.affects_output and each.name not in without
        }


def _as_argument(value: object) -> object:
    """Return the value of an argument: a single text stands for itself."""
    is_single = isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], str)
    return cast("tuple[str]", value)[0] if is_single else value


def _as_json(value: object) -> object:
    return list(map(_as_json, value)) if isinstance(value, tuple) else value


def options_of(request: type[Request]) -> tuple[Option, ...]:
    """Return the options of a kind of requests: of the class first, then of its bases."""
    fields = {each.name: each for each in dataclasses.fields(request) if each.metadata}
    names = [name for base in request.__mro__ for name in inspect.get_annotations(base)]
    return tuple(_option_of(fields[name]) for name in dict.fromkeys(names) if name in fields)


def _option_of(of: dataclasses.Field[object]) -> Option:
    kind = _KINDS.get(str(of.type).split()[0], text)
    option = Option(name=of.name, default=of.default, **{"kind": kind, **of.metadata})
    default = f"{of.default:g}" if isinstance(of.default, float) else str(of.default)
    if default in ("", "None", "False", "()") or "(default" in option.help or option.is_required:
        return option
    return dataclasses.replace(option, help=f"{option.help} (default: {default})")


def name_of(request: type[Request]) -> str:
    """Return the name of the command: ``scan`` for Scan."""
    letters = (f"-{letter.lower()}" if letter.isupper() else letter for letter in request.__name__)
    return "".join(letters).removeprefix("-")


class _Runnable(Protocol[_Result]):
    """A request with a result of some type."""

    def run(self) -> _Result: ...


def python_function(command: type[_Runnable[_Result]]) -> Callable[..., _Result]:
    """Return the Python function of a command, with its signature and documentation.

    Parameters
    ----------
    command : type
        A subclass of :class:`Request`. Its summary and its return value are those of the
        docstrings of the class and of its ``run``.
    """
    request = cast("type[Request]", command)
    options = sorted(options_of(request), key=lambda each: not each.is_positional)
    signature = inspect.Signature([_parameter(each) for each in options])

    @usual_floats
    def function(*args: object, **named: object) -> _Result:
        return cast("_Result", request(**signature.bind(*args, **named).arguments)())

    function.__name__ = function.__qualname__ = name_of(request).replace("-", "_")
    function.__module__ = request.__module__
    function.__doc__ = _documentation(request, options)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _parameter(each: Option) -> inspect.Parameter:
    kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = inspect.Parameter.empty if each.is_required else each.default
    return inspect.Parameter(each.name, kinds[each.is_positional], default=default)


def _documentation(request: type[Request], options: list[Option]) -> str:
    """Return a docstring: that of the class, the options, and what ``run`` returns."""
    lines = [inspect.getdoc(request) or "", "", "Parameters", "----------"]
    for each in options:
        lines += [f"{each.name} : {_type_of(each)}", textwrap.indent(_sentence(each.help), "    ")]
    returned = (inspect.getdoc(request.run) or "").partition("\n\n")[2]
    return "\n".join([*lines, "", returned]).rstrip() + "\n"


def _type_of(each: Option) -> str:
    if each.choices is not None:
        type_name = f"{{{', '.join(map(repr, each.choices))}}}"
    else:
        type_name = _TYPES.get(each.kind.__name__, each.kind.__name__)
        type_name = type_name.replace("_", " ")
    several = f"sequence of {type_name}" if each.is_repeated else type_name
    return several if each.is_required else f"{several}, optional"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
