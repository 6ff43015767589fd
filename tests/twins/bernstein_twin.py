"""The empirical risk as a function that is released once: noised losses on a grid, and a polynomial that they make.

Source: the specification, non-interactive LDP 2.2 (iterated Bernstein operator, as its definition prints it), 2.3
(local Bernstein mechanism), 4 (the same of a silo's totals) and 2.4 (b) (randomised-response bit).
"""

import math


def logistic_loss(score, label):
    return math.log1p(math.exp(-label * score))


class Grid:
    """The points {-W + 2 W v / k}^p of the parameters, the first parameter fastest, and the mean losses there over the
    largest loss. A score is <w, (x, 1)>, or <w, x> without an intercept, so that it is at most W p."""

    def __init__(self, half_width, degree, order, parameters):
        self.half_width, self.degree, self.order, self.parameters = half_width, degree, order, parameters
        self.largest = logistic_loss(-half_width * parameters, 1)
        self.size = (degree + 1) ** parameters
        self.knots = [self.basis(v / degree) for v in range(degree + 1)]

    def basis(self, x):
        return [math.comb(self.degree, v) * x**v * (1.0 - x) ** (self.degree - v) for v in range(self.degree + 1)]

    def point(self, place):
        out = []
        for _ in range(self.parameters):
            out.append(self.half_width * (2.0 * (place % (self.degree + 1)) / self.degree - 1.0))
            place //= self.degree + 1
        return out

    def share(self, place, x, label):
        """One record's loss at a grid point, in [0, 1]."""
        w = self.point(place)
        return logistic_loss(w[0] * x + (w[1] if self.parameters == 2 else 0.0), label) / self.largest

    def axis_weights(self, w):
        """The weights of f(0/k) .. f(k/k) in B_k^(h) f = sum_(i=1..h) C(h,i) (-1)^(i-1) B_k^i f at one parameter.
        The box [-W, W] is mapped to [0, 1], as F4 maps [-1, 1]."""
        k = self.degree
        power = self.basis((w / self.half_width + 1.0) / 2.0)  # the weights in B_k^i f
        out = [0.0] * (k + 1)
        for i in range(1, self.order + 1):
            out = [before + math.comb(self.order, i) * (-1) ** (i - 1) * own for before, own in zip(out, power)]
            power = [sum(power[v] * self.knots[v][u] for v in range(k + 1)) for u in range(k + 1)]
        return out

    def weights(self, w):
        out = [1.0]
        for number in w:
            out = [inner * own for own in self.axis_weights(number) for inner in out]
        return out

    def risk(self, shares, w):
        """The polynomial's value at the parameters w."""
        return self.largest * sum(weight * share for weight, share in zip(self.weights(w), shares))


def mean_shares(grid, records):
    return [math.fsum(grid.share(j, x, label) for x, label in records) / len(records) for j in range(grid.size)]


def noised_shares(shares, stddev, draw):
    """What silos' totals say: every mean with Gaussian noise."""
    return [share + draw.gauss(0.0, stddev) for share in shares]


def reported_shares(grid, losses, epsilon, draw):
    """What bits say, one of each record: a secret order deals the records to the grid points. A record with the loss v
    sends B = 1 with probability 1/2 + (v - 1/2) c, c = (e^epsilon - 1) / (e^epsilon + 1). B counts for
    (B - 1/2) / c + 1/2. @param losses of every record at every grid point"""
    c = math.tanh(epsilon / 2.0)
    order = draw.sample(range(len(losses)), len(losses))
    sums, counts = [0.0] * grid.size, [0] * grid.size
    for slot, record in enumerate(order):
        j = slot % grid.size
        bit = 1.0 if draw.random() < 0.5 + (losses[record][j] - 0.5) * c else 0.0
        sums[j] += (bit - 0.5) / c + 0.5
        counts[j] += 1
    return [s / n for s, n in zip(sums, counts)]


def least_point(grid, shares, across=24):
    """Where the polynomial of two parameters is least: the best of a fine grid, then a search that halves its steps."""
    w = grid.half_width
    axis = [w * (2.0 * i / across - 1.0) for i in range(across + 1)]
    value = lambda point: grid.risk(shares, point)
    best = min((value((a, b)), a, b) for a in axis for b in axis)
    step = axis[1] - axis[0]
    inside = lambda number: max(-w, min(w, number))
    while step > 1e-6:
        _, a, b = best
        near = [(inside(a + i * step), inside(b + j * step)) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        found = min((value(point), *point) for point in near)
        if found[0] < best[0]:
            best = found
        else:
            step /= 2.0
    return best
