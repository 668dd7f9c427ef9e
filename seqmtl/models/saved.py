"""The file of a model: one header for all, and after it what it is made of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._version import __version__
from seqmtl.exceptions import ModelFileError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.models.calibration import CALIBRATION
from seqmtl.models.probability_curve import pack_curves, unpack_curves

if TYPE_CHECKING:
    from seqmtl.models.base import Model

FORMAT = "seqmtl model"
FORMAT_VERSION = 5


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model; see :meth:`seqmtl.models.base.Model.save`."""
    description, arrays = model._pack()
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "seqmtl_version": __version__,
        "model": model.structure,
        "kind": model.kind,
        "tasks": list(model.tasks),
        "shift": model.shift,
        "calibrated": list(model.curves),
        "training": model.training,
    }
    arrays |= {"bias": model.bias, "calibration": model.calibration}
    write_arrays(path, header | description, arrays | pack_curves(model.curves))


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model, whatever it is made of.

    Raises
    ------
    ModelFileError
        If the file is damaged, foreign, or of another format.
    """
    path = os.fspath(path)
    description, arrays = read_arrays(path)
    version = description.get("format_version")
    if description.get("format") != FORMAT or not isinstance(version, int):
        raise ModelFileError("is not a seqmtl model", path=path)
    if version != FORMAT_VERSION:
        remedy = "install a newer seqmtl" if version > FORMAT_VERSION else "train again"
        raise ModelFileError(
            f"has model format {version}, this seqmtl ({__version__}) reads "
            f"{FORMAT_VERSION}; {remedy}",
            path=path,
        )
    try:
        found = _class_of(description["model"])
        return found._unpack(description, arrays, _common(description, arrays))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"is not a consistent model: {error}", path=path) from error


def _class_of(structure: str) -> type[Model]:
    if structure == "kernels":
        from seqmtl.models.kernel_model import KernelModel

        return KernelModel
    if structure == "weights":
        from seqmtl.models.model import MultiTaskModel

        return MultiTaskModel
    raise ValueError(f"a model must be of weights or kernels, got {structure!r}")


def _common(description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the fields that all models have."""
    kind, tasks = description["kind"], tuple(map(str, description["tasks"]))
    if kind not in CALIBRATION:
        raise ValueError(f"kind must be one of {', '.join(CALIBRATION)}, got {kind!r}")
    if arrays["bias"].shape != (len(tasks),):
        raise ValueError("intercepts do not match the tasks")
    if arrays["calibration"].shape != (len(tasks), len(CALIBRATION[kind])):
        raise ValueError("calibration does not match the tasks")
    return {
        "kind": kind,
        "tasks": tasks,
        "bias": np.array(arrays["bias"], dtype=np.float64),
        "calibration": np.array(arrays["calibration"], dtype=np.float64),
        "curves": unpack_curves(description["calibrated"], arrays),
        "training": dict(description["training"]),
        "shift": int(description["shift"]),
    }
