"""Quantiles of cells, from noised counts and by the exponential mechanism.

Source: the specification, statistics 2.1 (noise intervals), 6 (quantiles; exponential mechanism). The product selects
cells where the specification selects edges, as docs/statistics.md says under "Functions": a cell's distance is the
number of records by which the rank p n is outside it.
"""

import bisect
import itertools
import math
import statistics

ALPHA = 0.05


def cell_counts(values, edges):
    """Records in the cells (e_(j-1), e_j]; a value at the lowest edge is in the first cell."""
    out = [0] * (len(edges) - 1)
    for value in values:
        out[max(bisect.bisect_left(edges, value), 1) - 1] += 1
    return out


def discrete_laplace(epsilon, draw):
    """P[k] = (1 - q) / (1 + q) q^|k|, q = exp(-epsilon / 2): one record moves two cells. It is the difference of two
    geometric variables."""
    geometric = lambda: math.floor(math.log(1.0 - draw.random()) * -2.0 / epsilon)
    return geometric() - geometric()


def laplace_variance(epsilon):
    q = math.exp(-epsilon / 2.0)
    return 2.0 * q / (1.0 - q) ** 2


def prefixes(cells, records):
    """Least squares with the known total: y_j - (sum y - n) / m, added up."""
    excess = (sum(cells) - records) / len(cells)
    return list(itertools.accumulate(cell - excess for cell in cells))[:-1]


def prefix_deviations(cells, epsilon):
    return [math.sqrt(k * (1.0 - k / cells) * laplace_variance(epsilon)) for k in range(1, cells)]


def point_edge(prefix, records, p):
    """The smallest edge whose running maximum reaches p n, by its index."""
    return next((j for j, count in enumerate(prefix, 1) if count >= p * records), len(prefix) + 1)


def edges_around(below, above):
    """L is the edge before the first that is not below the quantile, U the edge after the last that is not above."""
    low = next((j for j, is_below in enumerate(below) if not is_below), len(below))
    high = next((j for j, is_above in enumerate(reversed(above)) if not is_above), len(above))
    return low, len(above) - high + 1


def noise_interval(prefix, deviations, records, p):
    """Interval (i), for the quantile of these records."""
    z = statistics.NormalDist().inv_cdf(1.0 - ALPHA / 2.0)
    rank = math.ceil(p * records - 1e-9)
    return edges_around([f < rank - z * d for f, d in zip(prefix, deviations)],
                        [f > rank - 1 + z * d for f, d in zip(prefix, deviations)])


def population_interval(prefix, deviations, records, p):
    """Interval (ii): an edge is ruled out where Bin(n, p) + N(0, v_j) reaches its count with less than alpha / 2."""
    log_share = lambda s: (math.lgamma(records + 1) - math.lgamma(s + 1) - math.lgamma(records - s + 1)
                           + s * math.log(p) + (records - s) * math.log1p(-p))
    law = [math.exp(log_share(s)) for s in range(records + 1)]
    at_most = [sum(w * 0.5 * math.erfc((s - f) / d / math.sqrt(2.0)) for s, w in enumerate(law) if w > 1e-12)
               for f, d in zip(prefix, deviations)]
    return edges_around([share < ALPHA / 2.0 for share in at_most], [1.0 - share < ALPHA / 2.0 for share in at_most])


def distances(cells, rank):
    """By how many records a rank is outside each cell."""
    through = list(itertools.accumulate(cells))
    return [max(0.0, upto - own - rank, rank - upto) for own, upto in zip(cells, through)]


def selected_cell(cells, rank, epsilon, draw):
    """A cell with the weight exp(-epsilon distance / 2)."""
    return draw.choices(range(len(cells)), [math.exp(-epsilon * d / 2.0) for d in distances(cells, rank)])[0]


def nearest_cell(cells, rank):
    """What the exponential mechanism comes to without noise: the first cell that the rank is in."""
    far = distances(cells, rank)
    return far.index(min(far))


def end_ranks(p, records, candidates, epsilon):
    """What the two ends aim at: p -+ (z_(alpha/4) sqrt(p (1 - p) / n) + t), t = (4 / epsilon) ln(4 m / alpha) / n.
    @param candidates m @param epsilon of both draws"""
    t = 4.0 / epsilon * math.log(4.0 * candidates / ALPHA) / records
    z = statistics.NormalDist().inv_cdf(1.0 - ALPHA / 4.0)
    reach = z * math.sqrt(p * (1.0 - p) / records) + t
    return p - reach, p + reach
