"""Tables in memory: what Python holds, as the program reads it, and how it comes to silos."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

if TYPE_CHECKING:
    from . import _core
    from .jobs import Data

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
    return {name: _taken(values, rows, name) for name, values in known.items()}


def _taken(values: Any, rows: NDArray[np.int64], column: str) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return (values if hasattr(values, "dtype") else _array(values, column))[rows]


def _number_text(value: float) -> str:
    """Return the shortest text of a number, and of a whole one up to 2^53 no point and no exponent."""
    if abs(value) <= 2**53 and value == int(value):
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


#: How the forms of a schema's dates are written.
DATE_FORMS = {
    "YYYY-MM-DD": "%Y-%m-%d",
    "DD.MM.YYYY": "%d.%m.%Y",
    "MM/DD/YYYY": "%m/%d/%Y",
    "DD/MM/YYYY": "%d/%m/%Y",
    "YYYYMMDD": "%Y%m%d",
    "YYYY-MM-DDThh:mm:ss": "%Y-%m-%dT%H:%M:%S",
}


def _dates(values: NDArray[np.datetime64], column: str, form: str | None) -> tuple[NDArray[np.int32], list[str]]:
    """Return dates as their column's form writes them, whole seconds at most; without a form as days of ISO."""
    seconds = values.astype("datetime64[s]")
    missing = np.isnat(seconds)
    different, places = np.unique(seconds, return_inverse=True)
    out = places.astype(np.int32).reshape(-1)
    out[missing] = -1
    written = DATE_FORMS.get(form or "YYYY-MM-DD", "%Y-%m-%d")  # what is no form the program refuses
    days = seconds.astype("datetime64[D]")
    if form is not None and "hh" not in form and bool(np.any(~missing & (days != seconds))):
        raise InputError(f'column "{column}": expected days alone, as {form} has them, found a time of day')
    return out, ["" if np.isnat(one) else one.astype(datetime).strftime(written) for one in different]


def _codes(array: NDArray[Any]) -> tuple[NDArray[np.int32], list[str]]:
    """Return an array as places in the list of its different values' texts."""
    different, places = np.unique(array, return_inverse=True)
    return places.astype(np.int32).reshape(-1), [str(one) for one in different]


def texts_of(values: Any, column: str = "", form: str | None = None) -> list[str]:
    """Return a column's values as texts, the missing ones as empty texts, dates in their form."""
    return [text or "" for text in texts_or_none(values, column, form)]


def texts_or_none(values: Any, column: str = "", form: str | None = None) -> list[str | None]:
    """Return a column's values as texts, the missing ones as None, dates in their form."""
    array = values if hasattr(values, "dtype") else _array(values, column)
    if getattr(array.dtype, "kind", "O") in "iu" and isinstance(array, np.ndarray) and array.ndim == 1:
        return [str(int(one)) for one in array]
    numbers, places, different = _cells(values, column, form)
    if numbers is not None:
        return [None if np.isnan(one) else _number_text(float(one)) for one in numbers]
    assert places is not None
    return [None if place < 0 else different[place] for place in places]


def _cells(
    values: Any, column: str, form: str | None
) -> tuple[NDArray[np.float64] | None, NDArray[np.int32] | None, list[str]]:
    """Return a column as numbers, or as places in a list of different texts."""
    dtype = getattr(values, "dtype", None)
    if dtype is not None and type(dtype).__name__ == "CategoricalDtype":
        categorical = values.cat if hasattr(values, "cat") else values
        texts = [_text(one, column) or "" for one in categorical.categories]
        return None, np.asarray(categorical.codes, dtype=np.int32), texts
    if dtype is not None and not isinstance(dtype, np.dtype) and hasattr(values, "to_numpy"):
        if getattr(dtype, "kind", "O") == "f":
            return values.to_numpy(dtype=np.float64, na_value=np.nan), None, []
        values = values.to_numpy(dtype=object)
    array = _array(values, column)
    if array.ndim != 1:
        raise InputError(f'column "{column}": expected one dimension, got {array.ndim}')
    if array.dtype.kind in "iu" and len(array) > 0 and (int(array.max()) > 2**53 or int(array.min()) < -(2**53)):
        return (None, *_codes(array))  # doubles would make some of them the same
    if array.dtype.kind in "iuf":
        return np.ascontiguousarray(array, dtype=np.float64), None, []
    if array.dtype.kind == "M":
        return (None, *_dates(array, column, form))
    if array.dtype.kind == "b":
        return None, array.astype(np.int32), ["False", "True"]
    if array.dtype.kind == "U":
        return (None, *_codes(array))
    if array.dtype.kind == "O":
        return (None, *_different(array.tolist(), column))
    raise InputError(f'column "{column}": expected numbers, texts, truth values or dates, got {array.dtype}')


def to_table(frame: Frame, schema: Data) -> _core.Table:
    """Return a table as the extension takes it; numbers are not copied where they are doubles already."""
    from . import _core

    forms: dict[str, str | None] = {one.column: one.date for one in schema.features}
    forms[schema.label.column] = schema.label.date
    for derived in schema.derived or []:
        if derived.date is not None:
            forms |= {name: derived.date for name in derived.from_ if forms.get(name) is None}
    table = _core.Table()
    for name, values in columns_of(frame):
        numbers, places, different = _cells(values, name, forms.get(name))
        if numbers is not None:
            table.add_numbers(name, numbers)
        else:
            assert places is not None
            table.add_texts(name, places, different)
    return table


def whole(name: str, value: Any, least: int = 0) -> int:
    """Return a whole number below 2^64.

    Raises
    ------
    InputError
        It is none; the message says which argument it is.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= int(value) < 2**64:
        raise InputError(f"{name}: expected a whole number from {least} to 2^64 - 1, got {value!r}")
    return int(value)


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

    silos, seed = whole("silos", silos), whole("seed", seed)
    cells: list[str] = []
    if by != "iid":
        columns = dict(columns_of(frame))
        if column is None or column not in columns:
            raise InputError(f'by "{by}": expected column to be one of the table\'s, got {column!r}')
        cells = texts_of(columns[column], column)
    dealt = _core.deal(row_count(frame), cells, by, silos, concentration, seed)
    return [take_rows(frame, np.asarray(rows, dtype=np.int64)) for rows in dealt]
