"""Checkpoints of self-training: where rounds that were interrupted go on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seqmtl._schema import load
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.files.write import remove_file
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.splicing.coding import Content
from seqmtl.splicing.estimates import Estimates
from seqmtl.splicing.layer import DonorLetters, PairLayer, U12Introns
from seqmtl.splicing.lengths import LengthTable
from seqmtl.splicing.rounds import SelfTrainingRound

_FORMAT = "seqmtl checkpoint of self-training"


class RoundsFile:
    """A file with the finished rounds of self-training, and what the last one estimates.

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

    def save(self, rounds: Sequence[SelfTrainingRound], estimates: Estimates) -> None:
        """Write the rounds so far, and the estimates of the last one, atomically."""
        arrays: dict[str, Any] = {
            "content": estimates.content.table,
            "introns": estimates.lengths.introns,
            "tails": estimates.lengths.tails,
        }
        headers = []
        models = [model for pair in (*estimates.ends, estimates.whole) for model in pair]
        for k, model in enumerate(models):
            header, contents = model.contents()
            headers.append(header)
            arrays |= {f"{k}.{name}": array for name, array in contents.items()}
        description = {
            "format": _FORMAT,
            "problem": self._problem,
            "rounds": [contents.to_dict() for contents in rounds],
            "models": headers,
            "assumed": estimates.assumed,
            "n_bases": estimates.content.n_bases,
            "shortest": estimates.lengths.shortest,
            "donors": [one._asdict() for one in estimates.donors],
            "u12": estimates.u12 and estimates.u12._asdict(),
            "n_introns": estimates.n_introns,
            "is_alone": estimates.is_alone,
        }
        write_arrays(self.path, description, arrays)
        self.has_rounds = True

    def load(self, relatives: PairLayer) -> tuple[list[SelfTrainingRound], Estimates] | None:
        """Return the rounds of the same problem, and the estimates of the last one, if any.

        Those have the layer of the relatives that is given.
        """
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
        *ends, whole = zip(models[::2], models[1::2], strict=True)
        donors, acceptors = header["assumed"]
        return [load(SelfTrainingRound, "rounds", entry) for entry in header["rounds"]], Estimates(
            ends,
            whole,
            (donors, acceptors),
            relatives,
            Content(np.array(arrays["content"]), header["n_bases"]),
            LengthTable(header["shortest"], np.array(arrays["introns"]), np.array(arrays["tails"])),
            tuple(load(DonorLetters, "donors", one) for one in header["donors"]),
            load(U12Introns, "u12", header["u12"]) if header["u12"] else None,
            header["n_introns"],
            header["is_alone"],
        )

    def remove(self) -> None:
        """Remove the file."""
        remove_file(self.path)
