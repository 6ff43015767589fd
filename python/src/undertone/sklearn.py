"""Estimators for scikit-learn: what a federation of silos would learn, simulated on the table at hand.

Each fit deals the rows to silos, makes a job of the public facts alone (bounds, numbers of rows, the promise), and runs it
with seeded noise by the code of the silos. The accuracy is what a consortium would see. **The privacy is not: the noise of a fit is
seeded, so that the model is private for nobody.** The job that was simulated is `job_`. Whoever submits it to a consortium first
names its columns and its label as the silos do, and says their holdouts: what stands there is one invented record.
"""

from __future__ import annotations

import functools
import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils.validation import check_is_fitted, check_random_state, column_or_1d, validate_data

from . import _core, lab
from .errors import InputError, PrivacyWarning
from .jobs import (
    Algorithm,
    AlgorithmVertices,
    Data,
    DataFeature,
    DataLabel,
    Domain,
    Evaluation,
    Job,
    Member,
    Model,
    ModelHidden,
    Participation,
    Privacy,
    Regulariser,
    category,
    classes,
    number,
    target,
)
from .tables import columns_of, row_count, take_rows, texts_of

__all__ = [
    "PrivateLasso",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateMLPClassifier",
    "PrivateSoftmaxClassifier",
]

Bounds = Any

_NO_BOUNDS = (
    "bounds is missing. It says between which values each column lies, and has to be known without looking at the records: "
    "bounds that are read off the data, such as their least and largest values, tell of single records. State what is "
    "possible, in the column's unit: bounds=(low, high) for all columns alike, a list of such pairs, or of a DataFrame a "
    'dict as {"age": (0, 120), "sex": ["f", "m"]}'
)


def _pair(bounds: Any, what: str) -> tuple[float, float]:
    try:
        low, high = (float(one) for one in bounds)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected a pair of numbers, low and high, got {bounds!r}") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError(f"{what}: expected finite numbers with low below high, got {low:g} and {high:g}")
    return low, high


def _features(bounds: Bounds, names: Sequence[str]) -> list[DataFeature]:
    if bounds is None:
        raise InputError(_NO_BOUNDS)
    if isinstance(bounds, Mapping):
        unknown = [name for name in bounds if name not in names]
        if unknown:
            raise InputError(f'bounds: no column is called "{unknown[0]}"')
        absent = [name for name in names if name not in bounds]
        if absent:
            raise InputError(f'bounds: expected an entry for every column, found none for "{absent[0]}"')
        out = []
        for name in names:
            said = bounds[name]
            if len(said) > 0 and all(isinstance(one, str) for one in said):
                out.append(category(name, list(said)))
            else:
                out.append(number(name, *_pair(said, f'bounds of "{name}"')))
        return out
    if isinstance(bounds, tuple) and len(bounds) == 2 and all(np.ndim(one) == 1 for one in bounds):
        raise InputError(
            "bounds: two lists look like the lows and the highs of all columns; write list(zip(lows, highs)), a pair for each "
            "column"
        )
    pairs = np.asarray(bounds, dtype=object)
    if pairs.shape == (2,):
        pair = _pair(bounds, "bounds")
        return [number(name, *pair) for name in names]
    if pairs.shape != (len(names), 2):
        raise InputError(f"bounds: expected a pair, or one for each of {len(names)} columns, got shape {pairs.shape}")
    return [number(name, *_pair(pair, f"bounds of column {i}")) for i, (name, pair) in enumerate(zip(names, pairs))]


def _invented(data: Data) -> dict[str, list[Any]]:
    """Return a table of one record within the bounds."""
    label = data.label
    values: Sequence[Any] = label.classes or ([label.negative] if label.negative is not None else [label.min])
    row: dict[str, list[Any]] = {label.column: [values[0]]}
    for one in data.features:
        row[one.column] = [one.categories[0] if one.categories else one.min]
    return row


@functools.lru_cache(maxsize=256)
def _drafted(data: str, cohort: tuple[tuple[str, int], ...], epsilon: float, delta: float | None) -> str:
    """Return a drafted job. It depends on public facts alone, so that one draft serves all fits that share them."""
    members = {name: (records, 1) for name, records in cohort}
    return lab.draft(Data.from_dict(json.loads(data)), members, epsilon, delta, holdout_public=True).job.to_json()


class _PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: from a table to silos, from public facts to a job, from a run to a model."""

    bounds: Bounds
    epsilon: float
    delta: float | None
    silos: int
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        tags.input_tags.allow_nan = False
        return tags

    def _label(self, y: NDArray[Any]) -> DataLabel:
        raise NotImplementedError

    def _job(self, data: Data, cohort: list[Member]) -> Job:
        raise NotImplementedError

    def _table(self, X: Any, *, reset: bool) -> tuple[dict[str, Any], list[str]]:
        """Return the columns with their names; of an array x0, x1, ..."""
        if isinstance(self.bounds, Mapping):
            columns = dict(columns_of(X))
            if reset:
                self.n_features_in_ = len(columns)
                self.feature_names_in_ = np.asarray(list(columns), dtype=object)
            names = [str(one) for one in self.feature_names_in_]
            absent = [name for name in names if name not in columns]
            if absent:
                raise InputError(f'expected the columns of the fit, found no "{absent[0]}"')
            return {name: columns[name] for name in names}, names
        if self.bounds is None:
            raise InputError(_NO_BOUNDS)
        array = validate_data(self, X, reset=reset, dtype=np.float64)
        names = [f"x{i}" for i in range(array.shape[1])]
        return dict(zip(names, array.T, strict=True)), names

    def _dealt(self, rows: int, groups: Any, seed: int) -> dict[str, NDArray[np.int64]]:
        """Return each silo's rows."""
        if groups is not None:
            texts = np.asarray(texts_of(groups, "groups"), dtype=object)
            if len(texts) != rows:
                raise InputError(f"groups: expected the silo of each of {rows} rows, got {len(texts)}")
            return {str(name): np.flatnonzero(texts == name) for name in sorted(set(texts))}
        if isinstance(self.silos, bool) or not isinstance(self.silos, int | np.integer) or self.silos < 1:
            raise InputError(f"silos: expected a whole number of at least 1, got {self.silos!r}")
        if rows < 2 * int(self.silos):
            raise ValueError(f"n_samples={rows}: expected at least two for each of {int(self.silos)} silos")
        order = np.random.default_rng(seed).permutation(rows)
        return {f"silo-{i + 1}": np.sort(part) for i, part in enumerate(np.array_split(order, int(self.silos)))}

    def _fit(self, X: Any, y: Any, groups: Any) -> Any:
        columns, names = self._table(X, reset=True)
        rows = row_count(columns)
        y = self._targets(y, rows)
        label = self._label(y)
        while label.column in columns:
            label.column += "_"
        data = Data(label=label, features=_features(self.bounds, names))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        parts = self._dealt(rows, groups, seed)
        for name, value in (("epsilon", self.epsilon), ("delta", 0.0 if self.delta is None else self.delta)):
            if isinstance(value, bool) or not isinstance(value, Real):
                raise InputError(f"{name}: expected a number, got {value!r}")
        if not 0.0 < float(self.epsilon) <= 30.0:
            raise InputError(f"epsilon: expected more than 0 and at most 30, got {self.epsilon!r}")
        if getattr(self, "tuning", "none") not in ("draft", "none"):
            raise InputError(f'tuning: expected "draft" or "none", got {self.tuning!r}')
        _warn_of_bounds(columns, data)
        cohort = [
            Member(
                silo=silo, records=len(part), holdout_records=1, holdout_public=True, epsilon=float(self.epsilon),
                delta=float(self.delta) if self.delta is not None else _core.drafted_delta(len(part)),
            )
            for silo, part in parts.items()
        ]
        job = self._job(data, cohort)
        job.name = type(self).__name__
        job.evaluation = Evaluation(every=0)
        table = {**columns, label.column: y}
        frames = {silo: take_rows(table, part) for silo, part in parts.items()}
        # A run ends with an evaluation: of one invented record, which is not looked at. All others are trained on.
        held = dict.fromkeys(parts, _invented(data))
        self.result_ = lab.simulate(job, frames, holdout_frames=held, seed=seed, direct=True, progress=False)
        self.job_ = job
        self.result_.values_["metrics"] = []  # of the invented record, which say nothing
        for key in ("verdicts", "confusion"):
            self.result_.values_.pop(key, None)
        assert self.result_.model is not None
        self.model_ = self.result_.model
        self.epsilon_ = float(self.epsilon)
        self.delta_ = max(member.delta for member in cohort)
        self.n_iter_ = int(self.result_["settings"].get("rounds", self.result_["settings"].get("iterates", 1)) or 1)
        _warn_of_tuning(self)
        return self

    def _targets(self, y: Any, rows: int) -> NDArray[Any]:
        raise NotImplementedError

    def _drafted_job(self, data: Data, cohort: list[Member]) -> Job:
        facts = tuple((member.silo, int(member.records or 0)) for member in cohort)
        delta = float(self.delta) if self.delta is not None else None
        job = Job.from_dict(json.loads(_drafted(data.to_json(), facts, float(self.epsilon), delta)))
        job.cohort = cohort
        return job

    def _inputs(self, X: Any) -> dict[str, Any]:
        check_is_fitted(self, "model_")
        return self._table(X, reset=False)[0]

    @property
    def statement_(self) -> str:
        """What the fit is worth as a promise: nothing, since its noise was seeded."""
        check_is_fitted(self, "result_")
        return str(self.result_["privacy"][0]["statement"])


def _warn_of_bounds(columns: Mapping[str, Any], data: Data) -> None:
    """Say which columns lie mostly outside their bounds, as a simulation may; a silo says it to its owner alone."""
    for one in data.features:
        if one.categories is not None:
            continue
        values = np.asarray(columns[one.column], dtype=np.float64)
        if np.isnan(values).any():
            raise InputError(f'X contains NaN in column "{one.column}": fill it before')
        beyond = float(np.mean((values < float(one.min or 0)) | (values > float(one.max or 0))))
        if beyond > 0.5:
            warnings.warn(
                f'column "{one.column}": {100 * beyond:.0f} % of its values lie outside the bounds {one.min:g} to {one.max:g} and '
                "are clamped",
                UserWarning,
                stacklevel=2,
            )


def _warn_of_tuning(estimator: _PrivateEstimator) -> None:
    """Say what a fit costs that is one of many on the same records: of a cross-validation, or the last one of a search."""
    frame = sys._getframe(1)
    while frame is not None:
        search = frame.f_locals.get("self")
        results = frame.f_locals.get("results")
        if isinstance(search, BaseSearchCV) and results and "params" in results:
            candidates = results["params"]  # not there before all of them were tried
            splits = len({key.split("_")[0] for key in results if key.startswith("split")})
            total = splits * sum(_epsilon_of(one, estimator.epsilon_) for one in candidates) + estimator.epsilon_
            warnings.warn(
                f"a search over {len(candidates)} candidates and {splits} splits trains on a record at most "
                f"{splits * len(candidates)} times (less where a split leaves it out), and once more on the best: together at "
                f"most epsilon {total:g}, and as many "
                f"deltas, for each record, and not {estimator.epsilon_:g}. The scores that chose among them looked at the records "
                'exactly, which nothing covers. tuning="draft" chooses on invented records and costs nothing; '
                "undertone.sweep_file has private selection",
                PrivacyWarning,
                stacklevel=2,
            )
            return
        if frame.f_code.co_name == "_fit_and_score":
            warnings.warn(
                "this fit is one of a cross-validation. Each would cost its epsilon for the records that it trains on, they add "
                "up, and scores look at records exactly, which nothing covers",
                PrivacyWarning,
                stacklevel=2,
            )
            return
        frame = frame.f_back  # type: ignore[assignment]


def _epsilon_of(candidate: Mapping[str, Any], otherwise: float) -> float:
    for name, value in candidate.items():
        if name.rsplit("__", 1)[-1] == "epsilon":
            return float(value)
    return otherwise


class _PrivateClassifier(ClassifierMixin, _PrivateEstimator):  # type: ignore[misc]
    """What classifiers share."""

    classes: Sequence[Any] | None
    _classes_max: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._classes_max is None
        return tags

    def _targets(self, y: Any, rows: int) -> NDArray[Any]:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        values = np.asarray(y)
        values = column_or_1d(values, warn=True)
        if len(values) != rows:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{rows}, {len(values)}]")
        if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
            raise ValueError("y: Input contains NaN or infinity")
        if values.dtype.kind == "f" and np.any(values != np.round(values)):
            raise ValueError("Unknown label type: continuous. Expected classes")
        found = np.unique(values)
        known = found if self.classes is None else np.asarray(self.classes)
        if self.classes is not None and not set(found.tolist()) <= set(known.tolist()):
            raise InputError("classes: expected every value of y to be listed")
        if len(known) < 2:
            raise ValueError(f"Classifier can't train when only one class is present: {known.tolist()}")
        if self._classes_max is not None and len(known) > self._classes_max:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{type(self).__name__} takes two classes, found {len(known)}; PrivateSoftmaxClassifier takes more"
            )
        self.classes_ = known
        places = {value: place for place, value in enumerate(known.tolist())}
        self._texts = texts_of(known, "y")
        if len(set(self._texts)) < len(known) or "" in self._texts:  # texts that a job cannot tell apart
            self._texts = [f"class {place}" for place in range(len(known))]
        texts = np.asarray(self._texts, dtype=object)
        return texts[[places[value] for value in values.tolist()]]

    def _label(self, y: NDArray[Any]) -> DataLabel:
        if self._layered and len(self.classes_) == 2:
            return DataLabel(column="label", classes=self._texts)
        return classes("label", *self._texts)

    _layered = False

    def fit(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Train on the rows of a table, dealt to silos.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The classes. Which classes there are is read off them unless `classes` says it.
        groups : array-like of shape (n_samples,), optional
            The silo of each row; without it the rows are dealt at random to `silos` of them.

        Returns
        -------
        self
            With the model in `model_`, the job in `job_` and the run's result in `result_`.
        """
        return self._fit(X, y, groups)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        inputs = self._inputs(X)
        places = {text: place for place, text in enumerate(self._texts)}
        return self.classes_[[places[one] for one in self.model_.predict(inputs)]]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the chance of each class, of shape (n_samples, n_classes)."""
        inputs = self._inputs(X)
        return self.model_.predict_proba(inputs)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return scores: of two classes of shape (n_samples,), else (n_samples, n_classes)."""
        inputs = self._inputs(X)
        scores: NDArray[np.float64] = self.model_.decision_function(inputs)
        if self._layered and len(self.classes_) == 2:
            return scores[:, 1] - scores[:, 0]
        return scores


class PrivateLogisticRegression(_PrivateClassifier):
    """Logistic regression of two classes, as silos that protect every record would learn it.

    A fit is a simulation with seeded noise: its model is private for nobody.

    Parameters
    ----------
    bounds : pair, list of pairs, or dict
        Between which values each column lies, known without looking at the records. Required.
    epsilon : float
        What a consortium's silos would promise to every record, whoever listens (replace-one).
    delta : float, optional
        Of the same promise; without it at most 0.01 / (the number of a silo's records).
    silos : int
        To how many silos the rows are dealt at random, where `fit` is given no groups.
    classes : sequence, optional
        The two classes, the second the positive one; without it those that `y` has.
    tuning : {"draft", "none"}
        "draft" chooses clip, steps, rounds and standardisation on invented records, which takes seconds and costs no
        privacy. "none" takes 30 whole-batch rounds with a clip of 1.
    random_state : int, RandomState or None
        Seeds the noise, and how rows are dealt.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Log odds for a unit of each column.
    intercept_ : ndarray of shape (1,)
        The log odds where every column is 0.
    model_, job_, result_
        The model, the job that was simulated, and the run's result.
    epsilon_, delta_ : float
        What the job's silos would promise. The fit itself promises nothing, as `statement_` says.
    """

    _classes_max = 2

    def __init__(
        self,
        bounds: Bounds = None,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        silos: int = 1,
        classes: Sequence[Any] | None = None,
        tuning: Literal["draft", "none"] = "draft",
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.silos = silos
        self.classes = classes
        self.tuning = tuning
        self.random_state = random_state

    def _job(self, data: Data, cohort: list[Member]) -> Job:
        if self.tuning == "draft":
            return self._drafted_job(data, cohort)
        return _plain_job(data, cohort, Model(kind="logistic"))

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Log odds for a unit of each column."""
        return self.model_.coef_[None, :]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The log odds where every column is 0."""
        return np.asarray([self.model_.intercept_])


class PrivateSoftmaxClassifier(_PrivateClassifier):
    """Softmax regression of two or more classes, as silos that protect every record would learn it.

    A fit is a simulation with seeded noise: its model is private for nobody.

    Parameters
    ----------
    bounds, epsilon, delta, silos, classes, tuning, random_state
        See `PrivateLogisticRegression`.
    """

    _layered = True

    def __init__(
        self,
        bounds: Bounds = None,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        silos: int = 1,
        classes: Sequence[Any] | None = None,
        tuning: Literal["draft", "none"] = "draft",
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.silos = silos
        self.classes = classes
        self.tuning = tuning
        self.random_state = random_state

    def _job(self, data: Data, cohort: list[Member]) -> Job:
        if self.tuning == "draft":
            return self._drafted_job(data, cohort)
        return _plain_job(data, cohort, Model(kind="softmax"))


class PrivateMLPClassifier(_PrivateClassifier):
    """A network of dense layers, as silos that protect every record would learn it.

    A fit is a simulation with seeded noise: its model is private for nobody.

    Parameters
    ----------
    bounds, epsilon, delta, silos, classes, random_state
        See `PrivateLogisticRegression`.
    hidden_layer_sizes : sequence of int
        The widths of the hidden layers.
    activation : {"tanh", "relu", "identity"}
        Of the hidden layers.
    max_iter : int
        Rounds on whole batches; the noise grows with their root.
    learning_rate_init : float
        The step, which falls as a cosine.
    clip : float
        To which norm each record's gradient is cut.
    """

    _layered = True

    def __init__(
        self,
        bounds: Bounds = None,
        *,
        hidden_layer_sizes: Sequence[int] = (16,),
        activation: Literal["tanh", "relu", "identity"] = "tanh",
        epsilon: float = 1.0,
        delta: float | None = None,
        silos: int = 1,
        classes: Sequence[Any] | None = None,
        max_iter: int = 60,
        learning_rate_init: float = 2.0,
        clip: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.epsilon = epsilon
        self.delta = delta
        self.silos = silos
        self.classes = classes
        self.max_iter = max_iter
        self.learning_rate_init = learning_rate_init
        self.clip = clip
        self.random_state = random_state

    def _job(self, data: Data, cohort: list[Member]) -> Job:
        hidden = [
            ModelHidden(kind="dense", width=int(width), activation=self.activation) for width in self.hidden_layer_sizes
        ]
        model = Model(kind="network", hidden=hidden, seed=1) if hidden else Model(kind="softmax")
        return _plain_job(
            data, cohort, model, rounds=self.max_iter, step_size=self.learning_rate_init, clip=self.clip
        )


class _PrivateRegressor(RegressorMixin, _PrivateEstimator):  # type: ignore[misc]
    """What regressions share."""

    target_bounds: Any

    def _targets(self, y: Any, rows: int) -> NDArray[Any]:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        values = np.asarray(y)
        if values.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        values = np.asarray(values, dtype=np.float64)
        values = column_or_1d(values, warn=True)
        if len(values) != rows:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{rows}, {len(values)}]")
        if not np.all(np.isfinite(values)):
            raise ValueError("y: Input contains NaN or infinity")
        out: NDArray[Any] = values
        return out

    def _label(self, y: NDArray[Any]) -> DataLabel:
        if self.target_bounds is None:
            raise InputError(
                "target_bounds is missing. It says between which values the target lies, and has to be known without looking at "
                "the records: target_bounds=(0, 400)"
            )
        return target("label", *_pair(self.target_bounds, "target_bounds"))

    def fit(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Train on the rows of a table, dealt to silos.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The target; values beyond `target_bounds` are clamped.
        groups : array-like of shape (n_samples,), optional
            The silo of each row; without it the rows are dealt at random to `silos` of them.

        Returns
        -------
        self
            With the model in `model_`, the job in `job_` and the run's result in `result_`.
        """
        return self._fit(X, y, groups)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the target of each row, in its unit."""
        inputs = self._inputs(X)
        out: NDArray[np.float64] = self.model_.predict(inputs)
        return out

    @property
    def coef_(self) -> NDArray[np.float64]:
        """What a unit of each column adds to the target."""
        out: NDArray[np.float64] = self.model_.coef_
        return out

    @property
    def intercept_(self) -> float:
        """The target where every column is 0."""
        return float(self.model_.intercept_)


class PrivateLinearRegression(_PrivateRegressor):
    """Least squares, as silos that protect every record would learn it.

    A fit is a simulation with seeded noise: its model is private for nobody.

    Parameters
    ----------
    bounds : pair, list of pairs, or dict
        Between which values each column lies, known without looking at the records. Required.
    target_bounds : pair
        The same of the target. Required.
    epsilon, delta, silos, tuning, random_state
        See `PrivateLogisticRegression`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        What a unit of each column adds to the target.
    intercept_ : float
        The target where every column is 0.
    """

    def __init__(
        self,
        bounds: Bounds = None,
        target_bounds: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        silos: int = 1,
        tuning: Literal["draft", "none"] = "draft",
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.epsilon = epsilon
        self.delta = delta
        self.silos = silos
        self.tuning = tuning
        self.random_state = random_state

    def _job(self, data: Data, cohort: list[Member]) -> Job:
        if self.tuning == "draft":
            return self._drafted_job(data, cohort)
        return _plain_job(data, cohort, Model(kind="least_squares"), step_size=0.5)


class PrivateLasso(_PrivateRegressor):
    """Least squares over an l1 ball by private Frank-Wolfe: few coefficients are not 0, in many dimensions.

    A fit is a simulation with seeded noise: its model is private for nobody.

    Parameters
    ----------
    bounds, target_bounds, epsilon, delta, silos, random_state
        See `PrivateLinearRegression`.
    radius : float
        Of the l1 ball that the weights of scaled columns stay in.
    max_iter : int
        Steps of Frank-Wolfe.
    """

    def __init__(
        self,
        bounds: Bounds = None,
        target_bounds: Any = None,
        *,
        radius: float = 1.0,
        epsilon: float = 1.0,
        delta: float | None = None,
        silos: int = 1,
        max_iter: int = 20,
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.radius = radius
        self.epsilon = epsilon
        self.delta = delta
        self.silos = silos
        self.max_iter = max_iter
        self.random_state = random_state

    def _job(self, data: Data, cohort: list[Member]) -> Job:
        radius = float(self.radius)
        return Job(
            data=data,
            model=Model(kind="least_squares"),
            domain=Domain(kind="l1_ball", radius=radius),
            regulariser=Regulariser(kind="none"),
            algorithm=Algorithm(
                kind="private_frank_wolfe",
                iterates=int(self.max_iter),
                vertices=AlgorithmVertices(kind="l1_ball", radius=radius),
            ),
            privacy=Privacy(mode="isrl", unit="record", noise="secure", coordinate_bound=1.0),
            cohort=cohort,
            participation=Participation(quorum=len(cohort)),
        )


def _plain_job(
    data: Data, cohort: list[Member], model: Model, *, rounds: int = 30, step_size: float = 1.0, clip: float = 1.0
) -> Job:
    """Return a job of whole batches with steps that fall as a cosine."""
    return Job(
        data=data,
        model=model,
        algorithm=Algorithm(
            kind="noisy_minibatch_sgd",
            rounds=int(rounds),
            step_size=float(step_size),
            schedule="cosine",
            averaging="last",
            draw_fraction=1,
        ),
        privacy=Privacy(mode="isrl", unit="record", noise="secure", clip_norm=float(clip)),
        cohort=cohort,
        participation=Participation(quorum=len(cohort)),
    )
