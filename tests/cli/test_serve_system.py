"""kgraft serve as a service: tokens, certificates, signals, bad clients, crashes, jobs, metrics."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Optional

from http_server import FACTS, Events, Served, Server, fact
from kgraft import TIMEOUT, is_sanitized, needs_small_disk, on_small_disk, run, tsv
from test_durable import can_trace

READER = "reader-0123456789"
WRITER = "writer-0123456789"
LARGE = 64 if is_sanitized() else 256  # questions of a large request


def wait_until(condition: Callable[[], bool]) -> None:
    """Tests wait for what is to happen, however long it takes."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


class Alone(Served):
    """Tests that need servers of their own, of a store of their own."""

    @classmethod
    def finish(cls) -> None:
        pass

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        assert cls.server.stop() == 0

    def setUp(self) -> None:
        super().setUp()
        shutil.copytree(self.home / "store", self.folder / "store")

    def start(self, *words: Any, **options: Any) -> Server:
        server = Server(self.folder / "store", *words, **options)
        self.addCleanup(lambda: server.process.poll() is None and server.stop())
        return server

    def write_tokens(self, *lines: str) -> Path:
        path = self.folder / "tokens"
        path.write_text("".join(f"{line}\n" for line in lines))
        path.chmod(0o600)
        return path


class TestTokens(Alone):
    """Who may read and who may write."""

    def test_rights(self) -> None:
        path = self.write_tokens("# of the team", "", f"read {READER}", f"write {WRITER}")
        server = self.start("--token-file", path)
        body = {"add": [["emu", "is_a", "kind1"]]}

        def ask(token: str, method: str, path: str, body: Any = None) -> int:
            headers = {"Authorization": token} if token else {}
            return server.ask(method, path, body, headers).status

        for token, read, write in (
            ("", 401, 401),
            ("Bearer wrong-0123456789-0", 401, 401),
            (f"Bearer {READER}x", 401, 401),
            (f"Bearer {READER[:-1]}", 401, 401),
            (f"Basic {READER}", 401, 401),
            ("Bearer " + "x" * 5000, 401, 401),
            (f"Bearer {READER}", 200, 403),
            (f"Bearer {WRITER}", 200, 200),
            (f"bearer {WRITER}", 200, 200),
            (f"Bearer {WRITER} \t ", 200, 200),
        ):
            self.assertEqual(ask(token, "GET", "/v1/model"), read, token)
            self.assertEqual(ask(token, "POST", "/v1/predict", {"entity": "thing1"}), read, token)
            self.assertEqual(ask(token, "POST", "/v1/facts", body), write, token)
        for open_path in ("/", "/livez", "/readyz", "/openapi.json"):
            self.assertEqual(ask("", "GET", open_path), 200)
        refused = server.get("/v1/model")
        self.assertTrue(refused.headers["WWW-Authenticate"].startswith("Bearer"))

    def test_host(self) -> None:
        """Without tokens, a name that others gave this machine is refused: a browser may be made to use it."""
        server = self.start()
        port = server.port
        for host, status in ((f"localhost:{port}", 200), ("LOCALHOST", 200), (f"127.0.0.1:{port}", 200), ("[::1]:80", 200),
                             (f"evil.example:{port}", 403), ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403),
                             ("[::1", 200), ("", 403), ("x" * 300, 403)):
            self.assertEqual(server.ask("GET", "/v1/model", headers={"Host": host}).status, status, host)
            self.assertEqual(server.ask("GET", "/livez", headers={"Host": host}).status, 200, host)
        refused = server.ask("POST", "/v1/facts", {"add": [["emu", "is_a", "kind1"]]}, {"Host": "evil.example"})
        self.assertIn("expected localhost or an address", refused.detail)
        server.stop()
        path = self.write_tokens(f"read {READER}")
        headers = {"Host": "team.example", "Authorization": f"Bearer {READER}"}
        self.assertEqual(self.start("--token-file", path).ask("GET", "/v1/model", headers=headers).status, 200)

    def test_reload(self) -> None:
        """SIGHUP reads tokens again; a file that is wrong leaves those that are in use."""
        path = self.write_tokens(f"read {READER}")
        server = self.start("--token-file", path)

        def status(token: str) -> int:
            return server.ask("GET", "/v1/model", headers={"Authorization": f"Bearer {token}"}).status

        self.assertEqual((status(READER), status(WRITER)), (200, 401))
        self.write_tokens(f"read {WRITER}")
        server.signal(signal.SIGHUP)
        wait_until(lambda: status(WRITER) == 200)
        self.assertEqual(status(READER), 401)
        self.write_tokens("nonsense")
        server.signal(signal.SIGHUP)
        wait_until(lambda: b"tokens:1: expected read or write" in server.stderr())
        self.assertEqual(status(WRITER), 200)

    def test_bad_files(self) -> None:
        for lines, mode, pattern in (
            ((f"read {READER}",), 0o644, "expected a file that only its owner may read, found mode 644"),
            (("read short",), 0o600, "expected read or write, a space and a token of 16 to 255"),
            ((f"admin {READER}",), 0o600, "tokens:1: expected read or write"),
            (("# none",), 0o600, "expected a token, found none"),
        ):
            path = self.write_tokens(*lines)
            path.chmod(mode)
            result = self.run_kgraft("serve", "store", "--listen", "127.0.0.1:0", "--token-file", "tokens")
            self.assertEqual(result.status, 2, result)
            self.assertRegex(result.messages[0], pattern)


class TestOptions(Alone):
    """What is refused at the start."""

    def test_refused(self) -> None:
        for words, pattern in (
            (("--listen", "0.0.0.0:0"), "--listen: expected --token-file where other machines can reach the server"),
            (("--listen", "[::]:0"), "--listen: expected --token-file"),
            (("--listen", "8080"), "expected HOST:PORT"),
            (("--listen", "127.0.0.1:99999"), "expected HOST:PORT"),
            (("--listen", "::1:80"), "expected HOST:PORT"),
            (("--tls-cert", "x.pem"), "expected --tls-cert and --tls-key together"),
            (("--metrics", "nowhere"), "expected HOST:PORT"),
            (("--cors", "page.example"), "--cors: expected an origin, as in https://page.example, or \\*, found 'page.example'"),
            (("--cors", "https://page.example/"), "--cors: expected an origin"),
            (("--backup-dir", "/nonexistent"), "/nonexistent: cannot write backups to it: No such file"),
            (("--backup-dir", "store/config.json"), "store/config.json"),
        ):
            any_port = () if "--listen" in words else ("--listen", "127.0.0.1:0")
            result = self.run_kgraft("serve", "store", *words, *any_port)
            self.assertEqual(result.status, 2, result)
            self.assertRegex(result.messages[-1], pattern)

    def test_port_in_use(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            result = self.run_kgraft("serve", "store", "--listen", address)
        self.assertEqual(result.status, 1)
        self.assertRegex(result.messages[-1], f"cannot listen on {re.escape(address)}: Address already in use")

    def test_one_writer(self) -> None:
        """A store that is served is the server's; others read it."""
        server = self.start()
        result = self.run_kgraft("serve", "store", "--listen", "127.0.0.1:0")
        self.assertNotEqual(result.status, 0)
        reader = self.start("--read-only")
        self.assertTrue(reader.get("/v1/model").json["read_only"])
        refused = reader.ask("POST", "/v1/facts", {"add": [["emu", "is_a", "kind1"]]})
        self.assertEqual((refused.status, refused.detail), (403, "this server only reads its store"))
        self.assertEqual(reader.ask("POST", "/v1/compactions", {}).status, 403)
        self.assertEqual(reader.post("/v1/predict", {"entity": "thing1", "k": 2}), server.post("/v1/predict", {"entity": "thing1", "k": 2}))

    def test_backups_need_a_folder(self) -> None:
        self.assertEqual(self.start().ask("POST", "/v1/backups", {}).status, 403)

    def test_cors(self) -> None:
        """Other origins are let in only if asked for."""
        page = "https://page.example"
        for words, origin, allowed in (((), page, None), (("--cors", page), page, page), (("--cors", page), "https://other.example", None), (("--cors", "*"), page, "*")):
            server = self.start(*words)
            for method in ("GET", "OPTIONS"):
                answer = server.ask(method, "/v1/model", headers={"Origin": origin})
                self.assertEqual(answer.headers.get("Access-Control-Allow-Origin"), allowed)
                self.assertEqual(answer.headers.get("Vary"), "Origin" if page in words else None)
            self.assertEqual("Access-Control-Allow-Headers" in answer.headers, allowed is not None)
            server.stop()

    def test_access_log(self) -> None:
        log = self.folder / "access.log"
        server = self.start("--access-log", log)
        server.get("/v1/model")
        server.ask("POST", "/v1/predict", {"entity": "nobody"})
        server.get("/nowhere?token=secret")
        wait_until(lambda: log.read_bytes().count(b"\n") == 3)
        lines = map(json.loads, log.read_text().splitlines())  # a line is written when the answer has been sent
        first, second, third = sorted(lines, key=lambda line: [200, 422, 404].index(line["status"]))
        self.assertEqual((first["method"], first["path"], first["status"], first["operation"]), ("GET", "/v1/model", 200, "getModel"))
        self.assertEqual((second["status"], second["received"]), (422, len(json.dumps({"entity": "nobody"}))))
        self.assertEqual((third["status"], third["path"]), (404, "/nowhere"))
        self.assertNotIn("operation", third)
        with server.raw() as client:
            client.sendall(b"G\xffT /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertRegex(client.recv(1000), b"^HTTP/1.1 405 ")
        with server.raw() as client:  # goes away in the middle
            client.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
            time.sleep(0.1)
        wait_until(lambda: log.read_bytes().count(b"\n") == 5)
        self.assertEqual({line["status"] for line in map(json.loads, log.read_text().splitlines()[3:])}, {405, 499})
        log.rename(self.folder / "old.log")
        server.signal(signal.SIGHUP)
        wait_until(log.exists)
        server.get("/livez")
        wait_until(lambda: log.read_bytes().count(b"\n") == 1)

    def test_blocked_access_log(self) -> None:
        """A pipe that nobody reads delays neither requests nor the end; what is lost is counted."""
        server = self.start("--access-log", "-", "--metrics", "127.0.0.1:0")
        connection = server.connect()
        for _ in range(500):
            self.assertEqual(server.ask("GET", "/" + "x" * 4000, connection=connection).status, 404)
        metrics = server.ask("GET", "/metrics", port=server.metrics_port).body
        found = re.search(rb"^kgraft_access_log_dropped_total (\d+)$", metrics, re.MULTILINE)
        assert found is not None and server.process.stdout is not None
        self.assertGreater(int(found[1]), 100)
        self.assertEqual(json.loads(server.process.stdout.readline())["status"], 404)
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0)

    def test_notify(self) -> None:
        """systemd is told when the server is ready and when it stops."""
        path = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
            heard.bind(str(path))
            heard.settimeout(TIMEOUT)
            os.environ["NOTIFY_SOCKET"] = str(path)
            try:
                server = self.start()
            finally:
                del os.environ["NOTIFY_SOCKET"]
            self.assertEqual(heard.recv(100), b"READY=1")
            server.stop()
            self.assertEqual(heard.recv(100), b"STOPPING=1")


@unittest.skipUnless(shutil.which("openssl"), "no openssl to make certificates with")
class TestTls(Alone):
    """HTTPS."""

    def make_certificate(self, name: str) -> None:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2",
             "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"],
            cwd=self.folder, check=True, capture_output=True,
        )

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "cert.pem"))

    def test_https(self) -> None:
        self.make_certificate("first")
        server = self.start("--tls-cert", self.folder / "cert.pem", "--tls-key", self.folder / "key.pem", tls=self.trust())
        self.assertEqual(server.get("/v1/model").json["facts"], len(FACTS))
        self.assertEqual(server.post("/v1/predict", {"entity": "thing1"})["entity"], "thing1")
        self.make_certificate("second")
        with self.assertRaises(ssl.SSLError):  # still the first one
            Server.ask(self.with_trust(server), "GET", "/livez")
        server.signal(signal.SIGHUP)
        second = self.with_trust(server)

        def answers() -> bool:
            try:
                return second.get("/livez").status == 200
            except (ssl.SSLError, OSError):
                return False

        wait_until(answers)
        self.assertEqual(second.post("/v1/predict", {"entity": "thing1"})["entity"], "thing1")

    def test_versions(self) -> None:
        """TLS 1.2 and 1.3 are spoken, and nothing older."""
        self.make_certificate("first")
        server = self.start("--tls-cert", self.folder / "cert.pem", "--tls-key", self.folder / "key.pem", tls=self.trust())
        for version, is_spoken in (("tls1", False), ("tls1_1", False), ("tls1_2", True), ("tls1_3", True)):
            done = subprocess.run(
                ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", f"-{version}", "-cipher", "ALL:@SECLEVEL=0", "-brief"],
                input=b"", capture_output=True, timeout=TIMEOUT, check=False,
            )
            self.assertEqual(b"CONNECTION ESTABLISHED" in done.stderr, is_spoken, (version, done))

    def with_trust(self, server: Server) -> Server:
        server.tls = self.trust()
        return server

    def test_bad_certificate(self) -> None:
        (self.folder / "bad.pem").write_text("nothing\n")
        result = self.run_kgraft("serve", "store", "--listen", "127.0.0.1:0", "--tls-cert", "bad.pem", "--tls-key", "bad.pem")
        self.assertEqual(result.status, 2, result)
        self.assertRegex(result.messages[-1], "expected a certificate and its key in bad.pem and bad.pem")

    def test_reload_with_a_stream(self) -> None:
        """SIGHUP disturbs nobody, and files that do not belong together leave those that are in use."""
        self.make_certificate("first")
        key = (self.folder / "key.pem").read_bytes()
        server = self.start("--tls-cert", self.folder / "cert.pem", "--tls-key", self.folder / "key.pem", tls=self.trust())
        stream = Events(server, "/v1/changes")
        stream.wait_for("generation", 1)
        for expected in (b"were read again", b"expected a certificate and its key"):
            server.signal(signal.SIGHUP)
            wait_until(lambda: expected in server.stderr())
            server.post("/v1/facts", {"add": [[f"emu{len(expected)}", "is_a", "kind1"]]})
            self.make_certificate("second")
            (self.folder / "key.pem").write_bytes(key)
        self.assertEqual(len(stream.wait_for("change", 2)), 2)
        self.assertFalse(stream.has_ended)
        self.assertEqual(server.stop(), 0)


class TestClients(Alone):
    """Bad clients do no harm to others."""

    def test_bad_clients(self) -> None:
        """1,000 idle connections, slow senders, slow readers and aborted uploads at the same time."""
        server = self.start()
        held = [server.raw() for _ in range(1000)]
        head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        for i in range(50):
            held[i].sendall(head[: 20 + i])  # within the headers
            held[50 + i].sendall(head + b"{" * i)  # within the body
        for i in range(20):  # large answers that nobody reads
            held[100 + i].sendall(b"GET /v1/entities/place0?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        for _ in range(50):
            aborted = server.raw()
            aborted.sendall(head + b"{")
            aborted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            aborted.close()
        expected = server.post("/v1/predict", {"entity": "thing1", "k": 3})
        for _ in range(20):
            self.assertEqual(server.post("/v1/predict", {"entity": "thing1", "k": 3}), expected)
        for client in held:
            client.close()

    def test_few_files(self) -> None:
        """Idle connections leave the files that the work of others needs."""
        few = ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh"]
        server = self.start(wrapper=few)
        kept = server.connect()
        limits = server.ask("GET", "/v1/model", connection=kept).json["limits"]
        self.assertEqual(limits["connections"], 64)
        idle = [server.raw() for _ in range(200)]
        tsv_type = {"Content-Type": "text/tab-separated-values"}
        for i in range(3):
            self.assertEqual(server.ask("POST", "/v1/facts", tsv(f"emu{i} is_a kind1"), tsv_type, connection=kept).json["added"], 1)
        job = server.ask("POST", "/v1/compactions", {}, connection=kept).headers["Location"]
        wait_until(lambda: bool(server.ask("GET", job, connection=kept).json["state"] != "running"))
        self.assertEqual(server.ask("GET", job, connection=kept).json["state"], "done")
        for client in idle:
            client.close()
        self.assertEqual(server.get("/readyz").status, 200)

    def test_garbage(self) -> None:
        """What is not HTTP gets an error or a closed connection."""
        server = self.start()
        for sent in (b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01" + bytes(range(32, 256)) + b"\r\n\r\n", b"GET " + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 100) for i in range(1000)) + b"\r\n"):
            with server.raw() as client:
                try:
                    client.sendall(sent)
                    client.shutdown(socket.SHUT_WR)
                    answer = client.recv(1000)
                except OSError:
                    answer = b""
                self.assertTrue(answer == b"" or re.match(rb"HTTP/1.[01] [45]\d\d ", answer), (sent[:40], answer))
        self.assertEqual(server.get("/livez").status, 200)

    def send(self, server: Server, sent: bytes, port: Optional[int] = None) -> bytes:
        """What is answered until the connection is closed, which resets it where not all was read."""
        answer = b""
        client = socket.create_connection(("127.0.0.1", port or server.port), timeout=TIMEOUT)
        with client, contextlib.suppress(ConnectionResetError):
            client.sendall(sent)
            while piece := client.recv(65536):
                answer += piece
        return answer

    def test_large_bodies(self) -> None:
        """Bodies with facts are taken up to their limit, and refused beyond before they are sent."""
        server = self.start()
        limit = server.get("/v1/model").json["limits"]["facts_body_bytes"]
        self.assertEqual(limit, 16 << 20)
        head = "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        for route in ("POST /v1/facts", "PUT /v1/entities/emu", "PATCH /v1/entities/emu"):
            answer = self.send(server, (head % (route, limit + 1)).encode())
            self.assertRegex(answer, b"^HTTP/1.1 413 ")
            self.assertIn(b"expected a body of at most %d bytes, found %d" % (limit, limit + 1), answer)
        body = json.dumps({"add": [["emu", "is_a", "kind1"]]}).encode()
        answer = self.send(server, (head % ("POST /v1/facts", limit)).encode() + body.ljust(limit))
        self.assertRegex(answer, b"^HTTP/1.1 200 ")

    def test_long_heads(self) -> None:
        """Targets and headers that do not fit are refused by what reads them."""
        server = self.start()
        limit = server.get("/v1/model").json["limits"]["header_bytes"]
        for sent, status in ((b"GET /" + b"a" * limit + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
                             (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * limit + b"\r\n\r\n", 431)):
            self.assertRegex(self.send(server, sent), b"^HTTP/1.1 %d " % status)
        self.assertEqual(server.get("/livez").status, 200)

    def test_many_streams(self) -> None:
        """Of streams there is a limit; who leaves makes room."""
        server = self.start()
        limit = server.get("/v1/model").json["limits"]["streams"]
        streams = [server.raw() for _ in range(limit)]
        for stream in streams:
            stream.sendall(b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertRegex(stream.recv(1000), b"^HTTP/1.1 200 ")
        refused = server.get("/v1/changes")
        self.assertEqual((refused.status, refused.headers["Retry-After"]), (503, "1"))
        self.assertEqual(refused.detail, f"expected at most {limit} streams of changes, found more")
        streams.pop().close()

        def is_taken() -> bool:
            later = [f"emu{time.monotonic_ns()}", "is_a", "kind1"]  # a stream is written to, and found to be closed
            server.post("/v1/facts", {"add": [later]})
            with server.raw() as client:
                client.sendall(b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return client.recv(1000).startswith(b"HTTP/1.1 200 ")

        wait_until(is_taken)
        for stream in streams:
            stream.close()

    def test_unclear_ends(self) -> None:
        """Requests that two readers may take for different ones are refused, with what follows them."""
        server = self.start()
        for headers in ("Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip",
                        "Host: other", "Content-Length : 2", "Content-Length:\r\n 47", "Content-: 47\r\n Length", "X: a\r\n b", "X: a\r\n\tb\r\n c",
                        "Host:\r\n other", "(: x", "X\xff: y", 'If-Match: "a"\r\nIf-Match: "b"', 'If-None-Match: "a"\r\nIf-None-Match: *',
                        "Authorization: a\r\nauthorization: b", "Idempotency-Key: a\r\nIdempotency-Key: b"):
            head = f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\r\n\r\n"
            answer = self.send(server, head.encode("latin-1") + b"0\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertRegex(answer, b"^HTTP/1.1 400 ", headers)
            self.assertIn(b"Connection: close\r\n", answer, headers)
            self.assertNotIn(b"alive", answer)

    def test_space_before_a_name(self) -> None:
        """The first header is no line that goes on."""
        server = self.start()
        for first in (b" Content-Length: 47", b"\tTransfer-Encoding: chunked"):
            answer = self.send(server, b"POST /v1/predict HTTP/1.1\r\n" + first + b"\r\nHost: localhost\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertRegex(answer, b"^HTTP/1.1 400 ")
            self.assertNotIn(b"alive", answer)

    def test_conditions(self) -> None:
        """A condition that is not understood keeps a change from being made."""
        server = self.start()
        body = json.dumps({"facts": [["auk", "is_a", "kind1"]]}).encode()
        head = "PUT /v1/entities/auk HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n\r\n"
        for condition, status in (('If-Match: "a",\r\n "b"', 400), ('If-Match:\r\n "a"', 400), ("If-Match: *x", 400), ('If-Match: "a", *', 400),
                                  ("If-Match: a", 400), ('If-Match: "a" "b"', 400), ("If-Match:", 400), ('If-None-Match: "a", *', 400),
                                  ("If-None-Match: W/", 400), ('If-Match: W/"a", "b"', 412), ("If-Match: *", 412), ("If-None-Match:\t* ", 201)):
            answer = self.send(server, (head % (len(body), condition)).encode() + body)
            self.assertRegex(answer, b"^HTTP/1.1 %d " % status, condition)

    def test_long_extension(self) -> None:
        """A chunk is refused before its extension fills a buffer, also where metrics are."""
        server = self.start("--metrics", "127.0.0.1:0")
        head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunks = b"2;x=" + b"a" * 50000 + b"\r\n{}\r\n0\r\n\r\n"
        for port, path in ((server.port, b"/v1/predict"), (server.metrics_port, b"/metrics")):
            answer = self.send(server, head % path + chunks, port)
            self.assertRegex(answer, b"^HTTP/1.1 411 ")
            self.assertIn(b"Content-Type: application/problem+json\r\n", answer)

    def test_nul(self) -> None:
        """A target does not end at a NUL."""
        server = self.start()
        for target in (b"/livez\0", b"/livez\0x", b"/\0livez", b"\0", b"/livez?\0", b"/livez\0?a=b&c=d", b"/v1/entities/a\0b"):
            answer = self.send(server, b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
            self.assertRegex(answer, b"^HTTP/1.1 400 ", target)
            self.assertIn(b"target: expected no NUL, found one", answer)

    def test_expectation(self) -> None:
        """A client that asks before it sends is told at once."""
        head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n"
        server = self.start()
        self.assertRegex(self.send(server, head % b"/v1/predict"), b"^HTTP/1.1 413 ")
        self.assertRegex(self.send(server, head % b"/v1/nothing"), b"^HTTP/1.1 404 ")
        with server.raw() as client:
            client.sendall(head % b"/v1/facts")
            self.assertRegex(client.recv(1000), b"^HTTP/1.1 100 ")

    @unittest.skipIf(is_sanitized(), "large answers take long")
    def test_slow_readers(self) -> None:
        """Large answers are held up to a limit, small ones are always sent, and memory is given back."""
        server = self.start("--metrics", "127.0.0.1:0")
        limit = server.get("/v1/model").json["limits"]["held_response_bytes"]

        def resident() -> float:
            text = server.ask("GET", "/metrics", port=server.metrics_port).body.decode()
            return float(re.findall(r"^kgraft_resident_memory_bytes (\S+)$", text, re.M)[0])

        large = {"requests": [{"entity": f"thing{i % 100}", "relation": "eats", "side": "both", "k": 130, "keep_known": True} for i in range(150)]}
        body = json.dumps(large).encode()
        request = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        size = len(server.ask("POST", "/v1/predict", large).body)
        held: list[socket.socket] = []
        began = b""
        while began != b"HTTP/1.1 503":
            self.assertLess(len(held), limit / size + 2)
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.settimeout(TIMEOUT)
            client.connect(("127.0.0.1", server.port))
            client.sendall(request)
            began = client.recv(12)  # and no more
            held.append(client)
        self.assertIn(b"too many answers wait", held[-1].recv(65536))
        self.assertLess(resident(), 3 * limit)
        self.assertEqual(server.post("/v1/predict", {"entity": "thing1", "k": 3})["entity"], "thing1")
        self.assertEqual(server.post("/v1/facts", {"add": [["emu", "is_a", "kind1"]]})["added"], 1)
        for client in held:
            client.close()
        wait_until(lambda: server.ask("POST", "/v1/predict", large).status == 200)
        wait_until(lambda: resident() < limit)

    def test_large_questions(self) -> None:
        """Small questions are answered while large ones are under way."""
        server = self.start("--threads", "1")
        large = {"requests": [{"entity": f"thing{i % 100}", "k": 20} for i in range(LARGE)]}
        results: list[int] = []
        threads = [threading.Thread(target=lambda: results.append(len(server.post("/v1/predict", large)["results"]))) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            self.assertEqual(server.post("/v1/predict", {"entity": "thing1", "k": 1})["entity"], "thing1")
        self.assertEqual(results, [LARGE] * 4)

    @unittest.skipIf(is_sanitized(), "large questions take long")
    def test_waiting_questions(self) -> None:
        """Of large questions only some wait, as text; they are counted, and forgotten with their clients."""
        log = self.folder / "access.log"
        server = self.start("--threads", "1", "--metrics", "127.0.0.1:0", "--access-log", log)
        facts = [["x", "eats", f"thing{i % 100}"] for i in range(200)]
        body = json.dumps({"requests": [{"facts": facts, "k": 1}] * 200}, separators=(",", ":")).encode()
        head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        clients = [server.raw() for _ in range(40)]
        senders = [threading.Thread(target=client.sendall, args=(head % len(body) + body,)) for client in clients]
        for sender in senders:
            sender.start()

        def gauge(name: str) -> float:
            text = server.ask("GET", "/metrics", port=server.metrics_port).body.decode()
            return float(re.findall(rf"^kgraft_{name} (\S+)$", text, re.M)[0])

        wait_until(lambda: b'"status":503' in log.read_bytes())
        self.assertGreaterEqual(gauge("http_waiting_requests"), 1)
        self.assertLess(gauge("resident_memory_bytes"), 400 << 20)
        self.assertGreaterEqual(gauge("http_refused_total"), 1)
        for sender in senders:
            sender.join()
        self.assertEqual(server.post("/v1/predict", {"entity": "thing1", "k": 1})["entity"], "thing1")
        for _ in range(6):
            with server.raw() as client:
                client.sendall(head % len(body) + body)
        for client in clients:
            client.close()
        wait_until(lambda: log.read_bytes().count(b'"operation":"predict"') == len(clients) + 7)
        statuses = {json.loads(line)["status"] for line in log.read_text().splitlines()}
        self.assertEqual(statuses, {200, 499, 503})

    @unittest.skipIf(is_sanitized(), "large changes take long")
    def test_large_changes(self) -> None:
        """Large bodies are parsed one by one: others go on, and memory is bounded."""
        server = self.start("--metrics", "127.0.0.1:0")
        body = b'{"add":[' + b",".join([b'["a","is_a","c"]'] * 900_000) + b"]}"  # too many, which is known when it is parsed
        statuses: list[int] = []
        headers = {"Content-Type": "application/json"}
        threads = [threading.Thread(target=lambda: statuses.append(server.ask("POST", "/v1/facts", body, headers).status)) for _ in range(8)]
        for thread in threads:
            thread.start()
        most = 0.0
        while any(thread.is_alive() for thread in threads):
            self.assertEqual(server.ask("POST", "/v1/facts", {"add": [["emu", "is_a", "kind1"]]}).status, 200)
            text = server.ask("GET", "/metrics", port=server.metrics_port).body.decode()
            most = max(most, float(re.findall(r"^kgraft_resident_memory_bytes (\S+)$", text, re.M)[0]))
        self.assertEqual(statuses, [422] * 8)
        self.assertLess(most, 1 << 30)
        facts = [[f"new{i}-" + "x" * 1000, "is_a", "kind1"] for i in range(2000)]
        self.assertEqual(server.post("/v1/facts", {"add": facts})["added"], len(facts))

    @unittest.skipIf(is_sanitized(), "large explanations take long")
    def test_large_explanations(self) -> None:
        """Of large explanations only some wait; small ones are answered meanwhile."""
        log = self.folder / "access.log"
        server = self.start("--threads", "1", "--access-log", log)
        facts = [["x", relation, f"thing{i}"] for i in range(100) for relation in ("eats", "is_a", "lives_in")]
        body = json.dumps({"facts": facts, "relation": "lives_in", "answer": "place1"}).encode()
        sent = b"POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        clients = [server.raw() for _ in range(16)]
        for client in clients:  # all at once: the first one is hardly begun when the last one comes
            client.sendall(sent)
        server.post("/v1/explain", {"entity": "thing1", "relation": "lives_in", "answer": "place2"})
        statuses = [int(client.recv(12).split()[1]) for client in clients]
        self.assertEqual(set(statuses), {200, 503})
        self.assertGreaterEqual(statuses.count(200), 8)  # so many wait, and one may have been taken before
        wait_until(lambda: log.read_bytes().count(b"\n") == len(clients) + 1)
        logged = [json.loads(line) for line in log.read_text().splitlines()]
        made = [line["received"] for line in logged if line["status"] == 200]
        self.assertNotEqual(made[-1], min(made))  # the small one was not the last
        for client in clients:
            client.close()

    def test_gone_clients(self) -> None:
        """Explanations that nobody waits for are not made."""
        log = self.folder / "access.log"
        server = self.start("--threads", "1", "--access-log", log)
        body = json.dumps({"facts": [["x", "eats", f"thing{i}"] for i in range(100)], "relation": "lives_in", "answer": "place1"}).encode()
        sent = b"POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        for _ in range(6):
            with server.raw() as client:
                client.sendall(sent)
        wait_until(lambda: log.read_bytes().count(b"\n") == 6)
        self.assertLess(log.read_bytes().count(b'"status":200'), 6)

    @unittest.skipIf(is_sanitized(), "a thousand explanations take a minute")
    def test_overload(self) -> None:
        """More requests than may wait are refused, and say when to ask again; the others are answered."""
        server = self.start("--threads", "1")
        head = b"POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        body = json.dumps({"facts": [["x", "is_a", "kind1"]], "relation": "is_a", "answer": "animal"}).encode()
        clients = [server.raw() for _ in range(1500)]
        for client in clients:
            client.sendall(head % len(body) + body)
        statuses: dict[int, int] = {}
        for client in clients:
            answer = b""
            while piece := client.recv(65536):
                answer += piece
            client.close()
            status = int(answer.split()[1])
            statuses[status] = statuses.get(status, 0) + 1
            if status == 503:
                self.assertIn(b"Retry-After: 1\r\n", answer)
                self.assertIn(b"too many requests wait", answer)
        self.assertEqual(sum(statuses.values()), 1500)
        self.assertLessEqual(set(statuses), {200, 503})
        self.assertGreaterEqual(statuses[200], 128)


class TestDormantFacts(Alone):
    """Facts of relations that the model does not know: GET has none of them, but they go with the others."""

    LIKES = ["ghost likes ghost", "thing1 likes thing2", "thing3 likes thing1", "thing4 likes ghost", "thing5 likes thing6"]

    def setUp(self) -> None:
        super().setUp()
        self.succeed("add", "store", "-", "--allow-relations", "--quiet", stdin=tsv(*self.LIKES))
        self.served = self.start()

    def assert_left(self, facts: list[str]) -> None:
        """These facts with the unknown relation are in the store."""
        connection = sqlite3.connect(f"file:{self.folder}/store/graph.db?mode=ro", uri=True)
        with contextlib.closing(connection):
            rows = connection.execute("SELECT head, relation, tail FROM added WHERE relation = 'likes' ORDER BY 1, 3").fetchall()
        self.assertEqual([" ".join(row) for row in rows], facts)

    def test_put(self) -> None:
        """What is put is all that there is; PATCH leaves the others."""
        path = "/v1/entities/thing1"
        before = self.served.get(path)
        self.assertNotIn("likes", {link[1] for link in before.json["links"]})
        facts = [["thing1", "is_a", "kind1"], ["thing1", "is_a", "kind2"]]
        patched = self.served.ask("PATCH", path, {"add": facts})
        self.assertEqual((patched.status, patched.json["added"], patched.json["repeated"]), (200, 1, 1))
        self.assert_left(self.LIKES)
        put = self.served.ask("PUT", path, {"facts": facts})
        self.assertEqual((put.status, put.json["removed"], put.json["missing"]), (200, before.json["facts"] - 1 + 2, 0))
        self.assert_left([self.LIKES[0], *self.LIKES[3:]])
        self.assertEqual(sorted(self.served.get(path).json["links"]), facts)

    def test_delete(self) -> None:
        """Also where an entity has no other facts, and once only."""
        before = self.served.get("/v1/entities/thing4").json["facts"]
        deleted = self.served.ask("DELETE", "/v1/entities/thing4").json
        self.assertEqual((deleted["removed"], deleted["missing"]), (before + 1, 0))
        self.assertEqual(self.served.get("/v1/entities/ghost").status, 404)
        deleted = self.served.ask("DELETE", "/v1/entities/ghost").json
        self.assertEqual((deleted["removed"], deleted["missing"], deleted["entities_removed"]), (1, 0, 0))
        self.assert_left([*self.LIKES[1:3], self.LIKES[4]])
        self.assertEqual(self.served.ask("DELETE", "/v1/entities/ghost").status, 404)
        self.assertEqual(self.served.ask("DELETE", "/v1/entities/nobody").status, 404)

    def test_compaction(self) -> None:
        """Once the model knows the relation, its facts are like any."""
        job = self.served.ask("POST", "/v1/compactions", {})
        wait_until(lambda: bool(self.served.get(job.headers["Location"]).json["state"] == "done"))
        path = "/v1/entities/ghost"
        self.assertEqual(sorted(self.served.get(path).json["links"]), [["ghost", "likes", "ghost"], ["thing4", "likes", "ghost"]])
        self.assertEqual(self.served.ask("DELETE", path).json["removed"], 2)
        self.assertEqual(self.served.get(path).json["facts"], 0)

    def test_put_while_compacting(self) -> None:
        """Going over to the next generation loses no change."""
        statuses: set[int] = set()
        has_ended = threading.Event()

        def put(writer: int) -> None:
            connection = self.served.connect()
            while not has_ended.is_set():
                body = {"facts": [[f"new{writer}", "is_a", "kind1"]]}
                statuses.add(self.served.ask("PUT", f"/v1/entities/new{writer}", body, connection=connection).status)
            connection.close()

        writers = [threading.Thread(target=put, args=(i,)) for i in range(4)]
        for writer in writers:
            writer.start()
        wait_until(lambda: bool(statuses))
        job = self.served.ask("POST", "/v1/compactions", {})
        wait_until(lambda: bool(self.served.get(job.headers["Location"]).json["state"] == "done"))
        has_ended.set()
        for writer in writers:
            writer.join()
        self.assertEqual(statuses, {200, 201})


class TestSignals(Alone):
    """Stopping."""

    def test_stop_with_requests(self) -> None:
        """Requests that are under way are finished, streams end, idle connections are closed."""
        server = self.start()
        stream = Events(server, "/v1/changes")
        idle = server.raw()
        half = server.raw()
        half.sendall(b"GET /livez HTTP/1.1\r\nHo")
        large = {"requests": [{"entity": f"thing{i % 100}", "k": 20} for i in range(LARGE)]}
        connection = server.connect()
        connection.request("POST", "/v1/predict", json.dumps(large), {"Content-Type": "application/json"})
        wait_until(lambda: server.get("/v1/model").status == 200)
        server.signal(signal.SIGTERM)
        response = connection.getresponse()
        self.assertEqual((response.status, len(json.load(response)["results"])), (200, LARGE))
        stream.wait_for_end()
        self.assertEqual(server.wait(), 0)
        self.assertEqual(idle.recv(10), b"")
        with self.assertRaises(OSError):
            server.raw()

    def test_ignored_signal(self) -> None:
        """What it was started to ignore, as shells start jobs in the background, it ignores."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            server = self.start()
        finally:
            signal.signal(signal.SIGINT, before)
        server.signal(signal.SIGINT)
        self.assertEqual(server.get("/livez").status, 200)
        self.assertEqual(server.stop(), 0)

    def test_reload_while_stopping(self) -> None:
        """There is nothing to reload any more, and the server ends as it would."""
        server = self.start()
        half = server.raw()
        half.sendall(b"GET /livez HTTP/1.1\r\nHo")
        wait_until(lambda: server.get("/livez").status == 200)
        server.signal(signal.SIGTERM)
        time.sleep(0.3)
        server.signal(signal.SIGHUP)
        self.assertEqual(server.wait(), 0)

    def test_stop_under_load(self) -> None:
        """Connections that go on sending are refused, one by one, and the server ends in order."""
        body = json.dumps({"entity": "thing7", "k": 20}).encode()
        request = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

        def send(clients: list[socket.socket]) -> None:
            while clients:
                try:
                    clients[0].sendall(request)
                    if clients[0].recv(1 << 18):
                        clients.append(clients[0])
                except OSError:
                    pass
                clients.pop(0)

        for _ in range(3):
            server = self.start()
            threads = [threading.Thread(target=send, args=([server.raw() for _ in range(20)],)) for _ in range(6)]
            for thread in threads:
                thread.start()
            time.sleep(0.3)
            self.assertEqual(server.stop(), 0, server.stderr())
            for thread in threads:
                thread.join()

    def test_late_requests(self) -> None:
        """While the server waits for what runs, connections are refused, and requests of kept ones are."""
        server = self.start()
        kept, *others = [server.connect() for _ in range(3)]
        for connection in (kept, *others):
            self.assertEqual(server.ask("GET", "/livez", connection=connection).status, 200)
        half = server.raw()
        half.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n{")
        wait_until(lambda: server.get("/v1/model").status == 200)
        server.signal(signal.SIGTERM)
        wait_until(lambda: b"stopping" in server.stderr())

        def is_refused() -> bool:
            try:
                server.raw().close()
            except ConnectionRefusedError:
                return True
            return False

        wait_until(is_refused)
        alive = server.ask("GET", "/livez", connection=others[0])
        self.assertEqual((alive.status, alive.json, alive.headers["Connection"]), (200, {"status": "alive"}, "close"))
        ready = server.ask("GET", "/readyz", connection=others[1])
        self.assertEqual((ready.status, ready.json, ready.headers["Connection"]), (503, {"status": "stopping"}, "close"))
        late = server.ask("GET", "/v1/model", connection=kept)
        self.assertEqual((late.status, late.detail), (503, "the server is stopping"))
        self.assertEqual((late.headers["Connection"], late.headers["Retry-After"]), ("close", "1"))
        half.sendall(b'"entity":"thing7"}')  # came before
        self.assertRegex(half.recv(1 << 16), b"^HTTP/1.1 200 ")
        self.assertEqual(server.wait(), 0)

    def test_interrupt(self) -> None:
        server = self.start()
        server.signal(signal.SIGINT)
        self.assertEqual(server.wait(), 0)

    def test_restart(self) -> None:
        """What was committed is there after a restart, and answers are the same."""
        server = self.start()
        for i in range(20):
            server.post("/v1/facts", {"add": [[f"new{i}", "is_a", f"kind{i % 6}"], [f"new{i}", "eats", f"thing{i}"]]})
        server.ask("DELETE", "/v1/entities/new3")
        paths = [f"/v1/entities/{name}" for name in ("new1", "new3", "thing5")]
        before = [server.get(path).body for path in paths]
        asked = {"requests": [{"entity": f"new{i}"} for i in range(20)]}
        predicted = server.post("/v1/predict", asked)
        self.assertEqual(server.stop(), 0)
        again = self.start()
        self.assertEqual([again.get(path).body for path in paths], before)
        self.assertEqual(again.post("/v1/predict", asked), predicted)


class TestCrash(Alone):
    """kill -9 under load: all that was acknowledged is there, and nothing twice."""

    ROUNDS = 3 if is_sanitized() else 8

    def write_until_dead(self, server: Server, writer: int, acknowledged: dict[str, int], sent: dict[str, bytes]) -> None:
        connection = server.connect()
        for i in range(100000):
            name = f"w{writer}-{server.port}-{i}"
            body = json.dumps({"add": [[name, "is_a", "kind1"], [name, "eats", "thing1"]]}).encode()
            headers = {"Content-Type": "application/json", "Idempotency-Key": name}
            sent[name] = body
            try:
                answer = server.ask("POST", "/v1/facts", body, headers, connection)
            except (OSError, http.client.HTTPException):
                return
            if answer.status == 200:
                acknowledged[name] = answer.json["log"]

    def test_kill(self) -> None:
        acknowledged: dict[str, int] = {}
        for _ in range(self.ROUNDS):
            server = self.start()
            sent: dict[str, bytes] = {}
            done: dict[str, int] = {}
            writers = [threading.Thread(target=self.write_until_dead, args=(server, i, done, sent)) for i in range(4)]
            for writer in writers:
                writer.start()
            wait_until(lambda: len(done) >= 20)
            server.kill()
            for writer in writers:
                writer.join()
            acknowledged |= done
            again = self.start()
            for name in sent:
                answer = again.get(f"/v1/entities/{name}")
                if name in done:
                    self.assertEqual(answer.json["facts"], 2)
                else:  # all of it or nothing, and sending it again makes it one
                    self.assertIn(answer.status, (200, 404))
                headers = {"Content-Type": "application/json", "Idempotency-Key": name}
                repeated = again.ask("POST", "/v1/facts", sent[name], headers).json
                self.assertEqual(repeated["skipped"] == 2, answer.status == 200)
                self.assertEqual(repeated["added"] == 2, answer.status == 404)
            self.assertEqual(again.get("/v1/model").json["facts"], len(FACTS) + 2 * self.count(again))
            again.stop()
        self.assertGreaterEqual(len(acknowledged), 20 * self.ROUNDS)

    def count(self, server: Server) -> int:
        return int(server.get("/v1/model").json["later_entities"])


class TestDisk(Alone):
    """A disk that is full, a store that is locked or damaged."""

    ADD = {"add": [["emu", "is_a", "kind1"]], "source": "s", "offset": 1}

    def test_lock(self) -> None:
        """While another program holds the store for long, changes are refused; then they go on."""
        server = self.start()
        with contextlib.closing(sqlite3.connect(self.folder / "store" / "graph.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            refused = server.ask("POST", "/v1/facts", self.ADD)
            self.assertEqual((refused.status, refused.headers["Retry-After"]), (503, "1"))
            self.assertIn("another program has locked it", refused.detail)
            self.assertEqual(server.get("/readyz").json, {"status": "ready"})
            self.assertFalse(server.get("/v1/model").json["read_only"])
            other.execute("ROLLBACK")
        self.assertEqual(server.post("/v1/facts", self.ADD)["added"], 1)

    def test_damage(self) -> None:
        """Damage that a change finds is no fault of the client, and makes the server one that only reads."""
        server = self.start("--metrics", "127.0.0.1:0")
        path = self.folder / "store" / "graph.db"
        with open(path, "r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (path.stat().st_size - 4096))
        self.assertEqual(server.ask("POST", "/v1/facts", self.ADD).status, 507)
        self.assertEqual(server.ask("POST", "/v1/facts", self.ADD).status, 503)
        ready = server.get("/readyz")
        self.assertEqual((ready.status, ready.json), (503, {"status": "the store failed"}))
        self.assertTrue(server.get("/v1/model").json["read_only"])
        self.assertIn(b"kgraft_store_failed 1\n", server.ask("GET", "/metrics", port=server.metrics_port).body)

    @needs_small_disk
    def test_full_disk(self) -> None:
        """The change is refused with 507, then all changes with 503; reading goes on."""
        (self.folder / "disk").mkdir()
        script = self.folder / "ask.py"
        script.write_text(
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from pathlib import Path\n"
            "from http_server import Server\n"
            "server = Server(Path('disk/store'))\n"
            "statuses = []\n"
            "for i in range(2000):\n"
            "    body = {'add': [[f'n{i}-{k}-' + 'x' * 500, 'is_a', 'kind1'] for k in range(200)]}\n"
            "    statuses.append(server.ask('POST', '/v1/facts', body).status)\n"
            "    if statuses[-1] != 200: break\n"
            "statuses.append(server.ask('POST', '/v1/facts', {'add': [['a', 'is_a', 'kind1']]}).status)\n"
            "statuses.append(server.get('/readyz').status)\n"
            "statuses.append(server.get('/v1/model').status)\n"
            "print(statuses[-4:])\n"
            "server.kill()\n"
        )
        size = sum(file.stat().st_size for file in (self.folder / "store").rglob("*") if file.is_file()) + (2 << 20)
        command = f'cp -r store disk/store && python3 -B ask.py {Path(__file__).parent}'
        done = subprocess.run(
            [*map(str, on_small_disk('mount -t tmpfs -o size="$1" tmpfs disk || exit 99; shift; "$@"', str(size))), "sh", "-c", command],
            cwd=self.folder, capture_output=True, timeout=TIMEOUT, check=False,
        )
        self.assertEqual(done.stdout, b"[507, 503, 503, 200]\n", done)


class Working(Alone):
    """Tests that wait for jobs."""

    def wait_for_job(self, server: Server, job: Any) -> Any:
        found: list[Any] = []

        def has_ended() -> bool:
            found.append(server.get(f"/v1/jobs/{job['id']}").json)
            return bool(found[-1]["state"] != "running")

        wait_until(has_ended)
        return found[-1]


class TestJobs(Working):
    """Compactions and backups."""

    def test_compaction(self) -> None:
        """Requests are answered all the time, and none is lost."""
        server = self.start()
        stream = Events(server, "/v1/changes")
        stream.wait_for("generation", 1)
        server.post("/v1/facts", {"add": [[f"new{i}", "is_a", "kind1"] for i in range(10)]})
        answer = server.ask("POST", "/v1/compactions", {})
        self.assertEqual((answer.status, answer.headers["Location"]), (202, f"/v1/jobs/{answer.json['id']}"))
        written = 0
        while server.get(f"/v1/jobs/{answer.json['id']}").json["state"] == "running":
            self.assertEqual(server.post("/v1/facts", {"add": [[f"late{written}", "is_a", "kind2"]]})["added"], 1)
            self.assertEqual(server.post("/v1/predict", {"entity": "new1", "k": 1})["entity"], "new1")
            written += 1
        done = self.wait_for_job(server, answer.json)
        self.assertEqual(done["state"], "done", done)
        self.assertEqual((done["result"]["generation"], done["result"]["new"]), (2, True))
        about = server.get("/v1/model").json
        self.assertEqual((about["generation"], about["facts"]), (2, len(FACTS) + 10 + written))
        self.assertLessEqual(about["later_entities"], written)
        self.assertEqual(stream.wait_for("generation", 2)[1]["data"]["generation"], 2)
        self.assertTrue(server.get("/v1/entities/new1").json["known"])
        names = [row["name"] for row in server.get("/v1/entities?prefix=new&limit=100").json["entities"]]
        self.assertEqual(names, sorted(f"new{i}" for i in range(10)))
        predicted = server.post("/v1/predict", {"entity": "new1"})
        self.assertEqual(predicted["generation"], 2)
        again = self.wait_for_job(server, server.post("/v1/compactions", {}))
        self.assertEqual(again["result"]["generation"], 3 if about["later_entities"] else 2)  # what came after the freeze
        self.assertEqual([job["id"] for job in server.get("/v1/jobs").json["jobs"]], [2, 1])
        self.assertEqual(server.get("/v1/jobs/3").status, 404)
        self.assertEqual(server.get("/v1/jobs/x").status, 404)

    def test_old_generations(self) -> None:
        """What a compaction replaced is let go, also by threads that have no more work."""
        server = self.start("--metrics", "127.0.0.1:0")

        def mapped() -> set[str]:
            return set(re.findall(r"/(generation-\d+)/", Path(f"/proc/{server.process.pid}/maps").read_text()))

        for i in range(3):
            threads = [threading.Thread(target=server.post, args=("/v1/facts", {"add": [[f"new{i}-{k}", "is_a", "kind1"]]})) for k in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            server.post("/v1/explain", {"entity": "thing1", "relation": "lives_in", "answer": "place2"})
            server.post("/v1/predict", {"requests": [{"entity": f"thing{k % 100}"} for k in range(LARGE)]})
            server.get("/v1/entities/thing1")
            self.assertEqual(self.wait_for_job(server, server.post("/v1/compactions", {}))["state"], "done")
        wait_until(lambda: mapped() == {"generation-4"})
        self.assertEqual(server.post("/v1/predict", {"entity": "thing1", "k": 1})["generation"], 4)

    def test_stop_while_compacting(self) -> None:
        server = self.start()
        server.post("/v1/facts", {"add": [["emu", "is_a", "kind1"]]})
        server.post("/v1/compactions", {})
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.start().get("/v1/entities/emu").json["facts"], 1)

    def test_backup(self) -> None:
        """A backup is a store with what was there, whatever comes later."""
        (self.folder / "backups").mkdir()
        server = self.start("--backup-dir", self.folder / "backups")
        server.post("/v1/facts", {"add": [["emu", "is_a", "kind1"]]})
        done = self.wait_for_job(server, server.post("/v1/backups", {}))
        self.assertEqual(done["state"], "done", done)
        expected = server.post("/v1/predict", {"entity": "emu"})
        server.ask("DELETE", "/v1/entities/emu")
        server.stop()
        backup = Server(self.folder / "backups" / done["result"]["name"])
        self.assertEqual(backup.post("/v1/predict", {"entity": "emu"}), expected)
        self.assertEqual(backup.post("/v1/facts", {"add": [["auk", "is_a", "kind1"]]})["added"], 1)
        backup.stop()

    def test_one_job_at_a_time(self) -> None:
        """A backup is refused while the store is compacted; a compaction of nothing tells what there is."""
        (self.folder / "backups").mkdir()
        server = self.start("--backup-dir", self.folder / "backups")
        empty = self.wait_for_job(server, server.post("/v1/compactions", {}))
        self.assertEqual((empty["result"]["new"], empty["result"]["facts"]), (False, len(FACTS)), empty)
        server.post("/v1/facts", {"add": [["emu", "is_a", "kind1"]]})
        job = server.post("/v1/compactions", {})
        refused = server.ask("POST", "/v1/backups", {})
        done = self.wait_for_job(server, job)
        self.assertEqual((done["state"], done["done"]), ("done", done["total"]), done)
        self.assertEqual(refused.status, 409, refused)
        self.assertRegex(refused.detail, "expected no compaction or backup under way")
        self.assertEqual(self.wait_for_job(server, server.post("/v1/backups", {}))["state"], "done")

    def test_failed_backup(self) -> None:
        (self.folder / "nowhere").mkdir()
        server = self.start("--backup-dir", self.folder / "nowhere")
        (self.folder / "nowhere").rmdir()
        done = self.wait_for_job(server, server.post("/v1/backups", {}))
        self.assertEqual(done["state"], "failed")
        self.assertIn("nowhere", json.dumps(done["problem"]))


@unittest.skipUnless(can_trace(), "no strace that may trace, or a sanitizer that would be traced")
@unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze that knows sets of system calls")
class TestUnit(Working):
    """docs/kgraft.service lets the server do what it does."""

    def expand(self, words: list[str]) -> set[str]:
        """System calls, those of sets among them."""
        names: set[str] = set()
        for word in words:
            shown = subprocess.run(["systemd-analyze", "syscall-filter", word], capture_output=True, text=True, check=True).stdout if word[0] == "@" else ""
            found = [line.strip() for line in shown.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
            names |= self.expand(found) if word[0] == "@" else {word}
        return names

    def allowed(self) -> set[str]:
        """By the lines of the unit, of which the first is a list of what is allowed."""
        names: set[str] = set()
        for line in (Path(__file__).parents[2] / "docs" / "kgraft.service").read_text().splitlines():
            key, _, value = line.partition("=")
            if key == "SystemCallFilter" and value.startswith("~"):
                names -= self.expand(value[1:].split())
            elif key == "SystemCallFilter":
                names |= self.expand(value.split())
        return names

    def test_system_calls(self) -> None:
        trace = self.folder / "trace"
        (self.folder / "backups").mkdir()
        server = self.start("--metrics", "127.0.0.1:0", "--access-log", self.folder / "access.log", "--backup-dir", self.folder / "backups",
                            wrapper=["strace", "-D", "-f", "-o", trace])
        server.post("/v1/facts", {"add": [["emu", "is_a", "kind1"]]})
        server.ask("POST", "/v1/facts", tsv("auk is_a kind1"), {"Content-Type": "text/tab-separated-values"})
        server.post("/v1/predict", {"entity": "emu"})
        server.post("/v1/explain", {"entity": "emu", "relation": "lives_in", "answer": "place1"})
        server.post("/v1/neighbors", {"entity": "emu"})
        for path in ("/v1/compactions", "/v1/backups"):
            self.assertEqual(self.wait_for_job(server, server.post(path, {}))["state"], "done")
        server.signal(signal.SIGHUP)
        wait_until(lambda: b"were read again" in server.stderr())
        self.assertEqual(server.stop(), 0)
        wait_until(lambda: b"+++ exited with 0 +++" in trace.read_bytes()[-200:])
        made = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(errors="replace"), re.MULTILINE))
        self.assertGreater(len(made), 40)
        as_root = {"fchown"} if os.geteuid() == 0 else set()  # SQLite keeps the owner of files
        self.assertEqual(made - as_root - self.allowed(), set())


class TestMetrics(Alone):
    """Metrics are counted, and Prometheus can read them."""

    def read(self, server: Server) -> dict[str, float]:
        answer = server.ask("GET", "/metrics", port=server.metrics_port)
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        lines = answer.body.decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def test_metrics(self) -> None:
        server = self.start("--metrics", "127.0.0.1:0")
        for _ in range(3):
            server.post("/v1/predict", {"entity": "thing1"})
        server.ask("POST", "/v1/predict", {"entity": "nobody"})
        server.post("/v1/facts", {"add": [["emu", "is_a", "kind1"]]})
        server.get("/nowhere")
        found = self.read(server)
        self.assertEqual(found['kgraft_http_requests_total{operation="predict",status="2xx"}'], 3)
        self.assertEqual(found['kgraft_http_requests_total{operation="predict",status="4xx"}'], 1)
        self.assertEqual(found['kgraft_http_requests_total{operation="none",status="4xx"}'], 1)
        self.assertEqual(found['kgraft_http_request_duration_seconds_count{operation="predict"}'], 4)
        self.assertEqual(found['kgraft_http_request_duration_seconds_bucket{operation="predict",le="+Inf"}'], 4)
        self.assertEqual(found["kgraft_prediction_batch_size_sum"], 4)
        self.assertEqual(found["kgraft_commit_duration_seconds_count"], 1)
        self.assertEqual((found["kgraft_facts"], found["kgraft_log_position"], found["kgraft_generation"]), (len(FACTS) + 1, 1, 1))
        self.assertEqual(found["kgraft_later_entities"], 1)
        self.assertGreater(found["kgraft_resident_memory_bytes"], 1 << 20)
        self.assertEqual(server.ask("GET", "/", port=server.metrics_port).status, 404)
        self.assertEqual(server.ask("POST", "/metrics", port=server.metrics_port).status, 405)
        self.assertEqual(server.get("/metrics").status, 404)

    @unittest.skipUnless(shutil.which("promtool"), "no promtool")
    def test_promtool(self) -> None:
        server = self.start("--metrics", "127.0.0.1:0")
        server.post("/v1/predict", {"entity": "thing1"})
        server.post("/v1/facts", {"add": [["emu", "is_a", "kind1"]]})
        text = server.ask("GET", "/metrics", port=server.metrics_port).body
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, b""))
