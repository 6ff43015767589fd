"""What a job would release and cost, before anybody runs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _html

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Plan"]


class Plan(Mapping[str, Any]):
    """What ``undertone plan --json`` prints, as a mapping, and as tables.

    Parameters
    ----------
    values : mapping
        The plan.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values_ = dict(values)

    def __getitem__(self, key: str) -> Any:
        return self.values_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    @property
    def warnings(self) -> list[str]:
        """What its author should look at once more."""
        out = list(self.values_.get("warnings", []))
        for silo in self.values_["silos"]:
            out += [f"{silo['silo']}: {one}" for one in silo["warnings"]]
        for one in self.values_.get("statistics", []):
            out += [f"{one['statistic']}: {text}" for text in one["warnings"]]
        return out

    def _silo_rows(self) -> list[dict[str, Any]]:
        keys = ("silo", "records", "epsilon", "delta", "rounds", "bytes_sent", "bytes_received", "answer_seconds")
        return [{key: silo.get(key) for key in keys} for silo in self.values_["silos"]]

    @property
    def silos(self) -> pd.DataFrame:
        """A row for each silo: what it promises each of its records for the whole run (replace-one), and what it sends."""
        import pandas as pd

        return pd.DataFrame(self._silo_rows()).set_index("silo")

    @property
    def releases(self) -> pd.DataFrame:
        """A row for each kind of release of each silo: its noise, and how often it is made."""
        import pandas as pd

        return pd.DataFrame(
            [{"silo": silo["silo"], **release} for silo in self.values_["silos"] for release in silo["releases"]]
        )

    @property
    def statistics(self) -> pd.DataFrame:
        """A row for each statistic: the half-width that its interval for these records is predicted to have."""
        import pandas as pd

        return pd.DataFrame(self.values_.get("statistics", []))

    def __repr__(self) -> str:
        silos = self.values_["silos"]
        worst = max(silos, key=lambda silo: silo["epsilon"])
        return (
            f"<plan of {self.values_['job']!r}: {len(silos)} silos, epsilon at most {worst['epsilon']:.4g}, "
            "nothing has been sent yet>"
        )

    def __str__(self) -> str:
        lines = [repr(self)]
        for row in self._silo_rows():
            lines.append(
                f"  {row['silo']}: {row['records']} records; epsilon {row['epsilon']:.6g}, delta {row['delta']:.3g}; "
                f"{row['rounds']} answers"
            )
        for one in self.values_.get("statistics", []):
            lines.append(f"  {one['statistic']}: +- {one['half_width']:.4g}, of {one['of']}")
        return "\n".join(lines + [f"  WARNING: {one}" for one in self.warnings])

    def _repr_html_(self) -> str:
        parts = [_html.table(self._silo_rows())]
        if self.values_.get("statistics"):
            keys = ("statistic", "noise", "half_width", "of")
            parts.append(_html.table([{key: one[key] for key in keys} for one in self.values_["statistics"]]))
        parts.append(_html.lines(f"WARNING: {one}" for one in self.warnings))
        return _html.box(f"Plan of “{self.values_['job']}”; nothing has been sent yet", *parts)
