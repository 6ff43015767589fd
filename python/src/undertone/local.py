"""A whole consortium on this machine, to try things on: a coordinator and silos as processes, over TLS, with real noise."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from .errors import InputError, ServiceError

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Consortium"]

_START_SECONDS = 60.0


class Consortium:
    """The coordinator and the silos of a job, as ``undertone demo --serve`` starts them.

    Parameters
    ----------
    job : path
        The job's file, whose simulation section says where the silos' data are.
    folder : path
        A folder to make, for data, keys, ledgers and results.
    programs : path, optional
        The build folder that holds the programs; without it what UNDERTONE_PROGRAMS names.

    Attributes
    ----------
    folder : pathlib.Path
        Each silo's ledger is ``folder / SILO / "ledger.sqlite"``, its head ``folder / "heads" / "SILO.json"``.
    job_file : pathlib.Path
        The job to submit. Of a shuffled job it names the keys that these parties made.

    Raises
    ------
    InputError
        There is no program, or the consortium does not start; the message has what it says.
    """

    def __init__(
        self,
        job: str | os.PathLike[str],
        folder: str | os.PathLike[str],
        programs: str | os.PathLike[str] | None = None,
    ) -> None:
        named = programs if programs is not None else os.environ.get("UNDERTONE_PROGRAMS")
        if named is None:
            raise InputError("programs: expected the build folder that holds the programs, or UNDERTONE_PROGRAMS")
        program = Path(named) / "lab" / "undertone"
        if not program.exists():
            raise InputError(f"programs: no {program}: build the programs first")
        self.folder = Path(folder)
        if self.folder.exists():
            raise InputError(f"folder: {self.folder} is there already: expected one to make")
        self.job_file = self.folder / "job.json"
        words = [str(program), "demo", os.fspath(job), "--dir", str(folder), "--programs", os.fspath(named), "--serve"]
        self._process = subprocess.Popen(  # its own session: an interrupt of ours is not one of theirs
            words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        atexit.register(self.close)  # a script that dies leaves nothing running
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def _wait(self) -> None:
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            if self._process.poll() is not None:
                said = self._process.stderr.read() if self._process.stderr is not None else ""
                raise InputError(f"the consortium did not start: {said.strip()}")
            # The operator's file is written before the coordinator listens, and the pids after all were started.
            if self.job_file.exists() and (self.folder / "operator.json").exists():
                try:
                    with self.client() as client:
                        if client.ready() and len(client.silos()) == self._silos():
                            return
                except (ServiceError, InputError):
                    pass
            time.sleep(0.1)
        raise InputError(f"the consortium did not start within {_START_SECONDS:g} s; see {self.folder / 'logs'}")

    def _silos(self) -> int:
        from .jobs import read_job

        return sum(member.count or 1 for member in read_job(self.job_file).cohort)

    def client(self) -> Client:
        """Return an operator's connection to the coordinator."""
        from .client import Client

        return Client.from_config(self.folder / "operator.json")

    def ledger(self, silo: str) -> Path:
        """Return where a silo's ledger is."""
        return self.folder / silo / "ledger.sqlite"

    def head(self, silo: str) -> Path:
        """Return where the head of a silo's ledger is."""
        return self.folder / "heads" / f"{silo}.json"

    def close(self) -> None:
        """End all processes. What they wrote stays."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        with contextlib.suppress(ProcessLookupError):  # whatever of its session is left
            os.killpg(self._process.pid, signal.SIGTERM)
        if self._process.stderr is not None:
            self._process.stderr.close()

    def __enter__(self) -> Consortium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
