"""Pictures of results and plans, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import InputError

if TYPE_CHECKING:
    from .plans import Plan
    from .results import Result

__all__ = ["budgets", "curve", "forest", "plot"]


def _axes(ax: Any, height: float = 3.5) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, made = plt.subplots(figsize=(7.0, height), layout="constrained")
    return made


def plot(result: Result, what: str | None = None, ax: Any = None) -> Any:
    """Draw what a result says.

    Parameters
    ----------
    result : Result
        Of a run.
    what : str, optional
        ``"forest"`` for statistics with their intervals, ``"budgets"``, or the name of a metric for its curve. Without it
        the statistics, or the curve of the accuracy, of R^2 or of the loss, whichever is first there.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        With the picture.
    """
    if what is None:
        if result.get("statistics"):
            what = "forest"
        else:
            rows = result["metrics"]
            named = [name for name in ("accuracy", "r_squared", "loss") if rows and name in rows[-1]]
            if not named:
                raise InputError("the result has no statistics and no evaluation to draw")
            what = named[0]
    if what == "forest":
        return forest(result, ax)
    if what == "budgets":
        return budgets(result, ax)
    return curve(result, what, ax)


def curve(result: Result, metric: str, ax: Any = None) -> Any:
    """Draw a metric over the steps, with the band that noise leaves of it (95 %, where holdouts were noised)."""
    rows = [row for row in result["metrics"] if metric in row]
    if not rows:
        raise InputError(f'no evaluation has the metric "{metric}"')
    ax = _axes(ax)
    steps = [row["after_steps"] for row in rows]
    values = [row[metric] for row in rows]
    half = [1.96 * row.get("noise_stddev", {}).get(metric, 0.0) for row in rows]
    (line,) = ax.plot(steps, values, marker="o", markersize=3, label=result.name)
    if any(half):
        low = [value - one for value, one in zip(values, half, strict=True)]
        high = [value + one for value, one in zip(values, half, strict=True)]
        ax.fill_between(steps, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
    ax.set_xlabel("steps")
    ax.set_ylabel(metric)
    ax.set_title(_title(result))
    return ax


def forest(result: Result, ax: Any = None, statistics: Sequence[str] | None = None) -> Any:
    """Draw estimates with their intervals, one below the other; refused ones are named without a mark.

    Parameters
    ----------
    result : Result
        Of a job of statistics.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    statistics : sequence of str, optional
        Which of them, by the names that the result gives; all without it.
    """
    rows = [row for row in result._statistic_rows() if statistics is None or row["statistic"] in statistics]
    if not rows:
        raise InputError("the result has no such statistics")
    ax = _axes(ax, max(1.5, 0.35 * len(rows) + 1.0))
    names = []
    for place, row in enumerate(rows):
        names.append(row["statistic"] if row["name"] in (None, "count", "mean") else f"{row['statistic']}, {row['name']}")
        if row["value"] is None:
            names[-1] += " (refused)"
            continue
        if row["population_low"] is not None and row["population_high"] is not None:
            ax.plot([row["population_low"], row["population_high"]], [place, place], color="C0", linewidth=1)
        if row["low"] is not None and row["high"] is not None:
            ax.plot([row["low"], row["high"]], [place, place], color="C0", linewidth=3, alpha=0.6)
        ax.plot([row["value"]], [place], marker="o", color="C0")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_title(_title(result))
    return ax


def budgets(of: Result | Plan, ax: Any = None) -> Any:
    """Draw the epsilon that each silo promises each of its records, and of a run what its replies added up to."""
    rows = of["privacy"] if "privacy" in of else of["silos"]
    ax = _axes(ax, max(1.5, 0.35 * len(rows) + 1.0))
    names = [row["silo"] for row in rows]
    ax.barh(names, [row["epsilon"] for row in rows], color="C0", alpha=0.4, label="promised")
    if "epsilon_odometer" in rows[0]:
        ax.barh(names, [row["epsilon_odometer"] for row in rows], height=0.35, color="C0", label="of accepted replies")
    ax.invert_yaxis()
    ax.set_xlabel("epsilon for each record, replace-one")
    ax.legend()
    return ax


def _title(result: Result) -> str:
    return f"{result.name} (simulated: not private)" if result.simulated else result.name
