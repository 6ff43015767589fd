"""What goes wrong, as exceptions with the program's own words."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ConfigurationError",
    "InputError",
    "InternalError",
    "PrivacyWarning",
    "RunFailed",
    "ServiceError",
    "UndertoneError",
]


class UndertoneError(Exception):
    """The base of every exception of this package.

    Attributes
    ----------
    code : str
        The stable name of the kind of failure, such as ``"invalid_config"``.
    """

    code: str = "internal"

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class InputError(UndertoneError, ValueError):
    """A value, a table or a file is not what is expected; the message names the place."""

    code = "invalid_argument"


class ConfigurationError(InputError):
    """A job is not good; the message has a line for each thing that is wrong with it."""

    code = "invalid_config"


class RunFailed(UndertoneError):
    """A run ended without a result of its own, or it was cancelled.

    Attributes
    ----------
    result : Result or None
        What the run says all the same: its rounds, who answered, what it cost.
    """

    code = "run_failed"

    def __init__(self, message: str, result: Any = None, code: str | None = None) -> None:
        super().__init__(message, code)
        self.result = result


class ServiceError(UndertoneError):
    """A coordinator refused a request, or cannot be reached.

    Attributes
    ----------
    status : int or None
        The status of the HTTP answer; None where there was none.
    candidates : list of dict
        Of code ``"ambiguous"`` the runs that may have been meant.
    """

    code = "unreachable"

    def __init__(
        self,
        message: str,
        code: str | None = None,
        status: int | None = None,
        candidates: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(message, code)
        self.status = status
        self.candidates = candidates or []


class InternalError(UndertoneError, RuntimeError):
    """An invariant of the program is broken: a fault of Undertone, and not of the input."""

    code = "internal"


class PrivacyWarning(UserWarning):
    """What somebody should know before she believes in a promise."""


_CLASSES: dict[str, type[UndertoneError]] = {
    "invalid_config": ConfigurationError,
    "internal": InternalError,
    "invalid_argument": InputError,
    "invalid_data": InputError,
    "malformed": InputError,
    "limit_exceeded": InputError,
}


def of_code(code: str, message: str) -> UndertoneError:
    """Return the exception for an error of the program."""
    return _CLASSES.get(code, UndertoneError)(message, code)
