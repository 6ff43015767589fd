"""Columns that a model's data derive from others, as the program derives them."""

from __future__ import annotations

import bisect
import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from .dates import parse_days
from .errors import InputError
from .tables import texts_or_none

_EPOCH = datetime(1970, 1, 1)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LIMIT = re.compile(r"^(<=|>=|<|>|\u2264|\u2265) *")
_DAYS_OF_YEAR = 365.25
_BELOW_EVERY_BOUND = -1e300

#: A derived cell: None where there is nothing to derive it from.
Cell = float | str | None


def _number(text: str) -> float:
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError
    return value


def _whole(value: float) -> str:
    return str(int(value))


class Derived:
    """A derived column, as ``data["derived"]`` describes it."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.name: str = said["column"]
        self.sources: list[str] = list(said["from"])
        self._how: str = said["how"]
        self._form: str | None = said.get("date")
        self._missing = set(said.get("missing", [""]))
        self._limits = said.get("limits") == "bound"
        self._said = said

    def _read(self, cell: Cell, derived: bool) -> Any:
        """Return a source's cell as the rule needs it; None where it holds nothing."""
        if cell is None or (not derived and cell in self._missing):
            return None
        if isinstance(cell, float):
            return cell
        if self._form is not None:
            return parse_days(cell, self._form)
        if self._how in ("log", "bins"):
            return _number(_LIMIT.sub("", cell) if self._limits else cell)
        return cell

    def _make(self, cells: list[Any]) -> Cell:
        said = self._said
        if self._how in ("days_between", "years_between"):
            days: float = cells[1] - cells[0]
            return days / _DAYS_OF_YEAR if self._how == "years_between" else days
        if self._form is not None:
            day = _EPOCH + timedelta(days=math.floor(cells[0]))
            return _whole({"year": day.year, "month": day.month, "weekday": day.isoweekday()}[self._how])
        if self._how == "log":
            total: float = cells[0] + float(said.get("plus", 0.0))
            return math.log(total) if total > 0 else _BELOW_EVERY_BOUND
        if self._how == "bins":
            return self._bins()[bisect.bisect_right(said["edges"], cells[0])]
        if self._how == "merge":
            return self._group(cells[0])
        if self._how == "buckets":
            number = int.from_bytes(hashlib.sha256(cells[0].encode()).digest()[:8], "big")
            return f"bucket {number % int(said['buckets']) + 1}"
        raise InputError(f'column "{self.name}": derived as {self._how!r}, which this version does not know')

    def _bins(self) -> list[str]:
        if "names" in self._said:
            return list(self._said["names"])
        edges = [repr(float(one)).removesuffix(".0") for one in self._said["edges"]]
        inner = [f"{low} to below {high}" for low, high in zip(edges, edges[1:], strict=False)]
        return [f"below {edges[0]}", *inner, f"{edges[-1]} or more"]

    def _group(self, text: str) -> str:
        for group in self._said["groups"]:
            if text in group.get("values", []):
                return str(group["name"])
        best, name = -1, None
        for group in self._said["groups"]:
            for prefix in group.get("prefixes", []):
                if text.startswith(prefix) and len(prefix.encode()) > best:
                    best, name = len(prefix.encode()), group["name"]
        return str(name) if name is not None else str(self._said.get("rest", text))

    def cells(self, columns: Mapping[str, Any], made: Mapping[str, list[Cell]]) -> list[Cell]:
        """Return the column's cells, from a table's columns and what was derived before."""
        sources: list[list[Cell]] = []
        derived = [name in made for name in self.sources]
        for name in self.sources:
            if name in made:
                sources.append(made[name])
            elif name in columns:
                sources.append(list(texts_or_none(columns[name], name, self._form)))
            else:
                raise InputError(f'expected the column "{name}", of which the model\'s data derive "{self.name}"')
        out: list[Cell] = []
        for row, cells in enumerate(zip(*sources, strict=True)):
            try:
                read = [self._read(cell, own) for cell, own in zip(cells, derived, strict=True)]
            except ValueError:
                expected = f"a date as {self._form}" if self._form is not None else "a number"
                raise InputError(f'record {row + 1}, column "{self.name}": expected {expected} to derive it from') from None
            out.append(None if any(cell is None for cell in read) else self._make(read))
        return out


def with_derived(columns: Mapping[str, Any], derived: Iterable[Derived]) -> dict[str, Any]:
    """Return a table's columns and those that are derived of them."""
    made: dict[str, list[Cell]] = {}
    for one in derived:
        made[one.name] = one.cells(columns, made)
    return {**columns, **made}


def needed(names: Iterable[str], derived: Iterable[Derived]) -> tuple[list[str], list[Derived]]:
    """Return the columns that a table must have for these, each once, and the derived ones that are made on the way."""
    known = {one.name: one for one in derived}
    out: list[str] = []
    made: set[str] = set()
    waiting = list(reversed(list(names)))
    while waiting:
        name = waiting.pop()
        if name in known:
            if name not in made:
                made.add(name)
                waiting += reversed(known[name].sources)
        elif name not in out:
            out.append(name)
    return out, [one for one in known.values() if one.name in made]
