"""Jobs as dataclasses: nothing is lost, and nothing is invented."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import undertone as ut
from undertone.jobs import (
    Algorithm,
    Job,
    Member,
    Model,
    Privacy,
    boolean,
    category,
    classes,
    date,
    number,
    schema,
    target,
)

from .conftest import ROOT

JOBS = sorted((ROOT / "configs" / "jobs").glob("*.json"))


def first_job() -> Job:
    return Job(
        name="first",
        data=schema(classes("y", "no", "yes"), number("x", -1, 1), category("c", ["a", "b"])),
        model=Model(kind="logistic"),
        algorithm=Algorithm(kind="noisy_minibatch_sgd", rounds=5, step_size=1.0, averaging="last", draw_fraction=1),
        privacy=Privacy(mode="isrl", unit="record", noise="secure", clip_norm=1),
        cohort=[Member(silo="a", records=50, holdout_records=10, holdout_public=True, epsilon=2, delta=1e-4)],
    )


@pytest.mark.parametrize("file", JOBS, ids=lambda file: file.stem)
def test_every_worked_job_survives(file: Path) -> None:
    job = ut.read_job(file)
    assert json.loads(job.to_json()) == json.loads(file.read_text())
    ut.validate(file)


def test_the_types_are_those_of_the_schema(root: Path) -> None:
    tool = root / "python" / "tools" / "make_job_types.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_json_is_what_validate_takes(tmp_path: Path, command) -> None:
    file = tmp_path / "job.json"
    file.write_text(first_job().to_json())
    assert "good" in command("validate", file)
    assert ut.read_job(file) == first_job()


def test_an_unknown_key_is_named_with_its_place() -> None:
    values = json.loads(first_job().to_json())
    values["cohort"][0]["epsilom"] = 1
    with pytest.raises(ut.ConfigurationError, match=r"/cohort/0/epsilom: unknown"):
        Job.from_dict(values)


def test_a_missing_key_is_named() -> None:
    values = json.loads(first_job().to_json())
    del values["data"]["label"]
    with pytest.raises(ut.ConfigurationError, match="label"):
        Job.from_dict(values)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    job = first_job()
    job.cohort[0].epsilon = 0
    job.privacy.clip_norm = -1
    with pytest.raises(ut.ConfigurationError) as caught:
        ut.validate(job)
    assert caught.value.code == "invalid_config"
    assert len(str(caught.value).splitlines()) == 2
    assert "/cohort/0/epsilon" in str(caught.value)
    assert "/privacy/clip_norm" in str(caught.value)


def test_a_number_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ut.ConfigurationError):
        ut.validate({"name": float("nan")})


@pytest.mark.parametrize("job", [7, None, "no/such/file.json"])
def test_what_is_no_job_is_refused(job: object) -> None:
    with pytest.raises(ut.InputError):
        ut.validate(job)  # type: ignore[arg-type]


def test_numbers_that_are_none_are_named() -> None:
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ut.InputError, match='number "x": high: expected a finite number'):
            number("x", 0, bad)
        job = first_job()
        job.cohort[0].epsilon = bad
        with pytest.raises(ut.ConfigurationError, match="/cohort/0/epsilon: expected a finite number"):
            job.to_json()
    with pytest.raises(ut.InputError, match="indicator needs missing"):
        number("x", 0, 1, indicator=True)


def test_the_kinds_of_columns() -> None:
    assert category("c", "a", "b") == category("c", ["a", "b"])
    assert boolean("b").categories == ["False", "True"]
    assert date("d", "2020-01-01", "2021-01-01").date == "YYYY-MM-DD"


def test_labels() -> None:
    assert classes("y", "a", "b", "c").classes == ["a", "b", "c"]
    assert target("y", 0, 5).max == 5
    with pytest.raises(ut.InputError):
        classes("y", "a")


def test_cohort_counts_rows() -> None:
    members = ut.cohort_of({"a": {"x": [0.0] * 25}, "b": {"x": [0.0] * 10}}, 1.0)
    assert [(one.records, one.holdout_records) for one in members] == [(20, 5), (8, 2)]
    assert members[0].delta == 5e-4
    assert members[1].delta <= 0.01 / 8
