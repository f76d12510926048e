#!/usr/bin/env python3
"""Minimax fits behind src/ops/cpu/math-inl.hpp: coefficients, lowest power first, and relative error.
Needs numpy and mpmath; run once, by hand. Lawson's method: weighted least squares, weights grown where it errs."""
import numpy as np
from mpmath import erfc, exp, mp, mpf, sqrt

mp.dps = 40


def fit(basis, target, weight, rounds=400):
    density = np.ones(len(target)) / len(target)
    best = None
    for _ in range(rounds):
        s = np.sqrt(density) * weight
        c = np.linalg.lstsq(basis * s[:, None], target * s, rcond=None)[0]
        error = np.abs(basis @ c - target) * weight
        if best is None or error.max() < best[0]:
            best = (error.max(), c)
        density = density * (error + 1e-30)
        density /= density.sum()
    return best


def show(name, result):
    print(f"{name}: error {result[0]:.2e}, {[float(np.float32(c)) for c in result[1]]}")


nodes = np.cos(np.pi * (np.arange(2000) + 0.5) / 2000)
r = np.log(2) / 2 * 1.0005 * nodes
show("exp, q in 1 + r + r^2 q(r)", fit(np.vander(r, 5, increasing=True), (np.expm1(r) - r) / r**2, r**2 / np.exp(r)))
x = 0.65 * (1 + nodes) / 2
x = x[x > 1e-3]
show("tanh, q in x + x^3 q(x^2)", fit(np.vander(x * x, 5, increasing=True), (np.tanh(x) - x) / x**3, x**3 / np.tanh(x)))
t = np.concatenate([np.linspace(0, 3, 600), np.linspace(3, 14, 500)])
R = np.array([float(erfc(mpf(v) / sqrt(2)) / 2 * exp(mpf(v) ** 2 / 2)) for v in t])
show("gelu, R / s in s = 1 / (1 + t/4)", fit(np.vander(1 / (1 + t / 4), 10, increasing=True)[:, 1:], R, 1 / R, 300))
