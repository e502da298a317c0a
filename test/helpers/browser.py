# SPDX-License-Identifier: Apache-2.0
"""A browser that shows a page as people see it, told what to do by its DevTools protocol over a pipe.

Nothing listens on a port, and nothing but Chromium is needed: it reads commands from its file descriptor 3 and writes
answers and events to 4, each a JSON text that ends with a zero byte.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import threading
from base64 import b64decode
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on PATH: chromium, google-chrome")
#: s to wait for an answer; a page is megabytes of script, and the machine may have more to do
PATIENCE = 120.0


class Browser:
    """Chromium without a window; use it with `with`.

    Parameters:
        profile: an empty folder for it.

    Attributes:
        complaints: what pages wrote to the console as a warning or an error, and exceptions.
        requests: addresses that pages asked for.
    """

    def __init__(self, profile: Path) -> None:
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()

        def ends() -> None:  # of the pipes, where Chromium looks for them
            high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
            for end, number in zip(high, (3, 4)):
                os.dup2(end, number)
                os.close(end)

        self._process = subprocess.Popen(
            [
                BROWSER, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", f"--user-data-dir={profile}",
                "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing",
                "--disable-gpu-rasterization", "--no-first-run", "--disable-quic",
                "--disable-background-networking", "--disable-component-update", "--disable-sync", "about:blank",
            ],
            preexec_fn=ends, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._count, self._session = 0, ""
        self._answers: Queue[dict[str, Any]] = Queue()
        self._loaded = threading.Event()
        self._shown: tuple[Path, dict[str, Any]] | None = None
        threading.Thread(target=self._listen, daemon=True).start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._to)  # which ends it
        try:
            self._process.wait(30.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command's result. Raises RuntimeError with what the browser says."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._answers.get(timeout=PATIENCE)
            if answer["id"] == self._count:
                break
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def show(self, page: Path, **how: Any) -> None:
        """As `open`, but only where it is not what is shown already: a page takes a second or two."""
        if self._shown != (page, how):
            self.open(page, **how)
            self._shown = page, how

    def open(
        self,
        page: Path,
        *,
        tab: str = "",
        width: int = 1000,
        height: int = 800,
        phone: bool = False,
        dark: bool = False,
    ) -> None:
        """Show a file, until it is loaded and has been drawn. tab: the end of its address, from # on."""
        self._shown = None
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone, maxTouchPoints=5)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        for address in ("about:blank", page.as_uri() + tab):  # from elsewhere, else another tab is the same page
            self.complaints.clear()
            self.requests.clear()
            self._loaded.clear()
            self.call("Page.navigate", url=address)
            if not self._loaded.wait(PATIENCE):
                raise TimeoutError(f"{address} was not loaded")
        self.frames(3)

    def run(self, script: str) -> Any:
        """The value of an expression, awaited where it is a promise. Raises RuntimeError with an exception's text."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", str(found)))
        return found["result"].get("value")

    def frames(self, count: int) -> None:
        """Let that many pictures be drawn."""
        next_one = f"let n = {count}; const next = () => n-- ? requestAnimationFrame(next) : done(); next();"
        self.run(f"new Promise(done => {{ {next_one} }})")

    def mouse(self, x: float, y: float) -> None:
        """Move it there, in pixels of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.frames(2)

    def swipe(self, x: float, y: float, dx: float, dy: float) -> None:
        """With one finger from (x, y)."""
        steps = 12
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        for k in range(1, steps + 1):
            place = {"x": x + dx * k / steps, "y": y + dy * k / steps}
            self.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[place])
            self.frames(1)
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        place, still = self.run("scrollY"), 0
        while still < 5:  # a page that was pushed slides on for a while
            self.frames(3)
            before, place = place, self.run("scrollY")
            still = still + 1 if place == before else 0

    def picture(self, path: Path) -> None:
        """Of what is in the window, as a PNG."""
        path.write_bytes(b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _listen(self) -> None:
        """Answers, and what happens meanwhile."""
        rest = b""
        while data := os.read(self._from, 1 << 20):
            *messages, rest = (rest + data).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self._answers.put(message)
                else:
                    self._note(message["method"], message["params"])
        os.close(self._from)

    def _note(self, event: str, about: dict[str, Any]) -> None:
        if event == "Page.loadEventFired":
            self._loaded.set()
        elif event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(about["exceptionDetails"].get("exception", {}).get("description", str(about)))
        elif "GL Driver Message" in str(about):
            pass  # that pictures are made without a graphics card is slow
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("warning", "error"):
            self.complaints.append(about["entry"]["text"])
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("warning", "error", "assert"):
            self.complaints.append(" ".join(str(part.get("value", part)) for part in about["args"]))


#: script: what is written on a page, in which colour, on which
TEXTS = """[...document.querySelectorAll("body *")].flatMap(element => {
  const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  if (!own || element.closest("script, style") || !element.getClientRects().length) return [];
  const style = getComputedStyle(element), ink = element.closest("svg") ? style.fill : style.color;
  let below = element, paper = "";
  for (; below && !paper; below = below.parentElement) {
    const colour = getComputedStyle(below).backgroundColor;
    if (colour !== "rgba(0, 0, 0, 0)" && !below.closest("svg")) paper = colour;
  }
  return [[element.textContent.trim().slice(0, 40), ink, paper]];
})"""


def rgb(text):
    """Of "#rrggbb", "rgb(r, g, b)" and "#rgb"."""
    if text.startswith("#"):
        return tuple(int(text[k : k + 2], 16) for k in (1, 3, 5))
    parts = re.findall(r"[\d.]+", text)
    assert len(parts) == 3 or float(parts[3]) == 1.0, text
    return tuple(int(part) for part in parts[:3])


def contrast(one, other):
    """As WCAG 2 defines it, 1 to 21."""

    def luminance(colour):
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
        return np.dot(parts, (0.2126, 0.7152, 0.0722))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
