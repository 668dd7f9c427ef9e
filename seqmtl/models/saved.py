"""Load a model of any structure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module

from seqmtl.models.base import Model, check_structure, read_model_file


def load_model(path: str | os.PathLike[str], only: Sequence[str] = ()) -> Model:
    """Read a model from its file, of any structure, or `only` of some.

    Parameters
    ----------
    path : str or path-like
        Model file, or the name of a model shipped with the package: ``"starter:donor"``,
        ``"starter:acceptor"``.
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
    """
    path = os.fspath(path)
    description, arrays = read_model_file(path)
    structure = description["model"]
    if only:
        check_structure(path, structure, only)
    if structure == "kernels":  # a room above this one
        kernels: type[Model] = import_module("seqmtl.tables.kernel_model").KernelModel
        return kernels.rebuild(path, description, arrays)
    if structure == "pairs":
        from seqmtl.models.paired import PairedModel

        return PairedModel.rebuild(path, description, arrays)
    from seqmtl.models.model import MultiTaskModel

    return MultiTaskModel.rebuild(path, description, arrays)
