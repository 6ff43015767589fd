"""The estimators are scikit-learn's: its own checks, its pipelines and searches; and what privacy asks beside."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import undertone as ut
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator
from undertone.sklearn import (
    PrivateLasso,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMLPClassifier,
    PrivateSoftmaxClassifier,
)

# What is checked is asked at an epsilon and within bounds at which some 200 records carry a model: the checks want one that
# predicts well. Bounds have to be stated: an estimator without them refuses every fit, which is the one exception.
LOUD: dict[str, Any] = {"epsilon": 30.0, "delta": 1e-2, "random_state": 0}
CHECKED = [
    PrivateLogisticRegression((-8, 8), tuning="none", **LOUD),
    PrivateSoftmaxClassifier((-8, 8), tuning="none", **LOUD),
    PrivateMLPClassifier((-8, 8), **LOUD),
    PrivateLinearRegression((-4, 4), (-4, 4), **LOUD),
    PrivateLasso((-4, 4), (-4, 4), radius=2.0, **LOUD),
]
CASES = [(estimator, check) for one in CHECKED for estimator, check in estimator_checks_generator(one, mark="skip")]


def _name(value: Any) -> str:
    return str(getattr(value, "func", value).__name__) if callable(value) else type(value).__name__


@pytest.mark.parametrize(("estimator", "check"), CASES, ids=_name)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    if getattr(check, "func", check).__name__ == "check_array_api_input":
        pytest.skip("arrays of other libraries are not taken: records are doubles in memory")
    check(estimator)


HIGHEST = [30, 40, 200, 3000, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1, 3, 5, 25, 600, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03,
           40, 50, 300, 5000, 0.25, 1.5, 1.5, 0.3, 0.8, 0.25]  # fmt: skip
WDBC = [(0, one) for one in HIGHEST]


def test_a_model_of_real_data() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = PrivateLogisticRegression(WDBC, epsilon=2, silos=3, random_state=1).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.coef_.shape == (1, 30)
    assert model.predict_proba(X[:5]).shape == (5, 2)
    np.testing.assert_array_equal(model.predict(X) == model.classes_[1], model.decision_function(X) > 0)
    assert model.statement_.startswith("VOID")
    ut.validate(model.job_)
    assert ut.plan(model.job_).silos["epsilon"].max() <= 2
    # In the data's units: the log odds, where every column is within its bounds.
    inside = np.clip(X, 0, HIGHEST)
    np.testing.assert_allclose(inside @ model.coef_[0] + model.intercept_[0], model.decision_function(X), rtol=1e-9)


def test_the_same_seed_is_the_same_model() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    first, again, other = (
        PrivateLogisticRegression(WDBC, tuning="none", random_state=seed).fit(X, y).coef_ for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_several_classes_and_networks() -> None:
    X, y = load_digits(return_X_y=True)
    for estimator in (PrivateSoftmaxClassifier((0, 16), epsilon=8, tuning="none", random_state=0), PrivateMLPClassifier((0, 16), epsilon=8, random_state=0)):
        model = estimator.fit(X, y)
        assert model.score(X, y) > 0.7
        assert model.predict_proba(X).shape == (len(X), 10)


def test_a_number() -> None:
    X, y = load_diabetes(return_X_y=True)
    for estimator in (PrivateLinearRegression, PrivateLasso):
        model = estimator((-0.2, 0.2), (0, 400), epsilon=8, random_state=3).fit(X, y)
        assert model.score(X, y) > 0.1
        np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-9)


def test_frames_with_categories_and_groups() -> None:
    random = np.random.default_rng(0)
    rows = 600
    frame = pd.DataFrame({"age": random.uniform(20, 90, rows), "sex": random.choice(["f", "m"], rows)})
    y = np.where(frame["age"] + 20 * (frame["sex"] == "m") > 65, "ill", "well")
    hospital = random.choice(["north", "south"], rows)
    model = PrivateLogisticRegression({"age": (0, 120), "sex": ["f", "m"]}, epsilon=8, random_state=0, tuning="none")
    model.fit(frame, y, groups=hospital)
    assert [member.silo for member in model.job_.cohort] == ["north", "south"]
    assert model.score(frame, y) > 0.7
    assert model.classes_.tolist() == ["ill", "well"]
    with pytest.raises(ut.InputError, match='no "sex"'):
        model.predict(frame[["age"]])


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (None, "has to be known without looking at the records"),
        ((1, 0), "low below high"),
        ((0, 0), "low below high"),
        ((0, float("inf")), "finite"),
        ((0, float("nan")), "finite"),
        ([(0, 1)] * 29, "one for each of 30 columns"),
        ("wide", "bounds"),
        (([0] * 30, [1] * 30), "zip\\(lows, highs\\)"),
        ([(0, 1)] * 29 + [(2, 1)], "column 29"),
    ],
)
def test_bounds_are_required_and_never_read_off_the_data(bounds: Any, words: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ut.InputError, match=words):
        PrivateLogisticRegression(bounds).fit(X, y)


def test_the_exported_model_knows_the_classes() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    for values in (y, np.where(y == 1, "benign", "malignant"), y == 1):
        model = PrivateLogisticRegression(WDBC, tuning="none", random_state=0).fit(X, values)
        columns = {f"x{i}": column for i, column in enumerate(X.T)}
        assert model.model_.predict(columns).tolist() == [str(one) for one in model.predict(X).tolist()]
        assert set(model.predict(X)) <= set(values)
    assert model.result_["metrics"] == []
    assert not model.result_.verdicts


def test_what_lies_outside_its_bounds_is_said() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(UserWarning, match='column "x0": 100 % of its values lie outside'):
        PrivateLogisticRegression((0, 1), tuning="none", random_state=0).fit(X, y)
    with pytest.raises(ut.InputError, match="tuning"):
        PrivateLogisticRegression(WDBC, tuning="grid").fit(X, y)  # type: ignore[arg-type]
    frame = pd.DataFrame({"a": [0.0, np.nan, 1.0], "b": [1.0, 2.0, 3.0]})
    with pytest.raises(ut.InputError, match='no column is called "typo"'):
        PrivateLogisticRegression({"a": (0, 1), "b": (0, 5), "typo": (0, 1)}, tuning="none").fit(frame, [0, 1, 0])
    with pytest.raises(ut.InputError, match='NaN in column "a"'):
        PrivateLogisticRegression({"a": (0, 1), "b": (0, 5)}, tuning="none").fit(frame, [0, 1, 0])


@pytest.mark.parametrize("epsilon", [0, -1, 31, float("nan"), "2", None, True])
def test_an_epsilon_that_is_none_is_refused(epsilon: float) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ut.InputError, match="epsilon"):
        PrivateLogisticRegression(WDBC, epsilon=epsilon).fit(X, y)


def test_what_does_not_fit_is_refused() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="two classes, found 3"):
        PrivateLogisticRegression(WDBC).fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ut.InputError, match="every value of y"):
        PrivateLogisticRegression(WDBC, classes=[0, 2]).fit(X, y)
    with pytest.raises(ut.InputError, match="silos"):
        PrivateLogisticRegression(WDBC, silos=0).fit(X, y)
    with pytest.raises(ValueError, match="expected at least two for each"):
        PrivateLogisticRegression(WDBC, silos=300).fit(X, y)
    with pytest.raises(ut.InputError, match="target_bounds is missing"):
        PrivateLinearRegression((0, 1)).fit(X[:, :1], X[:, 1])
    with pytest.raises(ut.InputError, match="groups"):
        PrivateLogisticRegression(WDBC).fit(X, y, groups=["a"] * 3)
    with pytest.raises(ValueError, match="object|string|convert"):
        PrivateLogisticRegression((0, 1)).fit(np.asarray([["a"], ["b"]], dtype=object), [0, 1])


def test_a_pipeline_and_a_search_that_says_what_it_costs() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    scaled = make_pipeline(FunctionTransformer(np.log1p), PrivateLogisticRegression((0, 10), tuning="none", random_state=0))
    search = GridSearchCV(scaled, {"privatelogisticregression__epsilon": [1.0, 2.0, 4.0]}, cv=3)
    with pytest.warns(ut.PrivacyWarning) as said:
        search.fit(X, y)
    best = search.best_params_["privatelogisticregression__epsilon"]
    total = 3 * (1 + 2 + 4) + best  # at most: whatever the splitter does
    assert any(f"together at most epsilon {total:g}" in str(one.message) for one in said)
    with pytest.warns(ut.PrivacyWarning, match="one of a cross-validation"):
        cross_val_score(scaled, X, y, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ut.PrivacyWarning)
        clone(scaled).fit(X, y)  # a fit by itself costs what it says


def test_a_column_may_be_called_label() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"label": random.uniform(0, 1, 100), "label_": random.choice(["a", "b"], 100)})
    model = PrivateLogisticRegression({"label": (0, 1), "label_": ["a", "b"]}, tuning="none", random_state=0)
    model.fit(frame, frame["label"] > 0.5)
    assert model.job_.data.label.column == "label__"
    assert model.job_.privacy.noise == "secure"
    assert len(model.predict(frame)) == 100


def test_drafts_are_made_once() -> None:
    from undertone.sklearn import _drafted

    X, y = load_breast_cancer(return_X_y=True)
    _drafted.cache_clear()
    for seed in range(3):
        PrivateLogisticRegression(WDBC, epsilon=1, random_state=seed).fit(X, y)
    assert _drafted.cache_info().misses == 1
