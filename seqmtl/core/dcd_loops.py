"""Compiled loops of dual coordinate descent.

    minimise over alpha    1/2 sum_{s,t} K[s,t] <v_s, v_t>
                           + sum_i [C_i loss*(-alpha_i / C_i) - alpha_i z_i]
    subject to             the bounds of the loss on alpha_i, see :mod:`seqmtl.core.dcd`
    given                  rows x_i, labels y_i, tasks t_i, H_i = K[t_i,t_i] ||x_i||^2, costs C_i,
                           targets z_i
    updated                alpha and W = V K

Three loops take the same steps, those of lines 5 to 10 of Algorithm 1 of Widmer et al. (2012):

==================  =====================================================================
plain_epoch         as in the paper: lists of features, and K a matrix. Read this first
epoch               features are slots (:mod:`seqmtl.core.rows`), several views, or K in
                    groups of columns (:mod:`seqmtl.core.grouped_kernel`)
gram_epochs         on a kernel matrix (:mod:`seqmtl.core.gram`)
==================  =====================================================================

In the loops the constant feature, which is part of x_i in the formulas, is apart from the others.
"""

import math

import numpy as np

from seqmtl._jit import add_scaled_4, add_scaled_16, njit, prefetch


@njit
def plain_epoch(block, rows, examples, state, K, bias_scale, loss, shrink_margin):
    """Take one coordinate step on every row of the block, in order: 2012, Algorithm 1.

    Parameters
    ----------
    block : tuple
        The rows: row r has the features ``indices[indptr[r]:indptr[r + 1]]`` with these `values`.
    rows : ndarray of int64
        Example of every row.
    examples : tuple of ndarray
        y, tasks, H, C and targets of all examples.
    state : tuple of ndarray
        What is changed: alpha, W (n_features, T), weights of the constant feature, and which
        examples stay active.
    K : ndarray of float64, shape (T, T)
        Task kernel.
    bias_scale : float
        Value of the constant feature.
    loss : tuple
        See :attr:`seqmtl.core.losses.Loss.as_numba_args`.
    shrink_margin : float
        See :func:`_update_alpha`.
    """
    indptr, indices, values = block[:3]
    y, tasks = examples[:2]
    alpha, W, bias, stays = state
    flat, last = W.reshape(W.size), indptr[rows.size] - 1
    for r in range(rows.size):
        i = rows[r]
        t = np.int64(tasks[i])
        f = bias_scale * bias[t]
        n_features = indptr[r + 1] - indptr[r]
        for p in range(indptr[r], indptr[r + 1]):  # the score f = <w_t, x_i>
            f += values[p] * W[indices[p], t]
            # no mathematics: requests the weights of the next row from memory
            prefetch(flat, np.int64(indices[min(p + n_features, last)]) * W.shape[1])
        change = _update_alpha(i, y[i] * f, examples, alpha, stays, loss, shrink_margin)  # 6 to 8
        if change == 0.0:
            continue
        for p in range(indptr[r], indptr[r + 1]):  # line 9 and eq. 16: w_s += K[s,t] change x_i
            amount = change * values[p]
            for s in range(K.shape[0]):
                W[indices[p], s] += K[s, t] * amount
        for s in range(K.shape[0]):
            bias[s] += K[s, t] * change * bias_scale


@njit
def dual_step(loss, alpha, residual, H, C):
    """Return the minimiser over one alpha with all others fixed, for every loss.

    For the hinge this is eq. 17 and 18 of Widmer et al. (2012), clip(alpha + (1 - r) / H, 0, C)
    with the residual r. In general, with the curvature D of the loss's own term,

        alpha + (required margin - r - D alpha) / (H + D),    brought nearer to 0 by
        epsilon / (H + D), and clipped to the bounds.
    """
    required_margin, is_signed, curvature, reaches_C, epsilon, is_logistic = loss
    if is_logistic:
        return _logistic_step(alpha, residual, H, C)
    D = curvature / C
    center = alpha + (required_margin - residual - D * alpha) / (H + D)
    width = epsilon / (H + D)
    new = max(center - width, 0.0) + min(center + width, 0.0)
    upper = C if reaches_C else np.inf
    return min(max(new, -upper if is_signed else 0.0), upper)


@njit
def _logistic_step(alpha, residual, H, C):
    """Solve H (C s(u) - alpha) + residual + u = 0 for u, by Newton's method; return C s(u).

    s(u) = 1 / (1 + exp(-u)) (Yu, Huang, Lin 2011).
    """
    # s(u) is in (0, 1), which brackets u
    low = -residual + H * (alpha - C)
    high = -residual + H * alpha
    u = 0.5 * (low + high)
    if 0.0 < alpha < C:
        u = min(max(math.log(alpha / (C - alpha)), low), high)
    width = high - low
    for _ in range(60):  # a handful suffice
        s = 1.0 / (1.0 + math.exp(-u)) if u > -700.0 else 0.0  # exp(709) overflows
        g = H * (C * s - alpha) + residual + u
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
def _update_alpha(i, margin, examples, alpha, stays, loss, shrink_margin):
    """Set alpha[i] to its minimiser; return the change times y.

    An example leaves the active ones while its alpha is at a bound, and its residual is farther
    than `shrink_margin` from where it would leave the bound.
    """
    y, _, H, C, targets = examples
    required_margin, is_signed, curvature, reaches_C, epsilon, _ = loss
    residual = margin - targets[i] if targets.size > 0 else margin
    old = alpha[i]  # line 7
    new = dual_step(loss, old, residual, H[i], C[i])  # lines 6 and 8
    # at a bound, and the gradient points outwards by more than shrink_margin; unlike in LIBLINEAR,
    # alpha is the one after the step, the residual the one before. As Loss.can_shrink
    violation = required_margin - residual
    can_shrink = (
        new == 0.0 and (abs(violation) if is_signed else violation) - epsilon < -shrink_margin
    )
    if reaches_C and abs(new) == C[i]:
        excess = (violation if new > 0.0 else -violation) - curvature - epsilon
        can_shrink = can_shrink or excess > shrink_margin
    stays[i] = not can_shrink
    alpha[i] = new
    return (new - old) * y[i]


@njit
def epoch(block, rows, examples, state, groups, K, bias_scale, loss, shrink_margin):
    """Take the steps of :func:`plain_epoch` on weights in groups and on slots.

    The mathematics is the same; read that function first. Task t reads and writes one column of a
    few groups, one on each level. The features of a row are listed, or they are slots, of which
    every row has as many, with factors that depend on the slot alone. Rows of several views follow
    each other.

    Parameters
    ----------
    block : tuple
        The rows, a :class:`~seqmtl.core.rows.RowBlock`.
    rows : ndarray of int64
        Example of every row.
    examples : tuple of ndarray
        y, tasks, H, C and targets of all examples.
    state : tuple of ndarray
        What is changed: alpha, all weights, those of the constant feature, and which examples stay
        active.
    groups : tuple of ndarray
        Group, column and scale of every task and level; all K_g in one array, where each begins
        and its size; the first weight of every group and the length of its rows.
    K : ndarray of float64, shape (n_views, T, T)
        The same task kernels for the constant feature.
    bias_scale : float
        Value of the constant feature.
    loss : tuple
        See :attr:`seqmtl.core.losses.Loss.as_numba_args`.
    shrink_margin : float
        See :func:`_update_alpha`.
    """
    indptr, indices, reads, writes, slots, shares = block
    y, tasks = examples[:2]
    alpha, weights, bias, stays = state
    group, column, scale, kernels, begins, widths, starts, strides = groups
    n_views, T = K.shape[:2]
    widest = 0
    for stride in strides:  # strides.max() would load scipy
        widest = max(widest, stride)
    # four copies of the change of one slot, so that a slot and its siblings are one vector add
    pattern = np.zeros(4 * widest, weights.dtype)
    end = indptr[rows.size * n_views] - 1
    for r in range(rows.size):
        i = rows[r]
        t = np.int64(tasks[i])
        begin, stop = indptr[r * n_views], indptr[(r + 1) * n_views]
        is_listed = begin < stop or slots.shape[1] == 0
        # f = <w_t, x_i>. Weights of the next row are prefetched: reads of W are random, and the
        # tables are larger than the cache
        after = min(r + 1, rows.size - 1)
        u, ahead = np.int64(tasks[rows[after]]), stop - begin
        f = bias_scale * bias[t]
        for l in range(group.shape[1]):
            # the score is a sum over levels: one column of one group each
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
            total = 0.0  # slots read plain sums of weights, so there is nothing to multiply by
            for p in range(slots.shape[1]):
                total += table[np.int64(slots[r, p]) * w + c]
                prefetch(coming, np.int64(slots[after, p]) * v)
            f += scale[t, l] * total
        change = _update_alpha(i, y[i] * f, examples, alpha, stays, loss, shrink_margin)
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
                K_t = kernels[first : first + widths[g]]
                if is_listed:
                    begin, stop = indptr[r * n_views + m], indptr[r * n_views + m + 1]
                    _add_row(indices, writes, begin, stop, amount, K_t, w, table)
                    continue
                for q in range(0, 4 * w, w):  # columns that pad a row get 0
                    for s in range(w):
                        pattern[q + s] = K_t[s] * amount if s < K_t.size else 0.0
                _add_slots(slots[r], shares, pattern, w, table)
        for m in range(n_views):
            for s in range(T):
                bias[s] += K[m, t, s] * bias_scale * change


@njit
def _add_slots(slots, shares, pattern, stride, flat):
    """Add one row of slots to the weights of all tasks.

    A k-mer adds shares[p, 0] to its own weight, and its prefix, which the three siblings contain,
    too, adds shares[p, 1] to all four. Siblings are neighbours, as their indices differ in the last
    letter, and rows are padded to 4 tasks: every addition is whole vectors.
    """
    for p in range(slots.size):
        slot = np.int64(slots[p])
        base = (slot & ~np.int64(3)) * stride  # the first of the four siblings
        if stride == 1:
            if shares[p, 1] != 0.0:
                add_scaled_4(flat, base, pattern, np.int64(0), (shares[p, 1],))
            flat[slot] += shares[p, 0] * pattern[0]
        else:
            if shares[p, 1] != 0.0:
                for q in range(0, 4 * stride, 16):
                    add_scaled_16(flat, base + q, pattern, np.int64(q), (shares[p, 1],))
            for q in range(0, stride, 4):
                add_scaled_4(flat, slot * stride + q, pattern, np.int64(q), (shares[p, 0],))


@njit
def _add_row(indices, values, begin, stop, change, K_t, stride, flat):
    """Add change * values to the weights of every task, by its entry of K."""
    if stride == 1:
        step = change * K_t[0]
        for p in range(begin, stop):
            flat[indices[p]] += step * values[p]
        return
    for p in range(begin, stop):
        base = np.int64(indices[p]) * stride
        amount = change * values[p]
        for s in range(K_t.size):
            flat[base + s] += K_t[s] * amount


@njit
def add_hessian(G, y, tasks, K, is_added, H):
    """Set H to the Hessian of the dual for kernel values G, or add that to H."""
    for i in range(y.size):
        K_i, row = K[tasks[i]], H[i]
        for j in range(y.size):
            value = y[i] * y[j] * K_i[tasks[j]] * G[i, j]
            row[j] = row[j] + value if is_added else value


@njit
def gram_epochs(H, order, alpha, residuals, C, loss):
    """Take one coordinate step on every example in order, updating the residuals of all.

    A step reads one row of H; this is Algorithm 1 of Widmer et al. (2012) where W is not formed.
    """
    for r in range(order.size):
        i = order[r]
        old = alpha[i]
        new = dual_step(loss, old, residuals[i], max(np.float64(H[i, i]), 1e-12), C[i])
        if new != old:
            alpha[i] = new
            change = new - old
            row = H[i]  # H is symmetric; rows are contiguous
            for j in range(row.size):
                residuals[j] += change * row[j]
