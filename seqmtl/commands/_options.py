"""Options shared by several commands."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
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
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.relations.build import KernelRequest
    from seqmtl.sequences import Windows
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


def donors() -> Field:
    """Return the option --consensus of self-training."""
    return option(
        "letters that donors may have (default: GT,GC)", metavar="LETTERS", kind=_kinds.donors
    )


def seed(what: str, default: int = 0) -> Field:
    """Return the option --seed."""
    return option(what, kind=_kinds.count, default=default)


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
class Threads(Request):
    """Threads."""

    threads: int | None = option("threads (default: all usable cores)", affects_output=False)

    @contextmanager
    def threads_in_use(self) -> Iterator[None]:
        """Use the threads: at most as many as there are cores.

        Matrix products use one: their threads wait longer than they work.
        """
        from threadpoolctl import threadpool_limits

        from seqmtl._threads import usable_cores, use_threads

        cores = usable_cores()
        if self.threads is not None and self.threads > cores:
            logger.warning(
                "--threads %d: only %d cores may be used; using these", self.threads, cores
            )
        with use_threads(min(self.threads or cores, cores)), threadpool_limits(1, "blas"):
            yield


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


of_sites = partial(option, group="windows cut from genomes instead of DATA")


@dataclass(frozen=True, kw_only=True)
class SitesInput(WindowInput):
    """Windows of DATA, or around sites in genomes."""

    genome: tuple[tuple[str, str], ...] = of_sites(
        "genome of an organism; may be repeated",
        metavar="ORGANISM=FASTA",
        kind=_kinds.named_path,
        is_repeated=True,
    )
    sites: tuple[tuple[str, str], ...] = of_sites(
        "BED6 (score 0: decoy) or TSV: contig, 0-based position, strand, label",
        metavar="ORGANISM=BED",
        kind=_kinds.named_path,
        is_repeated=True,
    )
    decoys: float = 10.0

    def check(self) -> None:
        """Refuse options of windows that are not given."""
        of_genomes = ("decoys", "seed")
        if not (self.data or self.genome or self.sites):
            names = (*of_genomes, "split", "n_windows", "prevalence")
            self.refuse(names, "is for windows; give DATA, or leave it out")
        elif self.data:
            self.refuse(of_genomes, "is for --genome and --sites; leave it out")

    @property
    def files(self) -> list[str]:
        """The files that are read for the windows."""
        return [*super().files, *(path for _, path in (*self.genome, *self.sites))]

    def read_for(
        self, model: MultiTaskModel, organism: str | None, *, require_labels: bool
    ) -> Windows:
        """Read windows of DATA, or of sites in genomes, with the site at the position of the model.

        For a model without positions, --sites has intervals of any lengths.

        Raises
        ------
        SeqmtlError
            If the options conflict, a file is invalid, or a dataset has another signal.
        """
        from seqmtl.training.example_source import ExampleSource
        from seqmtl.training.genome_sites import by_organism, read_genome_sites

        if not self.genome and not self.sites:
            return self.source_of(organism).read_for(model, require_labels=require_labels)
        if self.data:
            raise UsageError("give either DATA, or --genome with --sites, not both")
        if model.features.is_position_free:
            reason = "is for models of sites; this one has none, leave it out"
            self.refuse(("decoys", "split"), reason)
            by_organism(self.genome, self.sites)
            source = ExampleSource.of(self.sites, references=self.genome, seed=self.seed)
            return source.read_for(model, require_labels=require_labels)
        return read_genome_sites(
            model,
            self.genome,
            self.sites,
            split=None if self.split == "all" else self.split,
            decoys=self.decoys,
            seed=self.seed,
            require_labels=require_labels,
        )


@dataclass(frozen=True, kw_only=True)
class Relatives(Request):
    """The options that score an organism without training data."""

    like: str | None = option(
        "relative of a new organism: species, genus, clade or NCBI taxid, or auto",
        metavar="NAME",
    )
    tree: str | None = option(
        "tree or NCBI taxonomy with --like (default: of the model, or eukaryotes)",
        metavar="FILE|NAME",
    )
    organism: str | None = None

    def check(self) -> None:
        """Refuse a tree without a relative, and a relative of several organisms."""
        super().check()
        if self.like is None and self.tree is not None:
            raise UsageError("--tree needs --like; give --like NAME, or leave --tree out")
        if self.like is not None and self.organism == "all":
            raise UsageError(
                "--like places one organism; name it with --organism, or leave that out"
            )


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
    predictor = model.predictor(organism, like=like, tree=request.tree)
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
