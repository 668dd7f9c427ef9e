"""Load a model of any structure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module

from seqmtl.models.base import Model, read_model_file

#: The class of every structure; a room above this one has that of kernels.
_CLASSES = {
    "weights": "seqmtl.models.model:MultiTaskModel",
    "kernels": "seqmtl.kernel_mkl.kernel_model:KernelModel",
    "pairs": "seqmtl.models.paired:PairedModel",
}


def load_model(path: str | os.PathLike[str], only: Sequence[str] = ()) -> Model:
    """Read a model from its file, of any structure, or `only` of some.

    Parameters
    ----------
    path : str or path-like
        Model file, or the name of a model shipped with the package: ``"starter:donor"``,
        ``"starter:acceptor"``, or ``"starter:splice"``, which pairs both.
    only : sequence of str, default=()
        Structures that are accepted: ``"weights"``, ``"kernels"``, ``"pairs"``. Default: all.

    Returns
    -------
    MultiTaskModel, KernelModel or PairedModel

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model, or of another structure or format version.

    Examples
    --------
    >>> from seqmtl import load_model
    >>> load_model("starter:donor").site.letters
    'GT'
    >>> load_model("starter:splice").layer_of("c_elegans").shortest
    40
    """
    path = os.fspath(path)
    description, arrays = read_model_file(path, only)
    room, name = _CLASSES[description["model"]].split(":")
    model: Model = getattr(import_module(room), name).rebuild(path, description, arrays)
    return model
