"""Checkpoints of self-training: where rounds that were interrupted go on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.files.atomic import remove_file
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.splicing.coding import Content
from seqmtl.splicing.lengths import LengthTable
from seqmtl.splicing.rounds import Round

_FORMAT = "seqmtl checkpoint of self-training"


class Learnt(NamedTuple):
    """What the last finished round learnt, from which its calls follow.

    Attributes
    ----------
    models : list of MultiTaskModel
        Site models of donors and of acceptors, in turn: of each fold, and their means.
    assumed, shares : tuple of float, two
        Logits of the shares that the site models assume, and shares of true sites, of donors and
        of acceptors.
    content : Content
        Coding content.
    lengths : LengthTable
        Lengths of introns,
    n_introns : int
        and the number of introns that they are from.
    is_alone : bool
        Whether it learnt from labelled introns alone.
    """

    models: list[MultiTaskModel]
    assumed: tuple[float, float]
    shares: tuple[float, float]
    content: Content
    lengths: LengthTable
    n_introns: int
    is_alone: bool


class RoundsFile:
    """A file with the finished rounds of self-training, and what the last one learnt.

    Parameters
    ----------
    path : str
        The file.
    problem : mapping
        What the rounds depend on, as JSON values; those of another problem are not read.

    Attributes
    ----------
    has_rounds : bool
        Whether rounds of this problem are in the file.

    Raises
    ------
    SeqmtlError
        If there is a file of the name that is no such checkpoint.
    """

    def __init__(self, path: str, problem: Mapping[str, Any]) -> None:
        self.path, self._problem, self.has_rounds = path, dict(problem), False
        self._header: dict[str, Any] = {}
        self._arrays: dict[str, Any] = {}
        if not os.path.lexists(path):
            return
        try:
            self._header, self._arrays = read_arrays(path)
        except ModelFileError:
            pass
        if self._header.get("format") != _FORMAT:
            raise SeqmtlError(
                f"{path}: rounds are stored in a file of this name, but there is one that is not "
                "of seqmtl, or damaged; remove or rename it"
            )

    def save(self, rounds: Sequence[Round], learnt: Learnt) -> None:
        """Write the rounds so far, and what the last one learnt, atomically."""
        arrays: dict[str, Any] = {
            "content": learnt.content.table,
            "introns": learnt.lengths.introns,
        }
        headers = []
        for k, model in enumerate(learnt.models):
            header, contents = model.contents()
            headers.append(header)
            arrays |= {f"{k}.{name}": array for name, array in contents.items()}
        description = {
            "format": _FORMAT,
            "problem": self._problem,
            "rounds": [contents.to_dict() for contents in rounds],
            "models": headers,
            "assumed": learnt.assumed,
            "shares": learnt.shares,
            "n_bases": learnt.content.n_bases,
            "shortest": learnt.lengths.shortest,
            "decay": learnt.lengths.decay,
            "n_introns": learnt.n_introns,
            "is_alone": learnt.is_alone,
        }
        write_arrays(self.path, description, arrays)
        self.has_rounds = True

    def load(self) -> tuple[list[Round], Learnt] | None:
        """Return the rounds of the same problem, and what the last one learnt, if there are any."""
        header, arrays = self._header, self._arrays
        if header.get("problem") != self._problem:
            return None
        self.has_rounds = True
        models = [
            MultiTaskModel.rebuild(
                self.path,
                entry,
                {
                    name.removeprefix(f"{k}."): array
                    for name, array in arrays.items()
                    if name.startswith(f"{k}.")
                },
            )
            for k, entry in enumerate(header["models"])
        ]
        (donors, acceptors), (a, b) = header["assumed"], header["shares"]
        return [Round.of_dict(entry) for entry in header["rounds"]], Learnt(
            models,
            (donors, acceptors),
            (a, b),
            Content(np.array(arrays["content"]), header["n_bases"]),
            LengthTable(header["shortest"], np.array(arrays["introns"]), header["decay"]),
            header["n_introns"],
            header["is_alone"],
        )

    def remove(self) -> None:
        """Remove the file."""
        remove_file(self.path)
