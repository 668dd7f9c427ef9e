"""Losses as data: what the solvers need of a loss, in one small object.

With the residual r_i = m_i - z_i, the losses are the first two, also squared, and the third:

    max(0, 1 - r)                       in classification: required margin 1, epsilon = 0
    max(0, |0 - r| - epsilon)           in regression: required margin 0, alpha_i of either sign
    log(1 + exp(-r))                    the logistic loss

A loss whose alpha_i ends at C_i and whose dual has a quadratic term as well, such as a smoothed
hinge, is within what the compiled step does; see :func:`seqmtl.core.dcd_loops.dual_step`.

Source: Hsieh et al. (2008); Yu, Huang, Lin (2011) for the logistic loss; Ho, Lin (2012) for
regression.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    """A loss.

    Attributes
    ----------
    name : str
        Its name.
    required_margin : float
        Residual at which the loss, less epsilon, is 0. Of no meaning for the logistic loss.
    is_signed : bool
        Whether alpha_i may have either sign (regression), or else is at least 0.
    is_squared : bool
        Whether it is squared.
    is_logistic : bool
        Whether it is the logistic loss.
    epsilon : float
        Error without cost; regression only.
    """

    name: str
    required_margin: float = 1.0
    is_signed: bool = False
    is_squared: bool = False
    is_logistic: bool = False
    epsilon: float = 0.0

    @property
    def reaches_C(self) -> bool:  # noqa: N802
        """Whether C_i is a bound of alpha_i that it may reach; the logistic loss stays below."""
        return not (self.is_squared or self.is_logistic)

    @property
    def is_smooth(self) -> bool:
        """Whether it has a derivative everywhere, as Newton's method needs."""
        return self.is_squared or self.is_logistic

    @property
    def is_sparse(self) -> bool:
        """Whether alpha_i = 0 with a margin to spare, so that few examples are active."""
        return not self.is_logistic

    @property
    def curvature(self) -> float:
        """Second derivative of C_i loss*(-alpha_i / C_i) in alpha_i, times C_i, if it is constant.

        A loss that has one needs :attr:`is_smooth`: Newton's method, not interior points.
        """
        return 0.5 * self.is_squared

    @property
    def as_numba_args(self) -> tuple[Any, ...]:
        """The loss as the compiled loops take it.

        required_margin, is_signed, curvature, reaches_C, epsilon, is_logistic.
        """
        shape = self.required_margin, self.is_signed, self.curvature, self.reaches_C
        return *shape, float(self.epsilon), self.is_logistic

    def violation(self, residuals: Array) -> Array:
        """Return by how much the residuals miss the required margin, less epsilon, with signs."""
        difference = self.required_margin - residuals
        if not self.is_signed:
            return np.maximum(difference, 0.0)
        return np.sign(difference) * np.maximum(np.abs(difference) - self.epsilon, 0.0)

    def values(self, residuals: Array) -> Array:
        """Return the loss of every residual."""
        if self.is_logistic:
            return np.logaddexp(0.0, -residuals)
        violation = np.abs(self.violation(residuals))
        return violation**2 if self.is_squared else violation

    def dual(self, alpha: Array, C: Array) -> Array:
        """Return -C_i loss*(-alpha_i / C_i) of every example, for z_i = 0."""
        if self.is_logistic:
            share = np.clip(alpha / C, 0.0, 1.0)
            entropy = np.zeros_like(share)
            for part in (share, 1.0 - share):
                positive = part > 0
                entropy[positive] -= part[positive] * np.log(part[positive])
            return C * entropy
        linear = self.required_margin * alpha - self.epsilon * np.abs(alpha)
        return linear - self.curvature * alpha**2 / (2.0 * C)

    def gradient(self, alpha: Array, residuals: Array, C: Array) -> Array:
        """Return the gradient of the negative dual in every alpha_i.

        In regression the value at 0 is the midpoint of the subgradients, which extend by epsilon
        to both sides.
        """
        if self.is_logistic:
            inside = np.clip(alpha / C, 1e-300, 1.0 - 1e-16)
            return residuals + np.log(inside) - np.log1p(-inside)
        slope = self.curvature * alpha / C
        return np.asarray(residuals - self.required_margin + self.epsilon * np.sign(alpha) + slope)

    def upper(self, C: Array) -> Array:
        """Return the upper bound of |alpha_i|, shape (n,)."""
        return np.full_like(C, np.inf) if self.is_squared else C

    def within_bounds(self, alpha: Array, C: Array) -> Array:
        """Return a copy of alpha in which values out of bounds are moved to the bound."""
        upper = self.upper(C)
        return np.clip(alpha, -upper if self.is_signed else 0.0, upper)

    def can_shrink(
        self, alpha: Array, residuals: Array, C: Array, shrink_margin: float
    ) -> NDArray[np.bool_]:
        """Return which alpha_i are at a bound, and would be with residuals off by shrink_margin.

        The compiled steps do the same, see ``_update_alpha`` in :mod:`seqmtl.core.dcd_loops`.
        """
        ascent = -self.gradient(alpha, residuals, C)
        from_zero = np.abs(ascent) - self.epsilon if self.is_signed else ascent
        can_shrink = (alpha == 0.0) & (from_zero < -shrink_margin)
        if self.reaches_C:
            can_shrink |= (np.abs(alpha) >= C) & (np.sign(alpha) * ascent > shrink_margin)
        return can_shrink

    def dual_from_margins(self, residuals: Array, C: Array) -> tuple[Array, Array, Array]:
        """Return the alpha_i that belong to the residuals, their slopes D_i, and C_i loss.

        The loss must be differentiable.
        """
        if self.is_logistic:
            s = 0.5 - 0.5 * np.tanh(0.5 * residuals)  # 1 / (1 + exp(r)) without overflow
            return C * s, C * s * (1.0 - s), C * self.values(residuals)
        violation = self.violation(residuals)
        return 2.0 * C * violation, 2.0 * C * (violation != 0.0), C * violation**2

    def proximal(
        self, residuals: Array, C: Array, centre: Array, s: float
    ) -> tuple[Array, Array, Array]:
        """Return the same as :meth:`dual_from_margins` for a proximal step of sharpness s.

        Its dual is that of a bounded loss minus sum_i (alpha_i - centre_i)^2 / (2 s C_i).
        """
        difference, rate = self.required_margin - residuals, s * C
        alpha = centre + rate * difference
        alpha = np.sign(alpha) * np.maximum(np.abs(alpha) - rate * self.epsilon, 0.0)
        alpha = self.within_bounds(alpha, C)
        is_free = (alpha != 0.0) & (np.abs(alpha) < C)
        gain = alpha * difference - self.epsilon * np.abs(alpha)
        return alpha, rate * is_free, gain - (alpha - centre) ** 2 / (2.0 * rate)


#: Classification losses by name.
LOSSES = {
    loss.name: loss
    for loss in (
        Loss("hinge"),
        Loss("squared_hinge", is_squared=True),
        Loss("logistic", is_logistic=True),
    )
}
#: Regression losses by name, with epsilon 0.
REGRESSION_LOSSES = {
    loss.name: loss
    for loss in (
        Loss("epsilon_insensitive", required_margin=0.0, is_signed=True),
        Loss("squared_epsilon_insensitive", required_margin=0.0, is_signed=True, is_squared=True),
    )
}


def find_loss(name: str, epsilon: float = 0.0) -> Loss:
    """Return a loss by its name; epsilon applies to regression only."""
    if name in LOSSES:
        return LOSSES[name]
    return replace(REGRESSION_LOSSES[name], epsilon=float(epsilon))
