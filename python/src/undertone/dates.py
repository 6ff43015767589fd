"""Dates, read as the program reads them."""

from __future__ import annotations

import re
from datetime import date

__all__ = ["parse_days"]

_EPOCH = date(1970, 1, 1)
_FORMS = {
    "YYYY-MM-DD": r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})",
    "DD.MM.YYYY": r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})",
    "MM/DD/YYYY": r"(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>\d{4})",
    "DD/MM/YYYY": r"(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})",
    "YYYYMMDD": r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})",
    "YYYY-MM-DDThh:mm:ss": r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})"
    r"(?:[T ](?P<hh>\d{2}):(?P<mm>\d{2})(?::(?P<ss>\d{2}(?:\.\d*)?))?(?:Z|(?P<sign>[+-])(?P<zh>\d{2}):?(?P<zm>\d{2})?)?)?",
}


def parse_days(text: str, form: str) -> float:
    """Return the days since 1970-01-01 of a date, with its time as a part of a day, counted to UTC.

    Raises
    ------
    ValueError
        The text is no date of this form in the years 1 to 9999.
    """
    found = re.fullmatch(_FORMS[form], text, re.ASCII)
    if found is None:
        raise ValueError
    part = found.groupdict()
    days = float((date(int(part["y"]), int(part["m"]), int(part["d"])) - _EPOCH).days)
    if part.get("hh") is None:
        return days
    hour, minute, second = int(part["hh"]), int(part["mm"]), float(part["ss"] or 0.0)
    offset = 60 * int(part["zh"] or 0) + int(part["zm"] or 0)
    if hour > 23 or minute > 59 or second >= 60 or int(part["zh"] or 0) > 14 or int(part["zm"] or 0) > 59:
        raise ValueError
    offset = -offset if part["sign"] == "-" else offset
    return days + ((60 * hour + minute - offset) / 1440.0 + second / 86400.0)
