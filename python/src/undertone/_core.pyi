from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Table:
    def __init__(self) -> None: ...
    def add_numbers(self, name: str, values: NDArray[np.float64]) -> None: ...
    def add_texts(self, name: str, places: NDArray[np.int32], different: Sequence[str]) -> None: ...
    @property
    def rows(self) -> int: ...

class SiloRecords:
    def __init__(
        self, silo: str, table: Table, holdout: Table | None, public_table: Table | None, persons: Sequence[str]
    ) -> None: ...

def version() -> str: ...
def drafted_delta(records: int) -> float: ...
def schema_text(kind: str) -> str: ...
def encode(table: Table, schema: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def check(job: str, name: str) -> None: ...
def full_job(job: str, name: str) -> str: ...
def plan(job: str, name: str) -> str: ...
def account(kind: str, mechanisms: str, **options: Any) -> str: ...
def draft(
    schema: str,
    cohort: Sequence[str],
    epsilon: float,
    delta: float | None,
    holdout_public: bool,
    persons: bool,
    records_max: int,
    name: str,
    seed: int,
    public_records: str,
    may_buy: bool,
    watch: Callable[[str], object] | None,
) -> tuple[str, str, bool, list[str]]: ...
def simulate(
    job: str,
    name: str,
    set: Sequence[str],
    silos: Sequence[SiloRecords] | None,
    seed: int,
    noise: bool,
    direct: bool,
    answering: int,
    threads: int,
    watch: Callable[[str], object] | None,
) -> tuple[str, str, str]: ...
def deal(
    rows: int, cells: Sequence[str], by: str, silos: int, concentration: float, seed: int
) -> list[list[int]]: ...
def audit(
    job: str, name: str, silo: str, trials: int, delta: float, canaries: bool, coins: int
) -> str: ...
def verify_ledger(
    ledger: str, head: str | None, dataset: str | None, public_key: str | None
) -> str: ...
