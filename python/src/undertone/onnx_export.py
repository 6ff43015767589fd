"""Models in ONNX's form, for whoever serves them without Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InputError
from .models import _NUMBER, Model, _Column

__all__ = ["to_onnx"]


def to_onnx(model: Model) -> Any:
    """Return a model as an ONNX graph.

    Each column is an input of its own, of shape (rows, 1): a double for a number, where NaN means that it is missing, and
    a text for a category. The graph clamps and scales as the model's data say. Outputs are ``label`` and, where the loss
    gives chances, ``probabilities`` of shape (rows, classes); of a number it is ``value``, in the label's unit.

    Parameters
    ----------
    model : Model
        Linear, softmax or a network of dense layers; without dates.

    Returns
    -------
    onnx.ModelProto
        Checked by ONNX's own checker.

    Raises
    ------
    InputError
        The model has dates, convolutions or moments.
    """
    import onnx
    from onnx import TensorProto, helper

    if model.kind == "moments":
        raise InputError("a model of moments predicts nothing")
    if model.values.get("image") or any(one.form is not None for one in model._columns):
        raise InputError("models with convolutions or dates have no form in ONNX here")
    if model._derived or any(one.limits for one in model._columns):
        raise InputError("models whose data derive columns, or read limits such as <0.6, have no form in ONNX here")
    taken = {"label", "probabilities", "value"} & set(model.feature_names_in_)
    if taken or any(name.startswith("undertone.") for name in model.feature_names_in_):
        raise InputError(f"a column is called as a part of the graph is: {', '.join(sorted(taken)) or 'undertone.'}")
    numeric_missing = [
        one.name
        for one in model._columns
        if one.missing is not None and any(_NUMBER.fullmatch(text) for text in one.missing["texts"])
    ]
    if numeric_missing:
        raise InputError(f'column "{numeric_missing[0]}": missing values that are written as numbers have no form in ONNX here')
    graph = _Graph()
    inputs = []
    parts = []
    for column in model._columns:
        text = column.categories is not None
        kind = TensorProto.STRING if text else TensorProto.DOUBLE
        inputs.append(helper.make_tensor_value_info(column.name, kind, [None, 1]))
        parts.append(_category(graph, column) if text else _number(graph, column))
    encoded = graph.add("Concat", parts, axis=1) if len(parts) > 1 else parts[0]
    scores = _scores(graph, model, encoded)
    outputs = []
    if model.classes_ is None:
        assert model._target is not None
        half = (model._target.high - model._target.low) / 2.0
        if model.kind == "poisson":
            if "exposure" in model.values:
                place, column = model._exposure()
                least = column.low / column.high
                number = graph.add("Gather", [encoded, graph.constant([place], np.int64)], axis=1)
                half_range = graph.constant([[(1.0 - least) / 2.0]])
                middle = graph.constant([[least + (1.0 - least) / 2.0]])
                exposure = graph.add("Add", [graph.add("Mul", [number, half_range]), middle])
                scores = graph.add("Add", [scores, graph.add("Log", [exposure])])
            share = graph.add("Exp", [graph.add("Min", [scores, graph.constant([[0.0]])])])
            graph.add("Mul", [share, graph.constant([[model._target.high]])], output="value")
        else:
            scaled = graph.add("Mul", [scores, graph.constant([[half]])])
            graph.add("Add", [scaled, graph.constant([[model._target.low + half]])], output="value")
        outputs.append(helper.make_tensor_value_info("value", TensorProto.DOUBLE, [None, 1]))
    else:
        _classes(graph, model, scores)
        outputs.append(helper.make_tensor_value_info("label", TensorProto.STRING, [None]))
        if model.layered or model.kind == "logistic":
            count = len(model.classes_)
            outputs.append(helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, [None, count]))
    made = helper.make_model(
        helper.make_graph(graph.nodes, "undertone", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)],
        ir_version=8,
        producer_name="undertone",
    )
    onnx.checker.check_model(made)
    return made


class _Graph:
    """Nodes and constants, named by their places."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, inputs: list[str], output: str = "", domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = output or f"undertone.node{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], domain=domain, **attributes))
        return name

    def constant(self, values: Any, kind: Any = np.float64) -> str:
        from onnx import numpy_helper

        name = f"undertone.constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype=kind), name))
        return name

    def texts(self, values: list[str]) -> str:
        from onnx import TensorProto, helper

        name = f"undertone.constant{len(self.constants)}"
        coded: Any = [one.encode() for one in values]
        self.constants.append(helper.make_tensor(name, TensorProto.STRING, [len(values)], coded))
        return name


def _number(graph: _Graph, column: _Column) -> str:
    from onnx import TensorProto

    value = column.name
    indicator = ""
    if column.missing is not None:
        absent = graph.add("IsNaN", [column.name])
        value = graph.add("Where", [absent, graph.constant([[column.stands]]), column.name])
        if column.indicator:
            indicator = graph.add("Cast", [absent], to=TensorProto.DOUBLE)
    clamped = graph.add("Min", [graph.add("Max", [value, graph.constant([[column.low]])]), graph.constant([[column.high]])])
    from_low = graph.add("Sub", [clamped, graph.constant([[column.low]])])
    scaled = graph.add("Mul", [from_low, graph.constant([[2.0 / (column.high - column.low)]])])
    scaled = graph.add("Sub", [scaled, graph.constant([[1.0]])])
    return graph.add("Concat", [scaled, indicator], axis=1) if indicator else scaled


def _category(graph: _Graph, column: _Column) -> str:
    from onnx import TensorProto

    assert column.categories is not None
    coded = graph.add(
        "OneHotEncoder", [column.name], domain="ai.onnx.ml",
        cats_strings=column.categories, zeros=1 if column.others_allowed else 0,
    )
    flat = graph.add("Reshape", [coded, graph.constant([-1, len(column.categories)], np.int64)])
    return graph.add("Cast", [flat], to=TensorProto.DOUBLE)


def _scores(graph: _Graph, model: Model, encoded: str) -> str:
    values = model.values
    width = len(model.encoded_names)
    if "standardisation" in values:
        said = values["standardisation"]
        encoded = graph.add("Sub", [encoded, graph.constant([said["origin"]])])
        encoded = graph.add("Div", [encoded, graph.constant([said["scale"]])])
    elif "projection" in values:
        said = values["projection"]
        encoded = graph.add("Sub", [encoded, graph.constant([said["origin"]])])
        directions = np.asarray([one["weights"] for one in said["directions"]]).T
        encoded, width = graph.add("MatMul", [encoded, graph.constant(directions)]), directions.shape[1]
    if not model.layered:
        weights, intercept = model._linear()
        product = graph.add("MatMul", [encoded, graph.constant(weights[:, None])])
        return graph.add("Add", [product, graph.constant([[intercept]])])
    assert model.classes_ is not None
    all_weights = np.asarray(values["weights"], dtype=np.float64)
    used = 0
    widths = [(layer["width"], layer.get("activation", "relu")) for layer in values.get("hidden", [])]
    for outputs, activation in [*widths, (len(model.classes_), "identity")]:
        count = outputs * (width + 1)
        matrix = all_weights[used : used + count].reshape((outputs, width + 1), order="F")
        used, width = used + count, outputs
        product = graph.add("MatMul", [encoded, graph.constant(matrix[:, :-1].T)])
        encoded = graph.add("Add", [product, graph.constant(matrix[None, :, -1])])
        if activation != "identity":
            encoded = graph.add({"relu": "Relu", "tanh": "Tanh"}[activation], [encoded])
    return encoded


def _classes(graph: _Graph, model: Model, scores: str) -> None:
    assert model.classes_ is not None
    if model.layered:
        chances = graph.add("Softmax", [scores], output="probabilities", axis=1)
        place = graph.add("ArgMax", [chances], axis=1, keepdims=0)
    else:
        positive = graph.add("Greater", [scores, graph.constant([[0.0]])])
        from onnx import TensorProto

        place = graph.add("Cast", [positive], to=TensorProto.INT64)
        place = graph.add("Reshape", [place, graph.constant([-1], np.int64)])
        if model.kind == "logistic":
            one = graph.add("Sigmoid", [scores])
            other = graph.add("Sub", [graph.constant([[1.0]]), one])
            graph.add("Concat", [other, one], output="probabilities", axis=1)
    graph.add("Gather", [graph.texts(model.classes_), place], output="label")
