"""Load a model of any structure."""

from __future__ import annotations

import os
from collections.abc import Sequence

from seqmtl.linear_model.base import Model, read_model_file


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
    return _model_class(description["model"]).rebuild(path, description, arrays)


def _model_class(structure: str) -> type[Model]:
    """Return the class of a structure; only its modules are imported."""
    if structure == "kernels":
        from seqmtl.kernel_mkl.kernel_model import KernelModel

        return KernelModel
    if structure == "pairs":
        from seqmtl.splicing.model import PairedModel

        return PairedModel
    from seqmtl.linear_model.model import MultiTaskModel

    return MultiTaskModel
