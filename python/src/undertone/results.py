"""What a run leaves behind."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _html
from .errors import InputError
from .jobs import Job
from .models import Model

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Result"]


class Result(Mapping[str, Any]):
    """A ``result.json`` with its model: as a mapping, as tables, as pictures.

    Parameters
    ----------
    result : mapping
        What ``result.json`` says.
    model : mapping, optional
        What ``model.json`` says, where the run has one.
    job : mapping, optional
        The job as it was run.

    Attributes
    ----------
    model : Model or None
        What was trained.
    job : Job or None
        The job as it was run.
    """

    def __init__(
        self, result: Mapping[str, Any], model: Mapping[str, Any] | None = None, job: Mapping[str, Any] | None = None
    ) -> None:
        if result.get("format") != "undertone.result/1":
            raise InputError(f"format: expected undertone.result/1, got {result.get('format')!r}")
        self.values_ = dict(result)
        self.model = Model(model) if model is not None else None
        self.job = Job.from_dict(dict(job)) if job is not None else None

    def __getitem__(self, key: str) -> Any:
        return self.values_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Result:
        """Read a folder that a run, ``undertone simulate``, ``undertone export`` or `save` wrote.

        Raises
        ------
        InputError
            There is no ``result.json``, or it cannot be read.
        """
        texts: dict[str, Any] = {}
        for name in ("result", "model", "job"):
            file = Path(folder) / f"{name}.json"
            if not file.exists() and name != "result":
                continue
            try:
                texts[name] = json.loads(file.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise InputError(f"{file}: {error}") from None
        return cls(texts["result"], texts.get("model"), texts.get("job"))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``result.json``, ``model.json`` and ``job.json``, which ``undertone report`` reads."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        parts = {"result": self.values_, "model": self.model.values if self.model else None, "job": self.job.to_dict() if self.job else None}
        for name, values in parts.items():
            if values is not None:
                text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
                (Path(folder) / f"{name}.json").write_text(text, encoding="utf-8")

    @property
    def name(self) -> str:
        """The job's name."""
        return str(self.values_["job"]["name"])

    @property
    def succeeded(self) -> bool:
        """Whether the run did."""
        return bool(self.values_["succeeded"])

    @property
    def failure(self) -> str:
        """Why it failed; empty where it did not."""
        return str(self.values_.get("failure", ""))

    @property
    def simulated(self) -> bool:
        """Whether no agent answered: the noise was seeded or absent, and nothing of it is private."""
        return str(self.values_["settings"]["mode"]) != "tcp"

    @property
    def verdicts(self) -> list[str]:
        """What a person would ask of the last evaluation, a sentence each."""
        return list(self.values_.get("verdicts", []))

    @property
    def metrics(self) -> pd.DataFrame:
        """A row for each evaluation: weighted means over the silos' holdout records. The standard deviation of what
        noise does to each is in ``attrs["noise_stddev"]`` as such a table."""
        import pandas as pd

        rows, noise = self._metric_rows()
        table = pd.DataFrame(rows)
        if rows:
            table = table.set_index("after_steps")
            table.attrs["noise_stddev"] = pd.DataFrame(noise, index=table.index)
        return table

    def _metric_rows(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        rows, noise = [], []
        for row in self.values_["metrics"]:
            rows.append({key: value for key, value in row.items() if key != "noise_stddev"})
            noise.append(row.get("noise_stddev", {}))
        return rows, noise

    def _statistic_rows(self) -> list[dict[str, Any]]:
        out = []
        for row in self.values_.get("statistics", []):
            single = {"name": row.get("kind", ""), "value": row.get("value"), "noise_stddev": row.get("noise_stddev")}
            for estimate in row.get("estimates", [single]):
                low, high = estimate.get("noise_interval", (None, None))
                wide = estimate.get("population_interval", (None, None))
                out.append(
                    {
                        "statistic": row["statistic"],
                        "name": estimate.get("name"),
                        "value": estimate.get("value"),
                        "low": low,
                        "high": high,
                        "population_low": wide[0],
                        "population_high": wide[1],
                        "method": estimate.get("method"),
                        "gate": estimate.get("gate"),
                        "note": estimate.get("note"),
                        "noise_stddev": estimate.get("noise_stddev"),
                    }
                )
        return out

    @property
    def statistics(self) -> pd.DataFrame:
        """A row for each number that was asked for.

        ``value`` is None where the number is refused, and ``note`` says why. Intervals cover as often as the job's
        ``confidence`` says, 95 % without it. ``low`` and ``high`` end the interval for the records themselves, whose only
        error is noise; ``population_low`` and ``population_high`` that for whom they
        were sampled from, by ``method``. ``gate`` is the number that decided whether one can be had.
        """
        import pandas as pd

        return pd.DataFrame(self._statistic_rows())

    @property
    def privacy(self) -> pd.DataFrame:
        """A row for each silo: what it promised each of its records for the whole run (replace-one). Of a simulation the
        numbers are what a consortium's silos would promise; ``statement`` says that this run kept none of it."""
        import pandas as pd

        return pd.DataFrame(self._privacy_rows()).set_index("silo")

    def _privacy_rows(self) -> list[dict[str, Any]]:
        keys = ("silo", "took_part", "epsilon", "delta", "epsilon_odometer", "replies_accepted", "unit", "adjacency",
                "mechanism", "refusal", "statement")
        return [{key: row.get(key) for key in keys} for row in self.values_["privacy"]]

    def statement(self, silo: str) -> str:
        """Return what the run's result says of a silo's promise. The statement that counts is the silo's own.

        Raises
        ------
        InputError
            The run has no such silo.
        """
        for row in self.values_["privacy"]:
            if row["silo"] == silo:
                return str(row["statement"])
        raise InputError(f'no silo "{silo}" is in this run')

    def plot(self, what: str | None = None, ax: Any = None) -> Any:
        """Draw the result with matplotlib. See `undertone.plots.plot`."""
        from .plots import plot

        return plot(self, what, ax)

    def _head(self) -> str:
        state = "succeeded" if self.succeeded else f"failed: {self.failure}"
        mark = "; simulated: its noise was seeded or absent, nothing of it is private" if self.simulated else ""
        return f"{self.name!r} {state}{mark}"

    def __repr__(self) -> str:
        return f"<result of {self._head()}>"

    def __str__(self) -> str:
        lines = [self._head()]
        for row in self._statistic_rows():
            ends = f" [{_html.shown(row['low'])}, {_html.shown(row['high'])}]" if row["low"] is not None else ""
            note = f" ({row['note']})" if row["note"] else ""
            lines.append(f"  {row['statistic']}, {row['name']}: {_html.shown(row['value'])}{ends}{note}")
        if self.values_["metrics"]:
            rows, noise = self._metric_rows()
            for name, value in rows[-1].items():
                stddev = noise[-1].get(name)
                lines.append(f"  {name}: {_html.shown(value)}" + (f" +- {1.96 * stddev:.2g}" if stddev else ""))
        return "\n".join(lines + [f"  {one}" for one in self.verdicts])

    def _repr_html_(self) -> str:
        parts = [_html.table(self._statistic_rows())]
        if self.values_["metrics"]:
            parts.append(_html.table(self._metric_rows()[0]))
        parts.append(_html.lines(self.verdicts))
        parts.append(_html.table(self._privacy_rows()))
        return _html.box(self._head(), *parts)
