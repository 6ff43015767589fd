"""A coordinator, driven over its HTTP API. This module needs httpx and no compiler.

Examples
--------
>>> from undertone.client import Client
>>> with Client("https://127.0.0.1:7444", certificate="certificate.pem", key="key.pem", authority="authority.crt") as c:
...     run = c.submit("job.json")
...     result = c.wait(run)
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx

from ._progress import Progress
from .errors import InputError, RunFailed, ServiceError
from .jobs import JobLike, job_text
from .plans import Plan
from .results import Result

__all__ = ["OPERATIONS", "AsyncClient", "Client"]

#: What the client asks of a coordinator, by the operation ids of its OpenAPI document.
OPERATIONS: dict[str, tuple[str, str]] = {
    "health": ("GET", "/healthz"),
    "ready": ("GET", "/readyz"),
    "metrics": ("GET", "/metrics"),
    "submitJob": ("POST", "/api/v1/jobs"),
    "lookAtPlanning": ("GET", "/api/v1/planning/{planning}"),
    "cancelPlanning": ("POST", "/api/v1/planning/{planning}/cancel"),
    "makeSealingKey": ("POST", "/api/v1/sealing-keys"),
    "listRuns": ("GET", "/api/v1/runs"),
    "getRun": ("GET", "/api/v1/runs/{run}"),
    "cancelRun": ("POST", "/api/v1/runs/{run}/cancel"),
    "getJob": ("GET", "/api/v1/runs/{run}/job"),
    "getRounds": ("GET", "/api/v1/runs/{run}/rounds"),
    "getResult": ("GET", "/api/v1/runs/{run}/result"),
    "getModel": ("GET", "/api/v1/runs/{run}/model"),
    "listSilos": ("GET", "/api/v1/silos"),
}

_ENDED = ("succeeded", "failed", "cancelled")
_POLL_SECONDS = 0.25
_WRITING_SECONDS = 60.0  # that a coordinator may write the results of a run for
_FILES = {"result": "getResult", "model": "getModel", "job": "getJob"}

T = TypeVar("T")


@dataclass(frozen=True)
class _Ask:
    """A request that a conversation makes; it goes on with the answer."""

    operation: str
    parts: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] | None = None
    body: bytes | None = None


@dataclass(frozen=True)
class _Sleep:
    """A pause that a conversation makes."""

    seconds: float


#: What both clients do, without saying how requests are sent and time passes: the two differ in nothing else.
_Talk = Generator[_Ask | _Sleep, Any, T]


def _expecting(base: Any, consortium: str | None) -> Any:
    """Return a class of connections whose handshake fails where the peer is not the coordinator."""

    class Expecting(base):  # type: ignore[misc]
        def do_handshake(self, *arguments: Any) -> None:
            super().do_handshake(*arguments)
            subject: dict[str, list[str]] = {}
            for part in (self.getpeercert() or {}).get("subject", ()):
                for name, value in part:
                    subject.setdefault(name, []).append(value)
            role, of = subject.get("organizationalUnitName", []), subject.get("organizationName", [])
            if role != ["coordinator"] or (consortium is not None and of != [consortium]):
                whom = f"the coordinator of {consortium}" if consortium is not None else "a coordinator"
                raise ssl.SSLCertVerificationError(f"expected {whom}, the certificate is of {role} of {of}")

    return Expecting


def _settings(
    url: str,
    certificate: str | os.PathLike[str] | None,
    key: str | os.PathLike[str] | None,
    authority: str | os.PathLike[str] | None,
    token: str | None,
    consortium: str | None,
    timeout: float,
) -> dict[str, Any]:
    if (certificate is None) != (key is None):
        raise InputError("certificate, key: expected both or none")
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InputError(f"url: {error}") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise InputError(f"url: expected http://HOST:PORT or https://HOST:PORT, got {url!r}")
    if address.scheme == "http":
        if address.host not in ("localhost", "::1") and not address.host.startswith("127."):
            raise InputError(f"url: expected https for {address.host}: without TLS anybody on the way reads what is sent")
        if authority is not None or certificate is not None:
            raise InputError("authority, certificate: only with https")
    verify: ssl.SSLContext | bool = True
    if address.scheme == "https":
        try:
            context = ssl.create_default_context(cafile=authority)
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.sslsocket_class = _expecting(ssl.SSLSocket, consortium)
            context.sslobject_class = _expecting(ssl.SSLObject, consortium)
            if certificate is not None and key is not None:
                context.load_cert_chain(certificate, key)
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"authority, certificate, key: {error}") from None
        verify = context
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    return {"base_url": url, "verify": verify, "headers": headers, "timeout": timeout, "trust_env": False}


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.status_code < 300:
        return answer
    try:
        said = answer.json()["error"]
        code, message, candidates = said["code"], said["message"], said.get("candidates")
    except (ValueError, KeyError, TypeError):
        code, message, candidates = "internal", f"the coordinator answered {answer.status_code}", None
    raise ServiceError(message, code, answer.status_code, candidates)


def _config(file: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what an operator.json says of how a coordinator is reached."""
    try:
        said = json.loads(Path(file).read_text(encoding="utf-8"))
        out: dict[str, Any] = {"url": said["url"]}
        folder = Path(file).parent
        for name in ("authority", "certificate", "key"):
            if name in said.get("tls", {}):
                out[name] = folder / said["tls"][name]
        if "consortium" in said:
            out["consortium"] = said["consortium"]
        if "token_file" in said:
            out["token"] = (folder / said["token_file"]).read_text(encoding="utf-8").strip()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{os.fspath(file)}: expected an operator's configuration: {error}") from None
    return out


def _path(operation: str, **parts: str) -> tuple[str, str]:
    method, path = OPERATIONS[operation]
    for name, value in parts.items():
        if value in ("", ".", "..") or any(not (one.isalnum() or one in "-_.~") for one in value):
            raise InputError(f"{name}: expected letters, digits, -, _, . and ~, got {value!r}")
        path = path.replace("{" + name + "}", value)
    return method, path


def _unreachable(error: httpx.HTTPError) -> ServiceError:
    return ServiceError(f"the coordinator cannot be reached: {error}")


def _submitting(job: JobLike, again: bool, wait: float) -> _Talk[str]:
    text, _ = job_text(job)
    answer = yield _Ask("submitJob", {}, {"again": 1} if again else None, text.encode())
    until = time.monotonic() + wait
    while answer.status_code == 202:  # the coordinator answers after five seconds, or sooner
        if time.monotonic() > until:
            raise ServiceError("the job is not planned yet", "being_planned", 202)
        answer = yield _Ask("lookAtPlanning", {"planning": answer.json()["planning"]})
    return str(answer.json()["run"])


def _listing(limit: int) -> _Talk[list[dict[str, Any]]]:
    out: list[dict[str, Any]] = []
    query: dict[str, Any] = {}
    while len(out) < limit:
        page = (yield _Ask("listRuns", {}, {"limit": min(200, limit - len(out)), **query})).json()
        out += page["runs"]
        if "next_before" not in page:
            break
        query = {"before": page["next_before"]}
    return out


def _showing(run: str) -> _Talk[dict[str, Any]]:
    return dict((yield _Ask("getRun", {"run": run})).json())


def _page(run: str, at: int, poll: float) -> _Talk[tuple[list[dict[str, Any]], int]]:
    """Return the next rounds, at least one, and where those after them begin; none where the run has ended."""
    while True:
        page = (yield _Ask("getRounds", {"run": run}, {"from": at})).json()
        if page["rounds"] or page["state"] in _ENDED:
            return page["rounds"], page["next"]
        yield _Sleep(poll)


def _fetching(run: str) -> _Talk[dict[str, bytes]]:
    """Return the bytes of an ended run's files; a job of statistics has no model."""
    out: dict[str, bytes] = {}
    until = time.monotonic() + _WRITING_SECONDS
    for name, operation in _FILES.items():
        while name not in out:
            try:
                out[name] = (yield _Ask(operation, {"run": run})).content
            except ServiceError as error:
                if error.code == "being_written" and time.monotonic() < until:
                    yield _Sleep(_POLL_SECONDS)
                elif error.status == 404 and name == "model":
                    break
                else:
                    raise
    return out


def _ended(state: Mapping[str, Any]) -> _Talk[Result]:
    files = yield from _fetching(state["run"])
    values = {name: json.loads(content) for name, content in files.items()}
    result = Result(values["result"], values.get("model"), values.get("job"))
    if state["state"] != "succeeded":
        raise RunFailed(str(state.get("failure", f"the run was {state['state']}")), result, str(state["state"]))
    return result


def _waiting(run: str, timeout: float | None, on_state: Callable[[dict[str, Any]], object]) -> _Talk[Result]:
    until = None if timeout is None else time.monotonic() + timeout
    state = yield from _showing(run)
    while state["state"] not in _ENDED:
        if until is not None and time.monotonic() > until:
            raise TimeoutError(f"the run is {state['state']} after {timeout:g} s")
        on_state(state)
        yield _Sleep(_POLL_SECONDS)
        state = yield from _showing(state["run"])
    return (yield from _ended(state))


def _now(run: str) -> _Talk[Result]:
    state = yield from _showing(run)
    return (yield from _ended(state))


def _request(asked: _Ask) -> dict[str, Any]:
    method, path = _path(asked.operation, **asked.parts)
    headers = {"Content-Type": "application/json"} if asked.body is not None else {}
    return {"method": method, "url": path, "params": asked.query, "content": asked.body, "headers": headers}


class Client:
    """An operator's connection to a coordinator.

    Parameters
    ----------
    url : str
        Where its HTTP service is, such as ``"https://127.0.0.1:7444"``.
    certificate, key : path, optional
        The operator's certificate and key, PEM.
    authority : path, optional
        The consortium's authority, PEM, which signed the coordinator's certificate.
    token : str, optional
        A bearer token, in place of a certificate.
    consortium : str, optional
        The consortium's name. Whoever answers has to show a coordinator's certificate, and of this consortium where it is
        said, before anything is sent. An authority that signs for one consortium alone says as much.
    timeout : float
        Seconds that one request may take.

    Raises
    ------
    ServiceError
        By every method, with the server's own words: it refused, or it cannot be reached.
    """

    def __init__(
        self,
        url: str,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        authority: str | os.PathLike[str] | None = None,
        *,
        token: str | None = None,
        consortium: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._http = httpx.Client(**_settings(url, certificate, key, authority, token, consortium, timeout))

    @classmethod
    def from_config(cls, file: str | os.PathLike[str], *, timeout: float = 30.0) -> Client:
        """Connect as an ``operator.json`` says, which ``undertone`` reads, too."""
        return cls(**_config(file), timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _send(self, asked: _Ask) -> httpx.Response:
        try:
            return _checked(self._http.request(**_request(asked)))
        except httpx.HTTPError as error:
            raise _unreachable(error) from error

    def _do(self, talk: _Talk[T]) -> T:
        answer: httpx.Response | None = None
        failure: ServiceError | None = None
        while True:
            try:
                step = talk.throw(failure) if failure is not None else talk.send(answer)
            except StopIteration as end:
                out: T = end.value
                return out
            answer, failure = None, None
            if isinstance(step, _Sleep):
                time.sleep(step.seconds)
                continue
            try:
                answer = self._send(step)
            except ServiceError as error:
                failure = error

    def ready(self) -> bool:
        """Return whether the coordinator takes jobs."""
        try:
            return self._send(_Ask("ready")).text.strip() == "ready"
        except ServiceError as error:
            if error.status == 503:
                return False
            raise

    def submit(self, job: JobLike, *, again: bool = False, wait: float = 600.0) -> str:
        """Queue a job, and wait until it is planned.

        Parameters
        ----------
        job : Job, mapping or path
            A file's bytes are sent as they are: their SHA-256 is the job's identity.
        again : bool
            Whether a new run begins if the job's newest one has ended.
        wait : float
            Seconds that planning may take.

        Returns
        -------
        str
            The run, 96 hexadecimal digits.
        """
        return self._do(_submitting(job, again, wait))

    def plan(self, job: JobLike) -> Plan:
        """Say what a job would cost, by the code of this machine. See `undertone.plan`, which needs the extension."""
        from .lab import plan

        return plan(job)

    def runs(self, limit: int = 50) -> list[dict[str, Any]]:
        """Return the newest runs, the newest first."""
        return self._do(_listing(limit))

    def silos(self) -> list[dict[str, Any]]:
        """Return the silos that have ever connected."""
        return list(self._send(_Ask("listSilos")).json()["silos"])

    def run(self, run: str) -> dict[str, Any]:
        """Return how a run stands: by its digits, the first four or more of them, or its job's name."""
        return self._do(_showing(run))

    def cancel(self, run: str) -> None:
        """End a run. What silos sent stays charged."""
        self._send(_Ask("cancelRun", {"run": run}))

    def sealing_key(self) -> str:
        """Have the coordinator draw a key for a shuffled job's replies, and return its fingerprint."""
        return str(self._send(_Ask("makeSealingKey")).json()["fingerprint"])

    def watch(self, run: str, *, poll: float = _POLL_SECONDS) -> Iterator[dict[str, Any]]:
        """Follow a run's rounds from the first to the last, as they are closed.

        Parameters
        ----------
        run : str
            See `run`.
        poll : float
            Seconds between two questions.

        Yields
        ------
        dict
            A round: ``round``, ``answered``, ``missing``, ``elapsed_ms`` and, of an evaluation, ``metrics``.
        """
        number, at = self.run(run)["run"], 0
        while True:
            rounds, at = self._do(_page(number, at, poll))
            if not rounds:
                return
            yield from rounds

    def wait(self, run: str, *, progress: bool | None = None, timeout: float | None = None) -> Result:
        """Wait for a run's end, with a bar of its rounds, and return its result.

        Raises
        ------
        RunFailed
            The run failed or was cancelled; its result is in the exception.
        TimeoutError
            It did not end within `timeout` seconds. It goes on.
        """
        bar = Progress(progress, "running")
        try:
            return self._do(
                _waiting(run, timeout, lambda s: bar.to(s.get("rounds_closed", 0), s.get("rounds_total", 0), None))
            )
        finally:
            bar.close()

    def result(self, run: str) -> Result:
        """Return an ended run's result, with its model and its job."""
        return self._do(_now(run))

    def export(self, run: str, folder: str | os.PathLike[str]) -> None:
        """Write a run's job, result, model and rounds into a folder, the job byte for byte as it was submitted."""
        number = self.run(run)["run"]
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, content in self._do(_fetching(number)).items():
            (Path(folder) / f"{name}.json").write_bytes(content)
        with (Path(folder) / "rounds.jsonl").open("w", encoding="utf-8") as file:
            for row in self.watch(number):
                file.write(json.dumps(row) + "\n")


class AsyncClient:
    """The same as `Client`, for asynchronous code: each method awaits, and `watch` is an asynchronous iterator.

    Parameters
    ----------
    url, certificate, key, authority, token, consortium, timeout
        See `Client`.
    """

    def __init__(
        self,
        url: str,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        authority: str | os.PathLike[str] | None = None,
        *,
        token: str | None = None,
        consortium: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._http = httpx.AsyncClient(**_settings(url, certificate, key, authority, token, consortium, timeout))

    @classmethod
    def from_config(cls, file: str | os.PathLike[str], *, timeout: float = 30.0) -> AsyncClient:
        """Connect as an ``operator.json`` says, which ``undertone`` reads, too."""
        return cls(**_config(file), timeout=timeout)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _send(self, asked: _Ask) -> httpx.Response:
        try:
            return _checked(await self._http.request(**_request(asked)))
        except httpx.HTTPError as error:
            raise _unreachable(error) from error

    async def _do(self, talk: _Talk[T]) -> T:
        answer: httpx.Response | None = None
        failure: ServiceError | None = None
        while True:
            try:
                step = talk.throw(failure) if failure is not None else talk.send(answer)
            except StopIteration as end:
                out: T = end.value
                return out
            answer, failure = None, None
            if isinstance(step, _Sleep):
                await asyncio.sleep(step.seconds)
                continue
            try:
                answer = await self._send(step)
            except ServiceError as error:
                failure = error

    async def submit(self, job: JobLike, *, again: bool = False, wait: float = 600.0) -> str:
        """Queue a job, and wait until it is planned. See `Client.submit`."""
        return await self._do(_submitting(job, again, wait))

    async def runs(self, limit: int = 50) -> list[dict[str, Any]]:
        """Return the newest runs, the newest first."""
        return await self._do(_listing(limit))

    async def silos(self) -> list[dict[str, Any]]:
        """Return the silos that have ever connected."""
        return list((await self._send(_Ask("listSilos"))).json()["silos"])

    async def run(self, run: str) -> dict[str, Any]:
        """Return how a run stands. See `Client.run`."""
        return await self._do(_showing(run))

    async def cancel(self, run: str) -> None:
        """End a run. What silos sent stays charged."""
        await self._send(_Ask("cancelRun", {"run": run}))

    async def watch(self, run: str, *, poll: float = _POLL_SECONDS) -> AsyncIterator[dict[str, Any]]:
        """Follow a run's rounds. See `Client.watch`."""
        number, at = (await self.run(run))["run"], 0
        while True:
            rounds, at = await self._do(_page(number, at, poll))
            if not rounds:
                return
            for row in rounds:
                yield row

    async def wait(
        self,
        run: str,
        *,
        timeout: float | None = None,
        on_state: Callable[[dict[str, Any]], object] = lambda state: None,
    ) -> Result:
        """Wait for a run's end and return its result. See `Client.wait`.

        Parameters
        ----------
        run, timeout
            See `Client.wait`.
        on_state : callable
            Told how the run stands, whenever it is asked.
        """
        return await self._do(_waiting(run, timeout, on_state))

    async def result(self, run: str) -> Result:
        """Return an ended run's result, with its model and its job."""
        return await self._do(_now(run))
