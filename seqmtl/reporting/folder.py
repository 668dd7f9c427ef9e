"""Contents of a folder of results: the files of commands, recognised by their content."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqmtl._messages import message_of
from seqmtl._schema import anything, either, items, mapping, number, record, text, whole
from seqmtl.comparison.results import check_document
from seqmtl.exceptions import (
    InputFormatError,
    ModelFileError,
    SeqmtlError,
    UsageError,
    errors_about,
)
from seqmtl.files.pipes import is_pipe
from seqmtl.files.streams import read_json
from seqmtl.io.annotation import read_annotation
from seqmtl.io.dataset import KIND, SUMMARY, read_summary
from seqmtl.io.transcripts import Annotation
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.loading import load_site_model
from seqmtl.relations import Tree
from seqmtl.reporting.introns import PredictedIntrons, annotated_introns, intron_rows, read_introns
from seqmtl.splicing.model import PairedModel

logger = logging.getLogger("seqmtl")

#: How the sites of a paired model are evaluated.
METHODS = ("alone", "paired")
_DEEPEST = 3
_TRAINED = record({"train": record({"n": whole(1)})})
_SCAN = {
    "files": items(text),
    "organism": text,
    "n_bases": whole(),
    "n_scored": whole(),
    "n_reported": whole(),
    "megabases_per_second": number(min_val=0),
}
_SCANS = record({"model": text, "genome": text, "scans": items(record(_SCAN))})
_ANNOTATED = record({"organism": text, "introns": whole()})
_INTRONS = "sites.introns.gff3"
_SHARE = either((type(None),), anything, number(min_val=0, max_val=1))  # unknown without true sites
_INTERVAL = either((type(None),), anything, items(number(min_val=0, max_val=1), 2, max_items=2))
_RANGE = items(number(min_val=0), 2, max_items=2)
_AREAS = {"auroc": _SHARE, "auprc_genome": _SHARE}
_GENOME = {
    "prevalence": _SHARE,
    "auprc": _SHARE,
    "precision_at_recall": record(dict.fromkeys(("0.5", "0.8", "0.95"), _SHARE)),
}
_BIN = {
    "probability": text,
    "n": number(min_val=0),
    "expected": number(min_val=0),
    "true": number(min_val=0),
    "true_interval": _RANGE,
    "calibrated": text,
}
_TASK = {
    **_AREAS,
    "auroc_interval": _INTERVAL,
    "auprc_genome_interval": _INTERVAL,
    "n_positive": whole(),
    "genome": record(_GENOME),
}
_OF_PROBABILITIES = {
    "expected": number(min_val=0),
    "calibration_error_p10": _SHARE,
    "reliability": items(record(_BIN)),
}
_METRICS = {
    "tasks": mapping(record(_TASK, _OF_PROBABILITIES), 1),
    "mean": record(_AREAS),
    "bootstrap": record({"n_resamples": whole(), "confidence": number(min_val=0, max_val=1)}),
}
_EVALUATION = record({"model": text, "split": text, "signal": text, **_METRICS}, {"plot": text})
_PAIRS = record(
    {
        "model": text,
        "split": text,
        "signals": mapping(record(dict.fromkeys(METHODS, record(_METRICS)))),
    }
)
#: Names of signals in text.
SIGNAL_NAMES = {
    "donor": "splice donors",
    "acceptor": "splice acceptors",
    "tss": "transcription starts",
    "start": "start codons",
    "stop": "stop codons",
    "polya": "polyadenylation sites",
}


@dataclass
class Signal:
    """All results for one signal.

    Attributes
    ----------
    name : str
        Name of the signal, such as "donor".
    tree : Tree, optional
        Tree to draw beside the similarity.
    dataset : dict
        Summary of the dataset; empty if the folder has none.
    folder : str
        The dataset.
    models : dict of str to MultiTaskModel
        Models by file name without suffix.
    files : dict of str to str
        Their files.
    metrics : dict of str to dict
        Results of ``seqmtl evaluate --json`` on the test regions by model.
    metric_files : dict of str to str
        Their files.
    curves : dict of str to str
        Pictures of the curves by model.
    """

    name: str
    tree: Tree | None = None
    dataset: dict[str, Any] = field(default_factory=dict)
    folder: str = ""
    models: dict[str, MultiTaskModel] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    metric_files: dict[str, str] = field(default_factory=dict)
    curves: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Name of the signal in text."""
        return SIGNAL_NAMES.get(self.name, "sites")

    @property
    def main(self) -> str:
        """The model that the page is about; test labels play no part in the choice.

        It is the first by name among the best in this order: models that have the organisms of the
        dataset, that share among organisms (neither individual nor union), that were evaluated,
        whose trust and cost were selected on held-out labels (the default of ``seqmtl train``),
        that are calibrated, and that have the most organisms. Without models, it is the first that
        was evaluated.
        """

        def rank(name: str) -> tuple[bool, bool, bool, bool, bool, int]:
            model = self.models[name]
            has_all = set(self.dataset.get("organisms", ())) <= set(model.tasks)
            is_selected = bool(model.training.get("selection", {}).get("tasks"))
            is_shared, n = _shares(model), len(model.tasks)
            return has_all, is_shared, name in self.metrics, is_selected, bool(model.curves), n

        return max(self.models, key=rank, default=next(iter(self.metrics), ""))

    @property
    def model_file(self) -> str:
        """File of the main model."""
        return self.files[self.main]

    @property
    def summary_file(self) -> str:
        """Summary of the dataset."""
        return os.path.join(self.folder, SUMMARY)

    @property
    def organisms(self) -> list[str]:
        """Organisms of the main model, or else of its evaluation or the dataset."""
        if self.models:
            return list(self.models[self.main].tasks)
        return list(self.metrics[self.main]["tasks"] if self.metrics else self.dataset["organisms"])

    def distinct_metrics(self) -> dict[str, Any]:
        """Return the metrics with those of the main model first, and without copies."""
        copies = self.copies()
        names = sorted(self.metrics, key=lambda name: name != self.main)
        return {name: self.metrics[name] for name in names if name not in copies}

    def copies(self) -> dict[str, str]:
        """Return the evaluated models that are another, by name: calibrated or not, say."""
        original_of: dict[str, str] = {}
        names = sorted(self.metrics, key=lambda name: name != self.main)
        for i, name in enumerate(names):
            same = (n for n in names[:i] if n not in original_of and self._are_same(n, name))
            if (first := next(same, None)) is not None:
                original_of[name] = first
        return original_of

    def _are_same(self, one: str, other: str) -> bool:
        """Return whether two models have the same weights, or, if unknown, the same metrics."""
        if one in self.models and other in self.models:
            a, b = self.models[one], self.models[other]
            return (
                a.tasks == b.tasks and np.array_equal(a.W, b.W) and np.array_equal(a.bias, b.bias)
            )
        tasks = [self.metrics[name]["tasks"] for name in (one, other)]
        values = [
            {name: (task["auroc"], task["auprc_genome"]) for name, task in of_organism.items()}
            for of_organism in tasks
        ]
        return values[0] == values[1]


def _shares(model: MultiTaskModel) -> bool:
    """Return whether some organisms share their weights, without all being alike."""
    matrix = model.kernel.restrict(model.tasks).matrix
    scale = np.sqrt(np.diagonal(matrix))
    alike = (matrix / np.outer(scale, scale))[np.triu_indices(len(scale), 1)]
    return bool(alike.size and alike.max() > 1e-6 and alike.min() < 1 - 1e-6)


@dataclass
class FolderContents:
    """The results in a folder.

    Attributes
    ----------
    path : str
        The folder.
    tree : Tree, optional
        Tree to draw beside every similarity.
    signals : dict of str to Signal
        By name.
    comparisons : dict of str to dict
        Results of ``seqmtl compare`` by file.
    paired : dict of str to PairedModel
        Models of ``seqmtl pair`` by file name without suffix.
    pairs : dict of str to dict
        Results of ``seqmtl evaluate --json`` on models of ``seqmtl pair`` by file.
    scans : dict of str to dict
        Summaries of ``seqmtl scan --json`` by file.
    introns : dict of str to PredictedIntrons
        Introns of ``seqmtl annotate`` by file of their summary.
    skipped : list of str
        What is not on the page, and why.
    annotations : dict of str to str
        Annotations to compare the introns of an organism with.
    """

    path: str
    tree: Tree | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    signals: dict[str, Signal] = field(default_factory=dict)
    comparisons: dict[str, Any] = field(default_factory=dict)
    paired: dict[str, PairedModel] = field(default_factory=dict)
    pairs: dict[str, Any] = field(default_factory=dict)
    scans: dict[str, Any] = field(default_factory=dict)
    introns: dict[str, PredictedIntrons] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    _genes: dict[str, Annotation] = field(default_factory=dict)

    def genes(self, path: str) -> Annotation:
        """Read an annotation, once."""
        if path not in self._genes:
            self._genes[path] = read_annotation(path)
        return self._genes[path]

    def path_of(self, name: str) -> str:
        """Return the path of a model by its name."""
        return os.path.join(self.path, f"{name}.seqmtl")

    def signal(self, name: str) -> Signal:
        """Return the entry of a signal, creating it if necessary."""
        return self.signals.setdefault(name, Signal(name, self.tree))


def read_folder(
    folder: str | os.PathLike[str],
    tree: Tree | None = None,
    annotations: Mapping[str, str] | None = None,
) -> FolderContents:
    """Read the datasets, models, evaluations, comparisons, scans and introns in a folder.

    Parameters
    ----------
    folder : path-like
        Folder, searched three levels deep.
    tree : Tree, optional
        Tree to draw beside every similarity.
    annotations : mapping of str to str, optional
        GFF3, GTF or BED12 of organisms with introns of ``seqmtl annotate``.

    Raises
    ------
    SeqmtlError
        If the folder does not exist, contains neither a model nor a dataset, or has no introns of
        an organism of `annotations`, or if one of these cannot be read.
    """
    folder = os.fspath(folder)
    if not os.path.isdir(folder):
        raise SeqmtlError(f"{folder}: no such folder")
    contents = FolderContents(folder, tree, annotations or {})
    for annotation in contents.annotations.values():
        contents.genes(annotation)
    paths = list(_files(folder))
    for path in (path for path in paths if path.endswith(".seqmtl")):
        _add_model(contents, path)
    for path in (path for path in paths if path.endswith(".json")):
        _add_json(contents, path)
    _check_annotations(contents)
    in_order = sorted(contents.signals, key=lambda name: [*SIGNAL_NAMES, name].index(name))
    contents.signals = {name: contents.signals[name] for name in in_order}
    if not contents.signals and not contents.paired:
        raise SeqmtlError(
            f"{folder}: contains neither a dataset nor a model (*.seqmtl); run seqmtl dataset -o "
            f"{folder}/NAME or seqmtl train -o {folder}/NAME.seqmtl"
        )
    return contents


def _files(folder: str) -> Iterator[str]:
    """Yield the files of a folder by name, except pipes, and hidden and deeply nested ones."""
    depth = folder.rstrip(os.sep).count(os.sep)
    for directory, folders, files in os.walk(folder, followlinks=True):
        deep = directory.rstrip(os.sep).count(os.sep) - depth >= _DEEPEST
        folders[:] = [] if deep else sorted(f for f in folders if not f.startswith("."))
        paths = [os.path.join(directory, name) for name in sorted(files) if name[0] != "."]
        yield from (path for path in paths if not is_pipe(path))


def _add_model(contents: FolderContents, path: str) -> None:
    """Add a model, unless it is of kernels or damaged."""
    try:
        model = load_site_model(path)
    except ModelFileError as error:
        contents.skipped.append(str(error))
        return
    name = os.path.relpath(path, contents.path).removesuffix(".seqmtl")
    if isinstance(model, PairedModel):
        contents.paired[name] = model
    else:
        signal = contents.signal(model.site.kind)
        signal.models[name], signal.files[name] = model, path


def _add_json(contents: FolderContents, path: str) -> None:
    """Add a document that a command wrote; say why one that looks like it is left out."""
    try:
        with errors_about(path):
            document = read_json(path)
            if isinstance(document, Mapping):
                _add_document(contents, path, document)
    except (OSError, ValueError) as error:
        contents.skipped.append(message_of(error))


def _add_document(contents: FolderContents, path: str, document: Mapping[str, Any]) -> None:
    name = os.path.relpath(path, contents.path)
    if document.get("kind") == KIND:
        if os.path.basename(path) == SUMMARY:  # others are copies, made by --json
            _add_dataset(contents, path)
    elif document.get("command") == "annotate" and "seqmtl_version" in document:
        _ANNOTATED("", document)
        _add_introns(contents, path, document)
    elif document.get("command") == "scan" and "seqmtl_version" in document:
        _SCANS("", document)
        contents.scans[name] = document
    elif {"signals", "split"} <= document.keys():
        _PAIRS("", document)
        contents.pairs[name] = document
    elif {"signal", "split", "tasks"} <= document.keys():
        _EVALUATION("", document)
        _add_evaluation(contents, path, document)
    elif {"tasks", "mean", "bootstrap"} <= document.keys():
        raise ValueError("an evaluation of windows; the page shows evaluations of datasets")
    elif {"methods", "sizes", "settings"} <= document.keys():
        check_document(document)
        items(_TRAINED, 1)("sizes", list(document["sizes"].values()))
        contents.comparisons[name] = document


def _add_introns(contents: FolderContents, path: str, document: Mapping[str, Any]) -> None:
    """Add the introns of ``seqmtl annotate``, compared with an annotation."""
    introns_path = os.path.join(os.path.dirname(path), _INTRONS)
    predicted = read_introns(introns_path)
    organism, genome = document["organism"], document.get("genome")
    annotation, annotated, n_gaps = contents.annotations.get(organism, ""), None, 0
    if annotation:
        genes, contigs = contents.genes(annotation), {introns[0] for introns in predicted}
        annotated = annotated_introns(genes, contigs)
        if isinstance(genome, str) and os.path.isfile(genome):
            n_gaps = len(annotated)
            try:
                annotated = annotated_introns(genes, contigs, genome)
            except InputFormatError as error:  # not of what is in the folder
                raise SeqmtlError(str(error)) from error
        else:
            logger.warning(
                "%s: all gaps between exons count as introns, including those of tRNAs, because "
                "the genome %s was not found; run seqmtl report where annotate was run",
                annotation,
                genome,
            )
    rows = intron_rows(predicted, annotated)
    contents.introns[os.path.relpath(path, contents.path)] = PredictedIntrons(
        organism, rows, annotation, n_gaps, introns_path
    )


def _check_annotations(contents: FolderContents) -> None:
    """Check that every annotation has been compared with something."""
    names = sorted({introns.organism for introns in contents.introns.values()})
    for name in contents.annotations:
        if name not in names:
            organisms = ", ".join(names) or "none"
            raise UsageError(
                f"must name an organism with introns of seqmtl annotate in {contents.path} "
                f"({organisms}), got {name}",
                "annotation",
            )


def _add_dataset(contents: FolderContents, path: str) -> None:
    """Add the dataset of a signal, keeping the first of several."""
    summary = read_summary(os.path.dirname(path))
    signal = contents.signal(summary["signal"])
    if signal.dataset:
        raise ValueError(
            f"a second dataset of {signal.name} sites; give each dataset its own folder of results"
        )
    signal.dataset, signal.folder = summary, os.path.dirname(path)


def _add_evaluation(contents: FolderContents, path: str, document: Mapping[str, Any]) -> None:
    """Add the metrics of a model on the test regions, by its name in the folder."""
    if document["split"] != "test":
        raise ValueError(f"evaluated on the split {document['split']!r}; the page shows test")
    signal = contents.signal(document["signal"])
    stem = os.path.basename(document["model"]).removesuffix(".seqmtl")
    names = [name for name in signal.models if os.path.basename(name) == stem]
    name = names[0] if len(names) == 1 else stem
    if name in signal.metrics:
        raise ValueError(f"a second evaluation of {name}")
    signal.metrics[name], signal.metric_files[name] = document, path
    picture = os.path.join(os.path.dirname(path), os.path.basename(document.get("plot") or "-"))
    if picture.endswith((".png", ".svg")) and os.path.isfile(picture):
        signal.curves[name] = picture
