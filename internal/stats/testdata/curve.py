"""Makes curve.json: what others find in fixed curves.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy ruptures piecewise-regression
    /tmp/venv/bin/python internal/stats/testdata/curve.py > internal/stats/testdata/curve.json

NumPy    least squares over every combination of up to two changes (places at levels), and the test of random signs with
         100,000 of them: the same definitions as docs/evidence/curves.md, written down a second time
ruptures the optimal partition (Dynp) of curves that are flat but for steps
piecewise-regression
         Muggeo's method for the place of a knee between levels, with its standard error
"""

import itertools
import json
import sys
from importlib.metadata import version

import numpy as np
import piecewise_regression
import ruptures

rng = np.random.default_rng(20170515)
POWERS = [1, 2, 4, 8, 16, 32, 64]


def draw(curve, levels, trials, sigma):
    return [{"x": float(x), "values": [round(float(1000 * curve(x) * np.exp(sigma * rng.normal())), 3) for _ in range(trials)]} for x in levels]


def columns(u):
    n = len(u)
    for i in range(1, n - 1):
        yield ["knee", float(np.exp(u[i]))], np.maximum(0, u - u[i])
    for i in range(2, n - 1):
        yield ["step", i], (np.arange(n) >= i).astype(float)


def logs(levels):
    return np.log([l["x"] for l in levels]), [np.log(l["values"]) for l in levels]


def left(design, root, medians):
    """Weighted sum of squares that is left."""
    a = np.column_stack(design) * root[:, None]
    fit = np.linalg.lstsq(a, medians * root, rcond=None)[0]
    return float(np.sum((a @ fit - medians * root) ** 2)), np.column_stack(design) @ fit


def search(levels, changes):
    u, values = logs(levels)
    root, medians = np.sqrt([len(v) for v in values]), np.array([np.median(v) for v in values])
    base, options = [np.ones(len(u)), u], list(columns(u))
    found = []
    for chosen in itertools.combinations(range(len(options)), changes):
        rss, fit = left(base + [options[c][1] for c in chosen], root, medians)
        found.append((rss, [options[c][0] for c in chosen], fit))
    found.sort(key=lambda f: f[0])
    return found


def signs(levels, draws=100_000):
    """p of one change against none."""
    u, values = logs(levels)
    n = [len(v) for v in values]
    root, medians = np.sqrt(n), np.array([np.median(v) for v in values])
    base = np.column_stack([np.ones(len(u)), u])
    a = base * root[:, None]
    fit = base @ np.linalg.lstsq(a, medians * root, rcond=None)[0]
    q = np.linalg.qr(a)[0]
    directions = []
    for _, c in columns(u):
        c = c * root
        c = c - q @ (q.T @ c)
        directions.append(c / np.linalg.norm(c))
    directions = np.array(directions)

    def statistic(samples):  # samples[level] is draws x trials
        med = np.stack([np.median(s, axis=1) for s in samples], axis=1)
        spread = sum(np.abs(s - m[:, None]).sum(axis=1) for s, m in zip(samples, med.T)) / (sum(n) - len(n))
        return ((med * root) @ directions.T).__pow__(2).max(axis=1) / spread**2

    observed = statistic([v[None, :] for v in values])[0]
    r = np.random.default_rng(1)
    signed = [(v - f) * r.choice([-1.0, 1.0], size=(draws, len(v))) for v, f in zip(values, fit)]
    return float((1 + np.sum(statistic(signed) >= observed * (1 - 1e-12))) / (1 + draws))


def cases():
    flat = lambda x: 1.0
    fall = lambda at, to: lambda x: to if x > at else 1.0
    knee = lambda at: lambda x: min(x, at)
    overload = lambda x: 4.8 if x > 24 else min(x, 8)
    for name, curve, levels, trials, sigma in [
        ("flat", flat, POWERS, 5, 0.1),
        ("flat, other noise", flat, POWERS, 4, 0.05),
        ("flat, 4 levels", flat, [1, 4, 16, 64], 3, 0.1),
        ("falls to 80%", fall(16, 0.8), POWERS, 5, 0.1),
        ("falls to 90%", fall(16, 0.9), POWERS, 5, 0.05),
        ("falls to 50%", fall(8, 0.5), POWERS, 6, 0.05),
        ("falls at the end", fall(32, 0.7), POWERS, 5, 0.05),
        ("rises at the beginning", knee(2), POWERS, 5, 0.05),
        ("saturates", knee(8), POWERS, 5, 0.1),
        ("saturates, other levels", knee(6), [1, 2, 3, 4, 6, 8, 12, 16, 24, 32], 3, 0.1),
        ("rises, stays, falls", overload, POWERS, 5, 0.05),
        ("rises, stays, falls, 12 levels", overload, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64], 4, 0.05),
    ]:
        l = draw(curve, levels, trials, sigma)
        case = {"name": name, "levels": l, "p": signs(l), "searches": []}
        for changes in (1, 2) if len(levels) > 4 else (1,):
            best, second = search(l, changes)[:2]
            case["searches"].append({"changes": best[1], "rss": best[0], "second": second[0], "fit": np.exp(best[2]).tolist()})
        yield case


def steps():
    """Curves that are flat but for steps: where ruptures puts these."""
    for factors, trials, sigma in [([1, 1, 1, 1, 0.6, 0.6, 0.6], 5, 0.05), ([1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5], 5, 0.1),
                                   ([1, 1, 1, 1.6, 1.6, 1.6, 0.8, 0.8, 0.8], 5, 0.05)]:
        x = [2.0**i for i in range(len(factors))]
        l = [draw(lambda _: f, [v], trials, sigma)[0] for f, v in zip(factors, x)]
        medians = np.array([np.median(v) for v in logs(l)[1]])
        changes = sum(a != b for a, b in zip(factors, factors[1:]))
        ends = ruptures.Dynp(model="l2", min_size=1, jump=1).fit(medians).predict(n_bkps=changes)
        yield {"levels": l, "after": ends[:-1]}


def knees():
    """Knees between levels: Muggeo's estimate, in logarithms."""
    for at, trials, sigma in [(6, 5, 0.03), (11, 5, 0.05), (5, 9, 0.1), (23, 5, 0.03)]:
        l = draw(lambda x: min(x, at), POWERS, trials, sigma)
        u, values = logs(l)
        np.random.seed(1)
        fit = piecewise_regression.Fit(u.tolist(), [float(np.median(v)) for v in values], n_breakpoints=1, start_values=[float(np.log(at))])
        e = fit.get_results()["estimates"]
        yield {"levels": l, "at": float(np.exp(e["breakpoint1"]["estimate"])), "before": e["alpha1"]["estimate"], "after": e["alpha2"]["estimate"]}


json.dump({
    "versions": {p: version(p) for p in ("numpy", "ruptures", "piecewise-regression")},
    "cases": list(cases()), "steps": list(steps()), "knees": list(knees()),
}, sys.stdout, separators=(",", ":"))
print()
