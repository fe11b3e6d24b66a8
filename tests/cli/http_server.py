"""`kgraft serve` on a port of its own, and a small world for it to serve."""

from __future__ import annotations

import atexit
import contextlib
import functools
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from kgraft import BINARY, TIMEOUT, Case, Word, check_sanitizers, run, tsv

KINDS = 6
THINGS = 120
FACTS = (
    [f"thing{i} is_a kind{i % KINDS}" for i in range(THINGS)]
    + [f"thing{i} lives_in place{i % 3}" for i in range(THINGS)]
    + [f"thing{i} eats thing{i * 7 % THINGS}" for i in range(1, THINGS, 2)]
    + [f"kind{i} is_a animal" for i in range(KINDS)]
    + ["http://e.org/a http://e.org/r http://e.org/b", "http://e.org/b http://e.org/r http://e.org/c"]
)
RELATIONS = ["is_a", "lives_in", "eats", "http://e.org/r"]


def fact(text: str) -> list[str]:
    return text.split()


@dataclass(frozen=True)
class Answer:
    """A response; `json` fails unless it is JSON."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def detail(self) -> str:
        """Of a problem."""
        assert self.headers["Content-Type"] == "application/problem+json", self
        assert self.json["status"] == self.status, self
        return str(self.json["detail"])


class Server:
    """A server that runs; `stop` ends it, and looks at how it ended."""

    def __init__(self, store: Path, *words: Word, tls: Optional[ssl.SSLContext] = None, wrapper: Sequence[Word] = ()) -> None:
        """A wrapper must become the server, as `strace -D` does."""
        command = [*wrapper, BINARY, "serve", store, "--listen", "127.0.0.1:0", "--json", *words]
        self.tls = tls
        self.messages = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.messages)
        said = b""
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            said += line
            if line == b"}\n":
                break
        if not said:
            self.process.wait(TIMEOUT)
            raise AssertionError(self.stderr().decode(errors="backslashreplace"))
        about = json.loads(said)
        self.port: int = about["port"]
        self.metrics_port: Optional[int] = about["metrics_port"]

    def stderr(self) -> bytes:
        self.messages.seek(0)
        return self.messages.read()

    def connect(self, port: Optional[int] = None) -> http.client.HTTPConnection:
        if self.tls is not None:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=TIMEOUT, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=TIMEOUT)

    def ask(
        self,
        method: str,
        path: str,
        body: Union[bytes, object, None] = None,
        headers: Mapping[str, str] = {},
        connection: Optional[http.client.HTTPConnection] = None,
        port: Optional[int] = None,
    ) -> Answer:
        """What is not bytes is sent as JSON."""
        given = dict(headers)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
        used = connection or self.connect(port)
        try:
            used.request(method, path, body, given)
            response = used.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            if connection is None:
                used.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, body: object) -> Any:
        """What is answered to a request that is right."""
        answer = self.ask("POST", path, body)
        assert answer.status in (200, 202), answer
        return answer.json

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)

    def is_gone(self) -> bool:
        """Whether it takes no connections, or no more."""
        try:
            self.raw().close()
        except ConnectionRefusedError:
            return True
        except ConnectionResetError:  # it is about to close
            return False
        return False

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def wait(self) -> int:
        status = self.process.wait(TIMEOUT)
        assert self.process.stdout is not None
        self.process.stdout.close()
        check_sanitizers(self.stderr())
        return status

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait()


class Events:
    """The events of a stream of changes, read by a thread."""

    def __init__(self, server: Server, path: str, **headers: str) -> None:
        self.connection = server.connect()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request("GET", path, headers=given)
        self.socket = self.connection.sock
        self.response = self.connection.getresponse()
        self.events: list[dict[str, Any]] = []
        self.changed = threading.Condition()
        self.has_ended = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        event: dict[str, Any] = {}
        try:
            while line := self.response.readline():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    event[name] = json.loads(value) if name == "data" else value
                    continue
                with self.changed:
                    self.events.append(event)
                    self.changed.notify_all()
                event = {}
        except (OSError, ValueError, AttributeError, http.client.HTTPException):  # closed by the test
            pass
        with self.changed:
            self.has_ended = True
            self.changed.notify_all()

    def close(self) -> None:
        """The socket first: the connection waits for the thread, which waits for the next line."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.wait_for_end()
        self.connection.close()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event.get("event") == kind]

    def wait_for(self, kind: str, count: int) -> list[dict[str, Any]]:
        with self.changed:
            self.changed.wait_for(lambda: len(self.of(kind)) >= count or self.has_ended, TIMEOUT)
            return self.of(kind)

    def wait_for_end(self) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.has_ended, TIMEOUT)


def wait_until(condition: Callable[[], bool]) -> None:
    """Tests wait for what is to happen, however long it takes."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def damage(path: Path) -> None:
    """All of a SQLite file but its first page. Who has it open forgets what was read, since another one has written."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(f"PRAGMA user_version = {version}")
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))


@functools.cache
def made_world() -> Path:
    """A folder with a model of the facts and a store of it, which nobody changes, made once and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="kgraft-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "facts.tsv").write_bytes(tsv(*FACTS))
    for words in (
        ("train", "facts.tsv", "model", "--dim", "8", "--epochs", "2", "--threads", "1", "--quiet",
         "--propagation-epochs", "1"),
        ("store", "model", "store", "--quiet"),
    ):
        assert run(*words, cwd=folder).status == 0
    return folder


class Served(Case):
    """A server of a small store, one for all tests of the class; what they change they change back, or
    nobody looks at."""

    words: tuple[Word, ...] = ()
    server: Server
    home: Path

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        holder = tempfile.TemporaryDirectory(prefix="kgraft-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.home = made_world()
        cls.server = Server(Path(shutil.copytree(cls.home / "store", Path(holder.name) / "store")), *cls.words)
        cls.addClassCleanup(cls.finish)

    @classmethod
    def finish(cls) -> None:
        status = cls.server.stop()
        assert status == 0, (status, cls.server.stderr())

    def model(self) -> Any:
        return self.server.get("/v1/model").json

    def refuse_request(self, status: int, pattern: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.server.ask(method, path, body, given)
        self.assertEqual(answer.status, status, answer)
        self.assertRegex(answer.detail, pattern)
        return answer


class Alone(Case):
    """Tests that need servers of their own, of a store of their own."""

    def setUp(self) -> None:
        super().setUp()
        shutil.copytree(made_world() / "store", self.folder / "store")

    def start(self, *words: Any, **options: Any) -> Server:
        server = Server(self.folder / "store", *words, **options)
        self.addCleanup(lambda: server.process.poll() is None and server.stop())
        return server
