"""Tables in memory: what Python holds, as the program reads it, and how it comes to silos."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

if TYPE_CHECKING:
    from . import _core

__all__ = ["columns_of", "partition", "row_count", "split_by", "take_rows", "texts_of"]

#: A pandas DataFrame, a mapping of names to arrays, a structured array of numpy, or any object of the dataframe
#: interchange protocol.
Frame = Any


def _is_pandas(frame: Frame) -> bool:
    return type(frame).__module__.split(".")[0] == "pandas" and hasattr(frame, "columns")


def _known(frame: Frame) -> Frame:
    """Return the frame as one of the kinds whose columns can be walked."""
    if _is_pandas(frame) or isinstance(frame, Mapping):
        return frame
    if isinstance(frame, np.ndarray) and frame.dtype.names is not None:
        return {name: frame[name] for name in frame.dtype.names}
    if hasattr(frame, "__dataframe__"):
        from pandas.api.interchange import from_dataframe

        return from_dataframe(frame)
    raise InputError(
        "expected a table: a DataFrame, a mapping of names to arrays, a structured array, or an object with "
        f"__dataframe__; got {type(frame).__name__}"
    )


def columns_of(frame: Frame) -> Iterator[tuple[str, Any]]:
    """Walk a table's columns.

    Parameters
    ----------
    frame : table
        See `Frame`.

    Yields
    ------
    name : str
        The column's name.
    values : array-like
        Its values, one for each row.
    """
    known = _known(frame)
    for name in known:
        if not isinstance(name, str):
            raise InputError(f"expected names of columns that are texts, got {name!r}")
        yield name, known[name]


def row_count(frame: Frame) -> int:
    """Return how many rows a table has."""
    for _, values in columns_of(frame):
        return len(values)
    return 0


def take_rows(frame: Frame, rows: NDArray[np.int64]) -> Frame:
    """Return some rows of a table, in the given order: a DataFrame of a DataFrame, else a dict of arrays."""
    known = _known(frame)
    if _is_pandas(known):
        return known.iloc[rows]
    return {name: np.asarray(values)[rows] for name, values in known.items()}


def _number_text(value: float) -> str:
    """Return the shortest text of a number, and of a whole one no point."""
    if value == int(value) and abs(value) < 2**53:
        return str(int(value))
    return repr(float(value))


def _text(value: Any, column: str) -> str | None:
    """Return a cell of a column of objects as a file would hold it; None where it is missing."""
    if value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "True" if value else "False"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else _number_text(float(value))
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    raise InputError(
        f'column "{column}": expected numbers, texts, truth values or dates, got an object of type '
        f"{type(value).__name__}"
    )


def _different(values: Sequence[Any], column: str) -> tuple[NDArray[np.int32], list[str]]:
    places = np.empty(len(values), dtype=np.int32)
    known: dict[str, int] = {}
    seen: dict[Hashable, int] = {}
    for row, value in enumerate(values):
        try:
            key: Hashable = (type(value), value)
            place = seen.get(key)
        except TypeError:
            place, key = None, None
        if place is None:
            text = _text(value, column)
            place = -1 if text is None else known.setdefault(text, len(known))
            if key is not None:
                seen[key] = place
        places[row] = place
    return places, list(known)


def _array(values: Any, column: str) -> NDArray[Any]:
    """Return a column as an array; what is of several kinds as objects."""
    if isinstance(values, list | tuple) and len({type(one) for one in values}) > 1:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    try:
        return np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise InputError(f'column "{column}": {error}') from None


def _dates(values: NDArray[np.datetime64]) -> tuple[NDArray[np.int32], list[str]]:
    """Return dates as ISO writes them: the day alone where no value has a time."""
    seconds = values.astype("datetime64[s]")
    missing = np.isnat(seconds)
    days = seconds.astype("datetime64[D]")
    whole = bool(np.all(missing | (days == seconds)))
    different, places = np.unique(days if whole else seconds, return_inverse=True)
    out = places.astype(np.int32).reshape(-1)
    out[missing] = -1
    return out, [str(one) for one in different]


def texts_of(values: Any, column: str = "") -> list[str]:
    """Return a column's values as texts, the missing ones as empty texts."""
    numbers, places, different = _cells(values, column)
    if numbers is not None:
        return ["" if np.isnan(one) else _number_text(float(one)) for one in numbers]
    assert places is not None
    return ["" if place < 0 else different[place] for place in places]


def _cells(
    values: Any, column: str
) -> tuple[NDArray[np.float64] | None, NDArray[np.int32] | None, list[str]]:
    """Return a column as numbers, or as places in a list of different texts."""
    dtype = getattr(values, "dtype", None)
    if dtype is not None and type(dtype).__name__ == "CategoricalDtype":
        texts = [_text(one, column) or "" for one in values.cat.categories]
        return None, np.asarray(values.cat.codes, dtype=np.int32), texts
    if dtype is not None and not isinstance(dtype, np.dtype) and hasattr(values, "to_numpy"):
        if getattr(dtype, "kind", "O") in "iuf":
            return values.to_numpy(dtype=np.float64, na_value=np.nan), None, []
        values = values.to_numpy(dtype=object)
    array = _array(values, column)
    if array.ndim != 1:
        raise InputError(f'column "{column}": expected one dimension, got {array.ndim}')
    if array.dtype.kind in "iuf":
        return np.ascontiguousarray(array, dtype=np.float64), None, []
    if array.dtype.kind == "M":
        return (None, *_dates(array))
    if array.dtype.kind == "b":
        return None, array.astype(np.int32), ["False", "True"]
    if array.dtype.kind == "U":
        different, places = np.unique(array, return_inverse=True)
        return None, places.astype(np.int32).reshape(-1), [str(one) for one in different]
    if array.dtype.kind == "O":
        return (None, *_different(array.tolist(), column))
    raise InputError(f'column "{column}": expected numbers, texts, truth values or dates, got {array.dtype}')


def to_table(frame: Frame) -> _core.Table:
    """Return a table as the extension takes it; numbers are not copied where they are doubles already."""
    from . import _core

    table = _core.Table()
    for name, values in columns_of(frame):
        numbers, places, different = _cells(values, name)
        if numbers is not None:
            table.add_numbers(name, numbers)
        else:
            assert places is not None
            table.add_texts(name, places, different)
    return table


def split_by(frame: Frame, column: str) -> dict[str, Frame]:
    """Split a table by a column that names the silo of each row.

    Parameters
    ----------
    frame : table
        The whole table.
    column : str
        The column whose different values are the silos' names.

    Returns
    -------
    dict of str to table
        A table for each silo, in the order of their names, with the same columns.

    Raises
    ------
    InputError
        The column is missing, or a row has no silo.
    """
    columns = dict(columns_of(frame))
    if column not in columns:
        raise InputError(f'no column "{column}" is in the table')
    silos = np.asarray(texts_of(columns[column], column), dtype=object)
    if "" in silos:
        raise InputError(f'column "{column}": expected the silo of every row, found a row without one')
    return {name: take_rows(frame, np.flatnonzero(silos == name)) for name in sorted(set(silos))}


def partition(
    frame: Frame,
    silos: int = 0,
    by: str = "iid",
    column: str | None = None,
    *,
    concentration: float = 1.0,
    seed: int = 0,
) -> list[Frame]:
    """Deal the rows of a public table to silos, as ``undertone partition`` deals those of a file.

    Parameters
    ----------
    frame : table
        The whole table. How rows are dealt may depend on their values: it is for experiments alone.
    silos : int
        How many; of ``"label"`` as many as there are classes, and of ``"label-pair"`` 25, whatever is asked.
    by : {"iid", "label", "label-pair", "sorted", "dirichlet"}
        At random; a class each; an even and an odd one of ten classes each; slices by a number; or each class by
        proportions of its own.
    column : str
        The class, or the number, that rows are dealt by; not of ``"iid"``.
    concentration : float
        Of ``"dirichlet"``: the less, the less alike the silos are.
    seed : int
        Of what is drawn.

    Returns
    -------
    list of table
        One for each silo. No row is in two; rows that are left over are in none.
    """
    from . import _core

    cells: list[str] = []
    if by != "iid":
        columns = dict(columns_of(frame))
        if column is None or column not in columns:
            raise InputError(f'by "{by}": expected column to be one of the table\'s, got {column!r}')
        cells = texts_of(columns[column], column)
    dealt = _core.deal(row_count(frame), cells, by, silos, concentration, seed)
    return [take_rows(frame, np.asarray(rows, dtype=np.int64)) for rows in dealt]
