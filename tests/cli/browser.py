"""A real browser, without network and without a screen, and what it shows.

A page is opened from a file. What a script finds in it is read from the page itself: the script is
added to a copy, without the policy that would forbid it, and leaves its answer in an element.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import unittest
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
TIMEOUT = 120
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')

needs_browser = unittest.skipUnless(PROGRAM, "chromium is not installed")


def run(page: Path, *options: str, size: tuple[int, int]) -> subprocess.CompletedProcess[bytes]:
    command = [
        PROGRAM or "", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={page.parent / 'profile'}", "--enable-logging=stderr",
        f"--window-size={size[0]},{size[1]}", *options, page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=True)


def console(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    """What the page had to say on its console."""
    lines = done.stderr.decode(errors="replace").splitlines()
    return [line for line in lines if "CONSOLE" in line]


def ask(page: Path, script: str, *options: str, size: tuple[int, int]) -> Any:
    """What a JavaScript expression comes to once the page is there; its console must stay empty."""
    text, policies = POLICY.subn("", page.read_text())
    assert policies == 1
    probe = page.with_name("probe.html")
    element = '<pre id="answer"></pre>'
    fill = f'document.getElementById("answer").textContent = JSON.stringify({script})'
    probe.write_text(text.replace("</body>", f"{element}<script>onload = () => {{ {fill} }}</script></body>"))
    done = run(probe, "--dump-dom", *options, size=size)
    assert console(done) == [], console(done)
    match = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout.decode(), re.S)
    assert match, done.stdout[-2000:]
    return json.loads(html.unescape(match[1]))


def screenshot(page: Path, *options: str, size: tuple[int, int]) -> bytes:
    picture = page.with_name("picture.png")
    run(page, f"--screenshot={picture}", *options, size=size)
    return picture.read_bytes()


# ---------------------------------------------------------------------------------------------
# PNG


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    place = 8
    while place < len(png):
        length = int.from_bytes(png[place : place + 4], "big")
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        place += 12 + length


def predict(left: int, above: int, corner: int) -> int:
    """PNG's Paeth predictor."""
    guess = left + above - corner
    return min((left, above, corner), key=lambda value: abs(guess - value))


def undo_filter(kind: int, line: bytearray, before: bytes, step: int) -> None:
    for i in range(len(line) if kind else 0):
        left = line[i - step] if i >= step else 0
        corner = before[i - step] if i >= step else 0
        above = before[i]
        guess = (0, left, above, (left + above) // 2, predict(left, above, corner))[kind]
        line[i] = (line[i] + guess) & 255


def colors(png: bytes) -> tuple[tuple[int, int], Counter[bytes]]:
    """Width and height of a picture, and how often each colour (three bytes) stands in it."""
    parts = list(chunks(png))
    header = dict(parts)[b"IHDR"]
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    assert header[8] == 8 and header[9] in (2, 6), "expected 8 bits of RGB or RGBA"
    step = 3 if header[9] == 2 else 4
    data = zlib.decompress(b"".join(content for name, content in parts if name == b"IDAT"))
    stride = width * step
    assert len(data) == height * (stride + 1)
    counts: Counter[bytes] = Counter()
    before = bytes(stride)
    for start in range(0, len(data), stride + 1):
        line = bytearray(data[start + 1 : start + 1 + stride])
        undo_filter(data[start], line, before, step)
        before = bytes(line)
        counts.update(before[i : i + 3] for i in range(0, stride, step))
    return (width, height), counts
