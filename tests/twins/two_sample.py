"""Two-sample tests with p-values, in the standard library alone.

Seeds are fixed, so that a test either always passes or always fails. A comparison fails where a p-value is below
FALSE_ALARM: if product and twin follow one law, at most one choice of seeds in 10000 makes a test fail.
"""

import math
import statistics

FALSE_ALARM = 1e-4


def beta_share(a, b, x):
    """The regularised incomplete beta function I_x(a, b), by its continued fraction and Lentz's method."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_share(b, a, 1.0 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    value, c, d = 1.0, 1.0, 0.0
    for i in range(10000):
        m = i // 2
        if i == 0:
            term = 1.0
        elif i % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 / (1.0 + term * d or 1e-300)
        c = 1.0 + term / c or 1e-300
        value *= c * d
        if i > 1 and abs(1.0 - c * d) < 1e-13:
            break
    return front * (value - 1.0)


def mean_p_value(first, second):
    """Welch's t test: are the means of two samples those of one law?"""
    variances = [statistics.variance(sample) / len(sample) for sample in (first, second)]
    difference = statistics.fmean(first) - statistics.fmean(second)
    both = sum(variances)
    if both == 0.0:
        return 1.0 if difference == 0.0 else 0.0
    freedom = both**2 / sum(v**2 / (len(s) - 1) for v, s in zip(variances, (first, second)))
    return beta_share(freedom / 2.0, 0.5, freedom / (freedom + difference**2 / both))


def spread_p_value(first, second):
    """An F test of two variances. Its degrees of freedom are corrected by the pooled kurtosis, since errors need not be
    normal. Source: Shoemaker 2003, "Fixing the F test for equal variances"."""
    variances = [statistics.variance(sample) for sample in (first, second)]
    if min(variances) == 0.0:
        return 1.0 if max(variances) == 0.0 else 0.0
    centred = [x - statistics.fmean(sample) for sample in (first, second) for x in sample]
    kurtosis = statistics.fmean(x**4 for x in centred) / statistics.fmean(x**2 for x in centred) ** 2
    one, two = (2.0 * len(s) / max(kurtosis - (len(s) - 3.0) / (len(s) - 1.0), 1e-9) for s in (first, second))
    ratio = variances[0] / variances[1]
    below = beta_share(one / 2.0, two / 2.0, one * ratio / (one * ratio + two))
    return min(1.0, 2.0 * min(below, 1.0 - below))


def stated_spread_p_value(sample, variance):
    """A chi-square test: do normal errors with the mean 0 have the stated variance? The law is taken as normal on the
    scale of the cube root (Wilson and Hilferty), which is exact enough for 100 errors and more."""
    n = len(sample)
    share = math.fsum(x * x for x in sample) / variance / n
    score = (share ** (1.0 / 3.0) - (1.0 - 2.0 / (9.0 * n))) / math.sqrt(2.0 / (9.0 * n))
    return math.erfc(abs(score) / math.sqrt(2.0))
