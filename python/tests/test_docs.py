"""What docs/python.md shows runs as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

SHOWN = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", [code for code in SHOWN if "operator.json" not in code])
def test_a_snippet_runs(code: str, tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(code)  # a file of its own, which processes can import
    words = [sys.executable, str(tmp_path / "shown.py")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_one_snippet_drives_a_coordinator() -> None:
    assert sum("operator.json" in code for code in SHOWN) == 1
    assert len(SHOWN) >= 3


def test_the_readme_of_the_package_runs() -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "python" / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    for code in shown:
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, timeout=120, check=True)
