"""Whatever is given: a result or an exception of the package, within a second, and never the end of the interpreter."""

from __future__ import annotations

import copy
import json
import math
import os
import time
import warnings
from typing import Any

import numpy as np
import undertone as ut
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from undertone.sklearn import PrivateLinearRegression, PrivateLogisticRegression

from .conftest import ROOT
from .test_jobs import first_job

# 10,000 by `UNDERTONE_FUZZ_CASES=10000`; as many as a test of seconds has otherwise.
CASES = int(os.environ.get("UNDERTONE_FUZZ_CASES", "300"))
MANY = settings(
    max_examples=CASES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
SECONDS = 1.0

JOBS = [json.loads((ROOT / "configs" / "jobs" / f"{name}.json").read_text()) for name in (
    "breast-cancer", "breast-cancer-statistics", "breast-cancer-lasso", "breast-cancer-network", "breast-cancer-shuffle",
    "breast-cancer-moments-and-tables", "visits",
)]  # fmt: skip
EXTREMES = [0, 1, -1, 1e-300, 1e300, -1e300, 2**31, 2**63, 0.5, 1e-9, 3]
NUMBERS = st.one_of(st.sampled_from(EXTREMES), st.floats(), st.integers(-(2**70), 2**70))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    out = [at] if at else []
    if isinstance(value, dict):
        for key, one in value.items():
            out += places(one, (*at, key))
    elif isinstance(value, list):
        for i, one in enumerate(value[:3]):
            out += places(one, (*at, i))
    return out


@st.composite
def changed_jobs(draw: Any) -> dict[str, Any]:
    """A worked job of which a few values are others."""
    job = copy.deepcopy(draw(st.sampled_from(JOBS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(places(job)))
        holder: Any = job
        try:
            for key in place[:-1]:
                holder = holder[key]
            if draw(st.booleans()):
                holder[place[-1]] = draw(VALUES)
            elif isinstance(holder, dict):
                del holder[place[-1]]
        except (KeyError, IndexError, TypeError):
            continue
    return job


def within_a_second(work: Any) -> None:
    began = time.process_time()
    try:
        work()
    except ut.UndertoneError as error:
        assert str(error)
        assert not isinstance(error, ut.InternalError), error
    assert time.process_time() - began < 4 * SECONDS  # of a machine that does other things


@MANY
@given(changed_jobs())
def test_jobs_of_any_kind_are_checked_and_planned(job: dict[str, Any]) -> None:
    within_a_second(lambda: ut.validate(job))
    within_a_second(lambda: ut.read_job(job))


@MANY
@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=5))
def test_mappings_that_are_no_jobs_are_refused(job: dict[str, Any]) -> None:
    within_a_second(lambda: ut.validate(job))
    within_a_second(lambda: ut.simulate(job))


COLUMNS = st.one_of(
    st.lists(st.floats(), max_size=6),
    st.lists(st.sampled_from(["no", "yes", "a", "b", "", "1e5", "nan", "0x1", "\x00", "é", "2020-01-01"]), max_size=6),
    st.lists(VALUES, max_size=6),
    st.lists(st.integers(-(2**66), 2**66), max_size=6),
    st.just(np.zeros((2, 2))),
    st.just(np.asarray([1, 2], dtype="m8[s]")),
    st.just(np.asarray(["NaT", "2020-01-01"], dtype="M8[D]")),
)


@MANY
@given(st.fixed_dictionaries({"y": COLUMNS, "x": COLUMNS, "c": COLUMNS}), st.sampled_from(["x", "c", "y", "z"]))
@example({"y": ["no"], "x": [math.inf], "c": ["a"]}, "z")
def test_frames_of_any_kind_are_encoded_or_refused(frame: dict[str, Any], dropped: str) -> None:
    frame = {key: values for key, values in frame.items() if key != dropped}
    job = first_job()

    def encode() -> None:
        features, targets = ut.encode(frame, job.data)
        assert np.all(np.abs(features) <= 1)
        assert set(targets.tolist()) <= {-1.0, 1.0}

    within_a_second(encode)
    within_a_second(lambda: ut.simulate(job, {"a": frame}, direct=True))


@MANY
@given(
    st.sampled_from(["gaussian", "laplace", "exponential", "zcdp", "shuffled", "allocation", "approximate", "nonsense"]),
    st.dictionaries(
        st.sampled_from(["sigma", "clip", "scale", "sensitivity", "epsilon_each", "rho_each", "delta_each"]),
        st.one_of(st.floats(1e-3, 100), st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e300, 1e-300])), max_size=3,
    ),
    st.sampled_from([None, 1e-5, 0.0, 1.0, -1.0, math.nan]),
)  # fmt: skip
def test_accounts_of_any_kind_are_said_or_refused(mechanism: str, numbers: dict[str, Any], delta: float | None) -> None:
    within_a_second(lambda: ut.account(mechanism, delta=delta, **numbers))


CELLS = st.one_of(st.floats(), st.integers(-(2**66), 2**66), st.sampled_from(["a", "", None, True]))
MATRICES = st.one_of(
    st.lists(st.lists(st.floats(-10, 10), min_size=2, max_size=2), max_size=8),
    st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=6),
    st.lists(st.lists(st.floats(), max_size=3), max_size=4),
    st.lists(CELLS, max_size=5),
    st.just(np.zeros((4, 0))),
    st.just(np.zeros((3, 2, 2))),
)
LABELS = st.one_of(st.lists(st.sampled_from([0, 1]), max_size=8), st.lists(CELLS, max_size=8), st.just(None))
BOUNDS = st.one_of(st.just((-1, 1)), st.tuples(st.floats(), st.floats()), st.lists(st.tuples(st.floats(), st.floats()), max_size=3), VALUES)


@MANY
@given(MATRICES, LABELS, BOUNDS, NUMBERS, st.sampled_from([1, 2, 0, -1, 2.5, None]))
def test_estimators_fit_or_refuse(x: Any, y: Any, bounds: Any, epsilon: Any, silos: Any) -> None:
    def fit() -> None:
        for estimator in (
            PrivateLogisticRegression(bounds, epsilon=epsilon, silos=silos, tuning="none", random_state=0),
            PrivateLinearRegression(bounds, bounds, epsilon=epsilon, silos=silos, tuning="none", random_state=0),
        ):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    said = estimator.fit(x, y).predict(x)
            except (ValueError, TypeError) as error:  # of scikit-learn's own checks, too
                assert not isinstance(error, ut.InternalError)
                assert str(error)
                continue
            assert len(said) == len(x)

    within_a_second(fit)
