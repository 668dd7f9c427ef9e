"""Compiled loops of minimax learning: projection of the dual variables.

Symbols follow `_minimax.py`. For a fixed tau_t the alpha nearest to r is
min(max(r_i, 0), c_i tau_t), so only tau is unknown. With

    S_t(tau_t) = sum over i in t of c_i max(0, r_i - c_i tau_t),

which is piecewise linear and decreasing, the optimum satisfies S_t(tau_t) = mu tau_t^(q-1) in every
task, for the one mu >= 0 that puts tau on the ball.
"""

import numpy as np

from seqmtl._jit import njit

_MAX_STEPS = 100  # of Newton's and of the Illinois method, if rounding errors hide their end
_ROUNDING = 1e-15


@njit
def _solve_power(a, g, b, total):
    """Return the x > 0 with a x^g + b x = total, g >= 1, by Newton's method from above."""
    x = min((total / a) ** (1.0 / g), total / b)
    for _ in range(_MAX_STEPS):
        power = a * x ** (g - 1.0)
        excess = (power + b) * x - total
        if excess <= _ROUNDING * total:
            break
        x -= excess / (g * power + b)
    return x


@njit
def _weight_of_task(mu, p, breaks, value, slope):
    """Return the tau with S(tau) = mu tau^(q-1), where S = value[k] - tau slope[k] up to breaks[k].

    The breaks are in rising order; S is 0 beyond the last one.
    """
    if breaks.size == 0 or (p == np.inf and value[0] <= mu):
        return 0.0
    if mu == 0.0:
        return breaks[-1]
    power = 1.0 / (p - 1.0)  # q - 1
    # bisect for the piece of S that mu tau^(q-1), which rises, crosses
    first, last = 0, breaks.size - 1
    while first < last:
        k = (first + last) // 2
        S = max(value[k] - breaks[k] * slope[k], 0.0)
        if p < 2.0:  # the power that does not overflow
            is_below = (S / mu) ** (p - 1.0) > breaks[k]
        else:
            is_below = S > mu * breaks[k] ** power
        if is_below:
            first = k + 1
        else:
            last = k
    if p == np.inf:
        return (value[first] - mu) / slope[first]
    if p < 2.0:
        return _solve_power(mu, power, slope[first], value[first])
    return _solve_power(slope[first], p - 1.0, mu, value[first]) ** (p - 1.0)


@njit
def norm_of(values, p):
    """Return the p-norm of non-negative values, without overflow or underflow."""
    top = values.max()
    if top == 0.0:
        return 0.0
    total = 0.0
    for x in values:
        total += (x / top) ** p
    return top * total ** (1.0 / p)


@njit
def _set_task_weights(mu, p, starts, ends, breaks, value, slope, tau):
    """Set tau for one mu; return its q-norm."""
    q = 1.0 if p == np.inf else p / (p - 1.0)
    for t in range(tau.size):
        i, k = starts[t], ends[t]
        tau[t] = _weight_of_task(mu, p, breaks[i:k], value[i:k], slope[i:k])
    return norm_of(tau, q)


@njit
def _sort_breaks(r, c, starts, breaks, value, slope):
    """Write the pieces of S for every task, see :func:`_weight_of_task`; return their ends."""
    ends = starts[:-1].copy()
    for t in range(ends.size):
        for i in range(starts[t], starts[t + 1]):
            if r[i] > 0.0 and c[i] > 0.0:
                k = ends[t]
                breaks[k], value[k], slope[k] = r[i] / c[i], c[i] * r[i], c[i] * c[i]
                ends[t] += 1
        first, end = starts[t], ends[t]
        order = np.argsort(breaks[first:end])
        for values in (breaks, value, slope):
            values[first:end] = values[first:end][order]
        # example i adds to S below r_i / c_i only: sums from the last break to the first
        for k in range(end - 2, first - 1, -1):
            value[k] += value[k + 1]
            slope[k] += slope[k + 1]
    return ends


@njit
def project(r, c, starts, p, tau, alpha):
    """Project r onto {0 <= alpha_i <= c_i tau_t, ||tau||_q <= 1}: set alpha and tau.

    The examples of task t are starts[t] to starts[t + 1]; q = p / (p - 1).
    """
    for t in range(tau.size):
        tau[t] = 1.0
    if p > 1.0:
        breaks, value, slope = np.empty(r.size), np.empty(r.size), np.empty(r.size)
        ends = _sort_breaks(r, c, starts, breaks, value, slope)
        norm = _set_task_weights(0.0, p, starts, ends, breaks, value, slope, tau)
        if norm > 1.0:
            _find_multiplier(norm, p, starts, ends, breaks, value, slope, tau)
    for t in range(tau.size):
        for i in range(starts[t], starts[t + 1]):
            alpha[i] = min(max(r[i], 0.0), c[i] * tau[t])


@njit
def _find_multiplier(norm, p, starts, ends, breaks, value, slope, tau):
    """Put tau on the ball by the Illinois method, if the tau of mu = 0 has a norm above 1."""
    for t in range(tau.size):
        tau[t] = value[starts[t]] if ends[t] > starts[t] else 0.0
    top = norm_of(tau, p)  # norm of S(0): this mu gives a norm of 1 or less
    low, above = 0.0, norm - 1.0
    norm = _set_task_weights(top, p, starts, ends, breaks, value, slope, tau)
    high, below = top, norm - 1.0
    side = 0
    for _ in range(_MAX_STEPS):
        if below >= 0.0 or high - low <= _ROUNDING * top or abs(norm - 1.0) <= _ROUNDING:
            break
        mu = low + (high - low) * above / (above - below)
        norm = _set_task_weights(mu, p, starts, ends, breaks, value, slope, tau)
        if norm > 1.0:
            low, above = mu, norm - 1.0
            below *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            high, below = mu, norm - 1.0
            above *= 0.5 if side < 0 else 1.0
            side = -1
    for t in range(tau.size):
        tau[t] /= max(norm, 1.0)
