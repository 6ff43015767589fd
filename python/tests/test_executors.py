"""Sweeps on engines that exist: a Dask cluster and MPI ranks make the rows that one process makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dask.distributed as distributed
import pandas as pd
import pytest
import undertone as ut

from .conftest import ROOT

JOB = ROOT / "configs" / "jobs" / "breast-cancer.json"


@pytest.fixture(scope="module")
def plain() -> pd.DataFrame:
    return ut.sweep(JOB, range(3))


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster(plain: pd.DataFrame, tmp_path: Path) -> None:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
    ) as cluster, distributed.Client(cluster) as client:
        pd.testing.assert_frame_equal(ut.sweep(JOB, range(3), executor=client), plain)


SCRIPT = """
import sys
import undertone as ut
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        ut.sweep(sys.argv[1], range(3), executor=executor).to_csv(sys.argv[2], index=False)
"""


def test_two_ranks_of_mpi(plain: pd.DataFrame, tmp_path: Path) -> None:
    mpiexec = Path(sys.executable).parent / "mpiexec"
    (tmp_path / "ranks.py").write_text(SCRIPT)
    words = [str(mpiexec), "-n", "3", sys.executable, "-m", "mpi4py.futures", str(tmp_path / "ranks.py"), str(JOB), str(tmp_path / "rows.csv")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "HWLOC_COMPONENTS": "-gl"})
    assert done.returncode == 0, done.stderr
    rows = pd.read_csv(tmp_path / "rows.csv", keep_default_na=False)
    assert rows["accuracy"].tolist() == plain["accuracy"].tolist()
    assert rows["loss"].round(12).tolist() == plain["loss"].round(12).tolist()


def test_a_sweeps_file_is_what_the_command_writes(tmp_path: Path, command: Callable[..., str]) -> None:
    """Whoever runs it, and whoever goes on with it."""
    sweep = {
        "format": "undertone.sweep/1",
        "job": str(JOB),
        "vary": [{"set": "/cohort/*/epsilon", "values": [1, 4]}, {"set": "/simulation/partition_seed", "values": [1, 2]}],
        "first_seed": 1,
        "seeds": 2,
    }
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps(sweep))
    command("sweep", file, "--out", tmp_path / "command")
    with ThreadPoolExecutor(2) as threads:
        table = ut.sweep_file(file, tmp_path / "threads", executor=threads)
    ut.sweep_file(file, tmp_path / "plain")
    assert len(table) == 8
    for name in ("sweep.jsonl", "sweep.csv", "splits.csv"):
        wanted = (tmp_path / "command" / name).read_bytes()
        assert (tmp_path / "threads" / name).read_bytes() == wanted
        assert (tmp_path / "plain" / name).read_bytes() == wanted
    lines = (tmp_path / "command" / "sweep.jsonl").read_text()
    (tmp_path / "plain" / "sweep.jsonl").write_text(lines[: len(lines) // 2])  # it was killed there
    ut.sweep_file(file, tmp_path / "plain")
    assert (tmp_path / "plain" / "sweep.jsonl").read_text() == lines
    (tmp_path / "plain" / "sweep.jsonl").write_text(lines[: len(lines) // 3])
    command("sweep", file, "--out", tmp_path / "plain")
    assert (tmp_path / "plain" / "sweep.jsonl").read_text() == lines
    sweep["seeds"] = 3
    file.write_text(json.dumps(sweep))
    with pytest.raises(ut.InputError, match="choose another folder"):
        ut.sweep_file(file, tmp_path / "plain")
    with pytest.raises(ut.InputError, match="no-such"):
        ut.sweep_file(tmp_path / "no-such.json", tmp_path / "plain")


def test_private_selection_says_what_it_costs(tmp_path: Path) -> None:
    ut.sweep_file(ROOT / "configs" / "sweeps" / "breast-cancer-selection.json", tmp_path)
    chosen = json.loads((tmp_path / "selection.json").read_text())
    assert chosen["epsilon"] > chosen["one_run"]["epsilon"]
