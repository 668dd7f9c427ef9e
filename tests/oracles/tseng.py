"""Algorithm 1 of Li, Georgiopoulos, Anagnostopoulos (2014), Tseng's method for p > 1.

    min over theta >= 0, ||theta||_q <= 1   max over lambda >= 0, ||lambda||_{p*} <= 1
        sum_t lambda_t g_t(theta),                         p* = p / (p - 1)

The SVMs are trained by libsvm; nothing of the package is used.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

NEARNESS = 0.01  # weight of distances in lambda relative to theta; 1 is too slow for infinite p


def norm(v, r):
    """Return ||v||_r."""
    top = v.max()
    return top if np.isinf(r) or not top else top * ((v / top) ** r).sum() ** (1 / r)


def train(tasks, C, theta):
    """Return g_t and q_tm of the SVMs on (kernel matrices, labels)."""
    g, q = [], []
    for H, y in tasks:
        K = np.tensordot(theta, H, 1)
        svc = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
        signed = np.zeros(y.size)
        signed[svc.support_] = svc.dual_coef_[0]
        hinge = np.maximum(0.0, 1.0 - y * (K @ signed + svc.intercept_))
        g.append(0.5 * signed @ K @ signed + C * hinge.sum())
        q.append([signed @ kernel @ signed for kernel in H])
    return np.array(g), np.array(q)


def minimise(tasks, C, p, q, theta, gap=1e-6):
    """Return the p-norm of the g_t at the saddle point, and theta, from any theta."""
    dual = 1.0 if np.isinf(p) else p / (p - 1)
    weights, length, bound = np.full(len(tasks), len(tasks) ** (-1 / dual)), 1.0, 0.0

    def slopes(theta, weights):
        g, energies = train(tasks, C, theta)
        return -0.5 * (weights @ energies), -g

    def step(slopes):
        return (
            step_in_ball(theta, slopes[0], length, q),
            step_in_ball(weights, slopes[1], length / NEARNESS, dual),
        )

    while True:
        g, energies = train(tasks, C, theta)
        sums = g + 0.5 * energies @ theta  # of alpha
        conjugate = np.inf if q == 1 else q / (q - 1)
        bound = max(bound, weights @ sums - 0.5 * norm(weights @ energies, conjugate))
        if norm(g, p) - bound <= gap * bound:
            return norm(g, p), theta
        while True:
            ahead = step(slopes(theta, weights))  # eq. 10
            back = slopes(*ahead)
            end = step(back)
            strayed = sum(s @ (a - e) for s, a, e in zip(back, ahead, end, strict=True))
            distance = divergence(end[0], theta, q)
            distance += NEARNESS * divergence(end[1], weights, dual)
            if length * strayed <= distance + 1e-15:  # eq. 11
                break
            length /= 2
        theta, weights = end
        length *= 1.5


def step_in_ball(v, slope, length, r):
    """Return the x >= 0, ||x||_r <= 1 with the least length <slope, x> + D(x, v), by Theorem 2."""
    if np.isinf(r):
        return np.clip(v - length * slope, 0.0, 1.0)
    if r == 1.0:
        x = np.maximum(v - length * slope, 0.0)
        if x.sum() <= 1.0:
            return x
        falling = np.sort(x)[::-1]
        excess = (np.cumsum(falling) - 1.0) / np.arange(1, x.size + 1)
        return np.maximum(x - excess[np.flatnonzero(falling > excess)[-1]], 0.0)
    x = np.maximum(v ** (r - 1.0) - length * slope, 0.0) ** (1.0 / (r - 1.0))
    return x / max(norm(x, r), 1.0)


def divergence(x, v, r):
    """Return the Bregman divergence of sum x^r / r; Euclidean for r = 1 and infinity."""
    if r == 1.0 or np.isinf(r):
        return 0.5 * ((x - v) ** 2).sum()
    return ((x**r - v**r) / r - v ** (r - 1.0) * (x - v)).sum()
