"""Tables of any kind become the records that a file of the same cells gives, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import undertone as ut
import undertone.tables
from undertone.jobs import DataFeature, category, classes, number, schema, target
from undertone.tables import split_by, texts_of

from .conftest import texts_in

DATA = schema(
    classes("y", "no", "yes"), number("x", 0, 10), number("m", 0, 10, missing=5, indicator=True), category("c", ["a", "1"])
)
FEATURES = np.asarray([[-1.0, 0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0, 1.0], [-0.4, -0.8, 0.0, 1.0, 0.0]])
TARGETS = np.asarray([-1.0, 1.0, 1.0])


class Interchange:
    """A table that shows nothing but the interchange protocol."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self._frame.__dataframe__(nan_as_null, allow_copy)


def plain() -> dict[str, Any]:
    return {
        "y": np.asarray(["no", "yes", "yes"]),
        "x": np.asarray([0.0, 11.0, 3.0]),
        "m": np.asarray([np.nan, 10.0, 1.0]),
        "c": np.asarray(["a", "1", "a"]),
        "unread": np.asarray([None, {}, 3], dtype=object)[[0, 2, 2]],
    }


def frames() -> dict[str, Any]:
    columns = plain()
    numbers = pd.DataFrame({"y": columns["y"], "x": columns["x"], "m": columns["m"], "c": columns["c"]})
    kinds = numbers.astype({"y": "category", "x": "Float64", "m": "Float64", "c": "object"})
    mixed = numbers.assign(c=pd.Series(["a", 1, "a"], dtype=object), m=pd.Series([None, 10, 1], dtype="Int64"))
    return {
        "mapping": columns,
        "frame": numbers,
        "nullable": kinds,
        "objects": mixed,
        "texts": {"y": columns["y"], "x": ["0", "11", "3.0"], "m": ["", "10", "1"], "c": columns["c"]},
        "interchange": Interchange(numbers.astype({"y": "category", "c": "category"})),
        "structured": numbers.to_records(index=False).astype([("y", "U3"), ("x", "f8"), ("m", "f4"), ("c", "U1")]),
    }


@pytest.mark.parametrize("kind", sorted(frames()))
def test_every_kind_of_table_gives_the_same_records(kind: str) -> None:
    features, targets = ut.encode(frames()[kind], DATA)
    np.testing.assert_array_equal(features, FEATURES)
    np.testing.assert_array_equal(targets, TARGETS)


def test_truth_values_and_dates() -> None:
    data = schema(classes("y", "False", "True"), DataFeature(column="d", min="2020-01-01", max="2020-01-11", date="YYYY-MM-DD"))
    days = pd.to_datetime(pd.Series(["2020-01-01", "2020-01-06", "2020-01-31"]))
    features, targets = ut.encode(pd.DataFrame({"y": [True, False, True], "d": days}), data)
    np.testing.assert_allclose(features[:, 0], [-1, 0, 1])
    np.testing.assert_array_equal(targets, [1, -1, 1])


def test_dates_are_written_in_their_columns_form() -> None:
    days = pd.to_datetime(pd.Series(["2020-01-01", "2020-01-06", None]))
    for form in ("DD.MM.YYYY", "YYYYMMDD", "YYYY-MM-DDThh:mm:ss", "MM/DD/YYYY"):
        low, high = (day.strftime(ut.tables.DATE_FORMS[form]) for day in (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-11")))
        data = schema(classes("y", "a", "b"), DataFeature(column="d", min=low, max=high, date=form))  # type: ignore[arg-type]
        features, _ = ut.encode(pd.DataFrame({"y": ["a", "b"], "d": days[:2]}), data)
        np.testing.assert_allclose(features[:, 0], [-1, 0])
        with pytest.raises(ut.InputError, match="record 3"):
            ut.encode(pd.DataFrame({"y": ["a", "b", "b"], "d": days}), data)


def test_a_time_of_day_is_not_dropped() -> None:
    data = schema(classes("y", "a", "b"), DataFeature(column="d", min="2020-01-01", max="2020-01-11", date="YYYY-MM-DD"))
    with pytest.raises(ut.InputError, match='column "d": expected days alone'):
        ut.encode(pd.DataFrame({"y": ["a"], "d": pd.to_datetime(["2020-01-02 23:00"])}), data)


def test_whole_numbers_are_written_as_people_do() -> None:
    data = schema(classes("y", "100000", "200000"), category("z", ["1000000", "9007199254740993", "-5"]))
    for kind in (np.int64, object):
        frame = {"y": np.asarray([100000, 200000], dtype=kind), "z": np.asarray([1000000, 9007199254740993], dtype=kind)}
        features, targets = ut.encode(frame, data)
        np.testing.assert_array_equal(targets, [-1, 1])
        np.testing.assert_array_equal(features, [[1, 0, 0], [0, 1, 0]])
    features, _ = ut.encode({"y": [100000.0], "z": [1e6]}, data)
    np.testing.assert_array_equal(features, [[1, 0, 0]])


def test_large_ids_stay_apart() -> None:
    ids = np.asarray([9007199254740993, 9007199254740992, 10**17])
    assert texts_of(ids) == ["9007199254740993", "9007199254740992", "1" + "0" * 17]
    assert len(split_by({"id": ids, "x": np.zeros(3)}, "id")) == 3
    assert len(split_by(pd.DataFrame({"id": pd.array(ids, dtype="Int64")}), "id")) == 3


def test_what_is_missing_in_a_list_stays_missing() -> None:
    parts = split_by({"s": ["a", "a", "b"], "c": ["f", float("nan"), "m"]}, "s")
    assert texts_of(parts["a"]["c"]) == ["f", ""]


def test_categorical_arrays_and_infinities_are_read_or_refused() -> None:
    data = schema(classes("y", "0", "1"), number("x", 0, 1))
    _, targets = ut.encode({"y": pd.Categorical([0, 1]), "x": [0.0, 1.0]}, data)
    np.testing.assert_array_equal(targets, [-1, 1])
    assert texts_of(np.asarray([np.inf])) == ["inf"]
    for frame in ({"y": [0, 1], "x": [np.inf, None]}, {"y": [0, 1], "x": [np.inf, 0.0]}):
        with pytest.raises(ut.InputError, match='column "x"'):
            ut.encode(frame, data)
    for silos, seed in ((-1, 0), (2, -1), (2.5, 0), (True, 0)):
        with pytest.raises(ut.InputError, match="expected a whole number"):
            ut.partition({"x": np.zeros(4)}, silos, seed=seed)  # type: ignore[arg-type]


def test_numbers_of_a_file_and_of_memory_are_the_same_bits(root: Path, wdbc: pd.DataFrame) -> None:
    data = ut.read_job(root / "configs" / "jobs" / "breast-cancer.json").data
    from_memory = ut.encode(wdbc, data)
    from_texts = ut.encode(texts_in(root / "datasets" / "wdbc" / "wdbc.csv"), data)
    np.testing.assert_array_equal(from_memory[0], from_texts[0])
    np.testing.assert_array_equal(from_memory[1], from_texts[1])


@pytest.mark.parametrize("name", ["breast-cancer", "breast-cancer-public", "breast-cancer-open", "parkinsons", "visits"])
def test_a_simulation_of_frames_is_that_of_files(name: str, root: Path, tmp_path: Path, command) -> None:
    """The two ways into a simulation give one model, to the bit."""
    file = root / "configs" / "jobs" / f"{name}.json"
    job = ut.read_job(file)
    command("partition", file, "--out", tmp_path)
    person = job.simulation.person_column if job.simulation and job.privacy.unit == "person" else None
    tables, public = {}, {}
    for member in job.cohort:
        tables[member.silo] = pd.read_csv(tmp_path / f"{member.silo}.csv", keep_default_na=False)
        if member.public_records:
            public[member.silo] = pd.read_csv(tmp_path / f"{member.silo}-public.csv")
    by_frames = ut.simulate(file, tables, seed=5, direct=True, public_frames=public or None, person=person)
    by_files = ut.simulate(file, seed=5, direct=True)
    assert dict(by_frames) == dict(by_files)
    assert (by_frames.model is None) == (by_files.model is None)
    if by_frames.model is not None and by_files.model is not None:
        assert by_frames.model.values == by_files.model.values


def bad(**changes: Any) -> dict[str, Any]:
    return {**plain(), **changes}


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (bad(x=np.asarray([0.0, np.nan, 1.0])), 'record 2, column "x"'),
        (bad(x=np.asarray([0.0, np.inf, 1.0])), 'record 2, column "x"'),
        (bad(x=np.asarray(["a", "1", "2"])), 'record 1, column "x"'),
        (bad(c=np.asarray(["a", "b", "a"])), 'record 2, column "c"'),
        (bad(y=np.asarray(["no", "yes", "maybe"])), 'record 3, column "y"'),
        (bad(c=np.asarray([[1], "a", "a"], dtype=object)), 'column "c".*list'),
        (bad(x=np.asarray([1j, 2, 3])), 'column "x"'),
        (bad(x=np.zeros((3, 2))), 'column "x": expected one dimension'),
        (bad(x=np.zeros(4)), 'column "x": expected 3 values'),
        ({key: value for key, value in plain().items() if key != "m"}, '"m"'),
        (7, "expected a table"),
        ({1: [1.0]}, "names of columns"),
    ],
)
def test_a_table_that_is_not_good_is_refused_in_words(frame: Any, words: str) -> None:
    with pytest.raises(ut.InputError, match=words) as caught:
        ut.encode(frame, DATA)
    assert "maybe" not in str(caught.value)  # never the value


def test_splitting_by_a_column() -> None:
    parts = split_by(pd.DataFrame({"silo": ["b", "a", "b"], "x": [1, 2, 3]}), "silo")
    assert list(parts) == ["a", "b"]
    assert parts["b"]["x"].tolist() == [1, 3]
    with pytest.raises(ut.InputError, match="a row without one"):
        split_by({"silo": np.asarray(["a", None], dtype=object)}, "silo")
    with pytest.raises(ut.InputError, match='no column "hospital"'):
        split_by({"silo": np.asarray(["a"])}, "hospital")


@pytest.mark.parametrize("by", ["iid", "label", "sorted", "dirichlet"])
def test_partitions_are_those_of_the_program(by: str, root: Path, tmp_path: Path, wdbc: pd.DataFrame, command) -> None:
    column = "radius_mean" if by == "sorted" else "diagnosis"
    words = ["partition", root / "datasets" / "wdbc" / "wdbc.csv", "--by", by, "--seed", 3, "--out", tmp_path]
    words += [] if by == "iid" else ["--column", column]
    words += [] if by == "label" else ["--silos", 3]
    command(*words)
    parts = ut.partition(wdbc, 0 if by == "label" else 3, by, column, seed=3)
    for i, part in enumerate(parts):
        written = texts_in(tmp_path / f"silo-{i + 1}.csv")
        assert texts_of(part["radius_mean"]) == [str(float(one)).removesuffix(".0") for one in written["radius_mean"]]


def test_partitions_that_cannot_be_are_refused() -> None:
    with pytest.raises(ut.InputError, match="silos"):
        ut.partition({"x": np.zeros(3)}, 0)
    with pytest.raises(ut.InputError, match="expected iid"):
        ut.partition({"x": np.zeros(3)}, 2, "fair", "x")
    with pytest.raises(ut.InputError, match="column"):
        ut.partition({"x": np.zeros(3)}, 2, "label", "y")


def test_two_hundred_thousand_records_go_in_within_two_seconds() -> None:
    import time

    rows = 200_000
    random = np.random.default_rng(1)
    table = {f"x{i}": random.uniform(-1, 1, rows) for i in range(10)} | {"y": random.uniform(0, 1, rows)}
    data = schema(target("y", 0, 1), *(number(f"x{i}", -1, 1) for i in range(10)))
    began = time.process_time()
    features, _ = ut.encode(table, data)
    assert time.process_time() - began < 4.0  # twice the bar: of a machine that does other things
    assert features.shape == (rows, 10)
