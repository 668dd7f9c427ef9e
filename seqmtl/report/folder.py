"""Contents of a folder of results: datasets, models and comparisons, recognised by content."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl._schema import anything, either, items, mapping, number, record, text, whole
from seqmtl.compare.results import check_document
from seqmtl.evaluation import evaluate
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.files.whole import read_json
from seqmtl.io.dataset import KIND, SUMMARY, read_summary
from seqmtl.models.base import is_known
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.paired import PairedModel
from seqmtl.models.saved import load_model

if TYPE_CHECKING:
    from seqmtl.scan.held_out import HeldOut

_DEEPEST = 3
_SCAN = {
    "files": items(text),
    "organism": text,
    "n_bases": whole(),
    "n_scored": whole(),
    "n_reported": whole(),
    "megabases_per_second": number(least=0),
}
_SCANS = record({"model": text, "scans": items(record(_SCAN))})
_TRAINED = record({"train": record({"n": whole(1)})})
_SHARE = either((type(None),), anything, number(least=0, most=1))  # unknown without true sites
_AT_RECALL = {recall: _SHARE for recall in ("0.5", "0.8", "0.95")}
_OVER_THE_GENOME = {
    "prevalence": _SHARE, "auprc": _SHARE, "precision_at_recall": record(_AT_RECALL),
}  # fmt: skip


_JUDGED = {
    "n_positive": whole(),
    "expected": number(least=0),
    "auprc_genome": _SHARE,
    "auprc_genome_interval": either((type(None),), anything, items(_SHARE, 2, most=2)),
    "genome": record(_OVER_THE_GENOME),
}
_METHOD = record({"tasks": mapping(record(_JUDGED), 1)})
_PAIRS = record(
    {"split": text, "signals": mapping(record({"alone": _METHOD, "paired": _METHOD}))},
    {"model": text},
)
#: Names of signals in text.
SIGNAL_NAMES = {
    "donor": "splice donors", "acceptor": "splice acceptors", "tss": "transcription starts",
    "start": "start codons", "stop": "stop codons", "polya": "polyadenylation sites",
}  # fmt: skip


@dataclass
class Signal:
    """All results for one signal.

    Attributes
    ----------
    name : str
        Name of the signal, such as "donor".
    dataset : dict
        Summary of the dataset; empty if the folder has none.
    folder : str
        Folder of the dataset.
    models : dict of str to MultiTaskModel
        Models by file name without suffix.
    copies : dict of str to str
        Adapted copies of models that add nothing to judge, by file name: what they add to which.
    held : dict of str to HeldOut
        Scores of all candidates of the test regions, by each model that has all organisms.
    metrics : dict of str to dict
        Results of `evaluate` for each model, the main one first.
    """

    name: str
    dataset: dict[str, Any] = field(default_factory=dict)
    folder: str = ""
    models: dict[str, MultiTaskModel] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)
    held: dict[str, HeldOut] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Name of the signal in text."""
        return SIGNAL_NAMES.get(self.name, "sites")

    @property
    def main(self) -> str:
        """The model that the page is about; test labels play no part in the choice.

        It is the first by name among the best in this order: models that could be evaluated, that
        share among organisms (neither individual nor union), whose trust and cost were selected on
        held-out labels (the default of ``seqmtl train``), that are calibrated, and that have the
        most organisms.
        """

        def rank(name: str) -> tuple[bool, bool, bool, bool, int]:
            model = self.models[name]
            chosen = bool(model.training.get("selection", {}).get("tasks"))
            return (
                name in self.metrics, _shares(model), chosen, bool(model.curves), len(model.tasks)
            )  # fmt: skip

        return max(self.models, key=rank)


def _shares(model: MultiTaskModel) -> bool:
    """Tell whether some organisms share their weights, without all being alike."""
    matrix = model.kernel.restrict(model.tasks).matrix
    own = np.sqrt(np.diagonal(matrix))
    alike = (matrix / np.outer(own, own))[np.triu_indices(len(own), 1)]
    return bool(alike.size and alike.max() > 1e-6 and alike.min() < 1 - 1e-6)


@dataclass
class FolderContents:
    """The results found in a folder.

    Attributes
    ----------
    path : str
        The folder.
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
    left_out : list of str
        Files that are not on the page, and why.
    """

    path: str
    signals: dict[str, Signal] = field(default_factory=dict)
    comparisons: dict[str, Any] = field(default_factory=dict)
    paired: dict[str, PairedModel] = field(default_factory=dict)
    pairs: dict[str, Any] = field(default_factory=dict)
    scans: dict[str, Any] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def signal(self, name: str) -> Signal:
        """Return the entry of a signal, creating it if necessary."""
        return self.signals.setdefault(name, Signal(name))


def read_folder(folder: str | os.PathLike[str], *, n_bootstrap: int = 200) -> FolderContents:
    """Find datasets, models, comparisons and scans in a folder, and evaluate the models.

    Every model is evaluated on all candidates in the test regions of the dataset of its signal.

    Parameters
    ----------
    folder : path-like
        Folder, searched three levels deep.
    n_bootstrap : int, default 200
        Number of resamples for the intervals.

    Raises
    ------
    SeqmtlError
        If the folder does not exist, contains neither a model nor a dataset, or the genomes of
        a dataset are missing.
    """
    folder = os.fspath(folder)
    if not os.path.isdir(folder):
        raise SeqmtlError(f"{folder}: no such folder; give the one that holds the results")
    found = FolderContents(folder)
    for path in _files(folder):
        if path.endswith(".seqmtl"):
            _add_model(found, path)
        elif path.endswith(".json"):
            _add_json(found, path)
    if not found.signals:
        raise SeqmtlError(
            f"{folder}: neither a data set nor a model (*.seqmtl) in it; make them with "
            "seqmtl dataset and seqmtl train -o FOLDER/NAME.seqmtl"
        )
    for signal in found.signals.values():
        _set_copies_apart(signal)
        _judge(signal, n_bootstrap, found.left_out)
    return found


def _files(folder: str) -> Iterator[str]:
    """Yield the files of a folder by name, except hidden and deeply nested ones."""
    depth = folder.rstrip(os.sep).count(os.sep)
    for place, folders, files in os.walk(folder, followlinks=True):
        deep = place.rstrip(os.sep).count(os.sep) - depth >= _DEEPEST
        folders[:] = [] if deep else sorted(f for f in folders if not f.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(files) if name[0] != ".")


def _add_model(found: FolderContents, path: str) -> None:
    """Add a model, unless it is of kernels or a duplicate."""
    try:
        model = load_model(path, only=[MultiTaskModel.structure, PairedModel.structure])
    except ModelFileError as error:
        found.left_out.append(str(error))
        return
    name = os.path.relpath(path, found.path).removesuffix(".seqmtl")
    if isinstance(model, PairedModel):
        found.paired[name] = model
        return
    assert isinstance(model, MultiTaskModel)
    models = found.signal(model.site.kind).models
    for other, known in list(models.items()):
        same = known.tasks == model.tasks and known.W.shape == model.W.shape
        if same and np.array_equal(known.bias, model.bias) and np.array_equal(known.W, model.W):
            found.left_out.append(f"{path}: the weights of {other}")
            if model.curves and not known.curves:
                del models[other]
                break
            return
    models[name] = model


def _add_json(found: FolderContents, path: str) -> None:
    try:
        content = read_json(path)
        if not isinstance(content, Mapping):
            return
        name = os.path.relpath(path, found.path)
        if content.get("kind") == KIND:
            if os.path.basename(path) == SUMMARY:  # others are copies, made by --json
                _add_dataset(found, path)
        elif content.get("command") == "scan" and "seqmtl_version" in content:
            _SCANS("", content)
            found.scans[name] = content
        elif isinstance(content.get("signals"), Mapping) and "split" in content:
            _PAIRS("", content)
            found.pairs[name] = content
        elif all(isinstance(content.get(key), Mapping) for key in ("methods", "sizes", "settings")):
            check_document(content)
            items(_TRAINED, 1)("sizes", list(content["sizes"].values()))
            found.comparisons[name] = content
    except (OSError, ValueError) as error:
        found.left_out.append(str(error) if path in str(error) else f"{path}: {error}")


def _add_dataset(found: FolderContents, path: str) -> None:
    """Add the dataset of a signal, keeping the first of several."""
    summary = read_summary(os.path.dirname(path))
    signal = found.signal(summary["signal"])
    if signal.dataset:
        found.left_out.append(
            f"{path}: a second data set of {signal.name}; give each a folder of results of its own"
        )
        return
    signal.folder, signal.dataset = os.path.dirname(path), summary


def _set_copies_apart(signal: Signal) -> None:
    """Take copies out of the models whose adapted organisms the dataset lacks."""
    known = {
        name: {*zip(m.tasks, m.bias.tolist(), strict=True)} for name, m in signal.models.items()
    }
    for name, model in list(signal.models.items()):
        added = model.training.get("adapted", {})
        if any(is_known(organism, list(added)) for organism in signal.dataset.get("organisms", ())):
            continue
        for other in known:
            if added and known[other] < known[name]:
                counts = model.training["tasks"]
                what = ", ".join(
                    f"{organism} ({counts[organism]['n']:,} windows)" for organism in added
                )
                signal.copies[name] = f"{name} is {other} with {what} added by seqmtl adapt."
                signal.models.pop(name, None)


def _judge(signal: Signal, n_bootstrap: int, left_out: list[str]) -> None:
    """Score all candidates of the test regions with every model that has their organisms."""
    if not signal.dataset:
        return
    from seqmtl.scan.held_out import score_held_out

    for name, model in signal.models.items():
        try:
            held = score_held_out(model, signal.folder, split="test")
        except (SeqmtlError, ValueError) as error:
            left_out.append(f"{name}: not judged, {error}")
            continue
        signal.held[name] = held
        signal.metrics[name] = evaluate(
            held.labels, held.scores, held.tasks, counts=held.counts, auprc="auprc_genome",
            n_bootstrap=n_bootstrap,
        )  # fmt: skip
    names = sorted(signal.metrics, key=lambda name: name != signal.main) if signal.models else []
    signal.metrics = {name: signal.metrics[name] for name in names}
