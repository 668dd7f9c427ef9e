"""Score windows; write name, organism, score, probability, has_site.

examples:
  seqmtl predict splice.seqmtl windows.tsv.gz -o scores.tsv
  seqmtl predict splice.seqmtl candidates.fa --organism c_elegans > scores.tsv
  seqmtl predict starter:acceptor candidates.fa --like "Apis mellifera"

has_site: whether the window has the consensus of the model's sites, such as AG (yes or no). Scores
of windows without it mean little.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from seqmtl.commands import _kinds, _options
from seqmtl.commands._request import option, python_function
from seqmtl.exceptions import errors_about
from seqmtl.files.write import atomic_write, check_outputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

Column: TypeAlias = "NDArray[np.generic]"  # type: ignore[explicit-any]
#: Names, organisms, scores and the like, each of shape (n,).
Columns: TypeAlias = "dict[str, Column]"

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Predict(_options.LabelledRows, _options.Relatives):
    """Score windows with a model."""

    model: str = _options.model_file("model file, starter:donor or starter:acceptor")
    data: tuple[str, ...] = _options.window_data("windows to score (labels not needed)")
    output: str | None = option(
        "-o", "scores (default: standard output)", metavar="TSV", affects_output=False
    )

    def run(self) -> Columns:
        """Score the rows.

        Returns
        -------
        dict of str to ndarray, each of shape (n,)
            The columns of the table: name, organism, score, and what else the model has.
        """
        from seqmtl.loading import load_window_model

        check_outputs([self.model, *self.files], [self.output])
        model, request = _options.with_organism_of_like(
            load_window_model(self.model), self, _kinds.name_and_path(self.data[0])[1]
        )
        with errors_about(self.source.name):
            windows = request.source.read_to_score(model, require_labels=False)
            columns = {"name": windows.names, **model.predictions(windows)}
        if self.output:
            write_scores(columns, self.output)
        logger.info("scored %d windows", len(windows))
        return columns

    def show(self, columns: Columns) -> str:
        """Write the scores to standard output, unless they have a file."""
        if self.output is None:
            write_scores(columns, "-")
        return ""


def write_scores(columns: Columns, path: str) -> None:
    """Write scores as a table."""
    with atomic_write(path) as stream:
        stream.write("\t".join(columns) + "\n")
        for first in range(0, len(columns["name"]), 65_536):
            part = slice(first, first + 65_536)
            texts = [_texts(column[part]) for column in columns.values()]
            stream.write("".join("\t".join(row) + "\n" for row in zip(*texts, strict=True)))


def _texts(column: Column) -> Iterator[str]:
    """Format floats with six digits, truth as yes and no, and other values as they are."""
    if column.dtype.kind == "f":
        return map("{:.6g}".format, column.tolist())
    if column.dtype.kind == "b":
        return map(("no", "yes").__getitem__, column.tolist())
    return map(str, column.tolist())


predict = python_function(Predict)
