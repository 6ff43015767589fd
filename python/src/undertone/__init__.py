"""Undertone from Python: plan, simulate, draft, drive and read federations that are private at every silo.

What runs here is the code that runs in silos and at operators, by an extension; `undertone.client`, `undertone.models`
and `undertone.results` need no extension. Nothing in this package can make an agent answer: a simulation's noise is
seeded, and its results are private for nobody.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import (
    ConfigurationError,
    InputError,
    InternalError,
    PrivacyWarning,
    RunFailed,
    ServiceError,
    UndertoneError,
)
from .models import Model, load_model
from .results import Result

if TYPE_CHECKING:
    from .client import AsyncClient, Client
    from .jobs import Job, cohort_of, read_job
    from .lab import Draft, account, audit, draft, encode, plan, simulate, validate, verify_ledger
    from .plans import Plan
    from .sweeps import sweep, sweep_file
    from .tables import partition, split_by

__version__ = "0.2.0"

# Names that need more than numpy are looked up when they are first used.
_HOMES = {
    "AsyncClient": "client",
    "Client": "client",
    "Draft": "lab",
    "Job": "jobs",
    "Plan": "plans",
    "account": "lab",
    "audit": "lab",
    "cohort_of": "jobs",
    "draft": "lab",
    "encode": "lab",
    "partition": "tables",
    "plan": "lab",
    "read_job": "jobs",
    "simulate": "lab",
    "split_by": "tables",
    "sweep": "sweeps",
    "sweep_file": "sweeps",
    "validate": "lab",
    "verify_ledger": "lab",
}

__all__ = [
    "AsyncClient",
    "Client",
    "ConfigurationError",
    "Draft",
    "InputError",
    "InternalError",
    "Job",
    "Model",
    "Plan",
    "PrivacyWarning",
    "Result",
    "RunFailed",
    "ServiceError",
    "UndertoneError",
    "__version__",
    "account",
    "audit",
    "cohort_of",
    "draft",
    "encode",
    "load_model",
    "partition",
    "plan",
    "read_job",
    "simulate",
    "split_by",
    "sweep",
    "sweep_file",
    "validate",
    "verify_ledger",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'undertone' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    except ImportError as error:
        if error.name == "undertone._core" or "_core" in str(error):
            raise ImportError(
                f"undertone.{name} needs the package's extension, which was not built: install it with a compiler, "
                "without wheel.cmake=false",
                name="undertone._core",
            ) from error
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
