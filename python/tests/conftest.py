"""What the tests share: where things are, and tables that they are about."""

from __future__ import annotations

import csv
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def programs() -> Path:
    """The build folder that holds the programs."""
    named = os.environ.get("UNDERTONE_PROGRAMS", str(ROOT / "build" / "dev"))
    if not (Path(named) / "lab" / "undertone").exists():
        pytest.fail(f"no program is in {named}: build it, or say another folder by UNDERTONE_PROGRAMS")
    return Path(named)


@pytest.fixture(scope="session")
def command(programs: Path) -> Callable[..., str]:
    """Runs `undertone` and returns its standard output."""

    def run(*arguments: Any) -> str:
        words = [str(programs / "lab" / "undertone"), *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def wdbc(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "datasets" / "wdbc" / "wdbc.csv")


def texts_in(file: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Return a CSV file's cells as they stand in it."""
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    return {name: np.asarray([row[i] for row in rows[1:]], dtype=object) for i, name in enumerate(rows[0])}
