"""Models that a run has trained: predictions from a table, with numpy and nothing else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._derived import Derived, needed, with_derived
from .dates import parse_days
from .errors import InputError
from .tables import Frame, columns_of, row_count, texts_of

__all__ = ["Model", "load_model"]

Array = NDArray[np.float64]

_LIMIT = re.compile(r"^(<=|>=|<|>|\u2264|\u2265) *")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _seconds(text: str, form: str) -> float:
    return parse_days(text, form) * 86400.0


def _plain_number(text: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError
    return float(text)


class _Column:
    """A feature as the model's data describe it, and its place among the encoded ones."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.name: str = said["column"]
        self.categories: list[str] | None = said.get("categories")
        self.others_allowed = bool(said.get("others_allowed", False))
        self.form: str | None = said.get("date")
        self.limits = said.get("limits") == "bound"
        missing = said.get("missing")
        self.missing: Mapping[str, Any] | None = missing
        self.indicator = bool(missing and missing.get("indicator"))
        if self.categories is None:
            self.low, self.high = self._bound(said["min"]), self._bound(said["max"])
            self.stands = self._bound(missing["value"]) if missing else np.nan

    def _bound(self, value: Any) -> float:
        return _seconds(value, self.form) if self.form is not None else float(value)

    @property
    def names(self) -> list[str]:
        if self.categories is not None:
            return [f"{self.name}={one}" for one in self.categories]
        return [self.name, f"{self.name} missing"] if self.indicator else [self.name]

    def encode(self, values: Any, rows: int) -> Array:
        """Return the encoded features, an array of shape (rows, len(names))."""
        if self.categories is not None:
            return self._indicators(texts_of(values, self.name), rows)
        numbers = self._numbers(values)
        absent = np.isnan(numbers)
        if absent.any() and self.missing is None:
            raise InputError(
                f'record {int(np.flatnonzero(absent)[0]) + 1}, column "{self.name}": expected a number, found none'
            )
        scaled = _scaled(np.where(absent, self.stands, numbers), self.low, self.high)
        return np.column_stack([scaled, absent]) if self.indicator else scaled[:, None]

    def _numbers(self, values: Any) -> Array:
        absent = set(self.missing["texts"]) if self.missing else set()
        array = np.asarray(values)
        as_numbers = array.dtype.kind in "iuf" and self.form is None
        # A missing value may be written as a number, such as 999.
        if as_numbers and not any(_NUMBER.fullmatch(text) for text in absent):
            return array.astype(np.float64)
        out = np.empty(len(array))
        for row, text in enumerate(texts_of(values, self.name, self.form)):
            if text == "" or text in absent:
                out[row] = np.nan
                continue
            try:
                if self.form is not None:
                    out[row] = _seconds(text, self.form)
                else:
                    out[row] = _plain_number(_LIMIT.sub("", text) if self.limits else text)
            except ValueError:
                expected = f"a date as {self.form}" if self.form is not None else "a number"
                raise InputError(f'record {row + 1}, column "{self.name}": expected {expected}') from None
        return out

    def _indicators(self, texts: list[str], rows: int) -> Array:
        assert self.categories is not None
        places = {one: place for place, one in enumerate(self.categories)}
        out = np.zeros((rows, len(self.categories)))
        for row, text in enumerate(texts):
            place = places.get(text)
            if place is not None:
                out[row, place] = 1.0
            elif not self.others_allowed:
                raise InputError(f'record {row + 1}, column "{self.name}": expected one of its listed values')
        return out


def _scaled(values: Array, low: float, high: float) -> Array:
    scaled: Array = 2.0 * (np.clip(values, low, high) - low) / (high - low) - 1.0
    return scaled


def _forward(model: Mapping[str, Any], inputs: Array, classes: int) -> Array:
    """Return the scores of a softmax model or a network, an array of shape (rows, classes)."""
    weights = np.asarray(model["weights"], dtype=np.float64)
    image = model.get("image")
    shape = (image["height"], image["width"], image["channels"]) if image else None
    values, used = inputs, 0

    def take(outputs: int, patch: int) -> Array:
        nonlocal used
        count = outputs * (patch + 1)
        matrix = weights[used : used + count].reshape((outputs, patch + 1), order="F")
        used += count
        return matrix

    activations: dict[str, Callable[[Array], Array]] = {
        "relu": lambda a: np.maximum(a, 0.0),
        "tanh": np.tanh,
        "identity": lambda a: a,
    }
    for layer in model.get("hidden", []):
        act = activations[layer.get("activation", "relu")]
        if layer["kind"] == "dense":
            matrix = take(layer["width"], values.shape[1])
            values, shape = act(values @ matrix[:, :-1].T + matrix[:, -1]), None
            continue
        if shape is None:
            raise InputError("a convolution that follows a dense layer cannot be read")
        height, width, channels = shape
        kernel, outputs = layer["kernel"], layer["channels"]
        matrix = take(outputs, kernel * kernel * channels)
        pixels = values.reshape(-1, height, width, channels)
        rows, columns = height - kernel + 1, width - kernel + 1
        parts = [pixels[:, i : i + rows, j : j + columns, :] for i in range(kernel) for j in range(kernel)]
        sums = np.concatenate(parts, axis=3) @ matrix[:, :-1].T + matrix[:, -1]
        if layer.get("pooled", False):
            rows, columns = rows // 2, columns // 2
            cut = sums[:, : 2 * rows, : 2 * columns, :].reshape(-1, rows, 2, columns, 2, outputs)
            sums = cut.max(axis=(2, 4))
        shape = (rows, columns, outputs)
        values = act(sums).reshape(len(values), -1)
    matrix = take(classes, values.shape[1])
    if used != len(weights):
        raise InputError(f"weights: expected {used}, got {len(weights)}")
    scores: Array = values @ matrix[:, :-1].T + matrix[:, -1]
    return scores


class Model:
    """A trained model, as ``model.json`` holds it.

    Parameters
    ----------
    values : mapping
        What the file says.

    Attributes
    ----------
    kind : str
        Such as ``"logistic"`` or ``"network"``.
    label : str
        The label's column.
    classes_ : list of str or None
        The label's values; None where it is a number.
    feature_names_in_ : list of str
        The columns that a table must have, in order: those that it reads, and in place of a derived one what it is
        derived of.
    encoded_names : list of str
        The encoded features: a number is one, a category one for each listed value.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        if values.get("format") != "undertone.model/2":
            raise InputError(f"format: expected undertone.model/2, got {values.get('format')!r}")
        self.values = dict(values)
        self.kind: str = values["kind"]
        label = values["data"]["label"]
        self.label: str = label["column"]
        self._columns = [_Column(one) for one in values["data"]["features"]]
        self.classes_: list[str] | None = None
        if "classes" in label:
            self.classes_ = list(label["classes"])
        elif "positive" in label:
            self.classes_ = [label["negative"], label["positive"]]
        self._target = None if self.classes_ is not None else _Column(label)
        derived = [Derived(one) for one in values["data"].get("derived", [])]
        self.feature_names_in_, self._derived = needed((one.name for one in self._columns), derived)
        self.encoded_names = [name for one in self._columns for name in one.names]

    @property
    def layered(self) -> bool:
        """Whether the model gives a score for each class."""
        return self.kind in ("softmax", "network")

    def _inputs(self, frame: Frame) -> Array:
        columns = dict(columns_of(frame))
        absent = [name for name in self.feature_names_in_ if name not in columns]
        if absent:
            raise InputError(f'expected the columns that the model was trained on, found no "{absent[0]}"')
        rows = row_count(frame)
        if self._derived:
            columns = with_derived(columns, self._derived)
        encoded = np.column_stack([one.encode(columns[one.name], rows) for one in self._columns])
        return self._projected(encoded)

    def _projected(self, encoded: Array) -> Array:
        if "standardisation" in self.values:
            said = self.values["standardisation"]
            out: Array = (encoded - np.asarray(said["origin"])) / np.asarray(said["scale"])
            return out
        if "projection" in self.values:
            said = self.values["projection"]
            directions = np.asarray([one["weights"] for one in said["directions"]]).T
            out = (encoded - np.asarray(said["origin"])) @ directions
            return out
        return encoded

    def _linear(self) -> tuple[Array, float]:
        weights = np.asarray([one["weight"] for one in self.values["weights"]], dtype=np.float64)
        return weights, float(self.values["intercept"])

    def decision_function(self, frame: Frame) -> Array:
        """Return scores: of shape (rows,), or of several classes (rows, classes).

        Raises
        ------
        InputError
            A column is missing, or a cell is not what the model's data say.
        """
        if self.kind == "moments":
            raise InputError("a model of moments predicts nothing")
        inputs = self._inputs(frame)
        if self.layered:
            assert self.classes_ is not None
            return _forward(self.values, inputs, len(self.classes_))
        weights, intercept = self._linear()
        scores: Array = inputs @ weights + intercept
        if "exposure" in self.values:
            place, column = self._exposure()
            least = column.low / column.high
            share = least + (1.0 - least) * (inputs[:, place] + 1.0) / 2.0
            with np.errstate(divide="ignore"):
                scores = scores + np.log(share)
        return scores

    def _exposure(self) -> tuple[int, _Column]:
        """Return the place of the exposure among the encoded features, and its column."""
        place = 0
        for column in self._columns:
            if column.name == self.values["exposure"]:
                return place, column
            place += len(column.names)
        raise InputError("the model's exposure is none of its columns")

    def predict(self, frame: Frame) -> NDArray[Any]:
        """Return the label of each row.

        Classes come back as the texts that the job lists, also where the label's column held whole numbers: compare with
        ``frame[label].astype(str)``. A label that is a number comes back in its unit.
        """
        scores = self.decision_function(frame)
        if self.classes_ is None:
            assert self._target is not None
            low, high = self._target.low, self._target.high
            said = 2.0 * np.minimum(np.exp(np.minimum(scores, 0.0)), 1.0) - 1.0 if self.kind == "poisson" else scores
            return low + (said + 1.0) / 2.0 * (high - low)
        said = scores.argmax(axis=1) if self.layered else (scores > 0.0).astype(int)
        out: NDArray[Any] = np.asarray(self.classes_, dtype=object)[said]
        return out

    def predict_proba(self, frame: Frame) -> Array:
        """Return the chance of each class, an array of shape (rows, classes).

        Raises
        ------
        InputError
            The model's loss gives no chances: a hinge, or a label that is a number.
        """
        if self.layered:
            scores = self.decision_function(frame)
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            out: Array = powers / powers.sum(axis=1, keepdims=True)
            return out
        if self.kind != "logistic":
            raise InputError(f"a model of the kind {self.kind} gives no chances")
        positive = 1.0 / (1.0 + np.exp(-self.decision_function(frame)))
        return np.column_stack([1.0 - positive, positive])

    def _unscaled(self) -> tuple[Array, float]:
        """Return a linear model's weights for the data's own units, and the intercept that goes with them."""
        if self.layered or self.kind == "moments":
            raise AttributeError(f"a model of the kind {self.kind} has no coefficients of columns")
        weights, intercept = self._linear()
        if "standardisation" in self.values:
            said = self.values["standardisation"]
            weights = weights / np.asarray(said["scale"])
            intercept -= float(np.asarray(said["origin"]) @ weights)
        elif "projection" in self.values:
            said = self.values["projection"]
            weights = np.asarray([one["weights"] for one in said["directions"]]).T @ weights
            intercept -= float(np.asarray(said["origin"]) @ weights)
        out, place = weights.copy(), 0
        for column in self._columns:
            if column.categories is None:
                slope = weights[place] * 2.0 / (column.high - column.low)
                out[place] = slope
                intercept -= weights[place] + slope * column.low
            place += len(column.names)
        if self.kind == "poisson":
            assert self._target is not None
            intercept += float(np.log(self._target.high))
            if "exposure" in self.values:
                intercept -= float(np.log(self._exposure()[1].high))
        elif self._target is not None:
            half = (self._target.high - self._target.low) / 2.0
            out, intercept = out * half, self._target.low + (intercept + 1.0) * half
        return out, intercept

    @property
    def coef_(self) -> Array:
        """Coefficients in the data's units, one for each of `encoded_names`: between a column's bounds the score rises by
        so much for each unit of it (of a logistic model the log odds; of a poisson model the logarithm of the label's mean; of another number, the
        label in its own unit)."""
        return self._unscaled()[0]

    @property
    def intercept_(self) -> float:
        """The score, or the label, where every column is 0; that may lie outside the bounds. Of a poisson model it is the
        logarithm of the label's mean, for a unit of the exposure where there is one."""
        return self._unscaled()[1]

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the model as ``model.json``."""
        Path(file).write_text(json.dumps(self.values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def to_onnx(self) -> Any:
        """Return the model in ONNX's form. See `undertone.onnx_export.to_onnx`."""
        from .onnx_export import to_onnx

        return to_onnx(self)

    def __repr__(self) -> str:
        return f"<{self.kind} model of {self.label!r} from {len(self.feature_names_in_)} columns>"


def load_model(file: str | os.PathLike[str]) -> Model:
    """Read a ``model.json``, as a run, ``undertone export`` and `Model.save` write it.

    Raises
    ------
    InputError
        The file cannot be read, or holds no model.
    """
    try:
        values = json.loads(Path(file).read_text(encoding="utf-8"))
        return Model(values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise InputError(f"{os.fspath(file)}: {error}") from None
        raise InputError(f"{os.fspath(file)}: expected a model.json: {error}") from None
