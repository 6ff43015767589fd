"""Progress on a terminal or in a notebook, where there is one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def in_notebook() -> bool:
    """Return whether this code runs in a notebook's kernel."""
    shell = sys.modules.get("IPython")
    made = shell.get_ipython() if shell is not None else None
    return made is not None and type(made).__name__ == "ZMQInteractiveShell"


class Progress:
    """A bar of rounds, by tqdm where it is installed; nothing elsewhere."""

    def __init__(self, wanted: bool | None, title: str) -> None:
        self._bar: Any = None
        shown = wanted if wanted is not None else (sys.stderr.isatty() or in_notebook())
        if not shown:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(desc=title, unit="round", leave=False)

    def to(self, round_over: int, rounds: int, metrics: dict[str, float] | None) -> None:
        """Show that a round is over."""
        if self._bar is None:
            return
        self._bar.total = rounds
        self._bar.update(round_over - self._bar.n)
        if metrics:
            self._bar.set_postfix({name: f"{value:.4g}" for name, value in list(metrics.items())[:3]})

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def both(first: Callable[[dict[str, Any]], object] | None, progress: Progress) -> Callable[[dict[str, Any]], None]:
    """Return what tells a bar and a caller of a round."""

    def tell(said: dict[str, Any]) -> None:
        progress.to(said["round"] + 1, said["rounds"], said["metrics"])
        if first is not None:
            first(said)

    return tell
