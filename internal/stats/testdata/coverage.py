"""How often the percentile bootstrap interval of a ratio of medians holds the
true ratio: the table in docs/reference/findings.md. Takes a minute; needs numpy.
"""

import numpy as np

rng = np.random.default_rng(1)
PAIRS, RESAMPLES, SIGMA = 4000, 1000, 0.1


def medians(sample):
    """The medians of RESAMPLES bootstrap samples."""
    return np.median(sample[rng.integers(0, len(sample), (RESAMPLES, len(sample)))], axis=1)


for n in (3, 4, 5, 6, 7, 10, 20):
    held = 0
    for _ in range(PAIRS):
        x, y = rng.lognormal(0, SIGMA, n), rng.lognormal(0, SIGMA, n)
        low, high = np.quantile(medians(x) / medians(y), [0.025, 0.975])
        held += low <= 1 <= high
    print(n, held / PAIRS)
