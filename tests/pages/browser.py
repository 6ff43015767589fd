"""A browser and a federation for the tests of pages. Debian's chromium, chromium-driver and python3-selenium."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

WAIT = 60.0


def until(holds: Callable[[], Any], what: str, most: float = WAIT) -> Any:
    """Ask until it is so. A page that was just made anew counts as not yet."""
    end = time.monotonic() + most
    while time.monotonic() < end:
        try:
            value = holds()
        except StaleElementReferenceException:
            value = None
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {most:.0f} s: {what}")


class Federation:
    """`undertone demo --serve`: a coordinator that serves, and silos that are connected to it."""

    def __init__(self, build: Path, job: Path, folder: Path):
        self.folder = folder
        self.log = open(folder.parent / "demo.log", "wb")
        self.process = subprocess.Popen(
            [build / "lab" / "undertone", "demo", job, "--serve", "--dir", folder, "--programs", build],
            stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)
        until(lambda: (folder / "pids").exists() and list((folder / "pids").iterdir()), "the federation starts")
        config = json.loads((folder / "coordinator.json").read_text())
        self.address = f"https://127.0.0.1:{config['http']['port']}"
        self.token = (folder / "coordinator" / "console-token").read_text().strip()
        until(lambda: self.ask("/healthz")[0] == 200, "the coordinator serves")

    def ask(self, path: str, method: str = "GET", body: bytes | None = None,
            headers: dict[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
        """An answer's status, header and body, whoever the certificate is of. Status 0: none came."""
        context = ssl._create_unverified_context()
        request = urllib.request.Request(self.address + path, data=body, headers=headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, context=context, timeout=20) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()
        except OSError:
            return 0, {}, b""

    def change_silo(self, silo: str, policy: dict[str, Any]) -> None:
        """Change a silo's policy, and have its agent begin anew with it."""
        file = self.folder / f"{silo}.json"
        config = json.loads(file.read_text())
        config["policy"].update(policy)
        file.write_text(json.dumps(config))
        self.kill(silo)

    def kill(self, name: str) -> None:
        """Kill one of its programs, which the demo starts again."""
        pid = int((self.folder / "pids" / f"{name}").read_text())
        os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=30)
        finally:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.log.close()


class Desk:
    """`undertone-silo desk`: a silo's own page."""

    def __init__(self, build: Path, config: Path):
        self.process = subprocess.Popen([build / "silo" / "undertone-silo", "desk", "--config", config],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.address = self.process.stdout.readline().strip()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)
        assert self.process.stdout is not None
        self.process.stdout.close()


class Browser:
    """Chromium without a window."""

    def __init__(self, folder: Path, dark: bool = False):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "ignore-certificate-errors",
                     "force-prefers-reduced-motion", "hide-scrollbars", f"user-data-dir={folder / 'profile'}"):
            options.add_argument(f"--{flag}")
        if dark:
            options.add_argument("--force-dark-mode")
            options.add_argument("--enable-features=WebContentsForceDark:DarkModeSettings")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_window_size(1400, 1000)
        self.axe = next(Path(__file__).resolve().parents[2].glob(
            "build/venv/lib/python3*/site-packages/axe_selenium_python/node_modules/axe-core/axe.min.js")).read_text()

    def go(self, address: str) -> None:
        self.driver.get(address)

    def find(self, css: str) -> Any:
        return until(lambda: next(iter(self.driver.find_elements(By.CSS_SELECTOR, css)), None), f"the page has {css}")

    def all(self, css: str) -> list[Any]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, css))

    def button(self, label: str) -> Any:
        return until(lambda: next((one for one in self.all("button, a") if one.text == label), None),
                     f"the page has a button {label!r}")

    def text(self, css: str = "body") -> str:
        return str(self.driver.execute_script("return document.querySelector(arguments[0])?.innerText || ''", css))

    def says(self, words: str, css: str = "body", most: float = WAIT) -> str:
        try:
            until(lambda: words in self.text(css), f"{css} says {words!r}", most)
        except AssertionError as error:
            raise AssertionError(f"{error}; it says: {self.text(css)[:1500]}") from None
        return self.text(css)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def emulate(self, scheme: str) -> None:
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def width(self, pixels: int) -> None:
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def fits(self, pixels: int, page: str) -> None:
        """The page needs no scrolling sideways. A chart takes its new size after the frame that follows the window's."""
        until(lambda: self.run("return document.documentElement.scrollWidth") <= pixels,
              f"{page} fits {pixels} pixels (it had {self.run('return document.documentElement.scrollWidth')} at first)", most=10)

    def barriers(self) -> list[str]:
        """What axe-core finds against WCAG 2 AA on the page as it is."""
        self.driver.execute_script(self.axe)
        found = self.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run({runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa']}})"
            ".then((found) => done(found.violations), (error) => done([{id: String(error), nodes: []}]));")
        return [f"{one['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
                for one in found for node in one["nodes"] or [{"html": ""}]]

    def complaints(self) -> list[str]:
        """What the browser's console says since it was asked last: errors, and what the page's policy refused.
        Statuses of refusals are none."""
        said = [one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"]
        return [one for one in said if "Failed to load resource: the server responded" not in one]

    def picture(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(file))

    def close(self) -> None:
        self.driver.quit()
