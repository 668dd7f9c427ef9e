"""What all base kernels share: frozen parameters, their checks, and how they are written down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class BaseKernel(ABC):
    """A kernel k(x, z) of two examples.

    Kernels are frozen dataclasses: they compare by their parameters, and can be copied and be the
    parameter of an estimator.

    Attributes
    ----------
    kind : str
        Name in model files.
    is_psd : bool
        Whether every kernel matrix is positive semi-definite whatever the data; False where this
        is for the data to show.
    inputs : {"numbers", "sequences"}
        What it compares.
    is_standardized : bool
        Whether it scales numbers to mean 0 and variance 1 before it compares them.
    """

    kind: ClassVar[str]
    is_psd: ClassVar[bool] = True
    inputs: ClassVar[str] = "numbers"
    is_standardized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:  # noqa: B027
        """Check the parameters; nothing to check where there are none.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """

    @abstractmethod
    def __call__(self, X: Any, Z: Any = None) -> NDArray[np.float64]:
        """Return the kernel matrix.

        Parameters
        ----------
        X : sequence of n examples
            What an example is, the class says.
        Z : sequence of m examples, optional
            Default: X, which gives a symmetric matrix.

        Returns
        -------
        ndarray of float64, shape (n, m)
            ``k(X[i], Z[j])``.
        """

    @abstractmethod
    def diagonal(self, X: Any) -> NDArray[np.float64]:
        """Return ``k(X[i], X[i])``, float64, shape (n,), without the rest of the matrix."""

    def resolve(self, X: Any, weight: NDArray[np.float64] | None = None) -> BaseKernel:
        """Return the kernel with parameters that depend on the data as numbers.

        From examples, shape (n, ...), and how often each counts, shape (n,); default: once.
        """
        return self

    def to_dict(self) -> dict[str, Any]:
        """Describe the kernel in JSON values; see :func:`~seqmtl.kernels.kernel_from_dict`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind} | {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in values.items()
        }
