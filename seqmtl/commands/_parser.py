"""Arguments of the command line to values of options, and messages about them."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import takewhile
from typing import NoReturn

from seqmtl.commands._console import show
from seqmtl.commands._help import Common, help_of
from seqmtl.commands._request import Document, Option, Request, name_of, options_of
from seqmtl.exceptions import InputFormatError, SeqmtlError, UnknownTaskError, UsageError

_ALIKE = 0.6  # least similarity of two spellings
#: What to do instead of options that there were.
_REMOVED = {
    "--alignment": "seqmtl similarity takes --source alignment=FASTA",
    "--background": "seqmtl.explanation.poim in Python takes frequencies of letters",
    "--balanced": "estimators in Python take class_weight='balanced'",
    "--chrom-map": "bcftools annotate --rename-chrs renames the contigs of a VCF",
    "--consensus": "sites have the letters of training; seqmtl adapt --consensus takes more donors",
    "--contig-ends": "windows are padded with N",
    "--contigs": "samtools faidx GENOME NAME > part.fa writes a contig to scan",
    "--decoys": "give decoys in the file, with score 0; ten per site are drawn otherwise",
    "--distance": "effects have the distance of the site (DP), by which awk selects lines of --tsv",
    "--distances": "seqmtl similarity takes --source distances=TSV",
    "--folds": "calibrate trains four models, each without the regions that it scores",
    "--force": "name a folder that has no other files",
    "--genome": "seqmtl explain takes DATA; bedtools getfasta cuts windows from a genome",
    "--graph": "seqmtl similarity takes --source graph=FILE",
    "--groups": "seqmtl similarity takes --source groups=TSV",
    "--json": "seqmtl info MODEL --json has the summary of a training; else the Python function of "
    "the command returns the results",
    "--log-json": "messages are lines of text; in Python they go to the logger seqmtl",
    "--max-epochs": "estimators in Python take max_epochs",
    "--method": "calibrate chooses the curve by the number of true sites",
    "--negatives": "give a table of sequences and labels, or a dataset",
    "--norm": "MultiTaskMKLClassifier in Python takes norm",
    "--organism": "NAME=FILE names the organism of a file, or of a dataset the one to train on",
    "--plot": "seqmtl report draws the rounds of self-training",
    "--product": "seqmtl similarity takes --source table=TSV, once for each table",
    "--reference": "give a table of sequences and labels, or a dataset; "
    "seqmtl.explanation.differential in Python compares two organisms",
    "--scales": "seqmtl similarity takes --similarity smooth:SCALE,...",
    "--seed": "the seed is fixed, so that results can be repeated",
    "--sites": "seqmtl dataset takes BED of sites (sites = ...), and makes DATA of them",
    "--softmask": "case is ignored; remove sites in repeats by their BED, such as with bedtools",
    "--split": "adapt uses the split train, calibrate and pair use valid, and explain test",
    "--strand": "both strands are written, with the strand in a column",
    "--taxonomy": "seqmtl similarity takes --source taxonomy=FOLDER",
    "--threshold": "bcftools view -i selects effects, or awk those of --tsv",
    "--title": "a report is named by its signals and organisms",
    "--tol": "estimators in Python take tol",
    "--top": "explain lists 100 oligomers of each length",
    "--track-value": "tracks have probabilities if the model is calibrated, else scores",
    "--tree": "seqmtl adapt --tree makes a model that has the organism; report draws no tree",
    "--window": "simulate writes windows of 200 bases",
}


class Parser(argparse.ArgumentParser):
    """The options of a command.

    It takes texts only: a request turns them into values. There are no abbreviations, which would
    change their meaning with each new option.
    """

    def __init__(self, command: type[Request]) -> None:
        super().__init__(f"seqmtl {name_of(command)}", allow_abbrev=False, exit_on_error=False)
        self.command = command
        self.options = (*options_of(command), *options_of(Common))
        for each in self.options:
            self._add(each)

    def _add(self, each: Option) -> None:
        if each.is_positional:
            nargs = None if each.is_required else "?"
            if each.is_repeated:
                nargs = "+" if each.is_required else "*"
            self.add_argument(
                each.name, metavar=each.metavar, nargs=nargs, default=argparse.SUPPRESS
            )
            return
        action = "store"
        if each.is_flag:
            action = "store_true"
        elif each.is_repeated:
            action = "extend" if each.takes_several else "append"
        more: Document = {"nargs": "+"} if each.takes_several else {}
        if each.long_help is not None:
            more["type"] = partial(self._text, each.long_help)
        self.add_argument(
            *each.names,
            dest=each.name,
            action=action,
            **more,
            required=each.is_required,
            default=argparse.SUPPRESS,
        )

    def _text(self, long_help: str, text: str) -> str:
        """Return the value of an option, or show what its values may be if that is ``help``."""
        if text == "help":
            show(f"{long_help}\n")
            self.exit()
        return text

    def print_help(self, file: object = None) -> None:
        """Show the help of the command."""
        show(help_of(self.command))

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments."""
        raise UsageError(message)

    def values(self, arguments: Sequence[str]) -> tuple[dict[str, object], Common]:
        """Return the options that are given, as texts, and those of every command.

        Raises
        ------
        UsageError
            If an option is unknown or incomplete, one is missing, or an argument is not text.
        """
        for argument in arguments:
            if re.search("[\ud800-\udfff]", argument):
                fault = "is not UTF-8, as models and summaries are; rename the file"
                if sys.getfilesystemencoding() != "utf-8":
                    fault = "has letters that this locale lacks; set PYTHONUTF8=1"
                raise UsageError(f"{argument!a} {fault}")
        flags = ["--help", *(name for each in self.options for name in each.names)]
        check_flags(arguments, flags)
        try:
            values = vars(self.parse_args(arguments))
        except argparse.ArgumentError as error:
            if error.argument_name is None:  # arguments that are missing
                raise UsageError(error.message) from error
            name = as_typed(error.argument_name.split("/"), arguments)
            raise UsageError(f"{name}: {error.message}") from error
        names = [each.name for each in options_of(Common) if each.name in values]
        try:
            return values, Common(**{name: values.pop(name) for name in names})
        except UsageError as error:
            raise UsageError(f"--{error.option} {error.message}") from error


def check_flags(arguments: Iterable[str], flags: Iterable[str]) -> None:
    """Check that there are the options that are given, before one that is missing is named.

    Raises
    ------
    UsageError
        If there is not; it names the most similar one.
    """
    long = [flag for flag in flags if flag.startswith("--")]
    for argument in takewhile(lambda argument: argument != "--", arguments):
        name = argument.partition("=")[0]
        if name.startswith("--") and name not in long:
            instead = f"; {_REMOVED[name]}" if name in _REMOVED else did_you_mean(name, long)
            raise UsageError(f"there is no option {name}{instead}")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question that suggests a similar name, or an empty string."""
    near = get_close_matches(name, list(names), n=1, cutoff=_ALIKE)
    return f"; did you mean {near[0]!r}?" if near else ""


def as_typed(names: Sequence[str], arguments: Sequence[str]) -> str:
    """Return the name of an option that is among the arguments, or else its last."""
    typed = [
        name
        for name in names
        for argument in arguments
        if argument.partition("=")[0] == name or (len(name) == 2 and argument.startswith(name))
    ]
    return typed[0] if typed else names[-1]


def usage_message(
    error: Exception,
    options: Iterable[Option],
    values: Mapping[str, object],
    arguments: Sequence[str],
) -> str | None:
    """Return the message if an option is at fault, None if it is about data."""
    if not isinstance(error, SeqmtlError):
        return None
    options = [*options]
    has_like = any(each.name == "like" for each in options) and "like" not in values
    for each in options:
        name = as_typed(each.names, arguments)
        is_given = each.name in values
        names = error.names if is_given and isinstance(error, UnknownTaskError) else ()
        if _names_in(values.get(each.name), names):
            hint = " (a new organism needs --like)" * has_like
            return f"{name}: {error.args[0]}{hint * (each.name == 'organism')}"
        if each.name == error.option and (is_given or isinstance(error, UsageError)):
            is_of_file = isinstance(error, InputFormatError) and error.path is not None
            location = f"{error.path}: " if is_of_file else ""
            return f"{location}{name} {error.args[0]}"
    return str(error) if isinstance(error, UsageError) else None


def _names_in(value: object, names: Sequence[str]) -> bool:
    """Return whether a value of an option has one of the names."""
    texts = value if isinstance(value, list) else [value]
    return any(part in names for text in texts for part in str(text).split(","))
