"""The notebooks of docs run from the first cell to the last, and end with what they promise."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from .conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def outputs(book: nbformat.NotebookNode) -> str:
    out = ""
    for cell in book.cells:
        for one in cell.get("outputs", []):
            out += str(one.get("text", "")) + str(one.get("data", {}).get("text/plain", ""))
    return out


SAID = {
    "1-first-federation": "nothing of it is private",
    "2-statistics-with-intervals": r"true 14\.1",
    "3-which-epsilon": "noise [0-9.]+ times the sensitivity",
    "4-a-live-consortium": "invalid_config - ",
    "5-reading-a-ledger": "sound: False",
}


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERTONE_PROGRAMS", str(programs))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    book = nbformat.read(file, as_version=4)
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(file.parent)}}).execute()
    assert re.search(SAID[file.stem], outputs(book))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_kept_without_outputs(file: Path) -> None:
    book = nbformat.read(file, as_version=4)
    for cell in book.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_all_of_them_are_there() -> None:
    assert [file.stem for file in NOTEBOOKS] == sorted(SAID)


def test_the_first_one_has_ten_cells_of_code_at_most() -> None:
    book = nbformat.read(NOTEBOOKS[0], as_version=4)
    assert sum(cell.cell_type == "code" for cell in book.cells) <= 10
