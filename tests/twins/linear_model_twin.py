"""A linear classifier of two parameters, from noised vectors u = y x of the records.

Source: the specification, non-interactive LDP 2.6: (a) the smoothed hinge, (b) the polynomial of its slope with F4,
(h) the single-copy Hermite oracle, (d) the oracle of many copies, (e) SIGM; Gaussian privacy as in section 1.
"""

import math


def normal_below(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def gaussian_shift(epsilon, delta):
    """mu(epsilon, delta): the largest mu with Phi(-e/mu + mu/2) - exp(e) Phi(-e/mu - mu/2) <= delta, by bisection."""
    low, high = 0.0, 100.0
    for _ in range(100):
        mu = 0.5 * (low + high)
        lost = normal_below(-epsilon / mu + mu / 2.0) - math.exp(epsilon) * normal_below(-epsilon / mu - mu / 2.0)
        low, high = (mu, high) if lost <= delta else (low, mu)
    return low


def hinge_slope(t, b):
    """The slope of the smoothed hinge: f_b'(t) = 1/2 (-1 + (t - 1/2) / sqrt((t - 1/2)^2 + b^2))."""
    return 0.5 * (-1.0 + (t - 0.5) / math.sqrt((t - 0.5) ** 2 + b * b))


def quantile_slope(t, b, p):
    """The slope of the smoothed max{-p t, (1 - p) t}: the only kink is at 0, where it rises from -p to 1 - p."""
    return -p + 0.5 * (1.0 + t / math.sqrt(t * t + b * b))


def slope_powers(b, degree, reach, nodes=500, slope=hinge_slope):
    """Coefficients c_j of the powers t^j of the slope's Chebyshev series on [-reach, reach], cut at the degree."""
    angles = [math.pi * (i + 0.5) / nodes for i in range(nodes)]
    out = [0.0] * (degree + 1)
    before, now = [0.0] * (degree + 2), [1.0] + [0.0] * (degree + 1)  # T_(k-1) and T_k in powers of t
    for k in range(degree + 1):
        share = sum(slope(reach * math.cos(angle), b) * math.cos(k * angle) for angle in angles) / nodes
        for j in range(degree + 1):
            out[j] += (1.0 if k == 0 else 2.0) * share * now[j]
        # T_1 = t, and T_(k+1) = 2 t T_k - T_(k-1).
        factor = 1.0 if k == 0 else 2.0
        following = [(factor * now[j - 1] if j > 0 else 0.0) - before[j] for j in range(degree + 2)]
        before, now = now, following
    return [c / reach**j for j, c in enumerate(out)]


def hermite_polynomials(degree, v):
    """H_0 .. H_degree as coefficients of powers of s: H_0 = 1, H_1 = s, H_(j+1) = s H_j - j v H_(j-1)."""
    out = [[1.0], [0.0, 1.0]]
    for j in range(1, degree):
        raised = [0.0] + out[j]
        for i, c in enumerate(out[j - 1]):
            raised[i] -= j * v * c
        out.append(raised)
    return out


def noised_vectors(vectors, stddev, draw):
    return [(x + draw.gauss(0.0, stddev), y + draw.gauss(0.0, stddev)) for x, y in vectors]


def mean_products(vectors, degree):
    """The means of u_1^i u_2^j for i + j <= degree + 1: all that the oracle's mean over the records needs."""
    sums = [[0.0] * (degree + 2 - i) for i in range(degree + 2)]
    for one, two in vectors:
        left = 1.0
        for row in sums:
            product = left
            for j in range(len(row)):
                row[j] += product
                product *= two
            left *= one
    return [[number / len(vectors) for number in row] for row in sums]


def oracle(products, powers, variance, w):
    """The mean over records of sum_j c_j (H_j u - j sigma^2 H_(j-1) w), where s = <w, u> and v = sigma^2 |w|^2."""
    degree = len(powers) - 1
    # Means of s^k, of s^k u_1 and of s^k u_2, by the binomial theorem.
    means = []
    for k in range(degree + 1):
        terms = [math.comb(k, i) * w[0] ** i * w[1] ** (k - i) for i in range(k + 1)]
        means.append([sum(c * products[i + one][k - i + two] for i, c in enumerate(terms))
                      for one, two in ((0, 0), (1, 0), (0, 1))])
    hermite = hermite_polynomials(degree, variance * (w[0] ** 2 + w[1] ** 2))
    out = [0.0, 0.0]
    for j, c in enumerate(powers):
        for axis in (0, 1):
            out[axis] += c * sum(h * means[k][1 + axis] for k, h in enumerate(hermite[j]))
            if j > 0:
                out[axis] -= c * j * variance * w[axis] * sum(h * means[k][0] for k, h in enumerate(hermite[j - 1]))
    return out


def in_ball(w, radius):
    shorter = min(1.0, radius / max(math.hypot(*w), 1e-300))
    return [number * shorter for number in w]


def hermite_point(vectors, powers, variance, b, radius, steps=400):
    """Projected gradient steps in a ball. Their length b is half of 1 / (the largest f_b''). The answer is the mean of
    the last half of the points."""
    products = mean_products(vectors, len(powers) - 1)
    w, mean = [0.0, 0.0], [0.0, 0.0]
    for step in range(steps):
        slope = oracle(products, powers, variance, w)
        w = in_ball([w[0] - b * slope[0], w[1] - b * slope[1]], radius)
        if 2 * step >= steps:
            mean = [before + number / (steps / 2) for before, number in zip(mean, w)]
    return mean


def in_unit_ball(one, two):
    shorter = min(1.0, 1.0 / max(math.hypot(one, two), 1e-300))
    return one * shorter, two * shorter


def residual_parameter(vectors, powers, variance, b, radius, steps=400):
    """The same of residuals w x - y: vectors are (x, y), and the point is (w, -1), whose second number stays. The slope
    rises by 1 at its kink, so that f_b'' is at most 1 / (2 b) and half of its inverse is b."""
    products = mean_products(vectors, len(powers) - 1)
    w, mean = 0.0, 0.0
    for step in range(steps):
        w -= b * oracle(products, powers, variance, (w, -1.0))[0]
        w = max(-radius, min(radius, w))
        if 2 * step >= steps:
            mean += w / (steps / 2)
    return mean


def slope_at_knots(b, degree, reach):
    """c_j = f_b'(reach (2 j / D - 1)): Bernstein's coefficients of the slope on [-reach, reach], mapped to [0, 1] by F4."""
    return [hinge_slope(reach * (2.0 * j / degree - 1.0), b) for j in range(degree + 1)]


def copies_oracle(copies, knots, w, reach):
    """( sum_j c_j C(D, j) t_j s_j ) u_0, t_j the product of (1 + a_r) / 2 over r = j D + 1 .. j D + j and s_j that of
    (1 - a_r) / 2 over r = j D + j + 1 .. j D + D, where a_r = <w, u_r> / reach."""
    degree = len(knots) - 1
    total = 0.0
    for j, c in enumerate(knots):
        product = c * math.comb(degree, j)
        for r in range(j * degree + 1, j * degree + degree + 1):
            a = (w[0] * copies[r][0] + w[1] * copies[r][1]) / reach
            product *= (1.0 + a) / 2.0 if r <= j * degree + j else (1.0 - a) / 2.0
        total += product
    return [total * copies[0][0], total * copies[0][1]]


def copies_point(records, knots, b, radius, draw):
    """SIGM with q = 1 and Lambda = 1 / b. Every step draws one record. sigma is the oracle's root mean square at 0.
    @param records of each its D (D + 1) + 1 noised vectors"""
    at_0 = [copies_oracle(copies, knots, (0.0, 0.0), radius) for copies in records]
    sigma = math.sqrt(math.fsum(g[0] ** 2 + g[1] ** 2 for g in at_0) / len(records))
    beta = lambda k: 1.0 / b + 2.0**0.75 * sigma / radius * math.sqrt(k + 2.0)
    total = draw.choice(at_0)
    y = in_ball([-total[0] / beta(0), -total[1] / beta(0)], radius)
    for k in range(len(records) - 1):
        z = in_ball([-total[0] / beta(k), -total[1] / beta(k)], radius)
        slope = copies_oracle(draw.choice(records), knots, z, radius)
        x = in_ball([z[0] - slope[0] / beta(k), z[1] - slope[1] / beta(k)], radius)
        total = [total[0] + slope[0], total[1] + slope[1]]
        y = [((k + 1) * old + new) / (k + 2) for old, new in zip(y, x)]
    return y
