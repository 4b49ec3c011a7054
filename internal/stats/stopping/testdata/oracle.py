"""Makes oracle.json: what NumPy, SciPy and statsmodels say about fixed series.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy==1.17.1 statsmodels==0.15.0
    /tmp/venv/bin/python internal/stats/stopping/testdata/oracle.py > internal/stats/stopping/testdata/oracle.json

Everything is computed from its definition and without regard to speed, not as
the Go code does it.
"""

import json
import sys

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.stattools import durbin_watson
from statsmodels.tsa.arima_process import arma_generate_sample

rng = np.random.default_rng(20170515)


def ar(phi, n, sd=500):
    noise = lambda size: rng.normal(0, sd, size)
    return 10000 + arma_generate_sample([1, -phi], [1], n, distrvs=noise, burnin=200)


def series():
    t = np.arange(400)
    yield "white", 10000 + rng.normal(0, 500, 400)
    yield "ar-0.5", ar(0.5, 300)
    yield "ar-0.9", ar(0.9, 403)
    yield "ar-0.99", ar(0.99, 397)
    yield "alternating", ar(-0.8, 200)
    yield "ramp to plateau", 10000 - 8000 * np.exp(-t / 40) + rng.normal(0, 300, 400)
    yield "falling", 12000 - 10 * t + rng.normal(0, 300, 400)
    yield "sine", 10000 + 2000 * np.sin(2 * np.pi * t / 40) + rng.normal(0, 200, 400)
    yield "step", np.where(t < 120, 16000, 10000) + rng.normal(0, 400, 400)
    yield "late step", np.where(t < 300, 16000, 10000) + rng.normal(0, 400, 400)
    yield "spikes", np.where(t % 37 < 3, 3000, 10000) + rng.normal(0, 400, 400)
    yield "log-normal", 10000 * rng.lognormal(0, 0.8, 251)
    yield "eleven", 10000 + rng.normal(0, 500, 11)
    yield "thirty-eight", 10000 + rng.normal(0, 500, 38)
    yield "stalled", np.zeros(100)


def mser5(x):
    k = len(x) // 5
    y = x[: 5 * k].reshape(k, 5).mean(axis=1)
    if k - 5 < 2:
        return {"cut": 0, "best": 0, "enough": False}
    # The squared standard error of the mean of what is left, as White has it.
    objective = np.array([np.var(y[d:]) / (k - d) for d in range(k - 5 + 1)])
    half = objective[: k // 2 + 1]
    return {"cut": 5 * int(np.argmin(half)), "best": 5 * int(np.argmin(objective)), "enough": True}


def batches(x, k):
    size = len(x) // k
    return x[len(x) - k * size :].reshape(k, size).mean(axis=1), size


def von_neumann(y):
    if np.ptp(y) == 0:
        return 0.0, 1.0
    k = len(y)
    c = 1 - durbin_watson(y - y.mean()) / 2
    return float(c), float(2 * stats.norm.sf(abs(c), scale=np.sqrt((k - 2) / (k**2 - 1))))


def interval(x, confidence):
    for k in (20, 10):
        if len(x) < k:
            continue
        y, size = batches(x, k)
        lag1, p = von_neumann(y)
        if p >= 0.2:
            break
    r = max(0, lag1)
    half = 0.0
    if np.ptp(y) > 0:
        low, high = stats.t.interval(confidence, k - 1, loc=0, scale=stats.sem(y))
        half = (high - low) / 2 * np.sqrt((1 + r) / (1 - r))
    line = stats.linregress(np.arange(k), y)
    return {
        "confidence": confidence, "batches": k, "size": size, "mean": float(y.mean()), "half_width": float(half),
        "lag1": lag1, "p": p, "rise": float(line.slope * (k - 1)), "rise_p": float(line.pvalue) if np.ptp(y) > 0 else 1.0,
    }


def snia(rounds):
    for start in range(len(rounds) - 4):
        y = np.array(rounds[start : start + 5])
        slope, intercept = np.polyfit(np.arange(5), y, 1)
        fit = intercept + slope * np.arange(5)
        excursion, rise = np.ptp(y) / y.mean(), (fit[4] - fit[0]) / y.mean()
        settled = bool(excursion <= 0.20 and abs(rise) <= 0.10)
        if settled:
            break
    return {
        "rounds": list(map(float, rounds)), "settled": settled, "from": start, "average": float(y.mean()),
        "excursion": float(excursion), "slope": float(rise), "first": float(fit[0]), "last": float(fit[4]),
    }


def snia_cases():
    yield snia([100, 101, 99, 100, 102])
    yield snia([300, 210, 160, 130, 112, 104, 101, 100, 99, 101])  # a fresh device that fills
    yield snia([100, 95, 91, 87, 84, 80, 77])  # falls by less than 10% a round, and never settles
    yield snia([100, 118, 84, 100, 120, 85])  # no slope, too much excursion
    yield snia([108, 92, 108, 92, 100])
    for _ in range(12):
        n = rng.integers(5, 26)
        yield snia(np.round(1000 * (1 + rng.uniform(0, 1.5) * np.exp(-np.arange(n) / 3)) * rng.lognormal(0, rng.uniform(0.01, 0.1), n)))


def cases():
    for name, x in series():
        x = np.round(x)
        yield {
            "name": name, "values": [int(v) for v in x], "mser5": mser5(x),
            "intervals": [interval(x, c) for c in (0.9, 0.95, 0.99)],
        }


def relative(values):
    low, high = stats.t.interval(0.95, len(values) - 1, loc=0, scale=stats.sem(values))
    return {"values": list(map(float, values)), "confidence": 0.95, "relative": float((high - low) / 2 / np.mean(values))}


def trials(n, level, noise):
    return np.round(level * rng.lognormal(0, noise, n), 2)


def across_trials():
    """Of trials: the precision of a mean."""
    return {"means": [relative(trials(n, 5000, noise)) for n in (2, 3, 4, 5, 10, 30) for noise in (0.001, 0.03, 0.4)]}


degrees = [1, 2, 3, 4, 5, 8, 9, 18, 19, 30, 39, 120]
probabilities = [0.6, 0.75, 0.9, 0.95, 0.975, 0.995, 0.9999]
json.dump(
    {
        "versions": f"NumPy {np.__version__}, SciPy {scipy.__version__}, statsmodels {statsmodels.__version__}",
        "series": list(cases()),
        "snia": list(snia_cases()),
        "student": [{"degrees": n, "p": p, "t": float(stats.t.ppf(p, n))} for n in degrees for p in probabilities],
        "trials": across_trials(),
    },
    sys.stdout,
    separators=(",", ":"),
)
print()
