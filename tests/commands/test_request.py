"""Requests: options as fields, their kinds, fingerprints, and the functions made from them."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import dataclass
from pathlib import Path

import pytest

from seqmtl.commands import _kinds
from seqmtl.commands._parser import Parser
from seqmtl.commands._request import Request, name_of, option, python_function, required
from seqmtl.exceptions import UsageError


@dataclass(frozen=True, kw_only=True)
class Bases(Request):
    """Shared options."""

    share: float = option(kind=_kinds.share, default=0.5, help="share of the bases")
    workers: int = option(kind=_kinds.positive_int, default=1, affects_output=False, help="workers")


@dataclass(frozen=True, kw_only=True)
class CountBases(Bases):
    """Count the bases of genomes."""

    data: str = required(is_positional=True, metavar="DATA", help="a file")
    C: float = option("-C", kind=_kinds.positive_float, default=1.0, help="cost")
    genome: tuple[tuple[str, str], ...] = option(
        "-g", is_repeated=True, kind=_kinds.named_path, default=(), help="genomes"
    )
    sort: str = option(choices=("up", "down"), default="up", help="order", group="order")
    is_fast: bool = option(default=False, help="be fast")
    limit: str | None = option(help="limit")

    def check(self) -> None:
        if self.limit and self.is_fast:
            raise UsageError("--limit and --is-fast do not go together")

    def run(self) -> dict[str, object]:
        """Count.

        Returns
        -------
        dict
            The options.
        """
        return self.fingerprint()


def parsed(*words: str) -> CountBases:
    values, _ = Parser(CountBases).values(words)
    return CountBases(**values, command_line="seqmtl count-bases")


def test_a_request_from_the_command_line_from_python_and_pickled_is_the_same():
    request = CountBases(
        data=Path("x.fa"), C="3", genome={"fly": "f.fa", "bee": "b.fa"}, is_fast=True, share="0.1"
    )
    words = "x.fa -C 3 -g fly=f.fa --genome bee=b.fa --is-fast --share 0.1"
    assert parsed(*words.split()) == request == pickle.loads(pickle.dumps(request))
    assert parsed("x.fa") == CountBases(data="x.fa")
    assert request.C == 3.0
    assert request.genome == (("fly", "f.fa"), ("bee", "b.fa"))
    assert parsed("x.fa").command == "seqmtl count-bases"
    assert CountBases(data="x", sort="down").command == "seqmtl.count_bases(data='x', sort='down')"


def test_standard_output_has_one_name_but_not_as_a_folder():
    @dataclass(frozen=True, kw_only=True)
    class Write(Request):
        output: str = option(metavar="FILE", affects_output=False, default="x")
        folder: str = option(metavar="DIR", affects_output=False, default="x")
        data: str = option(default="x")

    name = "/dev/stdout"
    request = Write(output=name, folder=name, data=name)
    assert (request.output, request.folder, request.data) == ("-", name, name)


def test_a_fingerprint_has_json_values_of_the_options_that_change_the_result():
    request = CountBases(data="x", genome=[("fly", "f.fa")], share=0.25, workers=5)
    assert request.fingerprint("limit") == {
        "data": "x",
        "C": 1.0,
        "genome": [["fly", "f.fa"]],
        "sort": "up",
        "is_fast": False,
        "share": 0.25,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C must be a finite number above 0, got 0"),
        ({"data": None}, "data must be a text, got None"),
        ({"sort": "left"}, "sort must be one of up, down, got 'left'"),
        ({"is_fast": 1}, "is_fast must be True or False, got 1"),
        ({"genome": "fly"}, "genome must be ORGANISM=FILE, got 'fly'"),
        ({"limit": "3", "is_fast": True}, "--limit and --is-fast do not go together"),
    ],
)
def test_a_wrong_value_is_named(options, message):
    with pytest.raises(UsageError) as error:
        CountBases(**{"data": "x", **options})
    assert str(error.value) == message


def test_a_verb_has_the_signature_and_the_documentation_of_its_options():
    count = python_function(CountBases)
    assert name_of(CountBases) == "count-bases"
    assert count.__name__ == "count_bases"
    assert str(inspect.signature(count)).startswith("(data, *, C=1.0, genome=(), sort='up',")
    assert count("x", limit="3")["limit"] == "3"
    text = inspect.getdoc(count)
    assert text.startswith("Count the bases of genomes.\n\nParameters\n----------\ndata : str")
    assert "sort : {'up', 'down'}, optional\n    Order (default: up).\n" in text
    assert text.endswith("Returns\n-------\ndict\n    The options.")
    with pytest.raises(TypeError, match="unexpected keyword argument 'limits'"):
        count("x", limits="3")


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (_kinds.memory, "500M", 500 << 20),
        (_kinds.memory, "1.5 GiB", 3 << 29),
        (_kinds.positive_floats, "3,1,3", (1.0, 3.0)),
        (_kinds.positive_floats, 2, (2.0,)),
        (_kinds.names_list, "a, b", ("a", "b")),
        (_kinds.count, "0", 0),
        (_kinds.share, "0.5", 0.5),
        (_kinds.dask_address, "local:2", "local:2"),
        (_kinds.figure, Path("x.PNG"), "x.PNG"),
    ],
)
def test_kinds_read_texts_and_take_values(kind, value, found):
    assert kind(value) == kind(found) == found


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (_kinds.positive_int, 1 << 62, "must be at most"),
        (_kinds.positive_int, True, "must be an integer of at least 1, got True"),
        (_kinds.positive_int, "1_000", "must be an integer"),
        (_kinds.integer, "x", "must be an integer, got 'x'"),
        (_kinds.share, 1, "must be between 0 and 1, got 1"),
        (_kinds.memory, "0", "must be a size such as 500M or 4G, got '0'"),
        (_kinds.finite_float, "nan", "must be a finite number"),
        (_kinds.names_list, "a,,b", "must be comma-separated names"),
        (_kinds.dask_address, "here", "must be the address of a scheduler"),
        (_kinds.figure, "x.gif", "must end in .png, .svg or .pdf, got 'x.gif'"),
    ],
)
def test_kinds_refuse(kind, value, message):
    with pytest.raises(ValueError, match=r"^must (be|end in) ") as error:
        kind(value)
    assert message in str(error.value)
