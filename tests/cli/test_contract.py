"""kgraft serve keeps to its description, openapi.json: requests made from it at random, good ones and bad
ones, are answered as it says, and nothing else comes of them.

The requests are the same in each run, a few hundred. KGRAFT_CONTRACT_REQUESTS=100000 makes as many:

    KGRAFT_CONTRACT_REQUESTS=100000 KGRAFT=build-address/src/kgraft python3 -m unittest -v test_contract

They are made by contract_requests.py. A finding of a sanitizer, a leak included, fails the class when its
server is stopped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from http_server import Served
from kgraft import TIMEOUT

PYTHON = "/usr/bin/python3"
MAKER = Path(__file__).with_name("contract_requests.py")
REQUESTS = int(os.environ.get("KGRAFT_CONTRACT_REQUESTS", "600"))


def lacks_modules() -> bool:
    words = [PYTHON, "-c", "import hypothesis, jsonschema"]
    return subprocess.run(words, capture_output=True, check=False).returncode != 0


@unittest.skipIf(lacks_modules(), f"{PYTHON} has no hypothesis or no jsonschema")
class Described(Served):
    """A server that requests are made for."""

    @classmethod
    def setUpClass(cls) -> None:
        backups = tempfile.TemporaryDirectory(prefix="kgraft-test-")
        cls.addClassCleanup(backups.cleanup)
        cls.words = ("--threads", "1", "--backup-dir", backups.name)
        super().setUpClass()

    def make(self, what: str, count: int = 0) -> None:
        """Has requests made, and shows how they were answered where somebody asked for many."""
        command = [PYTHON, "-B", MAKER, str(self.server.port), what, str(count)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT + count, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-8000:] + self.server.stderr().decode()[-8000:])
        if "KGRAFT_CONTRACT_REQUESTS" in os.environ:
            print(f"{what}:\n{done.stdout}", file=sys.stderr)


class TestDescription(Described):
    """The description, and its examples, which are of a graph that nobody has changed."""

    def test_description(self) -> None:
        """The description has the structure of OpenAPI."""
        self.make("description")

    def test_examples(self) -> None:
        """Examples of the description work as they stand."""
        self.make("examples")


class TestContract(Described):
    """Requests at random."""

    def test_described(self) -> None:
        """Requests as they are described are answered as described."""
        self.make("described", REQUESTS * 2 // 5)

    def test_broken(self) -> None:
        """Broken requests are refused as described."""
        self.make("broken", REQUESTS * 2 // 5)

    def test_raw(self) -> None:
        """What is hardly a request harms nobody."""
        self.make("raw", REQUESTS // 5)


class TestAbortedUploads(Served):
    """Clients that hang up in the middle of a body."""

    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def test_aborted_uploads(self) -> None:
        """Their connections end with them, long before idle ones do."""
        before = self.files()
        head = b"POST /v1/facts HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
        for size in (1, 1000, 100000) * 20:
            with self.server.raw() as client:
                client.sendall(head + b" " * size)
        end = time.monotonic() + self.model()["limits"]["idle_seconds"] / 3
        while self.files() > before and time.monotonic() < end:
            time.sleep(0.05)
        self.assertLessEqual(self.files(), before)
