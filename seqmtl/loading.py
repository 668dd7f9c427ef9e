"""Load a model of any structure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from seqmtl.exceptions import ModelFileError
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
    MultiTaskModel or PairedModel

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
    return _load(path)


def load_site_model(path: str | os.PathLike[str]) -> MultiTaskModel | PairedModel:
    """Read a model of sites, alone or in pairs; see :func:`load`.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model, of another structure or format version, or a model
        of numbers.
    """
    return cast("MultiTaskModel | PairedModel", _load(path, "weights", "pairs"))


def load_window_model(path: str | os.PathLike[str]) -> MultiTaskModel:
    """Read a model that scores windows; see :func:`load_site_model`."""
    return cast("MultiTaskModel", _load(path, "weights"))


def _load(path: str | os.PathLike[str], *structures: str) -> Model:
    """Read a model of any structure, or of sites, of some structures."""
    from seqmtl.linear_model.model import MultiTaskModel

    path = os.fspath(path)
    description, arrays = read_model_file(path, structures)
    if description["model"] == "pairs":
        from seqmtl.splicing.model import PairedModel

        return PairedModel.rebuild(path, description, arrays)
    model = MultiTaskModel.rebuild(path, description, arrays)
    if structures and model.inputs == "numbers":
        raise ModelFileError("is a model of numbers; use it in Python", path)
    return model
