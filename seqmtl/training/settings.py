"""The settings of a training run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_choice, check_flag, check_integer, check_number, is_finite_number
from seqmtl.calibration.sigmoid import CALIBRATION
from seqmtl.core.losses import LOSSES, REGRESSION_LOSSES, find_loss
from seqmtl.sequences.examples import Examples

#: Costs to choose from, in classification and in regression.
COSTS = (1.0, 3.0, 10.0)
TARGET_COSTS = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Settings:
    """Training settings.

    Attributes
    ----------
    C : float
        Cost of an example.
    loss : str
        "hinge", "squared_hinge" or "logistic"; in regression "epsilon_insensitive" or
        "squared_epsilon_insensitive".
    class_weight : dict, "balanced" or None
        Factor on C for the labels +1 and -1; "balanced" means n / (2 n_class).
    fit_intercept : bool
        Append a constant feature of value 1, coupled across tasks like any other.
    tol : float
        Relative duality gap at which training stops.
    max_epochs : int
        Maximum number of passes over the training data.
    dtype : {"float32", "float64"}, or the NumPy type
        Type of the weights; the attribute is its name.
    seed : int
        Seed of the visiting order.
    kind : {"classification", "regression"}
        Learning problem.
    epsilon : float
        Error without cost; regression only.
    norm : float, optional
        p of the p-norm on the kernel weights: 1 sparse, inf uniform. Default: weights are not
        learnt and K is the mean of the kernels.
    """

    C: float = 1.0
    loss: str = "hinge"
    class_weight: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_epochs: int = 1000
    dtype: str = "float32"
    seed: int = 0
    kind: str = "classification"
    epsilon: float = 0.0
    norm: float | None = None

    def __post_init__(self) -> None:
        """Replace a NumPy type by its name; raise ValueError for a setting out of range."""
        if not isinstance(self.dtype, str) and self.dtype is not None:
            with suppress(TypeError):
                object.__setattr__(self, "dtype", np.dtype(self.dtype).name)
        for name in ("C", "tol"):
            check_number(name, getattr(self, name))
        check_number("epsilon", self.epsilon, min_val=0)
        check_flag("fit_intercept", self.fit_intercept)
        if self.norm is not None:
            check_norm(self.norm)
        check_choice("kind", self.kind, CALIBRATION)
        losses = REGRESSION_LOSSES if self.kind == "regression" else LOSSES
        check_choice("loss", self.loss, losses)
        check_integer("max_epochs", self.max_epochs, 1)
        check_choice("dtype", self.dtype, ("float32", "float64"))

    @property
    def limits(self) -> dict[str, Any]:
        """The arguments of :func:`seqmtl.core.solve` that say when to stop, and how precisely."""
        limits = {name: getattr(self, name) for name in ("tol", "max_epochs", "seed")}
        return limits | {"dtype": np.dtype(self.dtype)}

    @property
    def bias_scale(self) -> float:
        """Value of the constant feature."""
        return float(self.fit_intercept)

    def costs(self, examples: Examples) -> NDArray[np.float64]:
        """Return C_i of every example, shape (n,)."""
        return np.asarray(self.C * class_factors(examples.y, self.class_weight) * examples.weight)

    def upper(self, examples: Examples) -> NDArray[np.float64]:
        """Return the upper bound of every dual variable, shape (n,)."""
        return find_loss(self.loss).upper(self.costs(examples))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values; those of regression only for regression."""
        settings = asdict(self)
        if self.kind != "regression":
            del settings["epsilon"]
        if self.kind == "classification":
            del settings["kind"]
        if self.norm is None:
            del settings["norm"]
        elif np.isinf(self.norm):
            settings["norm"] = "inf"  # JSON has no infinity
        if isinstance(self.class_weight, Mapping):
            settings["class_weight"] = {str(k): float(v) for k, v in self.class_weight.items()}
        return settings


def check_norm(norm: Any) -> None:
    """Raise ValueError if p is below 1.

    Raises
    ------
    ValueError
        If it is.
    """
    remedy = "below 1 the problem is not convex"
    check_number("norm", norm, min_val=1, is_finite=False, remedy=remedy)


def class_factors(y: NDArray[np.float64], class_weight: Any) -> NDArray[np.float64]:
    """Return the class weight of every example, shape (n,).

    Raises
    ------
    ValueError
        If `class_weight` is not None, "balanced", or a mapping of the labels to positive numbers.
    """
    if class_weight is None:
        return np.ones(y.size)
    if isinstance(class_weight, str) and class_weight == "balanced":
        n_positive = max(int((y > 0).sum()), 1)
        n_negative = max(y.size - n_positive, 1)
        return np.where(y > 0, y.size / (2 * n_positive), y.size / (2 * n_negative))
    if isinstance(class_weight, Mapping):
        positive = class_weight.get(1, class_weight.get("1", 1.0))
        negative = class_weight.get(-1, class_weight.get(0, class_weight.get("-1", 1.0)))
        for factor in (positive, negative):
            if not (is_finite_number(factor) and factor > 0.0):
                raise ValueError(
                    f"class_weight must hold finite numbers above 0, got {factor!r}; leave the "
                    "examples of a class out that must not count"
                )
        return np.where(y > 0, float(positive), float(negative))
    raise ValueError(
        f"class_weight must be None, 'balanced' or a mapping of labels to factors, "
        f"got {class_weight!r}"
    )


def settings_of(training: dict[str, Any]) -> Settings:
    """Return the settings that a model was trained with, but for the norm of kernel weights."""
    stored = training["settings"]
    names = [
        field.name for field in fields(Settings) if field.name in stored and field.name != "norm"
    ]
    return Settings(**{name: stored[name] for name in names})
