"""Sets the estimators beside diffprivlib's, on the same data, bounds and epsilon, and prints the table of docs/python.md.

    python3 python/tools/compare_diffprivlib.py [--seeds 20] [--epsilons 0.1 1 4]

diffprivlib promises pure epsilon to whoever sees the model, where one record is added or removed; Undertone promises epsilon
and a delta below a hundredth of one in the records to whoever sees every message, where one record is replaced.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from undertone.sklearn import PrivateLinearRegression, PrivateLogisticRegression

HIGHEST = [30, 40, 200, 3000, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1, 3, 5, 25, 600, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03,
           40, 50, 300, 5000, 0.25, 1.5, 1.5, 0.3, 0.8, 0.25]  # fmt: skip


def invented(rows: int = 5000, columns: int = 10) -> tuple[Any, Any]:
    """Return records that are not of anybody: ten columns in [-1, 1], of which the label is a noisy half-space."""
    random = np.random.default_rng(1)
    x = random.uniform(-1, 1, (rows, columns))
    score = x @ np.linspace(2, -2, columns)
    return x, (random.random(rows) < 1 / (1 + np.exp(-3 * score))).astype(int)


def classified(x: Any, y: Any, low: Any, high: Any, epsilon: float, seed: int) -> dict[str, float]:
    """Return accuracies on a quarter of the records, of models of the same columns scaled to [-1, 1]."""
    scaled = 2 * (np.clip(x, low, high) - low) / (high - low) - 1
    train_x, test_x, train_y, test_y = train_test_split(scaled, y, test_size=0.25, random_state=seed)
    norm = float(np.sqrt(x.shape[1]))  # what the bounds allow
    models: dict[str, Any] = {
        "diffprivlib": LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=seed),
        "undertone, one silo": PrivateLogisticRegression((-1, 1), epsilon=epsilon, random_state=seed),
        "undertone, 5 silos": PrivateLogisticRegression((-1, 1), epsilon=epsilon, silos=5, random_state=seed),
        "no privacy": PlainLogistic(max_iter=2000),
    }
    return {name: model.fit(train_x, train_y).score(test_x, test_y) for name, model in models.items()}


def numbered(x: Any, y: Any, low: Any, high: Any, epsilon: float, seed: int) -> dict[str, float]:
    """Return R^2 on a quarter of the records."""
    bounds = (0.0, 400.0)
    train_x, test_x, train_y, test_y = train_test_split(np.clip(x, low, high), y, test_size=0.25, random_state=seed)
    models: dict[str, Any] = {
        "diffprivlib": LinearRegression(epsilon=epsilon, bounds_X=(low, high), bounds_y=bounds, random_state=seed),
        "undertone, one silo": PrivateLinearRegression((-0.2, 0.2), bounds, epsilon=epsilon, random_state=seed),
        "undertone, 5 silos": PrivateLinearRegression((-0.2, 0.2), bounds, epsilon=epsilon, silos=5, random_state=seed),
        "no privacy": Ridge(alpha=1e-3),
    }
    return {name: model.fit(train_x, train_y).score(test_x, test_y) for name, model in models.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0, 4.0])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    tumours, diabetes, made = load_breast_cancer(return_X_y=True), load_diabetes(return_X_y=True), invented()
    sets: list[tuple[str, Callable[..., dict[str, float]], Any, Any, Any]] = [
        ("breast cancer, 426 records: accuracy", classified, tumours, np.zeros(30), np.asarray(HIGHEST, float)),
        ("invented, 3,750 records: accuracy", classified, made, -np.ones(10), np.ones(10)),
        ("diabetes, 331 records: R^2", numbered, diabetes, np.full(10, -0.2), np.full(10, 0.2)),
    ]
    print("| data | epsilon | diffprivlib | undertone, one silo | undertone, 5 silos | no privacy |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, run, (x, y), low, high in sets:
        for epsilon in arguments.epsilons:
            rows = [run(x, y, low, high, epsilon, seed) for seed in range(arguments.seeds)]
            cells = []
            for column in rows[0]:
                values = np.asarray([row[column] for row in rows])
                error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
                cells.append("below -1000" if values.mean() < -1000 else f"{values.mean():.3f} ± {error:.3f}")
            print(f"| {name} | {epsilon:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
