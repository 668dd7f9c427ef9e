"""Reading of a folder of results: the files of commands, recognised by their content."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from seqmtl._messages import message_of
from seqmtl.exceptions import ModelFileError, SeqmtlError, UsageError, errors_about
from seqmtl.files.pipes import is_pipe
from seqmtl.files.streams import read_json
from seqmtl.io.annotation import read_annotation
from seqmtl.io.dataset import KIND, SUMMARY, read_summary
from seqmtl.loading import load_site_model
from seqmtl.reporting.contents import SIGNAL_NAMES, FolderContents
from seqmtl.reporting.introns import predicted_introns, read_introns

if TYPE_CHECKING:
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.splicing.model import PairedModel

_DEEPEST = 3


def read_folder(
    folder: str | os.PathLike[str],
    annotations: Mapping[str, str] | None = None,
) -> FolderContents:
    """Read the datasets, models, evaluations and introns in a folder.

    Parameters
    ----------
    folder : path-like
        Folder, searched three levels deep.
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
    contents = FolderContents(
        folder, {name: read_annotation(path) for name, path in (annotations or {}).items()}
    )
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
    """Add a model, unless it is not of sites, or damaged."""
    try:
        model = load_site_model(path)
    except ModelFileError as error:
        contents.skipped.append(str(error))
        return
    name = os.path.relpath(path, contents.path).removesuffix(".seqmtl")
    model = model.without_weights()  # there may be hundreds
    if len(model.signals) > 1:
        contents.paired[name] = cast("PairedModel", model)
    else:
        of_sites = cast("MultiTaskModel", model)
        signal = contents.signal(of_sites.site.kind)
        signal.models[name], signal.files[name] = of_sites, path


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
    name, keys = os.path.relpath(path, contents.path), document.keys()
    if document.get("kind") == KIND:
        if os.path.basename(path) == SUMMARY:  # others are copies, made by --json
            _add_dataset(contents, path)
    elif document.get("command") == "annotate" and {"seqmtl_version", "scans"} <= keys:
        organism, genome = document["organism"], document["genome"]
        introns = os.path.join(os.path.dirname(path), "sites.introns.gff3")
        annotation = contents.annotations.get(organism)
        contents.introns[name] = predicted_introns(
            introns, read_introns(introns), organism, genome, annotation
        )
    elif {"schema_version", "model", "signals", "split"} <= keys:
        contents.pairs[name] = document
    elif {"schema_version", "model", "signal", "split", "tasks"} <= keys:
        _add_evaluation(contents, path, document)
    elif {"tasks", "mean", "bootstrap"} <= keys:
        raise ValueError("an evaluation of windows; the page shows evaluations of datasets")
    elif {"methods", "sizes", "settings"} <= keys:
        raise ValueError("a comparison of methods; seqmtl compare --plot draws it")


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
