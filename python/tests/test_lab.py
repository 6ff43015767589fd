"""What is asked in process is what the commands say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import undertone as ut
from undertone.jobs import Algorithm, Job

from .test_jobs import JOBS, first_job


@pytest.mark.parametrize("file", JOBS, ids=lambda file: file.stem)
def test_a_plan_is_that_of_the_command(file: Path, command) -> None:
    plan = ut.plan(file)
    assert dict(plan) == json.loads(command("plan", file, "--json"))
    assert len(plan.silos) == len(plan["silos"])
    assert plan.silos["epsilon"].max() > 0
    assert str(plan["job"]) in plan._repr_html_()
    assert len(str(plan).splitlines()) > len(plan["silos"])


def test_a_plan_of_other_facts() -> None:
    job = first_job()
    more = ut.cohort_of({"a": {"x": [0.0] * 600}}, 1.0, holdout_public=True)
    assert ut.plan(job, more).silos.loc["a", "records"] == 480
    assert job.cohort[0].records == 50


ACCOUNTS: list[tuple[list[str], Any, dict[str, Any]]] = [
    (["gaussian", "--sigma", "2", "--clip", "1", "--steps", "10", "--delta", "1e-5"], "gaussian",
     {"sigma": 2, "clip": 1, "steps": 10, "delta": 1e-5}),
    (["gaussian", "--clip", "1", "--epsilon", "1", "--delta", "1e-5", "--sampling", "wor:1/10", "--steps", "20"], "gaussian",
     {"clip": 1, "epsilon": 1, "delta": 1e-5, "sampling": "wor:1/10", "steps": 20}),
    (["discrete-gaussian", "--sigma", "3", "--sensitivity", "1", "--delta", "1e-6"], "discrete-gaussian",
     {"sigma": 3, "sensitivity": 1, "delta": 1e-6}),
    (["laplace", "--scale", "2", "--sensitivity", "1", "--steps", "3"], "laplace", {"scale": 2, "sensitivity": 1, "steps": 3}),
    (["exponential", "--epsilon-each", "0.5", "--steps", "4"], "exponential", {"epsilon_each": 0.5, "steps": 4}),
    (["randomised-response", "--epsilon-each", "0.5", "--delta", "1e-6", "--steps", "9"], "randomised-response",
     {"epsilon_each": 0.5, "steps": 9, "delta": 1e-6}),
    (["approximate", "--epsilon-each", "0.5", "--delta-each", "1e-7", "--delta", "1e-5"], "approximate",
     {"epsilon_each": 0.5, "delta_each": 1e-7, "delta": 1e-5}),
    (["generalised-gaussian", "--scale", "2", "--sensitivity", "1", "--norm", "3", "--delta", "1e-5"],
     "generalised-gaussian", {"scale": 2, "sensitivity": 1, "norm": 3, "delta": 1e-5}),
    (["zcdp", "--rho-each", "0.1", "--delta", "1e-5"], "zcdp", {"rho_each": 0.1, "delta": 1e-5}),
    (["gaussian", "--clip", "1", "--rho", "0.1"], "gaussian", {"clip": 1, "rho": 0.1}),
    (["shuffled", "--silos", "1000", "--epsilon-each", "1", "--delta", "1e-6"], "shuffled",
     {"silos": 1000, "epsilon_each": 1, "delta": 1e-6}),
    (["allocation", "--parts", "10", "--sigma", "2", "--clip", "1", "--delta", "1e-5"], "allocation",
     {"parts": 10, "sigma": 2, "clip": 1, "delta": 1e-5}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "mechanism", "numbers"), ACCOUNTS, ids=lambda value: value if isinstance(value, str) else "")
def test_an_account_is_that_of_the_command(words: list[str], mechanism: str, numbers: dict[str, Any], command) -> None:
    assert ut.account(mechanism, **numbers) == json.loads(command("account", *words, "--json"))


def test_several_mechanisms_are_composed(tmp_path: Path, command) -> None:
    several = [{"mechanism": "gaussian", "sigma": 4.0, "clip": 1.0, "steps": 5}, {"mechanism": "laplace", "scale": 9.0, "sensitivity": 1.0}]
    file = tmp_path / "mechanisms.json"
    file.write_text(json.dumps({"format": "undertone.account/1", "mechanisms": several}))
    assert ut.account(several, delta=1e-5) == json.loads(command("account", file, "--delta", "1e-5", "--json"))


@pytest.mark.parametrize(
    ("mechanism", "numbers", "words"),
    [
        ("gaussian", {"sigma": -1, "clip": 1, "delta": 1e-5}, "sigma"),
        ("gaussian", {"sigma": 1, "clip": 1}, "delta is missing"),
        ("gauss", {"sigma": 1}, "mechanism"),
        ("gaussian", {"sigma": 1, "clip": 1, "delta": 2.0}, "delta"),
        ("gaussian", {"clip": 1, "epsilon": 0, "delta": 1e-5}, "epsilon"),
        ([{"mechanism": "gaussian", "sigma": 4.0, "clip": 1.0}] * 2, {"epsilon": 1, "delta": 1e-5}, "one mechanism"),
        ([], {"delta": 1e-5}, "at least one"),
        ("shuffled", {"silos": -1, "epsilon_each": 1, "delta": 1e-6}, "silos"),
        ("gaussian", {"clip": 1, "sigma": 1, "delta": 1e-5, "adjacency": "swap"}, "adjacency"),
        ("person", {"ledger": "no/such/ledger.sqlite"}, "no/such"),
        ([{"mechanism": "laplace"}], {"scale": 1}, "mapping"),
    ],
)
def test_an_account_that_cannot_be_is_refused(mechanism: Any, numbers: dict[str, Any], words: str) -> None:
    with pytest.raises(ut.UndertoneError, match=words):
        ut.account(mechanism, **numbers)


def test_a_draft_is_that_of_the_command(tmp_path: Path, command) -> None:
    job = first_job()
    (tmp_path / "schema.json").write_text(job.data.to_json())
    words = ["draft", "--schema", tmp_path / "schema.json", "--cohort", "a=80+20", "b=60+20", "--epsilon", 2, "--seed", 3]
    text = command(*words)
    stages: list[str] = []
    draft = ut.draft(job.data, {"a": (80, 20), "b": (60, 20)}, 2, seed=3, watch=stages.append)
    assert json.loads(draft.job.to_json()) == json.loads(text)
    assert stages
    assert "No data were read" in draft.reasons[0]


def test_a_cohort_may_be_said_in_three_ways() -> None:
    frames = {"a": {"x": [0.0] * 100}}
    data = first_job().data
    by_hand, by_tables, by_members = (
        ut.draft(data, cohort, 2, holdout_public=True).job for cohort in ({"a": (80, 20)}, frames, ut.cohort_of(frames, 1.0))
    )
    assert by_hand == by_tables == by_members


def test_a_draft_is_stopped_by_its_watcher() -> None:
    class Enough(Exception):
        pass

    def stop(stage: str) -> None:
        raise Enough

    with pytest.raises(Enough):
        ut.draft(first_job().data, {"a": (80, 20)}, 2, watch=stop)


@pytest.mark.parametrize(
    ("cohort", "epsilon", "words"),
    [({}, 1, "cohort"), ({"a": (10,)}, 1, "cohort"), ({"a": 59}, 1, "cohort of a"), ([1], 1, "cohort"), ({"a": (1.5, 2)}, 1, "cohort of a"), ({"a": (80, 20)}, 0, "epsilon"), ({"a b": (80, 20)}, 1, "cohort")],
)
def test_a_draft_that_cannot_be_is_refused(cohort: Any, epsilon: float, words: str) -> None:
    with pytest.raises(ut.InputError, match=words):
        ut.draft(first_job().data, cohort, epsilon)


def test_a_simulation_writes_what_the_command_writes(root: Path, tmp_path: Path, command) -> None:
    file = root / "configs" / "jobs" / "breast-cancer.json"
    command("simulate", file, "--out", tmp_path, "--seed", 4, "--set", "/cohort/*/epsilon=2")
    seen: list[dict[str, Any]] = []
    result = ut.simulate(file, seed=4, set={"/cohort/*/epsilon": 2}, on_round=seen.append)
    written = ut.Result.read(tmp_path)
    assert dict(result) == dict(written)
    assert result.model is not None
    assert written.model is not None
    assert result.model.values == written.model.values
    assert result.job == written.job
    assert len(seen) == result["rounds"]
    assert seen[-1]["metrics"]["accuracy"] == result.metrics["accuracy"].iloc[-1]
    result.save(tmp_path / "again")
    assert dict(ut.Result.read(tmp_path / "again")) == dict(result)


def test_results_say_that_they_are_simulated(root: Path) -> None:
    result = ut.simulate(root / "configs" / "jobs" / "breast-cancer.json", direct=True)
    assert result.simulated
    assert result.statement("clinic-1").startswith("VOID")
    for shown in (repr(result), str(result), result._repr_html_()):
        assert "nothing of it is private" in shown
    with pytest.raises(ut.InputError, match="no silo"):
        result.statement("clinic-9")


def test_statistics_are_a_table(root: Path) -> None:
    result = ut.simulate(root / "configs" / "jobs" / "breast-cancer-moments-and-tables.json", seed=2)
    table = result.statistics
    assert list(table.columns[:5]) == ["statistic", "name", "value", "low", "high"]
    known = table.dropna(subset=["low", "high", "value"])
    assert len(known) > 5
    assert (known["low"] <= known["high"]).all()
    assert table.loc[table["value"].isna(), "note"].notna().all()  # what is refused says why


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, None, "1", True])
def test_a_seed_that_is_none_is_refused(seed: Any, root: Path) -> None:
    with pytest.raises(ut.InputError, match="seed"):
        ut.simulate(root / "configs" / "jobs" / "breast-cancer.json", seed=seed)


def test_real_noise_is_an_agents_alone(root: Path) -> None:
    with pytest.raises(ut.InputError, match="agent"):
        ut.simulate(root / "configs" / "jobs" / "breast-cancer.json", noise="secure")  # type: ignore[arg-type]


def test_frames_that_do_not_fit_the_cohort_are_refused() -> None:
    job = first_job()
    frame = {"y": ["no", "yes"] * 30, "x": [0.5] * 60, "c": ["a"] * 60}
    assert ut.simulate(job, {"a": frame}, direct=True).succeeded
    with pytest.raises(ut.InputError, match="silo a: the job counts on 50 records"):
        ut.simulate(job, {"a": {key: values[:40] for key, values in frame.items()}})
    with pytest.raises(ut.InputError, match="silo a: expected its table"):
        ut.simulate(job, {"b": frame})
    with pytest.raises(ut.InputError, match="silo a"):
        ut.simulate(job, {"a": {**frame, "x": [float("nan")] * 60}})
    with pytest.raises(ut.InputError, match="/simulation"):
        ut.simulate(job)
    for frames in ([frame], pd.DataFrame(frame)["x"]):
        with pytest.raises(ut.InputError, match="frames: expected a mapping"):
            ut.simulate(job, frames)  # type: ignore[arg-type]


def test_a_holdout_of_its_own() -> None:
    job = first_job()
    job.cohort[0].holdout_records = 1
    held = {"y": ["no"], "x": [0.5], "c": ["b"]}
    frame = {"y": ["no", "yes"] * 25, "x": [0.5] * 50, "c": ["a"] * 50}
    assert ut.simulate(job, {"a": frame}, holdout_frames={"a": held}, direct=True).succeeded


def test_a_run_that_fails_says_why_and_keeps_its_result(root: Path) -> None:
    job = ut.read_job(root / "configs" / "jobs" / "breast-cancer.json")
    assert job.simulation is not None
    job.simulation.csv = str(root / "datasets" / "wdbc" / "wdbc.csv")
    for member in job.cohort[:3]:
        member.records = 15  # of which a silo's policy lets none be told
    job.algorithm = Algorithm(kind="noisy_minibatch_sgd", rounds=3, step_size=1e300, averaging="last", draw_fraction=1)
    try:
        result = ut.simulate(job, direct=True)
    except ut.RunFailed as failed:
        assert failed.result is not None
        assert failed.result.failure == str(failed)
    except ut.InputError as refused:
        assert str(refused)
    else:
        assert result.succeeded


def test_an_exception_of_the_watcher_ends_a_simulation(root: Path) -> None:
    class Enough(Exception):
        pass

    seen: list[int] = []

    def watch(said: dict[str, Any]) -> None:
        seen.append(said["round"])
        if len(seen) == 3:
            raise Enough

    for direct in (False, True):
        seen.clear()
        with pytest.raises(Enough):
            ut.simulate(root / "configs" / "jobs" / "breast-cancer.json", on_round=watch, direct=direct)
        assert seen == [0, 1, 2]


def test_ctrl_c_ends_a_simulation_at_the_next_round(root: Path) -> None:
    rounds: list[int] = []

    def watch(said: dict[str, Any]) -> None:
        rounds.append(said["round"])
        if said["round"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        ut.simulate(root / "configs" / "jobs" / "breast-cancer.json", on_round=watch)
    assert len(rounds) <= 4


def test_other_threads_go_on_while_it_computes(root: Path) -> None:
    ticks = 0
    ended = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not ended.is_set():
            ticks += 1
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    began = time.monotonic()
    for seed in range(3):
        ut.simulate(root / "configs" / "jobs" / "breast-cancer.json", seed=seed)
    ended.set()
    other.join()
    assert ticks > 20 * (time.monotonic() - began)


def test_simulations_at_the_same_time_are_those_one_after_the_other(root: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    files = [root / "configs" / "jobs" / f"{name}.json" for name in ("breast-cancer", "breast-cancer-statistics", "breast-cancer-shuffle")]
    alone = [dict(ut.simulate(file, seed=3)) for file in files]
    with ThreadPoolExecutor(6) as threads:
        together = list(threads.map(lambda file: dict(ut.simulate(file, seed=3)), files * 3))
    assert together == alone * 3


def test_an_audit_finds_nothing_where_nothing_is(root: Path) -> None:
    found = ut.audit(root / "configs" / "jobs" / "breast-cancer.json", trials=100)
    assert not found["flagged"]
    assert found["epsilon_lower"] <= found["epsilon_claimed"]
    with pytest.raises(ut.InputError, match="no silo"):
        ut.audit(root / "configs" / "jobs" / "breast-cancer.json", silo="nobody")


def test_a_file_that_is_no_ledger_is_not_sound(tmp_path: Path) -> None:
    found = ut.verify_ledger(tmp_path / "none.sqlite")
    assert not found["sound"]
    assert found["problems"]


def test_a_job_that_breaks_an_invariant_stops_no_interpreter() -> None:
    # Whatever numbers a job has: an exception, or a result.
    job = first_job()
    for bound in (1e-300, 1e300):
        job.data.features[0].min, job.data.features[0].max = -bound, bound
        frame = {"y": ["no", "yes"] * 30, "x": [bound] * 60, "c": ["a"] * 60}
        try:
            assert isinstance(ut.simulate(job, {"a": frame}, direct=True), ut.Result)
        except ut.UndertoneError as error:
            assert str(error)


def test_sweeps_are_the_same_whatever_runs_them(root: Path, tmp_path: Path) -> None:
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

    file = root / "configs" / "jobs" / "breast-cancer.json"
    variants: dict[str, dict[str, Any]] = {"2": {"/cohort/*/epsilon": 2}, "4": {"/cohort/*/epsilon": 4}}
    plain = ut.sweep(file, [1, 2], values=variants, out=tmp_path / "a.jsonl")
    assert plain["epsilon"].round(1).tolist() == [2.0, 2.0, 4.0, 4.0]
    for executor in (ThreadPoolExecutor(2), ProcessPoolExecutor(2)):
        with executor:
            pd.testing.assert_frame_equal(ut.sweep(file, [1, 2], values=variants, executor=executor), plain)
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    (tmp_path / "a.jsonl").write_text("\n".join(lines[:2]) + "\n" + lines[2][:40])
    pd.testing.assert_frame_equal(ut.sweep(file, [1, 2], values=variants, out=tmp_path / "a.jsonl"), plain)
    assert (tmp_path / "a.jsonl").read_text().splitlines()[:2] == lines[:2]


def test_a_sweep_knows_its_data_and_what_is_not_private(root: Path, tmp_path: Path) -> None:
    text = json.loads((root / "configs" / "jobs" / "breast-cancer.json").read_text())
    text["simulation"]["csv"] = "data.csv"
    rows = (root / "datasets" / "wdbc" / "wdbc.csv").read_text().splitlines()
    for name, lines in (("a", rows), ("b", [rows[0], *rows[:0:-1]])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.csv").write_text("\n".join(lines) + "\n")
        (tmp_path / name / "job.json").write_text(json.dumps(text))
    out = tmp_path / "rows.jsonl"
    table = ut.sweep({name: tmp_path / name / "job.json" for name in "ab"}, [1], out=out)
    alone = [ut.sweep(tmp_path / name / "job.json", [1])["loss"].iloc[0] for name in "ab"]
    assert table["loss"].tolist() == alone
    assert alone[0] != alone[1]
    plain = ut.sweep(tmp_path / "a" / "job.json", [1], noise="none")
    assert plain["epsilon"].isna().all()
    assert "nothing of it is private" in plain.attrs["note"]
    (tmp_path / "a" / "data.csv").rename(tmp_path / "a" / "away.csv")
    with pytest.warns(RuntimeWarning, match="1 of 1 runs failed, the first: .*data.csv"):
        missing = ut.sweep(tmp_path / "a" / "job.json", [1], out=out)
    assert not missing["succeeded"].any()
    (tmp_path / "a" / "away.csv").rename(tmp_path / "a" / "data.csv")
    assert ut.sweep(tmp_path / "a" / "job.json", [1], out=out)["succeeded"].all()
    with pytest.raises(ut.InputError, match="seeds"):
        ut.sweep(tmp_path / "a" / "job.json", [-1])


def test_a_sweep_takes_tables() -> None:
    from concurrent.futures import ProcessPoolExecutor

    job = first_job()
    frames = {"a": pd.DataFrame({"y": ["no", "yes"] * 30, "x": [0.5, -0.5] * 30, "c": ["a"] * 60})}
    plain = ut.sweep(job, [1, 2], frames=frames)
    assert plain["accuracy"].tolist() == [
        ut.simulate(job, frames, seed=seed, direct=True).metrics["accuracy"].iloc[-1] for seed in (1, 2)
    ]
    with ProcessPoolExecutor(2) as executor:
        pd.testing.assert_frame_equal(ut.sweep(job, [1, 2], frames=frames, executor=executor), plain)


def test_no_memory_for_threads_stops_no_interpreter(root: Path) -> None:
    code = (
        "import resource, undertone as ut\n"
        "job = 'configs/jobs/breast-cancer.json'\n"
        "ut.simulate(job, direct=True, threads=1)\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (12 << 20), used + (12 << 20)))\n"
        "try:\n    ut.simulate(job, direct=True, threads=5)\nexcept (ut.UndertoneError, MemoryError):\n    pass\n"
        "print('alive')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60, check=False)
    assert "alive" in done.stdout, done.stderr


def test_the_version_is_the_programs() -> None:
    from undertone import _core

    assert ut.__version__ in _core.version()


def test_job_is_a_type() -> None:
    assert isinstance(first_job(), Job)
