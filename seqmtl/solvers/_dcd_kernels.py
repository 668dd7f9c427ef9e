"""Compiled coordinate-descent loops, the only place where dual variables change.

Symbols follow :mod:`seqmtl.solvers.problem` and :mod:`seqmtl.coupling`: weights are tables
with one row per feature, one table per group of columns. In each group of task t, a step on an
example reads its column c and adds row c of K_g times the change.
"""

import math

import numpy as np

from seqmtl._jit import add_scaled_4, add_scaled_16, njit, prefetch

HINGE = 0
SQUARED_HINGE = 1
LOGISTIC = 2
EPSILON_INSENSITIVE = 3
SQUARED_EPSILON_INSENSITIVE = 4


@njit
def dual_step(loss, alpha, margin, H, C, epsilon):
    """Return the minimiser over one alpha with all others fixed; margin is y f(x), or f(x) - z."""
    if loss == HINGE:
        return min(max(alpha - (margin - 1.0) / H, 0.0), C)
    if loss == SQUARED_HINGE:
        D = 0.5 / C
        return max(alpha - (margin - 1.0 + D * alpha) / (H + D), 0.0)
    if loss == LOGISTIC:
        return _logistic_step(alpha, margin, H, C)
    D = 0.0 if loss == EPSILON_INSENSITIVE else 0.5 / C
    center = alpha - (margin + D * alpha) / (H + D)
    width = epsilon / (H + D)
    new = max(center - width, 0.0) + min(center + width, 0.0)
    return min(max(new, -C), C) if loss == EPSILON_INSENSITIVE else new


@njit
def _logistic_step(alpha, margin, H, C):
    """Solve H (C s(u) - alpha) + margin + u = 0 for u, alpha = C s(u), by safeguarded Newton."""
    low = -margin + H * (alpha - C)
    high = -margin + H * alpha
    u = 0.5 * (low + high)
    if 0.0 < alpha < C:
        u = min(max(math.log(alpha / (C - alpha)), low), high)
    width = high - low
    for _ in range(60):
        s = 1.0 / (1.0 + math.exp(-u)) if u > -700.0 else 0.0
        g = H * (C * s - alpha) + margin + u
        if abs(g) <= 1e-13 * (1.0 + abs(u)):
            break
        if g > 0.0:
            high = u
        else:
            low = u
        step = g / (1.0 + H * C * s * (1.0 - s))
        if abs(step) > 0.5 * width or not low < u - step < high:  # bisect, as Newton may oscillate
            step = u - 0.5 * (low + high)
        width = abs(step)
        u -= step
    return C / (1.0 + math.exp(-u)) if u > -700.0 else 0.0


@njit
def _visit(i, margin, examples, alpha, keep, loss):
    """Move alpha[i] to its minimiser; return the change times y.

    ``keep`` becomes False for examples at a bound whose margin exceeds 1 by more than band (or
    whose residual differs from epsilon by more than band) on the inactive side.
    """
    y, _, H, C, targets = examples
    number, epsilon, band = loss
    old = alpha[i]
    if targets.size > 0:
        margin -= targets[i]
    if number >= EPSILON_INSENSITIVE:
        new = dual_step(number, old, margin, H[i], C[i], epsilon)
        beyond = abs(margin) - epsilon
        at_bound = number == EPSILON_INSENSITIVE and abs(new) == C[i] and margin * new < 0.0
        keep[i] = not ((new == 0.0 and beyond < -band) or (at_bound and beyond > band))
    else:
        new = dual_step(number, old, margin, H[i], C[i], epsilon)
        keep[i] = not (
            (new == 0.0 and margin - 1.0 > band)
            or (number == HINGE and new == C[i] and margin - 1.0 < -band)
        )
    alpha[i] = new
    return (new - old) * y[i]


@njit
def descend(block, rows, examples, state, groups, K, bias_scale, loss):
    """Take one coordinate step on every row of the block, in order.

    Reads the block, the examples (y, tasks, H, C, targets) and the loss (number, epsilon, band);
    changes alpha, the weights, bias and keep of the state. K holds one matrix per view, groups
    the same kernels as the weights are grouped (see ``seqmtl.coupling``): group, column and
    scale of every task and level; all K_g in one array, where each begins and its size; the first
    weight of every group and the length of its rows.
    """
    indptr, indices, values = block
    y, tasks = examples[:2]
    alpha, weights, bias, keep = state
    group, column, scale, kernels, begins, _, starts, strides = groups
    n_views, T = K.shape[:2]
    end = indptr[rows.size * n_views] - 1
    for r in range(rows.size):
        i = rows[r]
        t = np.int64(tasks[i])
        begin, stop = indptr[r * n_views], indptr[(r + 1) * n_views]
        ahead = stop - begin
        u = np.int64(tasks[rows[min(r + 1, rows.size - 1)]])
        f = bias_scale * bias[t]
        for l in range(group.shape[1]):
            g, c, h = group[t, l], column[t, l], max(group[u, l], 0)
            if g < 0:
                continue
            table, w = weights[starts[g] : starts[g + 1]], strides[g]
            following, v = weights[starts[h] : starts[h + 1]], strides[h]
            for p in range(begin, stop):
                f += scale[t, l] * values[p] * table[np.int64(indices[p]) * w + c]
                prefetch(following, np.int64(indices[min(p + ahead, end)]) * v)
        change = _visit(i, y[i] * f, examples, alpha, keep, loss)
        if change == 0.0:
            continue
        for l in range(group.shape[1]):
            g = group[t, l]
            if g < 0:
                continue
            table, w = weights[starts[g] : starts[g + 1]], strides[g]
            for m in range(n_views):
                first = begins[g] + (m * w + column[t, l]) * w
                coupling = kernels[first : first + w]
                begin, stop = indptr[r * n_views + m], indptr[r * n_views + m + 1]
                _add_row(indices, values, begin, stop, scale[t, l] * change, coupling, table)
        for m in range(n_views):
            for s in range(T):
                bias[s] += K[m, t, s] * bias_scale * change


@njit
def descend_tree(block, rows, examples, state, groups, K, bias_scale, loss):
    """Take one coordinate step on every row of a tree block, in order; see ``descend``.

    Rows of weights are padded with zeros to a multiple of 4.
    """
    indices, shares, indptr, others, reads, writes = block
    y, tasks = examples[:2]
    alpha, weights, bias, keep = state
    group, column, scale, kernels, begins, widths, starts, strides = groups
    widest = np.int64(0)
    for w in strides:
        widest = max(widest, w)
    pattern = np.zeros(4 * widest, weights.dtype)
    for r in range(rows.size):
        i = rows[r]
        t = np.int64(tasks[i])
        after = min(r + 1, rows.size - 1)
        u, following = np.int64(tasks[rows[after]]), indices[after]
        has_n = indptr[r] < indptr[r + 1]
        f = bias_scale * bias[t]
        for l in range(group.shape[1]):
            g, c, h = group[t, l], column[t, l], max(group[u, l], 0)
            if g < 0:
                continue
            table, stride = weights[starts[g] : starts[g + 1]], strides[g]
            ahead, stride_ahead = weights[starts[h] : starts[h + 1]], strides[h]
            total = 0.0
            for p in range(following.size):
                total += table[np.int64(indices[r, p]) * stride + c]
                prefetch(ahead, np.int64(following[p]) * stride_ahead)
            if has_n:
                total = 0.0
                for q in range(indptr[r], indptr[r + 1]):
                    total += reads[q] * table[np.int64(others[q]) * stride + c]
            f += scale[t, l] * total
        change = _visit(i, y[i] * f, examples, alpha, keep, loss)
        if change == 0.0:
            continue
        for l in range(group.shape[1]):
            g = group[t, l]
            if g < 0:
                continue
            table, stride = weights[starts[g] : starts[g + 1]], strides[g]
            first = begins[g] + column[t, l] * widths[g]
            for q in range(4 * stride):
                s = q % stride
                pattern[q] = kernels[first + s] * (scale[t, l] * change) if s < widths[g] else 0.0
            if not has_n:
                _add_tree_row(indices[r], shares, pattern, stride, table)
            for q in range(indptr[r], indptr[r + 1]):
                for s in range(stride):
                    table[np.int64(others[q]) * stride + s] += writes[q] * pattern[s]
        for s in range(bias.size):
            bias[s] += K[0, t, s] * bias_scale * change


@njit
def _add_tree_row(slots, shares, pattern, stride, flat):
    """Add one row of a tree block to the weights of all tasks."""
    for p in range(slots.size):
        own = np.int64(slots[p])
        base = (own & ~np.int64(3)) * stride
        if stride == 1:
            add_scaled_4(flat, base, pattern, np.int64(0), shares[p, 1])
            flat[own] += shares[p, 0] * pattern[0]
        else:
            for q in range(0, 4 * stride, 16):
                add_scaled_16(flat, base + q, pattern, np.int64(q), shares[p, 1])
            for q in range(0, stride, 4):
                add_scaled_4(flat, own * stride + q, pattern, np.int64(q), shares[p, 0])


@njit
def _add_row(indices, values, begin, stop, change, coupling, flat):
    """Add change * values to the weights of every task, each by its coupling."""
    T = coupling.size
    if T == 1:
        step = change * coupling[0]
        for p in range(begin, stop):
            flat[indices[p]] += step * values[p]
        return
    for p in range(begin, stop):
        base = np.int64(indices[p]) * T
        amount = change * values[p]
        for s in range(T):
            flat[base + s] += coupling[s] * amount


@njit
def couple(G, y, tasks, K, bias_square):
    """Convert the lower triangle of kernel values to the full Hessian of the dual, in place."""
    m = y.size
    tile = 64
    for a in range(0, m, tile):
        for b in range(0, a + 1, tile):
            for i in range(a, min(a + tile, m)):
                for j in range(b, min(b + tile, i + 1)):
                    value = y[i] * y[j] * K[tasks[i], tasks[j]] * (G[i, j] + bias_square)
                    G[i, j] = value
                    G[j, i] = value


@njit
def couple_into(G, y, tasks, K, is_added, H):
    """Set H to the Hessian of the dual for kernel values G, or add that to H."""
    for i in range(y.size):
        coupling, row = K[tasks[i]], H[i]
        for j in range(y.size):
            value = y[i] * y[j] * coupling[tasks[j]] * G[i, j]
            row[j] = row[j] + value if is_added else value


@njit
def descend_gram(G, order, alpha, margins, C, loss, epsilon, omega):
    """Take one coordinate step on every example in order, updating all margins (residuals).

    Steps are over-relaxed by the factor omega, 1 <= omega < 2. Returns the number of changed
    alphas.
    """
    n_changes = 0
    for r in range(order.size):
        i = order[r]
        old = alpha[i]
        H = max(np.float64(G[i, i]), 1e-12) / omega
        new = dual_step(loss, old, margins[i], H, C[i], epsilon)
        if new != old:
            n_changes += 1
            alpha[i] = new
            change = new - old
            row = G[i]
            for j in range(row.size):
                margins[j] += change * row[j]
    return n_changes
