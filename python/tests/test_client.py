"""The client against a live consortium: a coordinator and five silos as processes, over TLS."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import undertone as ut
from undertone.client import OPERATIONS, AsyncClient, Client
from undertone.local import Consortium


@pytest.fixture(scope="module")
def consortium(root: Path, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consortium]:
    folder = tmp_path_factory.mktemp("consortium") / "demo"
    with Consortium(root / "configs" / "jobs" / "breast-cancer.json", folder, programs) as made:
        yield made


@pytest.fixture(scope="module")
def run(consortium: Consortium) -> str:
    """A run that has ended."""
    with consortium.client() as client:
        number = client.submit(consortium.job_file)
        client.wait(number, timeout=120)
        return number


def test_the_client_asks_for_what_the_api_document_lists(root: Path) -> None:
    document = json.loads((root / "docs" / "openapi.json").read_text())
    said = {
        said["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, said in methods.items()
        if method in ("get", "post")
    }
    of_pages = {"showPlan", "followChanges", "getReport", "getTable", "whoAmI", "beginSession"}  # and not the client's
    assert {name: one for name, one in said.items() if name not in of_pages} == OPERATIONS


def test_a_run_is_followed_to_its_end(consortium: Consortium) -> None:
    with consortium.client() as client:
        job = ut.read_job(consortium.job_file)
        job.name = "followed"
        for member in job.cohort:
            member.epsilon = 1
        number = client.submit(job)
        assert client.submit(job) == number  # the same bytes are the same run
        rounds = list(client.watch(number))
        assert [row["round"] for row in rounds] == list(range(len(rounds)))
        assert rounds[-1]["metrics"]["accuracy"] > 0.5
        result = client.wait(number)
        assert result.succeeded
        assert not result.simulated
        assert "VOID" not in result.statement("clinic-1")
        assert len(rounds) == result["rounds"]
        assert client.run("followed")["run"] == number
        assert number in {row["run"] for row in client.runs()}


def test_what_was_run_is_what_was_sent(consortium: Consortium, run: str, tmp_path: Path) -> None:
    with consortium.client() as client:
        client.export(run, tmp_path / "out")
        result = client.result(run)
    assert (tmp_path / "out" / "job.json").read_bytes() == consortium.job_file.read_bytes()
    assert dict(ut.Result.read(tmp_path / "out")) == dict(result)
    assert len((tmp_path / "out" / "rounds.jsonl").read_text().splitlines()) == result["rounds"]
    assert result.model is not None
    assert 0.8 < result.metrics["accuracy"].iloc[-1] <= 1


def test_every_ledger_is_sound(consortium: Consortium, run: str) -> None:
    for silo in ("clinic-1", "clinic-5"):
        found = ut.verify_ledger(consortium.ledger(silo), head=consortium.head(silo))
        assert found["sound"], found["problems"]
        assert found["noise"] == "secure"
        assert any(row["run"] == run and row["state"] == "ended" for row in found["runs"])
        persons = ut.account("person", ledger=consortium.ledger(silo), of_person=[2])
        assert persons[0]["persons"][0]["records"] == 2


def test_a_live_result_has_the_simulations_form(consortium: Consortium, run: str) -> None:
    """What a simulation promises is what the silos promised."""
    with consortium.client() as client:
        live = client.result(run)
    simulated = ut.simulate(consortium.job_file.parent / "job.json", _tables(consortium), seed=1)
    assert simulated.privacy["epsilon"].tolist() == live.privacy["epsilon"].tolist()
    assert list(simulated.metrics.columns) == list(live.metrics.columns)


def _tables(consortium: Consortium) -> dict[str, object]:
    import pandas as pd

    return {file.stem: pd.read_csv(file) for file in sorted((consortium.folder / "data").glob("*.csv"))}


def test_the_guides_snippet_drives_it(consortium: Consortium, run: str, root: Path, tmp_path: Path) -> None:
    shown = re.findall(r"```python\n(.*?)```", (root / "docs" / "python.md").read_text(), re.DOTALL)
    (code,) = [one for one in shown if "operator.json" in one]
    code = code.replace('"operator.json"', repr(str(consortium.folder / "operator.json")))
    code = code.replace('"job.json"', repr(str(consortium.job_file)))
    done = subprocess.run([sys.executable, "-c", code + "print(result)"], capture_output=True, text=True, check=True)
    assert "0 ['clinic-1'" in done.stdout
    assert "accuracy" in done.stdout


def test_refusals_are_the_servers_words(consortium: Consortium, run: str) -> None:
    with consortium.client() as client:
        with pytest.raises(ut.ServiceError) as caught:
            client.submit({"format": "undertone.job/1"})
        assert (caught.value.status, caught.value.code) == (400, "invalid_config")
        assert "/cohort" in str(caught.value)
        with pytest.raises(ut.ServiceError) as caught:
            client.run("nobody-knows-this")
        assert (caught.value.status, caught.value.code) == (404, "unknown_run")
        with pytest.raises(ut.ServiceError) as caught:
            client.cancel(run)
        assert (caught.value.status, caught.value.code) == (409, "has_ended")
        for name in ("", ".", "..", "a/b", "../runs", "a?b=c", "a b"):
            with pytest.raises(ut.InputError, match="run: expected letters"):
                client.run(name)


def test_a_cancelled_run_is_an_exception(consortium: Consortium) -> None:
    with consortium.client() as client:
        job = ut.read_job(consortium.job_file)
        job.name = "cancelled"
        for member in job.cohort:
            member.epsilon = 0.5
        assert job.algorithm is not None
        job.algorithm.rounds = 4000
        job.wire = None
        number = client.submit(job)
        client.cancel(number)
        with pytest.raises(ut.RunFailed) as caught:
            client.wait(number, timeout=60)
        assert caught.value.code == "cancelled"
        assert caught.value.result is not None


def test_waiting_has_an_end(consortium: Consortium) -> None:
    with consortium.client() as client:
        job = ut.read_job(consortium.job_file)
        job.name = "waited-for"
        job.cohort = [job.cohort[0], ut.cohort_of({"absent": {"x": [0.0] * 100}}, 1.0)[0]]
        assert job.participation is not None
        job.participation.quorum = 2
        job.participation.join_deadline_ms = 600_000
        number = client.submit(job)
        with pytest.raises(TimeoutError):
            client.wait(number, timeout=0.5)
        client.cancel(number)


def test_whoever_has_no_certificate_is_not_let_in(consortium: Consortium) -> None:
    said = json.loads((consortium.folder / "operator.json").read_text())
    authority = consortium.folder / said["tls"]["authority"]
    with Client(said["url"], authority=authority) as client:
        with pytest.raises(ut.ServiceError) as caught:
            client.runs()
        assert (caught.value.status, caught.value.code) == (401, "unauthorized")
    with Client(said["url"]) as client, pytest.raises(ut.ServiceError, match="cannot be reached"):
        client.runs()  # signed by an authority that is not the system's
    with Client("http://127.0.0.1:9") as client, pytest.raises(ut.ServiceError, match="cannot be reached"):
        client.ready()
    with pytest.raises(ut.InputError, match="both or none"):
        Client(said["url"], certificate="certificate.pem")
    with pytest.raises(ut.InputError, match="authority"):
        Client(said["url"], authority=consortium.folder / "no-such.crt")


def test_nothing_is_sent_to_another_party(consortium: Consortium) -> None:
    """A member's certificate is of the same authority, and of no coordinator."""
    said = json.loads((consortium.folder / "operator.json").read_text())
    tls = {name: consortium.folder / said["tls"][name] for name in ("authority", "certificate", "key")}
    heard: list[bytes] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls["certificate"], tls["key"])
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as stream:
                heard.append(stream.recv(1000))

    server = threading.Thread(target=serve)
    server.start()
    port = listener.getsockname()[1]
    import undertone.client as module

    def trusting(*arguments: Any, **names: Any) -> ssl.SSLContext:  # an operator's certificate names no host
        made = original(*arguments, **names)
        made.check_hostname = False
        return made

    original = ssl.create_default_context
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.ssl, "create_default_context", trusting)
        with Client(f"https://127.0.0.1:{port}", authority=tls["authority"], token="secret") as client:
            with pytest.raises(ut.ServiceError, match="expected a coordinator"):
                client.runs()

        async def look() -> None:
            async with AsyncClient(f"https://127.0.0.1:{port}", authority=tls["authority"], token="secret") as client:
                with pytest.raises(ut.ServiceError, match="expected a coordinator"):
                    await client.runs()

        asyncio.run(look())
        with Client(said["url"], **tls, consortium="another") as client:
            with pytest.raises(ut.ServiceError, match="coordinator of another"):
                client.runs()
    server.join()
    listener.close()
    assert not any(heard)


@pytest.mark.parametrize("url", ["http://hub.example:7444", "HTTP://10.0.0.3:1", "ftp://127.0.0.1", "127.0.0.1:7444", "https://", ""])
def test_a_token_does_not_leave_in_clear_text(url: str) -> None:
    with pytest.raises(ut.InputError, match="url"):
        Client(url, token="secret")


def test_a_certificate_beside_http_is_refused() -> None:
    with pytest.raises(ut.InputError, match="only with https"):
        Client("http://127.0.0.1:1", authority="authority.crt")


def test_the_same_without_blocking(consortium: Consortium, run: str) -> None:
    async def look() -> tuple[int, bool, float]:
        async with AsyncClient.from_config(consortium.folder / "operator.json") as client:
            rounds = [row async for row in client.watch(run)]
            result = await client.wait(run)
            assert await client.submit(consortium.job_file) == run
            assert len(await client.silos()) >= 5
            with pytest.raises(ut.ServiceError):
                await client.run("nobody-knows-this")
            return len(rounds), result.succeeded, float(result.metrics["accuracy"].iloc[-1])

    rounds, succeeded, accuracy = asyncio.run(look())
    assert succeeded
    assert rounds > 30
    assert accuracy > 0.8


def test_the_client_needs_no_extension(tmp_path: Path, root: Path) -> None:
    """The pure part of the package works where nothing was compiled."""
    code = (
        "import undertone, undertone.client, undertone.jobs\n"
        "job = undertone.read_job('configs/jobs/breast-cancer.json'); job.to_json()\n"
        "try:\n    undertone.plan(job)\n"
        "except ImportError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(root / "python" / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True, check=True)
    assert "needs the package's extension" in done.stdout


def test_a_script_that_dies_leaves_nothing_running(root: Path, programs: Path, tmp_path: Path) -> None:
    code = (
        "from undertone.local import Consortium\n"
        f"made = Consortium({str(root / 'configs' / 'jobs' / 'breast-cancer.json')!r}, {str(tmp_path / 'demo')!r}, {str(programs)!r})\n"
        "raise SystemError('the script is over')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert "the script is over" in done.stderr
    for file in (tmp_path / "demo" / "pids").iterdir():
        assert not Path(f"/proc/{file.read_text().strip()}").exists()


def test_a_consortium_that_cannot_start_says_why(root: Path, programs: Path, tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text("{}")
    with pytest.raises(ut.InputError, match="(?s)did not start.*/cohort"):
        Consortium(tmp_path / "job.json", tmp_path / "demo", programs)
    with pytest.raises(ut.InputError, match="is there already"):
        Consortium(tmp_path / "job.json", tmp_path, programs)
    with pytest.raises(ut.InputError, match="build the programs"):
        Consortium(tmp_path / "job.json", tmp_path / "demo", tmp_path)
