"""What can be asked in process: accounts, plans, drafts, simulations, audits and ledgers.

Everything here is done by the code that runs in silos and at operators. Nothing of it can make an agent answer: a
simulation's noise is seeded, so that its results are private for nobody, and each says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._progress import Progress, both
from .errors import InputError, RunFailed
from .jobs import Data, Job, JobLike, Member, cohort_of, job_text, read_job
from .plans import Plan
from .results import Result
from .tables import Frame, columns_of, texts_of, to_table, whole

__all__ = ["Draft", "account", "audit", "draft", "encode", "plan", "simulate", "validate", "verify_ledger"]


def validate(job: JobLike) -> None:
    """Check a job as far as can be told without data.

    Raises
    ------
    ConfigurationError
        The job is not good; the message has a line for each thing that is wrong with it.
    """
    _core.check(*job_text(job))


def plan(job: JobLike, cohort: Iterable[Member] | None = None) -> Plan:
    """Say what each silo would release and pay, before anybody runs the job.

    Parameters
    ----------
    job : Job, mapping or path
        The job.
    cohort : iterable of Member, optional
        Other facts of silos, in place of the job's.

    Returns
    -------
    Plan
        What ``undertone plan --json`` prints.
    """
    if cohort is not None:
        job = read_job(job)
        job.cohort = list(cohort)
    return Plan(json.loads(_core.plan(*job_text(job))))


def account(
    mechanism: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    adjacency: Literal["replace-one", "add-remove"] = "replace-one",
    method: Literal["numeric", "analytic", "classical", "zcdp", "rdp"] = "numeric",
    silos: int = 0,
    records: int = 0,
    parts: int = 0,
    epochs: int = 1,
    ledger: str | os.PathLike[str] = "",
    run: str = "",
    of_person: Sequence[int] | None = None,
    **of_mechanism: Any,
) -> Any:
    """Say what releases cost, by every accountant, or which noise a target needs.

    Parameters
    ----------
    mechanism : str, mapping or sequence of mappings
        ``"gaussian"``, ``"discrete-gaussian"``, ``"laplace"``, ``"exponential"``, ``"randomised-response"``,
        ``"approximate"``, ``"generalised-gaussian"`` or ``"zcdp"``, with its numbers as further arguments (`sigma`,
        `scale`, `sensitivity`, `clip`, `sampling`, `steps`, `norm`; `epsilon_each`, `delta_each` and `rho_each` of
        one release); a mapping with the key ``"mechanism"`` and these keys as an account's file has them; or several
        such mappings, which are composed. ``"shuffled"`` is one round of silos' replies through a shuffler,
        ``"allocation"`` every record in one secret part beside other draws, ``"person"`` what the runs of a ledger
        promise somebody with several records.
    delta : float, optional
        Of the whole; not needed where every release is pure.
    epsilon, rho : float, optional
        A target for one mechanism: the answer's ``"sigma"`` is then the smallest that keeps it.
    adjacency : {"replace-one", "add-remove"}
        Which data sets are neighbours.
    method : str
        With a target: which accountant calibrates.
    silos, records : int
        Of ``"shuffled"``: how many replies are mixed, and the records of the smallest silo; `records` of
        ``"allocation"`` are the silo's.
    parts, epochs : int
        Of ``"allocation"``.
    ledger, run, of_person
        Of ``"person"``: a silo's ledger, the beginning of a run's id, and how many records somebody has.

    Returns
    -------
    dict or list
        What ``undertone account --json`` prints. Its ``"epsilon"`` is certified: a ledger would be charged so much.

    Raises
    ------
    InputError
        A number is missing, or outside its range.
    """
    kind = mechanism if mechanism in ("shuffled", "allocation", "person") else "composition"
    renamed = {"epsilon_each": "epsilon", "delta_each": "delta", "rho_each": "rho"}
    one: dict[str, Any] = {renamed.get(key, key): value for key, value in of_mechanism.items()}
    if isinstance(mechanism, str):
        several = [] if kind == "person" else [{"mechanism": "gaussian" if kind != "composition" else mechanism, **one}]
    else:
        several = [dict(mechanism)] if isinstance(mechanism, Mapping) else [dict(each) for each in mechanism]
        if not several:
            raise InputError("mechanism: expected at least one, got none")
        if one:
            raise InputError(f"{next(iter(one))}: expected in the mechanism's mapping, beside its other numbers")
    document = json.dumps({"format": "undertone.account/1", "mechanisms": several}) if several else ""
    return json.loads(
        _core.account(
            kind,
            document,
            delta=delta,
            epsilon=epsilon,
            rho=rho,
            adjacency=adjacency,
            method=method,
            silos=silos,
            records=records,
            parts=parts,
            epochs=epochs,
            ledger=os.fspath(ledger),
            run=run,
            of_person=list(of_person) if of_person is not None else None,
        )
    )


@dataclass(frozen=True)
class Draft:
    """A whole job whose numbers were chosen on invented records, which cost no privacy.

    Attributes
    ----------
    job : Job
        The job. Of one that buys its standardisation it lacks that.
    first : Job or None
        The job of statistics that runs before, where a standardisation is bought.
    regression : bool
        Whether the job asks for least squares from noised moments, in place of a descent.
    reasons : list of str
        Why it says what it says.
    """

    job: Job
    first: Job | None
    regression: bool
    reasons: list[str]

    def __str__(self) -> str:
        return "\n".join(self.reasons)


def draft(
    schema: Data | Mapping[str, Any] | JobLike,
    cohort: Mapping[str, Any] | Iterable[Member],
    epsilon: float,
    delta: float | None = None,
    *,
    holdout: float = 0.2,
    holdout_public: bool = False,
    persons: bool = False,
    records_max: int = 16,
    public: str | os.PathLike[str] | None = None,
    name: str = "",
    seed: int = 1,
    two_jobs: bool = False,
    watch: Callable[[str], object] | None = None,
) -> Draft:
    """Choose a whole job's numbers for a schema and a cohort, on invented records.

    Parameters
    ----------
    schema : Data, mapping, job or path
        Label and features with their public bounds; of a job its data.
    cohort : mapping of str to sequence of int or table, or iterable of Member
        Of each silo its training records and its holdout, and its public records where it has some: ``(400, 100)``,
        ``(400, 100, 20)``. Of persons the same. Of a table its rows count, of which a share of `holdout` is held out, as
        `cohort_of` does it.
    epsilon, delta : float
        Promised to every record, or person, of each silo (replace-one). Without `delta` at most 0.01 / (the number of the
        silo's records).
    holdout : float
        Of tables: the share of the rows that is held out.
    holdout_public : bool
        Whether the owners declare their holdouts public: they are then evaluated exactly, at no cost.
    persons : bool
        Whether a person with all of her records is protected; `records_max` of them may count.
    public : path, optional
        A CSV file of records that need no protection.
    name : str
        The job's. Without one it is made of the label and the day.
    seed : int
        Of the invented records.
    two_jobs : bool
        Whether another job may run first and buy a standardisation, or least squares from noised moments may stand in
        place of a descent, where that does better.
    watch : callable, optional
        Told of every stage, a text.
    """
    data = schema if isinstance(schema, Data) else None
    if data is None and isinstance(schema, Mapping) and "label" in schema:
        data = Data.from_dict(dict(schema))
    if data is None:
        data = read_job(schema).data  # type: ignore[arg-type]
    seed, records_max = whole("seed", seed), whole("records_max", records_max)
    members = [f"{silo}={'+'.join(map(str, counts))}" for silo, counts in _counts_of(cohort, holdout)]
    job, first, regression, reasons = _core.draft(
        data.to_json(),
        members,
        float(epsilon),
        delta,
        holdout_public,
        persons,
        records_max,
        name,
        seed,
        os.fspath(public) if public is not None else "",
        two_jobs,
        watch,
    )
    reasons = [one.replace("--persons", "persons=True") for one in reasons]
    return Draft(
        Job.from_dict(json.loads(job)), Job.from_dict(json.loads(first)) if first else None, regression, reasons
    )


def _counts_of(cohort: Mapping[str, Any] | Iterable[Member], holdout: float) -> list[tuple[str, list[int]]]:
    """Return each silo's numbers of records."""
    out = []
    if not isinstance(cohort, Mapping):
        members = list(cohort)
        if not all(isinstance(one, Member) for one in members):
            raise InputError("cohort: expected a mapping of silos' names, or members as cohort_of makes them")
        for one in members:
            counts = [one.records or one.persons or 0, one.holdout_records or one.holdout_persons or 0]
            out.append((one.silo, counts + ([one.public_records] if one.public_records else [])))
        return out
    for silo, said in cohort.items():
        if isinstance(said, Sequence) and not isinstance(said, str):
            out.append((silo, [whole(f"cohort of {silo}", count) for count in said]))
            continue
        try:
            (member,) = cohort_of({silo: said}, 1.0, holdout=holdout)
        except InputError:
            raise InputError(f"cohort of {silo}: expected (records, holdout) or a table, got {said!r}") from None
        out.append((silo, [member.records or 0, member.holdout_records or 0]))
    return out


def encode(frame: Frame, schema: Data) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Encode a table as a silo encodes its file.

    Parameters
    ----------
    frame : table
        With the schema's columns; others are not read.
    schema : Data
        Label and features.

    Returns
    -------
    features : ndarray of shape (rows, width)
        Numbers scaled to [-1, 1] by their public bounds, and an indicator in {0, 1} for each listed value.
    targets : ndarray of shape (rows,)
        -1 or 1, the place of the class, or a number scaled to [-1, 1].

    Raises
    ------
    InputError
        A column is missing, or a cell is not what the schema says; the message names record and column, and never
        the value.
    """
    return _core.encode(to_table(frame, schema), schema.to_json())


def simulate(
    job: JobLike,
    frames: Mapping[str, Frame] | None = None,
    *,
    seed: int = 0,
    noise: Literal["seeded", "none"] = "seeded",
    holdout_frames: Mapping[str, Frame] | None = None,
    public_frames: Mapping[str, Frame] | None = None,
    person: str | None = None,
    direct: bool = False,
    answering: int = 0,
    threads: int = 1,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    on_round: Callable[[dict[str, Any]], object] | None = None,
    progress: bool | None = None,
) -> Result:
    """Run a job in this process, with seeded noise: fast, reproducible, and private for nobody.

    Parameters
    ----------
    job : Job, mapping or path
        The job.
    frames : mapping of str to table, optional
        Each silo's table, with as many rows as the job's cohort says, in place of what its simulation section says.
        Each silo divides it into training and holdout records by position and the seed of that section, or 0.
    seed : int
        Of noise, draws and the run.
    noise : {"seeded", "none"}
        Without noise it is a baseline.
    holdout_frames : mapping of str to table, optional
        What each silo holds out, where that is a table of its own: `frames` are then all trained on.
    public_frames : mapping of str to table, optional
        The records that a silo's owner declared public.
    person : str, optional
        Of a job that protects persons: the column that says whose a record is.
    direct : bool
        Without messages, ledgers and faults: the same model, bit for bit, much faster.
    answering, threads : int
        Of direct simulations: how many silos answer a round (0: all), and how many threads work; threads change no
        result.
    set : mapping of str to object, optional
        Values of the job that are replaced, by their JSON pointers: ``{"/cohort/*/epsilon": 2}``.
    on_round : callable, optional
        Called after every round with ``{"round", "rounds", "metrics"}``; an exception in it ends the simulation.
    progress : bool, optional
        Whether a bar is shown. Without it on a terminal and in a notebook, where tqdm is installed.

    Returns
    -------
    Result
        As a coordinator would write it, with a statement that begins with "VOID".

    Raises
    ------
    InputError, ConfigurationError
        The job or a table is not good.
    RunFailed
        The run ended without a result.
    KeyboardInterrupt
        Ctrl-C was heard; the simulation ends at the next round.
    """
    seed, answering, threads = whole("seed", seed), whole("answering", answering), whole("threads", threads, 1)
    if noise not in ("seeded", "none"):
        raise InputError(f"noise: expected seeded or none, got {noise!r}: real noise is an agent's alone")
    text, name = job_text(job)
    silos = None
    if frames is not None:
        _core.check(text, name)  # before a column is read by what it says
        if not isinstance(frames, Mapping):
            raise InputError(f"frames: expected a mapping of silos' names to tables, got {type(frames).__name__}")
        silos = silos_of(json.loads(text), frames, holdout_frames, public_frames, person)
    elif holdout_frames is not None or public_frames is not None or person is not None:
        raise InputError("holdout_frames, public_frames, person: only with frames")
    changes = [f"{pointer}={json.dumps(value)}" for pointer, value in (set or {}).items()]
    bar = Progress(progress, "simulating")
    tell = both(on_round, bar)
    try:
        job_run, result, model = _core.simulate(
            text, name, changes, silos, seed, noise == "seeded", direct, answering, threads,
            lambda said: tell(json.loads(said)),
        )
    finally:
        bar.close()
    out = Result(json.loads(result), json.loads(model) if model else None, json.loads(job_run))
    if not out.succeeded:
        raise RunFailed(out.failure, out)
    return out


def silos_of(
    job: Mapping[str, Any],
    frames: Mapping[str, Frame],
    holdout_frames: Mapping[str, Frame] | None = None,
    public_frames: Mapping[str, Frame] | None = None,
    person: str | None = None,
) -> list[_core.SiloRecords]:
    """Return each silo's tables as the extension takes them. See `simulate`."""
    data = Data.from_dict(dict(job["data"]))
    held, public = holdout_frames or {}, public_frames or {}
    return [_silo_records(one, data, frame, held.get(one), public.get(one), person) for one, frame in frames.items()]


def _silo_records(
    silo: str, data: Data, frame: Frame, held: Frame | None, public: Frame | None, person: str | None
) -> _core.SiloRecords:
    persons: list[str] = []
    if person is not None:
        columns = dict(columns_of(frame))
        if person not in columns:
            raise InputError(f'silo {silo}: no column "{person}" is in its table')
        persons = texts_of(columns[person], person)
        if "" in persons:
            raise InputError(f'silo {silo}: column "{person}": expected an id in every row, found none in one')
    held_out, open_table = (to_table(one, data) if one is not None else None for one in (held, public))
    return _core.SiloRecords(silo, to_table(frame, data), held_out, open_table, persons)


def audit(
    job: JobLike,
    *,
    silo: str = "",
    trials: int = 1000,
    delta: float = 1e-5,
    canaries: bool = False,
    coins: int = 1,
) -> dict[str, Any]:
    """Look for a lower bound on epsilon by experiment, on worst-case records and with production randomness.

    Parameters
    ----------
    job : Job, mapping or path
        The job; of mode isrl.
    silo : str
        Of the cohort; the first if not given.
    trials : int
        Transcripts of each of two neighbouring data sets (replace-one).
    delta : float
        At which epsilon is claimed and tested.
    canaries : bool
        One run with a canary in every feature's direction, in place of many transcripts.
    coins : int
        The seed of the canaries' coins.

    Returns
    -------
    dict
        What ``undertone audit --json`` prints. ``"flagged"``: whether the silo leaks more than its plan claims. A lower
        bound that was found is never a guarantee. An interrupt is heard when the audit is over.
    """
    trials, coins = whole("trials", trials, 1), whole("coins", coins)
    text, name = job_text(job)
    found: dict[str, Any] = json.loads(_core.audit(text, name, silo, trials, delta, canaries, coins))
    return found


def verify_ledger(
    ledger: str | os.PathLike[str],
    *,
    head: str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    public_key: str | None = None,
) -> dict[str, Any]:
    """Recompute a silo's ledger with code that shares nothing with the silo's.

    Parameters
    ----------
    ledger : path
        The ledger's file, as a copy or where it is.
    head : path, optional
        The head file that lives outside the ledger.
    dataset : str, optional
        The data set whose ledger this must be.
    public_key : str, optional
        The ledger's public key, hexadecimal.

    Returns
    -------
    dict
        ``"sound"`` is true where no rule is broken; ``"problems"`` says what is; ``"runs"`` has a row for each run with
        its reserved epsilon and delta.
    """
    found: dict[str, Any] = json.loads(
        _core.verify_ledger(os.fspath(ledger), os.fspath(head) if head is not None else None, dataset, public_key)
    )
    return found
