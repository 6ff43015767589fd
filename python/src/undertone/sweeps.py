"""Many simulations, on any executor: their results are the same whatever runs them."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pickle
import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._progress import Progress
from .errors import InputError, UndertoneError
from .jobs import JobLike, job_text
from .tables import Frame, whole

if TYPE_CHECKING:
    import pandas as pd

    from . import _core

__all__ = ["sweep", "sweep_file"]


def _files_in(value: Any) -> Iterator[str]:
    """Yield every text of a section, of which some are names of files."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _files_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from _files_in(one)


def _data_of(text: str, path: str) -> list[str]:
    """Return the digests of the files that a job reads in a simulation."""
    try:
        job = json.loads(text)
    except ValueError:
        return []
    names = {one for key in ("simulation", "public") for one in _files_in(job.get(key) if isinstance(job, dict) else None)}
    files = [Path(path).parent / name for name in sorted(names)]
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]


def _name(text: str, data: list[str], settings: Mapping[str, Any]) -> str:
    """Return what a point of a sweep is known by: its job's text, its data and what it is run with."""
    everything = json.dumps([text, data, dict(settings)], sort_keys=True)
    return hashlib.sha256(everything.encode()).hexdigest()


def _run_point(text: str, file: str, settings: Mapping[str, Any], frames: Mapping[str, Frame] | None) -> dict[str, Any]:
    """Run one point. It is a function of its arguments alone, so that any process may do it."""
    from . import _core
    from .lab import silos_of

    changes = [f"{pointer}={json.dumps(value)}" for pointer, value in settings.get("set", {}).items()]
    try:
        silos = silos_of(json.loads(text), frames) if frames is not None else None
        _, result, _ = _core.simulate(
            text, file, changes, silos, settings["seed"], settings["noise"] == "seeded", settings["direct"], 0, 1, None
        )
    except UndertoneError as error:
        return {"succeeded": False, "failure": str(error), "metrics": {}, "refused": True}
    said = json.loads(result)
    last = said["metrics"][-1] if said["metrics"] else {}
    return {
        "succeeded": said["succeeded"],
        "failure": said.get("failure", ""),
        "metrics": {key: value for key, value in last.items() if key != "noise_stddev"},
        "epsilon": max(row["epsilon"] for row in said["privacy"]) if settings["noise"] == "seeded" else None,
        "statistics": {row["statistic"]: row["value"] for row in said.get("statistics", []) if "value" in row},
    }


def _kept(file: Path) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    if not file.exists():
        return out
    good = ""
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        try:
            row = json.loads(line)
            out[row["point"]] = row
            good += line.rstrip("\n") + "\n"
        except (ValueError, KeyError, TypeError):
            continue  # the last line of a sweep that was killed while it wrote
    file.write_text(good, encoding="utf-8")
    return out


def sweep(
    jobs: Mapping[str, JobLike] | JobLike,
    seeds: Iterable[int],
    *,
    values: Mapping[str, Mapping[str, Any]] | None = None,
    frames: Mapping[str, Frame] | None = None,
    executor: Executor | Any | None = None,
    out: str | os.PathLike[str] | None = None,
    noise: str = "seeded",
    direct: bool = True,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Simulate jobs, each with every seed, and return a row for each run.

    Parameters
    ----------
    jobs : job, or mapping of str to job
        Their simulation sections say where the data are; every process must be able to read them there.
    seeds : iterable of int
        Of noise and draws.
    values : mapping of str to mapping, optional
        Named variants: of each the JSON pointers whose values it replaces, ``{"epsilon 2": {"/cohort/*/epsilon": 2}}``.
    frames : mapping of str to table, optional
        Each silo's table, in place of what the jobs' simulation sections say; it is sent to every process. See
        `undertone.simulate`.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Whatever has ``submit`` and returns futures: threads, processes, ``dask.distributed.Client``,
        ``mpi4py.futures.MPIPoolExecutor``, Ray's. Without it the runs are made one after the other.
    out : path, optional
        A file of lines of JSON, one for each run, written as they end. A sweep that was broken off goes on from there.
    noise : {"seeded", "none"}
        See `undertone.simulate`.
    direct : bool
        See `undertone.simulate`.
    progress : bool, optional
        Whether a bar is shown.

    Returns
    -------
    pandas.DataFrame
        In the order of jobs, variants and seeds, whatever the executor: `job`, `variant`, `seed`, `succeeded`, `failure`,
        `epsilon`, and the last evaluation's metrics. All results are of seeded noise, and private for nobody.
    """
    import pandas as pd

    if noise not in ("seeded", "none"):
        raise InputError(f"noise: expected seeded or none, got {noise!r}")
    single = isinstance(jobs, str | os.PathLike) or not isinstance(jobs, Mapping) or "format" in jobs
    named: Mapping[str, Any] = {"job": jobs} if single else jobs  # type: ignore[assignment]
    variants: Mapping[str, Mapping[str, Any]] = values or {"": {}}
    file = Path(out) if out is not None else None
    known = _kept(file) if file is not None else {}
    rows: list[dict[str, Any]] = []
    wanted: list[tuple[dict[str, Any], str, str, dict[str, Any]]] = []
    listed = [whole("seeds", seed) for seed in seeds]
    for name, job in named.items():
        text, path = job_text(job)
        data = _data_of(text, path) if frames is None else [hashlib.sha256(pickle.dumps(frames)).hexdigest()]
        for variant, changes in variants.items():
            for seed in listed:
                settings = {"seed": seed, "noise": noise, "direct": direct, "set": dict(changes)}
                row: dict[str, Any] = {"job": name, "variant": variant, "seed": seed, "point": _name(text, data, settings)}
                rows.append(row)
                if row["point"] not in known:
                    wanted.append((row, text, path, settings))
    bar = Progress(progress, "sweep")
    try:
        for count, (row, found) in enumerate(_all(wanted, frames, executor)):
            known[row["point"]] = {**row, **found}
            if file is not None and not found.get("refused"):  # a file that is missing may be there next time
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(known[row["point"]]) + "\n")
            bar.to(count + 1, len(wanted), None)
    finally:
        bar.close()
    out_rows: list[dict[str, Any]] = []
    for row in rows:
        found = known[row["point"]]
        flat: dict[str, Any] = {**row, **{key: found.get(key) for key in ("succeeded", "failure", "epsilon")}}
        flat.update(found["metrics"])
        flat.update(found.get("statistics", {}))
        del flat["point"]
        out_rows.append(flat)
    table = pd.DataFrame(out_rows)
    failed = table.loc[~table["succeeded"].astype(bool), "failure"]
    if len(failed) > 0:
        warnings.warn(f"{len(failed)} of {len(table)} runs failed, the first: {failed.iloc[0]}", RuntimeWarning, stacklevel=2)
    table.attrs["note"] = "simulated: the noise was seeded or absent, nothing of it is private"
    return table


def _all(
    wanted: list[tuple[dict[str, Any], str, str, dict[str, Any]]], frames: Mapping[str, Frame] | None, executor: Any
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each point's row with what was found, as they end."""
    if executor is None:
        for row, text, path, settings in wanted:
            yield row, _run_point(text, path, settings, frames)
        return
    futures = [(executor.submit(_run_point, text, path, settings, frames), row) for row, text, path, settings in wanted]
    if all(isinstance(future, Future) for future, _ in futures):
        rows = dict(futures)
        for future in as_completed(rows):
            yield rows[future], future.result()
        return
    for future, row in futures:  # of dask and others, whose futures are of their own kind
        yield row, future.result()


@functools.lru_cache(maxsize=4)
def _opened(file: str, stamp: str) -> _core.Sweep:
    """Return a sweep's file, opened once a process. `stamp` tells a file that has changed."""
    from . import _core

    del stamp
    return _core.Sweep(file)


def _line(file: str, stamp: str, run: int) -> str:
    return _opened(file, stamp).line(run)


def sweep_file(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    executor: Executor | Any | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Run a sweep's file as ``undertone sweep`` does, on any executor, into the same files, byte for byte.

    Parameters
    ----------
    file : path
        What is varied (``undertone.sweep/1``). Every process must be able to read it, its job and the data there.
    out : path
        A folder for ``sweep.jsonl``, ``sweep.csv`` and what else the sweep makes. A sweep that was broken off goes on where
        it stood, whoever began it: this function or the command.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        See `sweep`.
    progress : bool, optional
        Whether a bar is shown.

    Returns
    -------
    pandas.DataFrame
        ``sweep.csv``. All results are of seeded noise, and private for nobody.

    Raises
    ------
    InputError
        The file, its job or its data are not good, or `out` holds another sweep.
    """
    import pandas as pd

    path = os.path.abspath(file)
    try:
        stamp = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{os.fspath(file)}: {error}") from None
    opened = _opened(path, stamp)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    lines = folder / "sweep.jsonl"
    begun = lines.read_text(encoding="utf-8") if lines.exists() else ""
    if not begun.startswith(opened.header):
        if not opened.header.startswith(begun):
            raise InputError(f"{lines}: of something else, or what it is of has changed: choose another folder")
        begun = opened.header
    begun = begun[: begun.rfind("\n") + 1]
    lines.write_text(begun, encoding="utf-8")
    kept = begun.count("\n") - 1
    bar = Progress(progress, "sweep")
    waiting: dict[int, str] = {}
    written = kept
    try:
        with lines.open("a", encoding="utf-8") as target:
            for run, line in _lines(path, stamp, range(kept, opened.total), executor):
                waiting[run] = line
                while written in waiting:  # in their order, so that what is there is always a beginning
                    target.write(waiting.pop(written) + "\n")
                    written += 1
                target.flush()
                bar.to(written, opened.total, None)
    finally:
        bar.close()
    opened.finish(str(folder))
    return pd.read_csv(folder / "sweep.csv")


def _lines(path: str, stamp: str, runs: Iterable[int], executor: Any) -> Iterator[tuple[int, str]]:
    if executor is None:
        for run in runs:
            yield run, _line(path, stamp, run)
        return
    for run, future in [(run, executor.submit(_line, path, stamp, run)) for run in runs]:
        yield run, future.result()
