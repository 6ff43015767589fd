#!/usr/bin/env python3
"""How much of the variance of total_UPDRS a linear model of age, sex and four measures of the voice explains: least
squares with a ridge of 0.002 a person, each person weighing as much as another. Prints the three shares that the
researchers' guide states. It protects nobody: the data are public."""

import csv
import pathlib
import random

COLUMNS = [("age", 30, 90), ("sex", 0, 1), ("HNR", 0, 40), ("RPDE", 0, 1), ("DFA", 0.5, 0.9), ("PPE", 0, 0.8)]
PEOPLE, HELD_OUT, SPLITS, RECORD_SPLITS, RIDGE = 42, 8, 40, 10, 0.002


def solve(matrix, right):
    """Gauss and Jordan, with pivots."""
    rows = [row[:] + [value] for row, value in zip(matrix, right)]
    size = len(right)
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(size):
            if k == i:
                continue
            factor = rows[k][i] / rows[i][i]
            for j in range(i, size + 1):
                rows[k][j] -= factor * rows[i][j]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def fit(weighted, x, y, ridge):
    """Weights of the columns. `weighted`: pairs of a record and its weight."""
    size = len(x[0])
    matrix = [[0.0] * size for _ in range(size)]
    right = [0.0] * size
    for record, weight in weighted:
        for a in range(size):
            right[a] += weight * x[record][a] * y[record]
            for b in range(size):
                matrix[a][b] += weight * x[record][a] * x[record][b]
    for a in range(size):
        matrix[a][a] += ridge
    return solve(matrix, right)


def squares(weighted, x, y, weights):
    return sum(weight * (y[r] - sum(p * q for p, q in zip(weights, x[r]))) ** 2 for r, weight in weighted)


def explained(train, test, x, y, ridge):
    """The summed squares of the model, and of always saying the training data's mean."""
    total = sum(weight for _, weight in train)
    mean = sum(weight * y[r] for r, weight in train) / total
    constant = [0.0] * (len(x[0]) - 1) + [mean]
    return squares(test, x, y, fit(train, x, y, ridge)), squares(test, x, y, constant)


def main():
    with open(pathlib.Path(__file__).with_name("parkinsons.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    x = [[2 * (float(row[name]) - low) / (high - low) - 1 for name, low, high in COLUMNS] + [1.0] for row in rows]
    y = [(float(row["total_UPDRS"]) - 30) / 30 for row in rows]
    records = {}
    for record, row in enumerate(rows):
        records.setdefault(int(row["subject"]), []).append(record)
    draws = random.Random(1)
    sums = {"people whom it has not seen": [0.0, 0.0], "people whom it has": [0.0, 0.0]}
    for _ in range(SPLITS):
        people = list(range(1, PEOPLE + 1))
        draws.shuffle(people)
        part = lambda chosen: [(r, 1 / len(records[one])) for one in chosen for r in records[one]]
        train = part(people[HELD_OUT:])
        for name, test in zip(sums, (part(people[:HELD_OUT]), train)):
            model, mean = explained(train, test, x, y, RIDGE * (PEOPLE - HELD_OUT))
            sums[name][0] += model
            sums[name][1] += mean
    name = "records of a split by records"
    sums[name] = [0.0, 0.0]
    for _ in range(RECORD_SPLITS):
        held = [draws.random() < 0.2 for _ in rows]
        train = [(r, 1.0) for r in range(len(rows)) if not held[r]]
        test = [(r, 1.0) for r in range(len(rows)) if held[r]]
        model, mean = explained(train, test, x, y, 0.0)
        sums[name][0] += model
        sums[name][1] += mean
    for name, (model, mean) in sums.items():
        print(f"of {name}: {100 * (1 - model / mean):.0f} %")


if __name__ == "__main__":
    main()
