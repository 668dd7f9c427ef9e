"""Parquet files as columns of numbers and names; requires pyarrow."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.files.streams import PathLike, open_seekable, source_name
from seqmtl.io._table_columns import Cells, Places, Roles, TableFile

#: Name that pandas gives to an unnamed index.
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


class ParquetFile(TableFile):
    """A Parquet file, read in one go.

    Raises
    ------
    InputFormatError
        If the file is damaged, or a feature is not a numeric column.
    SeqmtlError
        If pyarrow is not installed.
    """

    def __init__(self, path: PathLike) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise SeqmtlError(
                "Parquet files need pyarrow, which is not installed; run: "
                "pip install 'seqmtl[tables]', or write the table as CSV"
            ) from error
        self.arrow = pyarrow
        self.places = Places(source_name(path))
        with open_seekable(path) as stream:
            try:
                file = pyarrow.parquet.ParquetFile(stream)
                facts = file.metadata
                what = f"{self.places.source}: {facts.num_rows:,} rows"
                require_memory(16.0 * facts.num_rows * facts.num_columns, what, "split the file")
                table = file.read()
                table.validate(full=True)  # detects invalid UTF-8 and offsets beyond the data
                names = table.column_names
            except (pyarrow.ArrowException, OSError, ValueError) as error:
                raise self._damaged(error) from error
        self.table = table.drop_columns(list(filter(_PANDAS_INDEX.fullmatch, names)))
        self.names = self.table.column_names

    def read(self, roles: Roles) -> Cells:
        """Return the values of the columns with a role."""
        try:
            return self._read(roles)
        except self.arrow.ArrowException as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> InputFormatError:
        fault = " ".join(str(error).split())
        return InputFormatError(
            f"the file must be Parquet, but it cannot be read ({fault}); write it again",
            path=self.places.source,
        )

    def _read(self, roles: Roles) -> Cells:
        sequences = self._text(roles.sequence)
        return Cells(
            examples=self._matrix(roles.features) if sequences is None else sequences,
            labels=self._values(roles.label),
            tasks=self._values(roles.task),
            names=self._text(roles.name),
            splits=self._text(roles.split),
        )

    def is_number(self, column: int) -> bool:
        """Tell whether a column holds numbers or booleans."""
        kind, types = self.table.field(column).type, self.arrow.types
        return any(
            test(kind)
            for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        )

    def _matrix(self, features: tuple[int, ...]) -> NDArray[np.float64]:
        """Return numeric columns as a matrix, with NaN for null."""
        for column in features:
            if not self.is_number(column):
                raise InputFormatError(
                    f"column {self.names[column]!r} must hold numbers, got the type "
                    f"{self.table.field(column).type}; convert it, or leave the column out",
                    path=self.places.source,
                )
        X = np.empty((self.table.num_rows, len(features)))
        for j, column in enumerate(features):
            X[:, j] = self._floats(column)
        return X

    def _values(self, column: int | None) -> NDArray[Any] | None:
        """Return numbers (NaN for null) or names ("" for null)."""
        if column is None:
            return None
        if not self.is_number(column):
            return self._text(column)
        data = self.table.column(column)
        types = self.arrow.types
        if data.null_count or not (types.is_integer(data.type) or types.is_boolean(data.type)):
            return self._floats(column)
        return data.to_numpy()

    def _text(self, column: int | None) -> NDArray[np.str_] | None:
        """Return a column as names, with "" for null."""
        if column is None:
            return None
        cells = self.table.column(column).to_pylist()
        return np.array(["" if cell is None else str(cell).strip() for cell in cells], dtype=str)

    def _floats(self, column: int) -> NDArray[np.float64]:
        data = self.table.column(column)
        return data.cast(self.arrow.float64(), safe=False).to_numpy()
