"""Load a model of any structure."""

from __future__ import annotations

import os

from seqmtl._schema import brief
from seqmtl.models.base import Model, damaged, read_model_file


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model of any structure from its file.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model, or of another format version.
    """
    path = os.fspath(path)
    description, arrays = read_model_file(path)
    structure = description.get("model")
    if structure == "kernels":
        from seqmtl.models.kernel_model import KernelModel

        return KernelModel.rebuild(path, description, arrays)
    if structure == "weights":
        from seqmtl.models.model import MultiTaskModel

        return MultiTaskModel.rebuild(path, description, arrays)
    raise damaged(f"model must be 'weights' or 'kernels', got {brief(structure)}", path)
