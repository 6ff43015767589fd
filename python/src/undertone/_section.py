"""What the sections of a job have in common: to JSON and back, without losing a key or its place."""

from __future__ import annotations

import json
import math
import types
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import ConfigurationError

S = TypeVar("S", bound="Section")


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return value.to_dict()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a number of numpy
        return value.item()
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def _check_plain(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            _check_plain(one, f"{where}/{key}")
    elif isinstance(value, list):
        for i, one in enumerate(value):
            _check_plain(one, f"{where}/{i}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigurationError(f"{where}: expected a finite number, got {value!r}")
    elif value is not None and not isinstance(value, str | bool | int | float):
        raise ConfigurationError(f"{where}: expected what JSON can hold, got {type(value).__name__}")


def _sections_in(annotation: Any) -> list[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    if get_origin(annotation) in (Union, types.UnionType):
        return [one for part in get_args(annotation) for one in _sections_in(part)]
    return []


def _items_of(annotation: Any) -> Any:
    if get_origin(annotation) is list:
        return get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        for part in get_args(annotation):
            items = _items_of(part)
            if items is not None:
                return items
    return None


def _typed(annotation: Any, value: Any, where: str) -> Any:
    if isinstance(value, dict):
        found = _sections_in(annotation)
        return found[0].from_dict(value, where) if len(found) == 1 else value
    if isinstance(value, list):
        items = _items_of(annotation)
        return [_typed(items, one, f"{where}/{i}") for i, one in enumerate(value)]
    return value


class Section:
    """A section of a job. Keys that are None are left out, and the program's defaults stand for them."""

    _keys: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the section as JSON has it, in the schema's order."""
        out: dict[str, Any] = {}
        for key in self._keys:
            value = getattr(self, key if hasattr(self, key) else key + "_")
            if value is not None:
                out[key] = _plain(value)
        return out

    @classmethod
    def from_dict(cls: type[S], values: dict[str, Any], where: str = "") -> S:
        """Make a section of what JSON says.

        Raises
        ------
        ConfigurationError
            A key is not one of the section's, or one is missing that it needs.
        """
        hints = get_type_hints(cls)
        arguments: dict[str, Any] = {}
        for key, value in values.items():
            if key not in cls._keys:
                raise ConfigurationError(f"{where}/{key}: unknown; expected one of {', '.join(cls._keys)}")
            field = key if key in hints else key + "_"
            arguments[field] = _typed(hints[field], value, f"{where}/{key}")
        try:
            return cls(**arguments)
        except TypeError as error:
            raise ConfigurationError(f"{where or '/'}: {error}".replace(f"{cls.__name__}.__init__() ", "")) from None

    def to_json(self) -> str:
        """Return the section as a text of JSON, with a line end at its end.

        Raises
        ------
        ConfigurationError
            A number is not finite, or a value is none that JSON can hold; the message names its place.
        """
        _check_plain(self.to_dict(), "")
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
