"""kgraft serve as a service: tokens, certificates, signals, crashes, jobs, metrics."""

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
import threading
import time
import unittest
from pathlib import Path
from typing import Any

from http_server import FACTS, Alone, Events, Server, damage, wait_until
from kgraft import BINARY, TIMEOUT, is_sanitized, needs_small_disk, on_small_disk, tsv
from test_durable import can_trace

READER = "reader-0123456789"
WRITER = "writer-0123456789"
LARGE = 64 if is_sanitized() else 256  # questions of a large request


class TestTokens(Alone):
    """Who may read and who may write."""

    def write_tokens(self, *lines: str) -> Path:
        path = self.folder / "tokens"
        path.write_text("".join(f"{line}\n" for line in lines))
        path.chmod(0o600)
        return path

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
            (("--limit", "k"), "expected a limit as NAME=N, with the name held_body_bytes, .* or stop_seconds, found 'k'"),
            (("--limit", "k=2000"), "found 'k=2000'"),
            (("--limit", "streams=0"), "limit streams: expected a whole number of 1 to 1048576, found '0'"),
            (("--limit", "held_body_bytes=16777215"), "limit held_body_bytes: expected a whole number of 16777216 to 1099511627776, found '16777215'"),
            (("--limit", "idle_seconds=1s"), "limit idle_seconds: expected a whole number of 1 to 86400, found '1s'"),
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

    def test_read_only_changes(self) -> None:
        """The stream of a server that only reads ends where its state does, whatever others add to the store."""
        self.succeed("add", "store", "-", "--quiet", stdin=tsv("emu is_a kind1"))
        reader = self.start("--read-only")
        self.succeed("add", "store", "-", "--quiet", stdin=tsv("auk is_a kind1"))
        log = reader.get("/v1/model").json["log"]
        stream = Events(reader, f"/v1/changes?since={log - 1}")
        stream.wait_for("change", 1)
        self.assertEqual(reader.stop(), 0)
        stream.wait_for_end()
        self.assertEqual([event["id"] for event in stream.of("change")], [str(log)])
        stream.connection.close()

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
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2",
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


class TestConnections(Alone):
    """Many clients of one thread."""

    def sockets(self, server: Server) -> list[int]:
        """How many sockets each thread of connections waits for."""
        proc = Path(f"/proc/{server.process.pid}")
        waiting = [fd.name for fd in (proc / "fd").iterdir() if os.readlink(fd) == "anon_inode:[eventpoll]"]
        return [(proc / "fdinfo" / name).read_text().count("tfd:") for name in waiting]

    def test_many_at_once(self) -> None:
        """As many as libmicrohttpd asks for at a time, 128, are served when they ask at the same moment, and nobody else does."""
        server = self.start()
        listening = max(self.sockets(server))
        clients: list[http.client.HTTPConnection] = []
        while listening + 128 not in self.sockets(server):
            clients.append(server.connect())
            self.addCleanup(clients[-1].close)
            self.assertEqual(server.ask("GET", "/livez", connection=clients[-1]).status, 200)
        server.signal(signal.SIGSTOP)
        for client in clients:
            client.request("GET", "/livez")
        server.signal(signal.SIGCONT)
        self.assertEqual({client.getresponse().status for client in clients}, {200})


class TestSignals(Alone):
    """Stopping."""

    def test_stop_with_requests(self) -> None:
        """Requests that are under way are finished, streams end, idle connections are closed."""
        server = self.start("--limit", "stop_seconds=1")
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

    @unittest.skipUnless(can_trace(), "no strace that may trace, or a sanitizer that would be traced")
    def test_signal_while_starting(self) -> None:
        """Whenever it comes while the server prepares for it, that ends"""
        for when in range(1, 20):
            inject = f"inject=rt_sigaction:signal=SIGTERM:when={when}"
            words = ["strace", "-D", "-o", "/dev/null", "-e", "trace=rt_sigaction", "-e", inject]
            command = [*words, BINARY, "serve", self.folder / "store", "--listen", "127.0.0.1:0", "--quiet"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            self.addCleanup(process.kill)
            assert process.stdout is not None
            with process.stdout:
                process.stdout.readline()
            process.terminate()
            self.assertIn(process.wait(TIMEOUT), (0, -signal.SIGTERM))

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
        server = self.start("--limit", "stop_seconds=1")
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
        wait_until(server.is_gone)
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
        damage(self.folder / "store" / "graph.db")
        self.assertEqual(server.ask("POST", "/v1/facts", self.ADD).status, 507)
        self.assertEqual(server.ask("POST", "/v1/facts", self.ADD).status, 503)
        ready = server.get("/readyz")
        self.assertEqual((ready.status, ready.json), (503, {"status": "the store failed"}))
        self.assertTrue(server.get("/v1/model").json["read_only"])
        self.assertIn(b"kgraft_store_failed 1\n", server.ask("GET", "/metrics", port=server.metrics_port).body)

    def test_damage_that_is_read(self) -> None:
        """The same where a change reads what is damaged, before it writes: facts that the model cannot show, and keys."""
        self.succeed("add", "store", "-", "--allow-relations", "--quiet", stdin=tsv("thing1 likes thing2"))
        for method, path, body, headers in (("PUT", "/v1/entities/thing1", {"facts": []}, {}), ("DELETE", "/v1/entities/thing1", None, {}),
                                            ("DELETE", "/v1/entities/ghost", None, {}), ("POST", "/v1/facts", {"add": self.ADD["add"]}, {"Idempotency-Key": "k"})):
            name = f"{method}-{path.rpartition('/')[2]}"
            shutil.copytree(self.folder / "store", self.folder / name)
            server = Server(self.folder / name)
            self.addCleanup(server.stop)
            damage(self.folder / name / "graph.db")
            self.assertEqual(server.ask(method, path, body, headers).status, 507, name)
            self.assertEqual(server.get("/readyz").json, {"status": "the store failed"})
            self.assertEqual(server.ask(method, path, body, headers).status, 503, name)
            self.assertEqual(server.get("/v1/entities/thing1").status, 200)

    def test_failed_checkpoint(self) -> None:
        """A log that cannot be moved to the store's file: what was committed is there, more is refused, until a restart."""
        server = self.start(wrapper=["sh", "-c", 'trap "" XFSZ; ulimit -f 40000; exec "$@"', "sh"])  # 20 MB a file, of which a log has 16
        refused, count = 0, 0
        while not refused:
            added = server.ask("POST", "/v1/facts", {"add": [[f"n{count}-{i}-" + "x" * 1000, "is_a", "kind1"] for i in range(500)]})
            refused, count = (0, count + 500) if added.status == 200 else (added.status, count)
        self.assertEqual(refused, 503)
        self.assertEqual(server.get("/readyz").json, {"status": "the store failed"})
        self.assertEqual(server.get("/v1/model").json["facts"], len(FACTS) + count)
        self.assertEqual(server.stop(), 0)
        again = self.start()
        self.assertEqual(again.get("/readyz").json, {"status": "ready"})
        self.assertEqual(again.get("/v1/model").json["facts"], len(FACTS) + count)

    def run_on_disk(self, room: int, *lines: str) -> bytes:
        """What a script prints that asks a server of a store on a small disk, with so much room left."""
        (self.folder / "disk").mkdir()
        (self.folder / "ask.py").write_text("\n".join((
            "import os, sys; sys.path.insert(0, sys.argv[1])",
            "from pathlib import Path",
            "from http_server import Server, wait_until",
            "server = Server(Path('disk/store'))",
            *lines,
            "server.kill()\n",
        )))
        size = sum(file.stat().st_size for file in (self.folder / "store").rglob("*") if file.is_file()) + room
        command = f"cp -r store disk/store && python3 -B ask.py {Path(__file__).parent}"
        done = subprocess.run(
            [*map(str, on_small_disk('mount -t tmpfs -o size="$1" tmpfs disk || exit 99; shift; "$@"', str(size))), "sh", "-c", command],
            cwd=self.folder, capture_output=True, timeout=TIMEOUT, check=False,
        )
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    @needs_small_disk
    def test_failed_compaction(self) -> None:
        """Without room for the next generation the one that is served stays, and the server is what it says it is."""
        said = self.run_on_disk(
            2 << 20,
            "for i in range(3):",
            "    assert server.ask('POST', '/v1/facts', {'add': [[f'n{i}-{k}-' + 'x' * 200, 'is_a', 'kind1'] for k in range(300)]}).status == 200",
            "room = os.statvfs('disk').f_bavail * os.statvfs('disk').f_bsize",
            "Path('disk/filler').write_bytes(bytes(room - 60000))",
            "job = server.ask('POST', '/v1/compactions', {}).headers['Location']",
            "wait_until(lambda: server.get(job).json['state'] != 'running')",
            "print(server.get(job).json['state'], server.get('/v1/model').json['generation'])",
            "Path('disk/filler').unlink()",
            "ready = server.get('/readyz').status",
            "added = server.ask('POST', '/v1/facts', {'add': [['a', 'is_a', 'kind1']]}).status",
            "print(server.get('/v1/model').json['facts'] - (added == 200), ready == added, ready, server.get(job).json['problem']['detail'])",
        ).decode()
        self.assertRegex(said, rf"failed 1\n{len(FACTS) + 900} True ", said)

    @needs_small_disk
    def test_full_disk(self) -> None:
        """The change is refused with 507, then all changes with 503; reading goes on."""
        said = self.run_on_disk(
            2 << 20,
            "statuses = []",
            "for i in range(2000):",
            "    body = {'add': [[f'n{i}-{k}-' + 'x' * 500, 'is_a', 'kind1'] for k in range(200)]}",
            "    statuses.append(server.ask('POST', '/v1/facts', body).status)",
            "    if statuses[-1] != 200: break",
            "statuses.append(server.ask('POST', '/v1/facts', {'add': [['a', 'is_a', 'kind1']]}).status)",
            "statuses.append(server.get('/readyz').status)",
            "statuses.append(server.get('/v1/model').status)",
            "print(statuses[-4:])",
        )
        self.assertEqual(said, b"[507, 503, 503, 200]\n")


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
