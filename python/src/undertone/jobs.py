"""Jobs: what is computed, by whom, and what it is promised to cost.

The sections are dataclasses, made from the published JSON Schema of a job.

Examples
--------
>>> from undertone.jobs import Algorithm, Job, Member, Model, Privacy, classes, number, schema
>>> job = Job(
...     name="first",
...     data=schema(classes("diagnosis", "B", "M"), number("radius_mean", 0, 30)),
...     model=Model(kind="logistic"),
...     algorithm=Algorithm(kind="noisy_minibatch_sgd", rounds=20, step_size=1.0, averaging="last", draw_fraction=1),
...     privacy=Privacy(mode="isrl", unit="record", noise="secure", clip_norm=1),
...     cohort=[Member(silo="clinic-1", records=400, holdout_records=100, holdout_public=True, epsilon=2, delta=1e-5)],
... )
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from . import _job_types
from ._job_types import *  # noqa: F403
from ._job_types import Data, DataDerived, DataFeature, DataFeatureMissing, DataLabel, Job, Member
from .errors import ConfigurationError, InputError

__all__ = [
    *_job_types.__all__,
    "JobLike",
    "bins",
    "boolean",
    "buckets",
    "category",
    "classes",
    "cohort_of",
    "date",
    "days_between",
    "number",
    "read_job",
    "schema",
    "target",
    "years_between",
]

#: A job, what JSON says of one, or the path of its file.
JobLike = Job | Mapping[str, Any] | str | os.PathLike[str]


def number(column: str, low: float, high: float, *, missing: float | None = None, indicator: bool = False) -> DataFeature:
    """Describe a feature that is a number.

    Parameters
    ----------
    column : str
        Its name.
    low, high : float
        Public bounds in the column's unit, chosen without looking at records. Values beyond are clamped, and
        the interval is scaled to [-1, 1].
    missing : float, optional
        What stands for a missing value; without it one is an error.
    indicator : bool
        Whether a second feature says that the value was missing.
    """
    if indicator and missing is None:
        raise InputError(f'number "{column}": indicator needs missing, the value that stands for one that is missing')
    for name, value in (("low", low), ("high", high), ("missing", missing)):
        if value is not None and not math.isfinite(value):
            raise InputError(f'number "{column}": {name}: expected a finite number, got {value!r}')
    stands = None
    if missing is not None:
        stands = DataFeatureMissing(texts=["", "NA"], value=missing, indicator=indicator)
    return DataFeature(column=column, min=low, max=high, missing=stands)


def category(column: str, *values: str | Sequence[str], others_allowed: bool = False) -> DataFeature:
    """Describe a feature of listed values, each of which becomes a feature in {0, 1}.

    Parameters
    ----------
    column : str
        Its name.
    *values : str, or one list of str
        The public list, chosen without looking at records. None: every value of a derived column.
    others_allowed : bool
        Whether a value that is not listed sets no feature, instead of being an error.
    """
    listed = [one for value in values for one in ([value] if isinstance(value, str) else value)]
    return DataFeature(column=column, categories=listed or "all", others_allowed=others_allowed or None)


def boolean(column: str) -> DataFeature:
    """Describe a feature that is True or False; in a file the texts "True" and "False"."""
    return category(column, "False", "True")


DateForm = Literal["YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "YYYYMMDD", "YYYY-MM-DDThh:mm:ss"]


def date(column: str, low: str, high: str, form: DateForm = "YYYY-MM-DD") -> DataFeature:
    """Describe a feature that is a date.

    Parameters
    ----------
    column : str
        Its name. Its cells are texts of this form, or datetimes of numpy or pandas.
    low, high : str
        Public bounds, dates of the same form. Values beyond are clamped, and the interval is scaled to [-1, 1].
    form : str
        How a date is written.
    """
    return DataFeature(column=column, min=low, max=high, date=form)


def classes(column: str, *values: str) -> DataLabel:
    """Describe a label of two or more listed values; of two the second is the positive one."""
    if len(values) < 2:
        raise InputError(f'label "{column}": expected two values or more, got {len(values)}')
    if len(values) == 2:
        return DataLabel(column=column, negative=values[0], positive=values[1])
    return DataLabel(column=column, classes=list(values))


def target(column: str, low: float, high: float) -> DataLabel:
    """Describe a label that is a number, with public bounds in its unit; values beyond are clamped."""
    return DataLabel(column=column, min=low, max=high)


def years_between(column: str, earlier: str, later: str, form: DateForm = "YYYY-MM-DD") -> DataDerived:
    """Describe a derived column: the years of 365.25 days from one date to another, such as an age.

    Parameters
    ----------
    column : str
        The name that features and the label know it by. No table has it.
    earlier, later : str
        The columns of dates.
    form : str
        How the dates are written.
    """
    return DataDerived(column=column, how="years_between", from_=[earlier, later], date=form)


def days_between(column: str, earlier: str, later: str, form: DateForm = "YYYY-MM-DD") -> DataDerived:
    """Describe a derived column: the days from one date to another, such as a stay. See `years_between`."""
    return DataDerived(column=column, how="days_between", from_=[earlier, later], date=form)


def bins(column: str, source: str, *edges: float) -> DataDerived:
    """Describe a derived column: the bin that a number is in, "below 18", "18 to below 65" or "65 or more"."""
    return DataDerived(column=column, how="bins", from_=[source], edges=[float(one) for one in edges])


def buckets(column: str, source: str, count: int) -> DataDerived:
    """Describe a derived column: one of `count` buckets by a public hash of a text, "bucket 1" and so on."""
    return DataDerived(column=column, how="buckets", from_=[source], buckets=count)


def schema(label: DataLabel, *features: DataFeature, derived: Sequence[DataDerived] = ()) -> Data:
    """Put a label and features together: what every silo's table holds.

    Parameters
    ----------
    label : DataLabel
        The target.
    *features : DataFeature
        In the order in which models read them.
    derived : sequence of DataDerived
        Columns that no table holds, which label and features may name: each record's value follows from its other
        cells. See `years_between`, `days_between`, `bins`, `buckets`, or make a `DataDerived`.
    """
    return Data(label=label, features=list(features), derived=list(derived) or None)


def cohort_of(
    frames: Mapping[str, Any],
    epsilon: float,
    delta: float | None = None,
    *,
    holdout: float = 0.2,
    holdout_public: bool = False,
) -> list[Member]:
    """Return the cohort of silos that hold these tables.

    Parameters
    ----------
    frames : mapping of str to table
        Each silo's table. Their numbers of rows are public.
    epsilon : float
        Promised to every single record of each silo for the whole run, whoever listens, where any other record may
        stand in its place (replace-one).
    delta : float, optional
        Of the same promise; without it at most 0.01 / (the number of the silo's records).
    holdout : float
        The share of each silo's rows that a model is evaluated on, in [0, 0.9].
    holdout_public : bool
        Whether the owners declare these rows public: they are then evaluated exactly, and not protected.
    """
    from . import _core
    from .tables import row_count

    out = []
    for silo, frame in frames.items():
        rows = row_count(frame)
        held = int(rows * holdout)
        out.append(
            Member(
                silo=silo,
                records=rows - held,
                holdout_records=held,
                holdout_public=holdout_public,
                epsilon=epsilon,
                delta=_core.drafted_delta(rows - held) if delta is None else delta,
            )
        )
    return out


def read_job(job: JobLike) -> Job:
    """Return a job from whatever holds it: an object, a mapping, or a file's path.

    Raises
    ------
    InputError
        The file cannot be read, or is no JSON.
    ConfigurationError
        A key is unknown or missing. What else is wrong with a job `undertone.validate` says.
    """
    text, _ = job_text(job)
    try:
        values = json.loads(text)
    except ValueError as error:
        raise InputError(f"expected JSON: {error}") from None
    if not isinstance(values, dict):
        raise ConfigurationError("expected an object")
    return Job.from_dict(values)


def job_text(job: JobLike) -> tuple[str, str]:
    """Return a job's text, and the name of its file for errors and for the files that it names."""
    if isinstance(job, Job):
        return job.to_json(), "job"
    if isinstance(job, Mapping):
        try:
            return json.dumps(dict(job), indent=2, allow_nan=False) + "\n", "job"
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"a job that JSON cannot hold: {error}") from None
    try:
        return Path(job).read_text(encoding="utf-8"), os.fspath(job)
    except (OSError, ValueError) as error:
        raise InputError(f"{os.fspath(job)}: {error}", "invalid_argument") from None
    except TypeError:
        raise InputError(f"expected a job, a mapping or a path, got {type(job).__name__}") from None
