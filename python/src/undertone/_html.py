"""Tables and headings for notebooks. Every text is escaped: names of jobs and columns are somebody else's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any


def shown(value: Any) -> str:
    """Return a value as people read it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(shown(one) for one in value)
    return str(value)


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as a table of HTML; the keys of the first are its columns."""
    listed = list(rows)
    if not listed:
        return ""
    heads = "".join(f"<th>{escape(key)}</th>" for key in listed[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(shown(row.get(key)))}</td>" for key in listed[0]) + "</tr>" for row in listed
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def box(title: str, *parts: str) -> str:
    """Return a heading with what stands below it."""
    return f"<div><p><strong>{escape(title)}</strong></p>{''.join(parts)}</div>"


def lines(texts: Iterable[str]) -> str:
    """Return sentences, one below the other."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)
