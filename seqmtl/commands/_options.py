"""Options shared by several commands."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from seqmtl.commands import _kinds
from seqmtl.commands._request import Field, Request, option, required
from seqmtl.exceptions import UsageError
from seqmtl.features.grammar import GRAMMAR
from seqmtl.relations.kinds import KINDS, MANUAL, PLAIN

if TYPE_CHECKING:
    from seqmtl.features._base import FeatureDefinition
    from seqmtl.linear_model.base import Model
    from seqmtl.relations.build import KernelRequest
    from seqmtl.training.example_source import ExampleSource

logger = logging.getLogger("seqmtl")


def model_file(what: str = "model file") -> Field:
    """Return the option of a model, an argument without a flag."""
    return required(what, metavar="MODEL", is_positional=True)


STARTER_OR_FILE = "model file, or starter:donor, starter:acceptor, starter:splice (paired)"


def window_data(what: str, *, is_required: bool = True) -> Field:
    """Return the option DATA."""
    return (required if is_required else option)(
        f"{what}: dataset, TSV, CSV, FASTA, or NAME=FILE; - for stdin",
        metavar="DATA",
        is_positional=True,
        is_repeated=True,
        kind=_kinds.data_file,
    )


def _more_files(about: str, group: str) -> Field:
    """Return an option that takes several FILE or NAME=FILE."""
    return option(
        about,
        metavar="FILE",
        is_repeated=True,
        takes_several=True,
        kind=_kinds.data_file,
        group=group,
    )


def negatives(group: str = "") -> Field:
    """Return the option --negatives."""
    return _more_files("negatives, in files like DATA, which then has positives only", group)


def reference(group: str = "") -> Field:
    """Return the option --reference."""
    return _more_files(
        "genome of DATA in BED; negatives are drawn from it if none are given", group
    )


def exclude(group: str = "") -> Field:
    """Return the option --exclude."""
    return _more_files("BED that drawn negatives must not overlap, such as held-out peaks", group)


def summary_file(what: str) -> Field:
    """Return the option --json."""
    return option(what, metavar="FILE", affects_output=False)


def figure(what: str) -> Field:
    """Return the option --plot."""
    about = f"{what} (.png, .svg or .pdf)"
    return option(about, kind=_kinds.figure, metavar="FILE", affects_output=False)


def known_introns() -> Field:
    """Return the option --introns."""
    return option(
        "known introns: GFF3, GTF, BED12, BED6, SJ.out.tab or hints (GFF)",
        metavar="FILE",
    )


def seed(what: str) -> Field:
    """Return the option --seed."""
    return option(what, kind=_kinds.count, default=0)


def features(value: object) -> str:
    """Take a list of k-mer features."""
    text = _kinds.text(value)
    try:
        str(feature_map(text))
    except ValueError as error:
        raise ValueError(f"cannot be read: {error}\n{GRAMMAR}") from error
    return text


def feature_map(text: str | None) -> FeatureDefinition:
    """Return the features of a text, or the default."""
    from seqmtl.features.joint import parse_features

    return parse_features(text)


def features_option(group: str) -> Field:
    """Return the option --features."""
    about = "k-mer features, such as wd:8 (see --features help)"
    return option(about, kind=features, metavar="FEATURES", group=group, long_help=GRAMMAR)


@dataclass(frozen=True, kw_only=True)
class WindowInput(Request):
    """Windows of a dataset, a table or a FASTA file, or intervals of a genome."""

    data: tuple[str, ...] = window_data("windows")
    negatives: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    organism: str | None = None
    split: str = "all"
    site: int | None = None
    seed: int = 0

    @property
    def source(self) -> ExampleSource:
        """DATA, and which of its rows to read."""
        return self.source_of(self.organism)

    def source_of(self, organism: str | None) -> ExampleSource:
        """Return DATA; `organism` is that of all rows, or the only one to read of a dataset."""
        from seqmtl.training.example_source import ExampleSource

        data, negatives, references, excluded = (
            map(_kinds.name_and_path, files)
            for files in (self.data, self.negatives, self.reference, self.exclude)
        )
        return ExampleSource.of(
            data,
            organism,
            self.split,
            self.site,
            negatives=negatives,
            references=references,
            excluded=excluded,
            seed=self.seed,
            is_split_asked="split" in [each.name for each in self.given()],
        )

    @property
    def files(self) -> list[str]:
        """The files that are read for the windows."""
        from seqmtl.io.dataset import files_of_data

        data, others = (
            [_kinds.name_and_path(each)[1] for each in files]
            for files in (self.data, (*self.negatives, *self.reference, *self.exclude))
        )
        return [*(file for path in data for file in files_of_data(path)), *others]


@dataclass(frozen=True, kw_only=True)
class LabelledRows(WindowInput):
    """The rows to score."""

    reference: tuple[str, ...] = reference()
    organism: str | None = option("organism of all rows (default: as in DATA)")
    split: str = option(
        "split to use, or all",
        default="test",
    )


@dataclass(frozen=True, kw_only=True)
class Relatives(Request):
    """The options that score an organism without training data."""

    like: str | None = option(
        "relative of a new organism: species, genus, clade or NCBI taxid, or auto",
        metavar="NAME",
    )
    organism: str | None = None


#: A request that has ``--like``, and a model.
WithLike = TypeVar("WithLike", bound=Relatives)
M = TypeVar("M", bound="Model")


def with_organism_of_like(model: M, request: WithLike, file: str) -> tuple[M, WithLike]:
    """Return the model with the organism of ``--like``, and the request that scores it.

    It is a new organism, called by ``--organism``, or else by the name of ``--like``, unless that
    is auto or an organism of the model: then by the file.

    Raises
    ------
    SeqmtlError
        If it cannot be added to the model.
    UnknownTaskError
        If no organism or clade has the name; the message lists near matches.
    """
    from seqmtl.adaptation.relatives import name_organism
    from seqmtl.io.dataset import is_dataset

    like = request.like
    if like is None:
        return model, request
    organism = name_organism(model.tasks, request.organism, like, file)
    if request.organism is None and organism != like and is_dataset(file):
        raise UsageError(f"--like {like} needs the organism of {file}; name it with --organism")
    predictor = model.predictor(organism, like=like)
    return cast("M", predictor.model), replace(request, organism=organism)


#: An option of the relation between the organisms.
relation_option = partial(option, group="relation between the organisms")


def tree_option() -> Field:
    """Return the option --tree."""
    return relation_option(
        "Newick, Nexus, or one of eukaryotes, metazoa, vertebrates, plants, ...",
        metavar="FILE|NAME",
    )


@dataclass(frozen=True, kw_only=True)
class Relations(Request):
    """How the organisms are related: by a tree, or by a table or a kind of similarity."""

    tree: str | None = tree_option()
    similarity: str | None = relation_option(
        "kind (see --similarity help) or table of similarities (default: tree)",
        metavar="KIND|TSV",
        long_help=MANUAL,
    )

    def relation(self, learnt: str | None = None) -> KernelRequest | None:
        """Return the requested task kernel, or None; no file is read.

        Parameters
        ----------
        learnt : str, optional
            Kind of the kernels whose weights are learnt, in place of `similarity`.

        Raises
        ------
        UsageError
            If there is no tree for the kind, or both a tree and a table.
        """
        similarity = learnt or self.similarity
        name = (similarity or "").partition(":")[0]
        if name not in KINDS and similarity and self.tree:
            raise UsageError(
                f"--similarity {similarity} is a table, which needs no --tree; give one"
            )
        if name in KINDS and name not in PLAIN and not self.tree:
            other = "use 'seqmtl similarity ... -o K.tsv', then --similarity K.tsv"
            ending = "" if learnt else f"; for another source, {other}"
            raise UsageError(f"{name} is computed from a tree; give --tree{ending}")
        from seqmtl.relations.build import kernel_request

        return kernel_request(similarity, tree=self.tree)
