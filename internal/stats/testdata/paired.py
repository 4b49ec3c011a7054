"""Makes paired.json: what SciPy and NumPy say about pairs, many tests, and parts of variance.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install scipy==1.17.1 numpy
    /tmp/venv/bin/python internal/stats/testdata/paired.py > internal/stats/testdata/paired.json
"""

import json
import sys

import numpy as np
import scipy
from scipy import stats
from scipy.stats import mstats

rng = np.random.default_rng(20261122)


def paired_cases():
    for n in (1, 3, 4, 5, 7, 8, 12, 17, 18, 30):
        for effect in (0, 0.02, 0.3):
            region = rng.lognormal(9, 0.3, n)
            x = (region * np.exp(effect + 0.05 * rng.standard_t(3, n))).round(3)
            y = (region * np.exp(0.05 * rng.standard_t(3, n))).round(3)
            d, cut = np.log(x) - np.log(y), (n + 2) // 10
            case = {"subject": x.tolist(), "baseline": y.tolist()}
            if n < 4:
                case |= {"ratio": float(np.exp(d.mean())), "p": 1.0}
            elif cut == 0:
                test = stats.ttest_rel(np.log(x), np.log(y))
                ci = test.confidence_interval(0.95)
                case |= {"ratio": float(np.exp(d.mean())), "p": float(test.pvalue), "low": float(np.exp(ci.low)), "high": float(np.exp(ci.high))}
            else:
                # Yuen's test of one sample: SciPy has its two halves.
                mean = float(stats.trim_mean(d, cut / n + 1e-9))
                w = np.asarray(mstats.winsorize(d, limits=(cut / n + 1e-9, cut / n + 1e-9)))
                h = n - 2 * cut
                se = np.sqrt(((w - w.mean()) ** 2).sum() / (h * (h - 1)))
                half = stats.t.ppf(0.975, h - 1) * se
                case |= {"ratio": float(np.exp(mean)), "p": float(2 * stats.t.sf(abs(mean) / se, h - 1)),
                         "low": float(np.exp(mean - half)), "high": float(np.exp(mean + half))}
            yield case


def discovery_cases():
    for n in (1, 2, 5, 36, 100):
        ps = np.concatenate([rng.uniform(0, 1, n - n // 3), rng.uniform(0, 0.01, n // 3)])
        rng.shuffle(ps)
        yield {"p": ps.tolist(), "adjusted": stats.false_discovery_control(ps, method="bh").tolist()}
    ties = [0.01, 0.01, 0.04, 0.04, 1.0, 0.0]
    yield {"p": ties, "adjusted": stats.false_discovery_control(ties, method="bh").tolist()}


def left(columns, y):
    """Squares that a least-squares fit leaves, and its rank."""
    beta, _, rank, _ = np.linalg.lstsq(columns, y, rcond=None)
    return float(((y - columns @ beta) ** 2).sum()), int(rank)


def parts(cells):
    """Henderson's third method, by projections."""
    t = np.array([c["treatment"] for c in cells])
    b = np.array([c["block"] for c in cells])
    means = np.array([np.mean(c["logs"]) for c in cells])
    T = (t[:, None] == np.unique(t)).astype(float)
    B = (b[:, None] == np.unique(b)).astype(float)
    degrees = sum(len(c["logs"]) - 1 for c in cells)
    out = {}
    trial = 0.0
    if degrees:
        trial = sum(((np.array(c["logs"]) - np.mean(c["logs"])) ** 2).sum() for c in cells) / degrees
        out["within"] = float(np.sqrt(trial))
    alone, rank_t = left(T, means)
    both, rank = left(np.hstack([T, B]), means)
    free = len(cells) - rank
    if free < 1:
        return out
    residual = both / free
    inverse = np.mean([1 / len(c["logs"]) for c in cells])
    out["between"] = float(np.sqrt(max(0, residual - trial * inverse))) if degrees else float(np.sqrt(residual))
    if rank > rank_t:
        # E[R(block | treatment)] = tr(B' M B) sigma^2 + (rank - rank_t) residual, M the projection off treatments
        M = np.eye(len(cells)) - T @ np.linalg.pinv(T)
        out["blocks"] = float(np.sqrt(max(0, (alone - both - (rank - rank_t) * residual) / np.trace(B.T @ M @ B))))
    return out


def variance_cases():
    for treatments, blocks, trials, missing in [(4, 5, 2, 0), (9, 5, 1, 0), (3, 12, 3, 0.3), (6, 30, 2, 0.6), (2, 4, 1, 0), (1, 6, 2, 0), (5, 1, 3, 0), (4, 8, 2, 0.75)]:
        shared = rng.normal(0, 0.14, blocks)
        cells = []
        for t in range(treatments):
            for b in range(blocks):
                if rng.random() < missing:
                    continue
                made = 9 + t / 3 + shared[b] + rng.normal(0, 0.05)
                n = trials if b == 0 else rng.integers(1, trials + 1)
                cells.append({"treatment": t, "block": b, "logs": (made + rng.normal(0, 0.04, n)).round(6).tolist()})
        yield {"cells": cells, "parts": parts(cells)}


json.dump({
    "scipy": scipy.__version__, "numpy": np.__version__,
    "paired": list(paired_cases()), "discovery": list(discovery_cases()), "variance": list(variance_cases()),
    "student": [{"t": t, "degrees": n, "p": float(2 * stats.t.sf(abs(t), n))} for n in (1, 2, 3, 4, 9, 29) for t in (-12, -2.5, -0.1, 0, 0.7, 3, 40)],
}, sys.stdout, indent=1)
print()
