#!/usr/bin/env python3
"""Compares three of the product's statistics with twins that were written from the specification's formulas:
losses on a grid and their Bernstein polynomial, linear classifiers from noised vectors, and quantiles.

  python3 tests/twins/statistics_twins.py PATH_TO_UNDERTONE

Without noise product and twin have to agree to a stated tolerance. With noise both run on 20 seeds, the twin with noise
of the law that the product's plan states. Then their errors have to be of one law: mean, mean square and spread are
tested, each with a false alarm for one choice of seeds in 10000 at most. Seeds and records are fixed, and so is the
outcome. Noise follows from a job's exact bytes, too: whoever changes a job here draws anew.
"""

import bisect
import random
import sys
import tempfile
from statistics import fmean, stdev

sys.dont_write_bytecode = True  # nothing is left in the source tree

import bernstein_twin as bernstein
import linear_model_twin as linear
import quantile_twin as quantile
import two_sample
import workbench

SEEDS = range(1, 21)


class Comparisons:
    """Prints a line for every comparison and keeps a sentence for each that failed."""

    def __init__(self):
        self.failures = []

    def judge(self, good, line, failure):
        print(("ok    " if good else "WRONG ") + line)
        if not good:
            self.failures.append(failure)

    def close(self, name, product, twin, tolerance):
        """@param product, twin numbers, of which the pair that differs most is printed"""
        one, two = max(zip(product, twin, strict=True), key=lambda pair: abs(pair[0] - pair[1]))
        self.judge(abs(one - two) <= tolerance,
                   f"{name}: product {one:.9g}, twin {two:.9g}, tolerance {tolerance:.2g}",
                   f"The {name} differs by {abs(one - two):.3g}, which is more than {tolerance:.2g}.")

    def noise(self, name, planned, needed):
        """@param needed what the specification's formula asks for, which the product may not fall short of"""
        self.judge(needed * (1.0 - 1e-9) <= planned <= needed * (1.0 + 1e-4),
                   f"{name}: product {planned:.9g}, twin {needed:.9g}, at most 0.01 % more",
                   f"The {name} is not what the twin needs: {planned:.9g}, not {needed:.9g}.")

    def same(self, name, product, twin):
        self.judge(product == twin, f"{name}: product {product}, twin {twin}", f"The {name} is not the twin's.")

    def test(self, name, product, twin, p_value):
        self.judge(p_value >= two_sample.FALSE_ALARM,
                   f"{name}: product {product:.4g}, twin {twin:.4g}, p {p_value:.2g}",
                   f"The {name} is not that of the twin's law: p = {p_value:.2g}.")

    def mean(self, name, product, twin):
        self.test(name, fmean(product), fmean(twin), two_sample.mean_p_value(product, twin))

    def law(self, name, product, twin):
        """@param product, twin independent numbers of one law, such as errors"""
        self.mean(f"{name}, mean", product, twin)
        self.mean(f"{name}, mean square", [e * e for e in product], [e * e for e in twin])
        self.test(f"{name}, standard deviation", stdev(product), stdev(twin), two_sample.spread_p_value(product, twin))


def compare_risk(bench, records, compare):
    """Totals of losses with Gaussian noise, two parameters."""
    epsilon, delta = 2, 1e-6
    grid = bernstein.Grid(half_width=3.0, degree=4, order=2, parameters=2)
    points = [(-2.5, 1.0), (0.3, -0.2), (1.1, 2.7), (2.0, -1.5), (-0.7, 0.4)]
    pairs = [(amount / 5.0 - 1.0, label) for _, _, amount, label in records]
    exact = bernstein.mean_shares(grid, pairs)
    bench.write_job("risk", [{"kind": "loss", "columns": ["amount"], "response": "label", "loss": "logistic",
                              "intercept": True, "parameter_bound": 3, "degree": 4, "order": 2}], epsilon, delta)
    stddev = bench.plan("risk")[0]["noise_stddev_of_mean"]
    needed = grid.size**0.5 / len(records) / linear.gaussian_shift(epsilon, delta)
    compare.noise("planned noise of losses", stddev, needed)

    plain = bench.simulate("risk", 1, "none")[0]
    shares = plain["function"]["means"]
    compare.close("losses on the grid without noise", shares, exact, plain["function"]["noise_step"])
    asked = [bench.query("risk", *point) for point in points]
    compare.close("polynomial of the same losses", asked, [grid.risk(shares, point) for point in points], 1e-9)
    compare.close("polynomial of each's own losses", asked, [grid.risk(exact, point) for point in points], 1e-4)
    risk, *place = bernstein.least_point(grid, exact)
    compare.close("least risk without noise", [plain["minimum"]["risk"]], [risk], 1e-4)
    compare.close("parameters of the least risk", plain["minimum"]["parameters"], place, 1e-2)

    of_product, of_twin = [], []  # of each seed: the noised losses, the parameters of the least risk
    minima = []  # of the product's polynomials: as the product finds them, and as the twin does
    for seed in SEEDS:
        found = bench.simulate("risk", seed)[0]
        of_product.append((found["function"]["means"], found["minimum"]["parameters"]))
        minima.append((found["minimum"]["risk"], bernstein.least_point(grid, found["function"]["means"])[0]))
        noised = bernstein.noised_shares(exact, stddev, random.Random(seed))
        of_twin.append((noised, bernstein.least_point(grid, noised)[1:]))
    compare.close("least values of the same noised polynomials", *zip(*minima), 1e-6)
    errors = [[m - e for means, _ in runs for m, e in zip(means, exact)] for runs in (of_product, of_twin)]
    compare.law("noised losses' error", *errors)
    compare.test("noised losses' deviation, product's and planned", stdev(errors[0]), stddev,
                 two_sample.stated_spread_p_value(errors[0], stddev**2))
    true_risk = lambda w: fmean(bernstein.logistic_loss(w[0] * x + w[1], label) for x, label in pairs)
    truth = [true_risk(point) for point in points]
    square = lambda means: fmean((grid.risk(means, at) - true) ** 2 for at, true in zip(points, truth))
    squares = [[square(means) for means, _ in runs] for runs in (of_product, of_twin)]
    compare.mean("polynomial's mean squared error", *squares)
    compare.mean("true risk at the least point", *[[true_risk(w) for _, w in runs] for runs in (of_product, of_twin)])


def compare_bits(bench, records, compare):
    """A bit about one loss from every record, one parameter."""
    grid, questions = bernstein.Grid(half_width=4.0, degree=12, order=3, parameters=1), 3
    losses = [[grid.share(j, amount / 5.0 - 1.0, label) for j in range(grid.size)] for _, _, amount, label in records]
    exact = [fmean(own[j] for own in losses) for j in range(grid.size)]
    bench.write_job("bits", [{"kind": "loss", "columns": ["amount"], "response": "label", "loss": "logistic",
                              "intercept": False, "parameter_bound": 4, "degree": 12, "order": 3, "form": "reports"}]
                    * questions, 3, 0)
    epsilon = bench.plan("bits")[0]["reports"]["epsilon"]
    errors = [], []
    for seed in SEEDS:
        draw = random.Random(seed)
        found = [row["function"]["means"] for row in bench.simulate("bits", seed)]
        own = [bernstein.reported_shares(grid, losses, epsilon, draw) for _ in range(questions)]
        for out, runs in zip(errors, (found, own)):
            out.extend(mean - e for means in runs for mean, e in zip(means, exact))
    points = [-3.1, 0.6, 2.2]
    compare.close("polynomial of reported losses", [bench.query("bits", point) for point in points],
                  [grid.risk(found[0], [point]) for point in points], 1e-9)
    compare.law("reported losses' error", *errors)


def values_of(row):
    return [estimate["value"] for estimate in row["estimates"]]


def compare_hermite(bench, records, compare):
    """The single-copy Hermite oracle."""
    epsilon, delta, questions, b, degree, radius = 30, 1e-5, 6, 0.5, 3, 2.0
    vectors = [(label * x, label * y) for x, y, _, label in records]
    powers = linear.slope_powers(b, degree, radius)
    question = {"kind": "linear_model", "columns": ["a", "b"], "response": "label", "loss": "hinge", "form": "reports",
                "degree": degree, "smoothing": b, "norm": 1, "intercept": False, "parameter_bound": radius}
    sigma_of = lambda name: bench.plan(name)[0]["noise_stddev_of_mean"] * len(records) ** 0.5
    bench.write_job("plain", [question], epsilon, delta)
    bench.write_job("hermite", [question] * questions, epsilon, delta)

    # Without noise the product subtracts, all the same, what noise would add on average, and so does the twin.
    compare.close("Hermite parameters without noise", values_of(bench.simulate("plain", 1, "none")[0]),
                  linear.hermite_point(vectors, powers, sigma_of("plain") ** 2, b, radius), 3e-5)
    sigma = sigma_of("hermite")
    needed = 2.0 / linear.gaussian_shift(epsilon, delta) * questions**0.5
    compare.noise("planned noise of vectors", sigma, needed)
    best = linear.hermite_point(vectors, powers, 0.0, b, radius)
    of_product, of_twin = [], []
    for seed in SEEDS:
        draw = random.Random(seed)
        of_product.extend(values_of(row) for row in bench.simulate("hermite", seed))
        for _ in range(questions):
            noised = linear.noised_vectors(vectors, sigma, draw)
            of_twin.append(linear.hermite_point(noised, powers, sigma**2, b, radius))
    for axis in (0, 1):
        errors = [[w[axis] - best[axis] for w in runs] for runs in (of_product, of_twin)]
        compare.law(f"Hermite parameter {axis + 1}'s error", *errors)


def compare_residuals(bench, records, compare):
    """The same oracle for a quantile of residuals: of the vectors (x, y) at the point (w, -1)."""
    epsilon, delta, questions, b, degree, radius, p = 30, 1e-5, 6, 0.5, 3, 1.0, 0.75
    vectors = [linear.in_unit_ball(a, amount / 5.0 - 1.0) for a, _, amount, _ in records]
    powers = linear.slope_powers(b, degree, 2.0**0.5, slope=lambda t, b: linear.quantile_slope(t, b, p))
    question = {"kind": "linear_model", "columns": ["a"], "response": "amount", "loss": "quantile", "probability": p,
                "form": "reports", "degree": degree, "smoothing": b, "norm": 1, "parameter_bound": radius}
    bench.write_job("residual", [question], epsilon, delta)
    bench.write_job("residuals", [question] * questions, epsilon, delta)
    sigma_of = lambda name: bench.plan(name)[0]["noise_stddev_of_mean"] * len(records) ** 0.5
    of_a = lambda row: values_of(row)[0] / 5.0  # in half ranges of the response, for one of the column

    compare.close("residual's parameter without noise", [of_a(bench.simulate("residual", 1, "none")[0])],
                  [linear.residual_parameter(vectors, powers, sigma_of("residual") ** 2, b, radius)], 3e-5)
    sigma = sigma_of("residuals")
    compare.noise("planned noise of (x, y)", sigma, 2.0 / linear.gaussian_shift(epsilon, delta) * questions**0.5)
    best = linear.residual_parameter(vectors, powers, 0.0, b, radius)
    of_product, of_twin = [], []
    for seed in SEEDS:
        draw = random.Random(seed)
        of_product.extend(of_a(row) - best for row in bench.simulate("residuals", seed))
        for _ in range(questions):
            noised = linear.noised_vectors(vectors, sigma, draw)
            of_twin.append(linear.residual_parameter(noised, powers, sigma**2, b, radius) - best)
    compare.law("residual's parameter, error", of_product, of_twin)


def compare_copies(bench, records, compare):
    """The oracle of many copies, for which the polynomial is Bernstein's. SIGM draws records at random, so that its
    answer is random without noise, too. Copies of u = y x are at most 2 sqrt(copies) apart, where the specification's
    pairs (x, y) are at most sqrt(2) times that."""
    epsilon, delta, b, degree, radius = 30, 1e-5, 0.5, 2, 2.0
    copies = degree * (degree + 1) + 1
    vectors = [(label * x, label * y) for x, y, _, label in records]
    knots = linear.slope_at_knots(b, degree, radius)
    question = {"kind": "linear_model", "columns": ["a", "b"], "response": "label", "loss": "hinge", "form": "reports",
                "degree": degree, "smoothing": b, "norm": 1, "intercept": False, "parameter_bound": radius,
                "copies": True}
    for name, noise, questions in (("copies without noise", "none", 8), ("noised copies", "seeded", 1)):
        bench.write_job("copies", [question] * questions, epsilon, delta)
        sigma = bench.plan("copies")[0]["noise_stddev_of_mean"] * len(records) ** 0.5
        needed = 2.0 * copies**0.5 / linear.gaussian_shift(epsilon, delta) * questions**0.5
        compare.noise(f"planned noise of {questions} x {copies} copies", sigma, needed)
        of_product, of_twin = [], []
        for seed in SEEDS:
            draw = random.Random(seed)
            of_product.extend(values_of(row) for row in bench.simulate("copies", seed, noise))
            for _ in range(questions):
                own = [[vector] * copies for vector in vectors]
                if noise == "seeded":
                    own = [linear.noised_vectors(each, sigma, draw) for each in own]
                of_twin.append(linear.copies_point(own, knots, b, radius, draw))
        for axis in (0, 1):
            own = [[w[axis] for w in runs] for runs in (of_product, of_twin)]
            compare.law(f"parameter {axis + 1} of {name}", *own)


def compare_quantiles(bench, records, compare):
    """Counts of cells with discrete Laplace noise."""
    shares, cells, times = [0.1, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9], 24, 4
    edges = [10.0 * j / cells for j in range(cells + 1)]
    counts = quantile.cell_counts([amount for _, _, amount, _ in records], edges)
    n = len(records)
    bench.write_job("quantiles", [{"kind": "quantiles", "column": "amount", "bins": cells, "probabilities": [p]}
                                  for p in shares] * times, 2.56, 0, sampling_intervals=True)
    release = bench.plan("quantiles")[0]
    epsilon = release["laplace"]["epsilon"]
    deviations = quantile.prefix_deviations(cells, epsilon)
    stddev = release["noise_stddev_of_mean"] * n
    compare.noise("planned noise of counts", stddev, quantile.laplace_variance(epsilon) ** 0.5)

    cell = lambda value: bisect.bisect_left(edges, value - 1e-9)  # a value is interpolated in its cell
    indices = lambda interval: tuple(edges.index(min(edges, key=lambda edge: abs(edge - end))) for end in interval)

    def said(row):
        estimate = row["estimates"][0]
        return cell(estimate["value"]), *indices(estimate["noise_interval"]), *indices(estimate["population_interval"])

    def twins(p, noised):
        prefix = quantile.prefixes(noised, n)
        return quantile.point_edge(prefix, n, p), *quantile.noise_interval(prefix, deviations, n, p)

    truth = [twins(p, counts) for p in shares]
    populations = [quantile.population_interval(quantile.prefixes(counts, n), deviations, n, p) for p in shares]
    plain = bench.simulate("quantiles", 1, "none")[: len(shares)]
    compare.same("quantiles' cells and intervals without noise", [said(row) for row in plain],
                 [one + two for one, two in zip(truth, populations)])
    errors = [], []
    for seed in SEEDS:
        draw = random.Random(seed)
        own = [twins(p, [count + quantile.discrete_laplace(epsilon, draw) for count in counts]) for p in shares * times]
        for out, found in zip(errors, ([said(row) for row in bench.simulate("quantiles", seed)], own)):
            out.extend([f - t for f, t in zip(place, true)] for place, true in zip(found, truth * times))
    for part, name in enumerate(("quantile's cell", "noise interval's lower end", "noise interval's upper end")):
        compare.law(f"{name}, error in cells", *[[error[part] for error in out] for out in errors])


def compare_selections(bench, records, compare):
    """Cells by the exponential mechanism."""
    shares, cells, times = [0.2, 0.4, 0.5, 0.7], 20, 16
    edges = [10.0 * j / cells for j in range(cells + 1)]
    counts = quantile.cell_counts([amount for _, _, amount, _ in records], edges)
    n = len(records)
    question = {"kind": "selected_quantile", "column": "amount", "bins": cells}
    bench.write_job("ends", [{**question, "probabilities": shares}], 8, 0)
    bench.write_job("sharp", [{**question, "probabilities": shares, "ends": False}], 30, 0)
    bench.write_job("cells", [{**question, "probabilities": shares, "ends": False}] * times, 2.56, 0)
    index = lambda value: min(range(cells + 1), key=lambda j: abs(edges[j] - value))
    said = lambda rows: [index(row["estimates"][0]["value"]) for row in rows]

    epsilon = bench.plan("ends")[0]["selection"]["epsilon"]
    ends = []  # the outer edges of the cells
    for p in shares:
        low, high = quantile.end_ranks(p, n, cells, 2.0 * epsilon)
        ends += [quantile.nearest_cell(counts, low * n), quantile.nearest_cell(counts, high * n) + 1]
    compare.same("selected intervals' ends without noise", said(bench.simulate("ends", 1, "none")), ends)
    best = [quantile.nearest_cell(counts, p * n) for p in shares]
    compare.same("selected upper edges without noise", said(bench.simulate("sharp", 1, "none")), [j + 1 for j in best])
    compare.same("selected upper edges at epsilon 7.5", said(bench.simulate("sharp", 1)), [j + 1 for j in best])

    epsilon = bench.plan("cells")[0]["selection"]["epsilon"]
    errors = [], []
    for seed in SEEDS:
        draw = random.Random(seed)
        errors[0].extend(j - 1 - t for j, t in zip(said(bench.simulate("cells", seed)), best * times))
        own = [quantile.selected_cell(counts, p * n, epsilon, draw) for p in shares * times]
        errors[1].extend(j - t for j, t in zip(own, best * times))
    compare.law("selected cell, error in cells", *errors)


def main(program):
    records = workbench.make_records()
    compare = Comparisons()
    with tempfile.TemporaryDirectory() as folder:
        bench = workbench.Workbench(program, folder, records)
        for method in (compare_risk, compare_bits, compare_hermite, compare_residuals, compare_copies,
                       compare_quantiles, compare_selections):
            method(bench, records, compare)
    for failure in compare.failures:
        print(failure, file=sys.stderr)
    return 1 if compare.failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: statistics_twins.py PATH_TO_UNDERTONE")
    try:
        sys.exit(main(sys.argv[1]))
    except RuntimeError as error:
        sys.exit(str(error))
