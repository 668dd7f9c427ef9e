"""Compiled coordinate-descent loops, the only place where dual variables change.

Symbols follow :mod:`seqmtl.solvers.problem` and :mod:`seqmtl.coupling`: weights are tables
with one row per feature, one table per group of columns. In each group of task t, a step on an
example reads its column c and adds row c of K_g times the change.
"""

import math

import numpy as np

from seqmtl._jit import add_scaled_4, add_scaled_16, njit, prefetch


@njit
def dual_step(loss, alpha, residual, H, C):
    """Return the minimiser over one alpha with all others fixed."""
    aim, is_signed, diagonal, is_bounded, epsilon, is_logistic = loss
    if is_logistic:
        return _logistic_step(alpha, residual, H, C)
    D = diagonal / C
    center = alpha - (residual - aim + D * alpha) / (H + D)
    width = epsilon / (H + D)
    new = max(center - width, 0.0) + min(center + width, 0.0)
    most = C if is_bounded else np.inf
    return min(max(new, -most if is_signed else 0.0), most)


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
def _visit(i, residual, examples, alpha, keep, loss, band):
    """Move alpha[i] to its minimiser; return the change times y.

    ``keep`` becomes False for examples at a bound to which their residual holds them by more than
    band.
    """
    y, _, H, C, targets = examples
    aim, is_signed, diagonal, is_bounded, epsilon, _ = loss
    old = alpha[i]
    if targets.size > 0:
        residual -= targets[i]
    new = dual_step(loss, old, residual, H[i], C[i])
    pull = aim - residual
    rests = new == 0.0 and (abs(pull) if is_signed else pull) - epsilon < -band
    if is_bounded and abs(new) == C[i]:
        rests = rests or (pull if new > 0.0 else -pull) - diagonal - epsilon > band
    keep[i] = not rests
    alpha[i] = new
    return (new - old) * y[i]


@njit
def descend(block, rows, examples, state, groups, K, bias_scale, loss, band):
    """Take one coordinate step on every row of the block, in order.

    These are lines 5 to 9 of Algorithm 1 of Widmer et al. 2012. Plainly, with one view, one group
    of weights and listed features::

        i, t = rows[r], tasks[rows[r]]
        f = sum of reads[p] * W[indices[p], t] over the features p of row r
        change = _visit(i, y[i] * f, ...)
        W[indices[p], s] += K[s, t] * change * writes[p]    for all p and s

    Here W may be in groups of columns, of which task t reads and writes some, one on each level
    (see ``seqmtl.coupling``); and the features of a row may be listed, or be slots, of which every
    row has as many, with factors that depend on the slot alone.

    Parameters
    ----------
    block : tuple
        The rows, a :class:`~seqmtl.blocks.RowBlock`.
    rows : ndarray of int64
        Example of every row.
    examples : tuple of ndarray
        y, tasks, H, C and targets of all examples.
    state : tuple of ndarray
        What is changed: alpha, all weights, bias and keep.
    groups : tuple of ndarray
        Group, column and scale of every task and level; all K_g in one array, where each begins
        and its size; the first weight of every group and the length of its rows.
    K : ndarray of float64, shape (n_views, T, T)
        The same task kernels for the constant feature.
    bias_scale : float
        Value of the constant feature.
    loss : tuple
        See :attr:`seqmtl.solvers.losses.Loss.for_loops`.
    band : float
        See :func:`_visit`.
    """
    indptr, indices, reads, writes, slots, shares = block
    y, tasks = examples[:2]
    alpha, weights, bias, keep = state
    group, column, scale, kernels, begins, widths, starts, strides = groups
    n_views, T = K.shape[:2]
    widest = 0
    for stride in strides:  # strides.max() would load scipy
        widest = max(widest, stride)
    pattern = np.zeros(4 * widest, weights.dtype)
    end = indptr[rows.size * n_views] - 1
    for r in range(rows.size):
        i = rows[r]
        t = np.int64(tasks[i])
        begin, stop = indptr[r * n_views], indptr[(r + 1) * n_views]
        is_listed = begin < stop or slots.shape[1] == 0
        # f = <w_t, x_i>; while its weights are read, those of the next row come from memory
        after = min(r + 1, rows.size - 1)
        u, ahead = np.int64(tasks[rows[after]]), stop - begin
        f = bias_scale * bias[t]
        for l in range(group.shape[1]):
            g, c, h = group[t, l], column[t, l], max(group[u, l], 0)
            if g < 0:
                continue
            table, w = weights[starts[g] : starts[g + 1]], strides[g]
            coming, v = weights[starts[h] : starts[h + 1]], strides[h]
            if is_listed:
                for p in range(begin, stop):
                    f += scale[t, l] * reads[p] * table[np.int64(indices[p]) * w + c]
                    prefetch(coming, np.int64(indices[min(p + ahead, end)]) * v)
                continue
            total = 0.0
            for p in range(slots.shape[1]):
                total += table[np.int64(slots[r, p]) * w + c]
                prefetch(coming, np.int64(slots[after, p]) * v)
            f += scale[t, l] * total
        change = _visit(i, y[i] * f, examples, alpha, keep, loss, band)
        if change == 0.0:
            continue
        # w_s += K[s, t] change x_i for the tasks s of every group that t is in
        for l in range(group.shape[1]):
            g = group[t, l]
            if g < 0:
                continue
            table, w = weights[starts[g] : starts[g + 1]], strides[g]
            amount = scale[t, l] * change
            for m in range(n_views):
                first = begins[g] + (m * widths[g] + column[t, l]) * widths[g]
                coupling = kernels[first : first + widths[g]]
                if is_listed:
                    begin, stop = indptr[r * n_views + m], indptr[r * n_views + m + 1]
                    _add_row(indices, writes, begin, stop, amount, coupling, w, table)
                    continue
                for q in range(0, 4 * w, w):
                    for s in range(w):
                        pattern[q + s] = coupling[s] * amount if s < coupling.size else 0.0
                _add_slots(slots[r], shares, pattern, w, table)
        for m in range(n_views):
            for s in range(T):
                bias[s] += K[m, t, s] * bias_scale * change


@njit
def _add_slots(slots, shares, pattern, stride, flat):
    """Add one row of slots to the weights of all tasks, whose rows are padded to 4."""
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
def _add_row(indices, values, begin, stop, change, coupling, stride, flat):
    """Add change * values to the weights of every task, each by its coupling."""
    if stride == 1:
        step = change * coupling[0]
        for p in range(begin, stop):
            flat[indices[p]] += step * values[p]
        return
    for p in range(begin, stop):
        base = np.int64(indices[p]) * stride
        amount = change * values[p]
        for s in range(coupling.size):
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
def descend_gram(G, order, alpha, residuals, C, loss, omega):
    """Take one coordinate step on every example in order, updating all residuals.

    Steps are over-relaxed by the factor omega, 1 <= omega < 2. Returns the number of changed
    alphas.
    """
    n_changes = 0
    for r in range(order.size):
        i = order[r]
        old = alpha[i]
        H = max(np.float64(G[i, i]), 1e-12) / omega
        new = dual_step(loss, old, residuals[i], H, C[i])
        if new != old:
            n_changes += 1
            alpha[i] = new
            change = new - old
            row = G[i]
            for j in range(row.size):
                residuals[j] += change * row[j]
    return n_changes
