"""Load a model of any structure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.linear_model.base import Model, read_model_file

if TYPE_CHECKING:
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.splicing.model import PairedModel


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model from its file, of any structure.

    Parameters
    ----------
    path : str or path-like
        Model file, or the name of a model shipped with the package: ``"starter:donor"``,
        ``"starter:acceptor"``, or ``"starter:splice"``, which pairs both.

    Returns
    -------
    MultiTaskModel, KernelModel or PairedModel

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model, or of another format version.

    Examples
    --------
    >>> from seqmtl import load
    >>> load("starter:donor").site.letters
    'GT'
    >>> load("starter:splice").layer_of("c_elegans").shortest
    40
    """
    path = os.fspath(path)
    description, arrays = read_model_file(path)
    if description["model"] == "kernels":
        from seqmtl.kernel_mkl.kernel_model import KernelModel

        return KernelModel.rebuild(path, description, arrays)
    return _site_model(path, description, arrays)


def load_site_model(path: str | os.PathLike[str]) -> MultiTaskModel | PairedModel:
    """Read a model of sites, alone or in pairs; see :func:`load`.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model, or of another structure or format version.
    """
    path = os.fspath(path)
    return _site_model(path, *read_model_file(path, ("weights", "pairs")))


def _site_model(
    path: str, description: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> MultiTaskModel | PairedModel:
    if description["model"] == "pairs":
        from seqmtl.splicing.model import PairedModel

        return PairedModel.rebuild(path, description, arrays)
    from seqmtl.linear_model.model import MultiTaskModel

    return MultiTaskModel.rebuild(path, description, arrays)


def window_model(model: Model, path: str) -> MultiTaskModel:
    """Return a model that scores windows.

    Raises
    ------
    SeqmtlError
        If it scores pairs of sites, or numbers.
    """
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.splicing.model import NOT_WINDOWS

    if not isinstance(model, MultiTaskModel):
        raise SeqmtlError(NOT_WINDOWS)
    if model.inputs == "numbers":
        raise InputFormatError("is a model of numbers; use it in Python", path)
    return model
