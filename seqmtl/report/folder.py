"""What a folder of results holds: data sets, models and comparisons, told by their content."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl.evaluation import evaluate
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.files.whole import read_json
from seqmtl.io.dataset import KIND, SUMMARY, read_summary
from seqmtl.models.model import MultiTaskModel

if TYPE_CHECKING:
    from seqmtl.scan.held_out import HeldOut

_DEEPEST = 3


@dataclass
class Signal:
    """Everything in a folder that is about one signal.

    Attributes
    ----------
    name : str
        Such as "donor".
    dataset : dict
        Summary of the data set; empty where the folder has none.
    folder : str
        Where the data set is.
    models : dict of str to MultiTaskModel
        By the name of the file without suffix.
    held : dict of str to HeldOut
        Scores of all candidates of the test regions by each model that knows all organisms.
    metrics : dict of str to dict
        What `evaluate` says of them.
    """

    name: str
    dataset: dict[str, Any] = field(default_factory=dict)
    folder: str = ""
    models: dict[str, MultiTaskModel] = field(default_factory=dict)
    held: dict[str, HeldOut] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def main(self) -> str:
        """The model that the page is about: the best by mean AUPRC, a calibrated one of equals."""

        def rank(name: str) -> tuple[float, bool, int]:
            value = self.metrics.get(name, {}).get("mean", {}).get("auprc")
            model = self.models[name]
            return (-1.0 if value is None else value, bool(model.curves), len(model.tasks))

        return max(self.models, key=rank)


@dataclass
class FolderContents:
    """What was found.

    Attributes
    ----------
    path : str
        The folder.
    signals : dict of str to Signal
        By name.
    comparisons : dict of str to dict
        Results of ``seqmtl compare`` by file.
    scans : dict of str to dict
        Summaries of ``seqmtl scan --json`` by file.
    left_out : list of str
        Files that are no part of the page, and why.
    """

    path: str
    signals: dict[str, Signal] = field(default_factory=dict)
    comparisons: dict[str, Any] = field(default_factory=dict)
    scans: dict[str, Any] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def signal(self, name: str) -> Signal:
        """Return the entry of a signal, new if need be."""
        return self.signals.setdefault(name, Signal(name))


def read_folder(folder: str | os.PathLike[str], *, n_bootstrap: int = 200) -> FolderContents:
    """Find data sets, models, comparisons and scans in a folder, and judge the models.

    Every model is judged on all candidates of the test regions of the data set of its signal.

    Parameters
    ----------
    folder : path-like
        Looked through three levels deep.
    n_bootstrap : int, default 200
        Resamples for the intervals.

    Raises
    ------
    SeqmtlError
        If there is no such folder, or it holds neither a model nor a data set; or a data set's
        genomes are gone.
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
        _judge(signal, n_bootstrap, found.left_out)
    return found


def _files(folder: str) -> Iterator[str]:
    """Yield the files of a folder by name, no hidden ones, not too deep."""
    depth = folder.rstrip(os.sep).count(os.sep)
    for place, folders, files in os.walk(folder):
        deep = place.rstrip(os.sep).count(os.sep) - depth >= _DEEPEST
        folders[:] = [] if deep else sorted(f for f in folders if not f.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(files) if name[0] != ".")


def _add_model(found: FolderContents, path: str) -> None:
    """Add a model, unless it is of kernels, or the same weights are there already."""
    try:
        model = MultiTaskModel.load(path)
    except ModelFileError as error:
        found.left_out.append(str(error))
        return
    name = os.path.relpath(path, found.path).removesuffix(".seqmtl")
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
    except (OSError, ValueError, RecursionError) as error:
        found.left_out.append(f"{path}: {error}")
        return
    if not isinstance(content, Mapping):
        return
    name = os.path.relpath(path, found.path)
    if content.get("kind") == KIND:
        if os.path.basename(path) == SUMMARY:  # others are copies, made by --json
            _add_dataset(found, path, content)
    elif content.get("command") == "scan" and "seqmtl_version" in content:
        found.scans[name] = content
    elif all(isinstance(content.get(key), Mapping) for key in ("methods", "sizes", "settings")):
        found.comparisons[name] = content


def _add_dataset(found: FolderContents, path: str, summary: Mapping[str, Any]) -> None:
    """Add the data set of a signal; of several the first."""
    if not isinstance(summary.get("signal"), str):
        found.left_out.append(f"{path}: the summary of a data set, but it names no signal")
        return
    signal = found.signal(summary["signal"])
    if signal.dataset:
        found.left_out.append(
            f"{path}: a second data set of {signal.name}; give each a folder of results of its own"
        )
        return
    signal.folder = os.path.dirname(path)
    signal.dataset = read_summary(signal.folder)


def _judge(signal: Signal, n_bootstrap: int, left_out: list[str]) -> None:
    """Score all candidates of the test regions by every model that knows their organisms."""
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
            held.labels, held.scores, held.tasks, counts=held.counts, n_bootstrap=n_bootstrap
        )
