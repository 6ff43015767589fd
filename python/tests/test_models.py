"""Predictions with numpy alone, and in ONNX's form, are the program's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import undertone as ut
from undertone.jobs import (
    Algorithm, DataDerived, DataDerivedGroup, DataFeature, DataFeatureMissing, Job, Member, Model, ModelHidden, Privacy, bins, buckets,
    category, classes, days_between, number, schema, target, years_between,
)  # fmt: skip

from .conftest import ROOT, texts_in

WORKED = [
    "admissions-rates", "breast-cancer", "breast-cancer-lasso", "breast-cancer-low-rank", "breast-cancer-network", "breast-cancer-open",
    "breast-cancer-softmax", "visits",
]  # fmt: skip


def with_program(command: Any, model: Path, table: Path) -> list[dict[str, Any]]:
    return json.loads(command("predict", model, table, "--json"))  # type: ignore[no-any-return]


def assert_same(model: ut.Model, table: dict[str, Any], said: list[dict[str, Any]]) -> None:
    wanted = [row["prediction"] for row in said]
    if model.classes_ is None:
        np.testing.assert_allclose(model.predict(table), wanted, rtol=1e-12)
        return
    assert model.predict(table).tolist() == wanted
    if "probability" in said[0]:
        chances = model.predict_proba(table)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        sure = chances[:, 1] if model.kind == "logistic" else chances.max(axis=1)
        np.testing.assert_allclose(sure, [row["probability"] for row in said], rtol=1e-9)


@pytest.mark.parametrize("name", WORKED)
def test_predictions_are_those_of_the_program(name: str, tmp_path: Path, command: Any) -> None:
    file = ROOT / "configs" / "jobs" / f"{name}.json"
    result = ut.simulate(file, seed=2, direct=True)
    result.save(tmp_path)
    model = ut.load_model(tmp_path / "model.json")
    job = ut.read_job(file)
    assert job.simulation is not None
    table = file.parent / str(job.simulation.csv)
    assert_same(model, texts_in(table), with_program(command, tmp_path / "model.json", table))


def model_of(kind: str, weights: Any, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"format": "undertone.model/2", "kind": kind, "job": "made", "run": "0" * 96, "data": data, **more, "weights": weights}


def varied() -> tuple[Any, dict[str, Any]]:
    """A schema with everything that a column may be, and a table for it."""
    features = [
        number("x", 0, 10),
        number("m", -5, 5, missing=1, indicator=True),
        category("c", ["a", "b"], others_allowed=True),
        DataFeature(column="d", min="2020-01-01", max="2021-01-01", date="YYYY-MM-DD"),
    ]
    random = np.random.default_rng(3)
    rows = 40
    table = {
        "x": [repr(float(one)) for one in random.uniform(-2, 12, rows)],
        "m": ["" if random.random() < 0.3 else repr(float(one)) for one in random.uniform(-9, 9, rows)],
        "c": [["a", "b", "else"][place] for place in random.integers(0, 3, rows)],
        "d": [f"2020-{month:02d}-{month + 3:02d}" for month in random.integers(1, 13, rows)],
    }
    return features, table


def write(table: dict[str, Any], file: Path) -> None:
    rows = zip(*table.values(), strict=True)
    file.write_text("\n".join(",".join(row) for row in [list(table), *rows]) + "\n")


NAMES = ["x", "m", "m missing", "c=a", "c=b", "d"]


@pytest.mark.parametrize(
    "kind", ["logistic", "hinge", "least_squares", "huber", "poisson", "rates", "softmax", "standardised", "dense"]
)
def test_every_kind_of_column_and_model(kind: str, tmp_path: Path, command: Any) -> None:
    features, table = varied()
    random = np.random.default_rng(7)
    if kind in ("least_squares", "huber"):
        label = target("y", 5, 25)
    elif kind in ("poisson", "rates"):
        label = target("y", 0, 25)
    elif kind in ("softmax", "dense"):
        label = classes("y", "u", "v", "w")
    else:
        label = classes("y", "no", "yes")
    data = schema(label, *features).to_dict()
    if kind == "softmax":
        values = model_of("softmax", random.normal(size=3 * 7).tolist(), data)
    elif kind == "dense":
        hidden = [ModelHidden(kind="dense", width=4, activation="relu").to_dict(), ModelHidden(kind="dense", width=3, activation="tanh").to_dict()]
        values = model_of("network", random.normal(size=4 * 7 + 3 * 5 + 3 * 4).tolist(), data, hidden=hidden)
    else:
        listed = [{"feature": name, "weight": float(one)} for name, one in zip(NAMES, random.normal(size=6), strict=True)]
        more: dict[str, Any] = {"intercept": 0.25}
        if kind == "standardised":
            more["standardisation"] = {"origin": [0.1, 0, 0.2, 0.3, 0.4, -0.1], "scale": [1.5, 2, 1, 1, 0.5, 1]}
        if kind == "huber":
            more["threshold"] = 1.0
        if kind == "rates":
            more["exposure"] = "x"
        named = {"standardised": "logistic", "rates": "poisson"}.get(kind, kind)
        values = model_of(named, listed, data, **more)
        values.pop("threshold", None)
    (tmp_path / "model.json").write_text(json.dumps(values))
    write(table, tmp_path / "table.csv")
    model = ut.load_model(tmp_path / "model.json")
    assert model.encoded_names == NAMES
    assert_same(model, table, with_program(command, tmp_path / "model.json", tmp_path / "table.csv"))


def test_derived_columns_and_limits(tmp_path: Path, command: Any) -> None:
    """What the program derives and reads, a model in Python derives and reads, too."""
    derived = [
        years_between("age", "born", "seen"),
        days_between("stay", "seen", "left"),
        DataDerived(column="month", how="month", from_=["seen"], date="YYYY-MM-DD"),
        DataDerived(column="day", how="weekday", from_=["seen"], date="YYYY-MM-DD"),
        DataDerived(column="log", how="log", from_=["cost"], plus=0.5, missing=["", "NA"]),
        bins("group", "age", 18, 65.5),
        DataDerived(
            column="cancer", how="merge", from_=["icd"], rest="other",
            groups=[DataDerivedGroup(name="breast", prefixes=["C50"]), DataDerivedGroup(name="c", prefixes=["C"], values=["D05"])],
        ),
        buckets("bucket", "icd", 3),
    ]  # fmt: skip
    features = [
        number("age", 0, 100),
        number("stay", 0, 30),
        category("month", "1", "2", others_allowed=True),
        number("day", 1, 7),
        number("log", -2, 8, missing=1, indicator=True),
        category("group"),
        category("cancer"),
        category("bucket"),
        DataFeature(column="crp", min=0, max=50, limits="bound"),
    ]
    data = schema(classes("y", "no", "yes"), *features, derived=derived)
    random = np.random.default_rng(11)
    day = lambda number: str(np.datetime64("1950-01-01") + int(number))  # noqa: E731
    seen = random.integers(20_000, 26_000, 60)
    table = {
        "born": [day(one) for one in random.integers(0, 20_000, 60)],
        "seen": [day(one) for one in seen],
        "left": [day(one) for one in seen + random.integers(0, 40, 60)],
        "cost": [["NA", "", "-3", "0", f"{one:.2f}"][random.integers(0, 5)] for one in random.uniform(0, 900, 60)],
        "icd": [["C50.1", "C61", "D05", "I10", "F32.2"][random.integers(0, 5)] for _ in range(60)],
        "crp": [["<0.6", "> 45", f"{one:.1f}"][random.integers(0, 3)] for one in random.uniform(0, 60, 60)],
    }
    job = Job(
        name="derived", data=data, model=ut.jobs.Model(kind="logistic"),
        algorithm=Algorithm(kind="noisy_minibatch_sgd", rounds=2, step_size=1.0, averaging="last", draw_fraction=1),
        privacy=Privacy(mode="isrl", unit="record", noise="secure", clip_norm=1),
        cohort=[Member(silo=f"s{i}", records=48, holdout_records=12, holdout_public=True, epsilon=2, delta=1e-5) for i in range(2)],
    )  # fmt: skip
    with_label = {**table, "y": ["yes" if i % 3 else "no" for i in range(60)]}
    model = ut.simulate(job, {"s0": with_label, "s1": with_label}, seed=3).model
    assert model is not None
    assert model.feature_names_in_ == ["born", "seen", "left", "cost", "icd", "crp"]
    model.save(tmp_path / "model.json")
    write(table, tmp_path / "table.csv")
    assert_same(model, table, with_program(command, tmp_path / "model.json", tmp_path / "table.csv"))
    zoned = {**table, "left": [f"{one}T23:30:00-05:00" if i % 2 else f"{one} 04:05" for i, one in enumerate(table["left"])]}
    stays = json.loads(json.dumps(model.values))
    for one in stays["data"]["derived"]:
        if one["column"] == "stay":
            one["date"] = "YYYY-MM-DDThh:mm:ss"
    (tmp_path / "zoned.json").write_text(json.dumps(stays))
    write(zoned, tmp_path / "zoned.csv")
    assert_same(ut.Model(stays), zoned, with_program(command, tmp_path / "zoned.json", tmp_path / "zoned.csv"))
    dates = {**table, "seen": np.asarray(table["seen"], dtype="datetime64[s]"), "born": pd.Series(pd.to_datetime(table["born"]))}
    np.testing.assert_array_equal(model.predict_proba(dates), model.predict_proba(table))
    with pytest.raises(ut.InputError, match='record 1, column "age": expected a date as YYYY-MM-DD'):
        model.predict({**table, "born": ["1.2.1950"] * 60})
    with pytest.raises(ut.InputError, match="derive"):
        model.to_onnx()


def test_convolutions(tmp_path: Path, command: Any) -> None:
    random = np.random.default_rng(1)
    columns = [number(f"p{i}", 0, 255) for i in range(6 * 7 * 2)]
    data = schema(classes("y", "u", "v", "w"), *columns).to_dict()
    hidden = [
        ModelHidden(kind="convolution", channels=3, kernel=3, activation="relu", pooled=True).to_dict(),
        ModelHidden(kind="dense", width=5, activation="tanh").to_dict(),
    ]
    weights = random.normal(size=3 * (9 * 2 + 1) + 5 * (2 * 2 * 3 + 1) + 3 * 6).tolist()
    values = model_of("network", weights, data, image={"channels": 2, "height": 6, "width": 7}, hidden=hidden)
    (tmp_path / "model.json").write_text(json.dumps(values))
    table = {one.column: [str(value) for value in random.integers(0, 256, 30)] for one in columns}
    write(table, tmp_path / "table.csv")
    assert_same(ut.load_model(tmp_path / "model.json"), table, with_program(command, tmp_path / "model.json", tmp_path / "table.csv"))


@pytest.mark.parametrize("name", ["breast-cancer", "breast-cancer-low-rank", "breast-cancer-open", "visits"])
def test_coefficients_are_in_the_datas_units(name: str) -> None:
    """Inside the bounds the score, or the label, is the coefficients times the columns plus the intercept."""
    file = ROOT / "configs" / "jobs" / f"{name}.json"
    model = ut.simulate(file, seed=2, direct=True).model
    assert model is not None
    low = {one["column"]: [one["min"], one["max"]] for one in model.values["data"]["features"] if "min" in one}
    if len(low) < len(model.feature_names_in_):
        pytest.skip("it has categories")
    random = np.random.default_rng(5)
    table = {name: random.uniform(*bounds, 20) for name, bounds in low.items()}
    by_hand = np.column_stack(list(table.values())) @ model.coef_ + model.intercept_
    said = model.decision_function(table) if model.classes_ else model.predict(table)
    np.testing.assert_allclose(said, by_hand, rtol=1e-9, atol=1e-9)


def test_rates_are_for_a_unit_of_the_exposure() -> None:
    """Below the label's largest value the mean is the exposure times the power of the coefficients."""
    data = schema(target("y", 0, 12), number("years", 0.5, 4), number("x", -1, 3)).to_dict()
    listed = [{"feature": "years", "weight": 0.0}, {"feature": "x", "weight": 0.4}]
    model = ut.Model(model_of("poisson", listed, data, intercept=-1.5, exposure="years"))
    random = np.random.default_rng(6)
    table = {"years": random.uniform(0.5, 4, 30), "x": random.uniform(-1, 3, 30)}
    mean = table["years"] * np.exp(model.coef_[1] * table["x"] + model.intercept_)
    np.testing.assert_allclose(model.predict(table), mean, rtol=1e-12)
    assert model.coef_[1] == pytest.approx(0.2)
    assert mean.max() < 12


def test_a_model_is_saved_as_it_was(tmp_path: Path) -> None:
    model = ut.simulate(ROOT / "configs" / "jobs" / "breast-cancer.json", direct=True).model
    assert model is not None
    model.save(tmp_path / "model.json")
    assert ut.load_model(tmp_path / "model.json").values == model.values


def test_models_need_numpy_alone(tmp_path: Path) -> None:
    model = ut.simulate(ROOT / "configs" / "jobs" / "breast-cancer.json", direct=True).model
    assert model is not None
    model.save(tmp_path / "model.json")
    code = (
        "import sys, numpy\n"
        "for name in ('pandas', 'sklearn', 'httpx', 'matplotlib', 'onnx', 'scipy'): sys.modules[name] = None\n"
        "import undertone\n"
        f"model = undertone.load_model({str(tmp_path / 'model.json')!r})\n"
        "print(model.predict({name: [1.0] for name in model.feature_names_in_}))\n"
        "assert 'undertone._core' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "undertone.model/1"}', '{"format": "undertone.model/2"}'])
def test_a_file_that_holds_no_model_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(ut.InputError, match="model.json"):
        ut.load_model(tmp_path / "model.json")


def test_a_table_that_the_model_cannot_read_is_refused() -> None:
    features, table = varied()
    data = schema(classes("y", "no", "yes"), *features).to_dict()
    listed = [{"feature": name, "weight": 1.0} for name in NAMES]
    model = ut.Model(model_of("hinge", listed, data, intercept=0.0))
    for changes, words in (
        ({"x": ["nan-sense"] * 40}, 'record 1, column "x": expected a number'),
        ({"x": [""] * 40}, 'record 1, column "x"'),
        ({"d": ["13.1.2020"] * 40}, 'column "d": expected a date'),
    ):
        with pytest.raises(ut.InputError, match=words):
            model.predict({**table, **changes})
    with pytest.raises(ut.InputError, match='no "c"'):
        model.predict({name: column for name, column in table.items() if name != "c"})
    with pytest.raises(ut.InputError, match="no chances"):
        model.predict_proba(table)


@pytest.mark.parametrize("kind", [float, int, object])
def test_a_missing_value_may_be_written_as_a_number(kind: type, tmp_path: Path, command: Any) -> None:
    feature = DataFeature(column="x", min=0, max=1000, missing=DataFeatureMissing(texts=["", "999"], value=0, indicator=True))
    data = schema(classes("y", "no", "yes"), feature).to_dict()
    values = model_of("logistic", [{"feature": "x", "weight": 1.0}, {"feature": "x missing", "weight": 10.0}], data, intercept=0.0)
    (tmp_path / "model.json").write_text(json.dumps(values))
    write({"x": ["999", "500"]}, tmp_path / "table.csv")
    model = ut.load_model(tmp_path / "model.json")
    said = with_program(command, tmp_path / "model.json", tmp_path / "table.csv")
    np.testing.assert_allclose(model.predict_proba({"x": np.asarray([999, 500], dtype=kind)})[:, 1], [row["probability"] for row in said])
    with pytest.raises(ut.InputError, match="written as numbers"):
        model.to_onnx()


@pytest.mark.parametrize("text", ["inf", "nan", "1_0", "0x1", " 1", "1e", "."])
def test_what_the_program_reads_as_no_number_is_none(text: str) -> None:
    data = schema(classes("y", "no", "yes"), number("x", 0, 1)).to_dict()
    model = ut.Model(model_of("logistic", [{"feature": "x", "weight": 1.0}], data, intercept=0.0))
    with pytest.raises(ut.InputError, match="expected a number"):
        model.predict({"x": [text]})


@pytest.mark.parametrize("name", ["admissions-rates", "breast-cancer", "breast-cancer-low-rank", "breast-cancer-network", "breast-cancer-softmax", "visits", "made", "number"])
def test_onnx_says_the_same(name: str) -> None:
    import onnxruntime as runtime

    if name in ("made", "number"):
        features, table = varied()
        features = features[:3]
        label = classes("y", "no", "yes") if name == "made" else target("y", 5, 25)
        listed = [{"feature": one, "weight": weight} for one, weight in zip(NAMES, [1.0, -2, 0.5, 3, -1], strict=False)]
        data = schema(label, *features).to_dict()
        model: ut.Model | None = ut.Model(model_of("logistic" if name == "made" else "least_squares", listed, data, intercept=0.25))
        frame: Any = {"x": np.asarray(table["x"], float), "c": np.asarray(table["c"], object)}
        frame["m"] = np.asarray([float(one) if one else np.nan for one in table["m"]])
    else:
        file = ROOT / "configs" / "jobs" / f"{name}.json"
        job = ut.read_job(file)
        assert job.simulation is not None
        model = ut.simulate(file, seed=2, direct=True).model
        frame = pd.read_csv(file.parent / str(job.simulation.csv))
    assert model is not None
    graph = model.to_onnx()
    session = runtime.InferenceSession(graph.SerializeToString())
    feed = {}
    for column in model.values["data"]["features"]:
        values = np.asarray(frame[column["column"]])
        feed[column["column"]] = (values.astype(object) if "categories" in column else values.astype(float))[:, None]
    said = dict(zip([one.name for one in session.get_outputs()], session.run(None, feed), strict=True))
    if model.classes_ is None:
        np.testing.assert_allclose(said["value"][:, 0], model.predict(frame), rtol=1e-6)
        return
    assert said["label"].tolist() == model.predict(frame).tolist()
    np.testing.assert_allclose(said["probabilities"], model.predict_proba(frame), atol=1e-6)


def test_onnx_refuses_what_it_cannot_say() -> None:
    features, _ = varied()
    data = schema(classes("y", "no", "yes"), *features).to_dict()
    listed = [{"feature": name, "weight": 1.0} for name in NAMES]
    with pytest.raises(ut.InputError, match="dates"):
        ut.Model(model_of("logistic", listed, data, intercept=0.0)).to_onnx()


def test_pictures_are_drawn(tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from undertone import plots

    trained = ut.simulate(ROOT / "configs" / "jobs" / "breast-cancer.json", direct=True)
    axes = trained.plot()
    assert axes.get_ylabel() == "accuracy"
    assert "not private" in axes.get_title()
    axes.figure.savefig(tmp_path / "curve.png")
    asked = ut.simulate(ROOT / "configs" / "jobs" / "breast-cancer-statistics.json")
    assert len(asked.plot().get_yticklabels()) == 4
    assert plots.budgets(ut.plan(ROOT / "configs" / "jobs" / "breast-cancer.json")).patches
    assert trained.plot("budgets").patches
    with pytest.raises(ut.InputError, match="no evaluation has the metric"):
        trained.plot("beauty")


def test_html_is_text_whatever_it_holds() -> None:
    job = ut.read_job(ROOT / "configs" / "jobs" / "breast-cancer.json")
    job.name = "<script>alert(1)</script>"
    assert job.simulation is not None
    job.simulation.csv = str(ROOT / "datasets" / "wdbc" / "wdbc.csv")
    for shown in (ut.plan(job)._repr_html_(), ut.simulate(job, direct=True)._repr_html_()):
        assert "<script>" not in shown
        assert "&lt;script&gt;" in shown


def test_a_job_may_be_made_and_run(tmp_path: Path) -> None:
    assert isinstance(ut.read_job(ROOT / "configs" / "jobs" / "breast-cancer.json"), Job)
    assert Model(kind="logistic").to_dict() == {"kind": "logistic"}
