"""Makes oracle.json: what SciPy and NumPy say about fixed samples.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install scipy==1.17.1 numpy
    /tmp/venv/bin/python internal/stats/testdata/oracle.py > internal/stats/testdata/oracle.json
"""

import itertools
import json
import sys

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20170515)


def mann_whitney(name, x, y):
    x, y = list(map(float, x)), list(map(float, y))
    ties = len(set(x + y)) < len(x + y)
    if len(x) + len(y) > 50:
        method = "asymptotic"
        p = stats.mannwhitneyu(x, y, method="asymptotic").pvalue
    elif not ties:
        method = "exact"
        p = stats.mannwhitneyu(x, y, method="exact").pvalue
    else:
        # SciPy's exact method knows no ties: enumerate all permutations.
        method = "permutation"
        u = lambda a, b, axis: stats.mannwhitneyu(a, b, axis=axis, method="asymptotic").statistic
        p = stats.permutation_test((x, y), u, vectorized=True, n_resamples=np.inf, permutation_type="independent").pvalue
    return {"name": name, "x": x, "y": y, "method": method, "p": float(p)}


def mann_whitney_cases():
    yield mann_whitney("3 against 3, apart", [1, 2, 3], [4, 5, 6])
    yield mann_whitney("4 against 4, apart", [1, 2, 3, 4], [5, 6, 7, 8])
    yield mann_whitney("5 against 5, overlapping", [12.1, 12.4, 11.9, 13.0, 12.2], [12.3, 12.8, 13.1, 12.6, 12.9])
    yield mann_whitney("1 against 7", [3.5], [1, 2, 3, 4, 5, 6, 7])
    yield mann_whitney("tie across", [1, 2, 3, 4], [4, 5, 6, 7])
    yield mann_whitney("ties within", [1, 1, 2, 2], [3, 3, 4, 4])
    yield mann_whitney("ties, lopsided", [1, 1, 1, 5], [1, 2, 2, 9, 9])
    yield mann_whitney("all equal", [7, 7, 7], [7, 7, 7, 7])
    for n, m in [(2, 5), (5, 7), (7, 7), (10, 4), (12, 12), (25, 25)]:
        yield mann_whitney(f"{n} against {m}, normal", rng.normal(0, 1, n).round(6), rng.normal(0.8, 1, m).round(6))
    for n, m in [(3, 4), (4, 4), (5, 6), (6, 6)]:
        yield mann_whitney(f"{n} against {m}, few values", rng.integers(0, 4, n), rng.integers(1, 5, m))
    for n, m in [(26, 25), (40, 30), (100, 120)]:
        yield mann_whitney(f"{n} against {m}, large", rng.normal(0, 1, n).round(6), rng.normal(0.3, 1, m).round(6))
        yield mann_whitney(f"{n} against {m}, large with ties", rng.integers(0, 9, n), rng.integers(1, 10, m))


def quantile_cases():
    for n in (1, 2, 3, 4, 5, 8, 31):
        v = rng.lognormal(9, 0.5, n).round(3).tolist()
        q = [0, 0.025, 0.1, 0.25, 0.5, 0.9, 0.975, 1]
        yield {"values": v, "q": q, "want": np.quantile(v, q, method="linear").tolist(), "median": float(np.median(v))}


def median_interval_cases():
    """SciPy's distribution-free interval of a quantile, at the level that n allows."""
    for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 25, 50, 101):
        v = rng.lognormal(9, 0.3, n).round(3).tolist()
        # 1 - 2 P(B < k) for the largest k that keeps 95%; the extremes else.
        k = 1
        while 2 * (k + 1) <= n and 1 - 2 * stats.binom.cdf(k, n, 0.5) >= 0.95:
            k += 1
        coverage = max(0.0, 1 - 2 * stats.binom.cdf(k - 1, n, 0.5))
        s = sorted(v)
        case = {"values": v, "low": s[k - 1], "high": s[n - k], "coverage": float(coverage)}
        if n >= 6:
            ci = stats.quantile_test(v, q=0, p=0.5).confidence_interval(confidence_level=0.95)
            case["scipy_low"], case["scipy_high"] = float(ci.low), float(ci.high)
        yield case


def exact_bootstrap(x, y):
    """The whole bootstrap distribution of the ratio, every resample counted."""
    mx = np.median(np.array(list(itertools.product(x, repeat=len(x)))), axis=1)
    my = np.median(np.array(list(itertools.product(y, repeat=len(y)))), axis=1)
    r = np.sort(np.divide.outer(mx, my).ravel())
    at = lambda q: float(r[int(round(q * len(r)))])
    # The quantiles, and their neighbours at plus and minus 0.5 percentage
    # points: a Monte Carlo bootstrap has to lie between these.
    return [at(0.020), at(0.025), at(0.030)], [at(0.970), at(0.975), at(0.980)]


def ratio_cases():
    for n, m in [(3, 3), (4, 4), (5, 5), (3, 5)]:
        x, y = rng.lognormal(9.5, 0.1, n).round(2).tolist(), rng.lognormal(8, 0.1, m).round(2).tolist()
        low, high = exact_bootstrap(x, y)
        yield {"subject": x, "baseline": y, "method": "enumeration", "ratio": float(np.median(x) / np.median(y)),
               "low": low, "high": high}
    for n, m in [(12, 12), (30, 21)]:
        x, y = rng.lognormal(9.5, 0.2, n).round(2).tolist(), rng.lognormal(9.4, 0.2, m).round(2).tolist()
        b = stats.bootstrap((x, y), lambda a, b, axis: np.median(a, axis=axis) / np.median(b, axis=axis), vectorized=True,
                            n_resamples=200_000, method="percentile", rng=np.random.default_rng(1)).bootstrap_distribution
        at = lambda q: float(np.quantile(b, q))
        yield {"subject": x, "baseline": y, "method": "scipy.stats.bootstrap", "ratio": float(np.median(x) / np.median(y)),
               "low": [at(0.020), at(0.025), at(0.030)], "high": [at(0.970), at(0.975), at(0.980)]}


json.dump({
    "scipy": scipy.__version__, "numpy": np.__version__,
    "mann_whitney": list(mann_whitney_cases()),
    "quantile": list(quantile_cases()),
    "median_interval": list(median_interval_cases()),
    "ratio": list(ratio_cases()),
}, sys.stdout, indent=1)
print()
