"""kgraft serve within its limits: each is enforced over a socket, and bad clients do no harm to others."""

from __future__ import annotations

import bisect
import contextlib
import json
import re
import select
import socket
import sqlite3
import threading
import time
import unittest
from typing import Any, Callable, NamedTuple, Optional

from http_server import RELATIONS, THINGS, Alone, Answer, Served, Server, wait_until
from kgraft import TIMEOUT, cases, is_sanitized, tsv

JSON = {"Content-Type": "application/json"}
TSV = {"Content-Type": "text/tab-separated-values"}
MANY_FACTS = [["x", relation, f"thing{i}"] for i in range(100) for relation in ("eats", "is_a", "lives_in")]
# Its answer has more bytes than the buffers of a socket.
LARGE_ANSWER = {"requests": [{"entity": f"thing{i % THINGS}", "relation": "eats", "side": "both", "k": 130, "keep_known": True} for i in range(150)]}
HUGE_EXPLANATION = {"facts": MANY_FACTS, "relation": "lives_in", "answer": "place1"}


def padded(value: object, size: int) -> bytes:
    return json.dumps(value).encode().ljust(size)


def nested(depth: int) -> bytes:
    return b'{"facts": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


def split_answers(count: int) -> dict[str, Any]:
    return {"requests": [{"entity": "thing1", "k": k} for k in (*[1000] * (count // 1000), count % 1000) if k > 0]}


def split_facts(count: int) -> dict[str, Any]:
    pieces = [MANY_FACTS[:size] for size in (*[20] * (count // 20), count % 20) if size > 0]
    return {"requests": [{"facts": piece, "relation": "lives_in", "answer": "place1"} for piece in pieces]}


class Bound(NamedTuple):
    """A request at a limit is taken, one beyond it is refused."""

    name: str
    status: int
    pattern: str
    method: str
    path: Callable[[int], str]
    body: Callable[[int], Any] = lambda _: None
    headers: dict[str, str] = JSON
    taken: int = 200


def at(path: str) -> Callable[[int], str]:
    return lambda _: path


@cases([
    Bound("body_bytes", 413, "expected a body of at most {0} bytes, found {1}", "POST", at("/v1/predict"), lambda n: padded({"entity": "thing1"}, n)),
    Bound("json_depth", 400, "expected at most {0} levels of JSON", "POST", at("/v1/predict"), nested, taken=422),
    Bound("batch", 422, "`requests`: expected 1 to {0} elements, found {1}", "POST", at("/v1/embed"), lambda n: {"requests": [{"entity": "thing1"}] * n}),
    Bound("k", 422, "`k`: expected 1 to {0}, found {1}", "POST", at("/v1/predict"), lambda n: {"entity": "thing1", "k": n}),
    Bound("answers", 422, "`requests`: expected a sum of `k` of at most {0}, found {1}", "POST", at("/v1/neighbors"), split_answers),
    Bound("subject_facts", 422, "`facts`: expected at most {0} facts, found {1}", "POST", at("/v1/embed"), lambda n: {"facts": [["a", "is_a", "kind1"]] * n}),
    Bound("changes", 422, "expected at most {0} facts", "POST", at("/v1/facts"), lambda n: b"thing1\tis_a\tkind1\n" * n, TSV),
    Bound("name_bytes", 422, "expected 1 to {0} bytes, found {1}", "POST", at("/v1/embed"), lambda n: {"facts": [["a" * n, "is_a", "kind1"]]}),
    Bound("links", 400, "`limit`: expected a whole number of 1 to {0}, found '{1}'", "GET", lambda n: f"/v1/entities/place0?limit={n}"),
    Bound("completions", 400, "`limit`: expected a whole number of 1 to {0}, found '{1}'", "GET", lambda n: f"/v1/entities?limit={n}"),
    Bound("explanation_batch_facts", 422, "`requests`: expected subjects with at most {0} facts in all, found {1}", "POST", at("/v1/explain"), split_facts),
])
class TestContent(Served):
    """What a request may hold."""

    def check(self, bound: Bound) -> None:
        limit = self.model()["limits"][bound.name]
        taken = self.server.ask(bound.method, bound.path(limit), bound.body(limit), bound.headers)
        self.assertEqual(taken.status, bound.taken, taken)
        pattern = bound.pattern.format(limit, limit + 1)
        self.refuse_request(bound.status, pattern, bound.method, bound.path(limit + 1), bound.body(limit + 1), **bound.headers)


class Sending(Alone):
    """Tests that write to sockets themselves."""

    def send(self, server: Server, sent: bytes, port: Optional[int] = None) -> bytes:
        """What is answered until the connection is closed, which resets it where not all was read."""
        answer = b""
        client = socket.create_connection(("127.0.0.1", port or server.port), timeout=TIMEOUT)
        with client, contextlib.suppress(ConnectionResetError):
            client.sendall(sent)
            while piece := client.recv(65536):
                answer += piece
        return answer

    def begin(self, server: Server, sent: bytes) -> socket.socket:
        """A client whose answer is read later, or never."""
        client = server.raw()
        self.addCleanup(client.close)
        client.sendall(sent)
        return client

    def post(self, path: str, body: Any) -> bytes:
        """The bytes of a request, which is the last of its connection."""
        text = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {len(text)}\r\n\r\n"
        return head.encode() + text

    def is_closed(self, client: socket.socket) -> bool:
        """By the server, without an answer."""
        if not select.select([client], [], [], 0)[0]:
            return False
        try:
            return client.recv(1) == b""
        except ConnectionResetError:
            return True

    def gauge(self, server: Server, name: str) -> float:
        text = server.ask("GET", "/metrics", port=server.metrics_port).body.decode()
        return float(re.findall(rf"^kgraft_{name} (\S+)$", text, re.M)[0])


def read_answer(client: socket.socket) -> Answer:
    """The answer to the last request of a connection."""
    text = b""
    with client:
        while piece := client.recv(65536):
            text += piece
    head, _, body = text.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return Answer(int(first.split()[1]), dict(line.split(": ", 1) for line in lines), body)


class TestLimits(Sending):
    """A test for each limit that is not one of a request's content, by its name."""

    # ---- Bytes

    def test_facts_body_bytes(self) -> None:
        """Bodies with facts are taken up to their limit, and refused beyond before they are sent."""
        server = self.start()
        limit = server.get("/v1/model").json["limits"]["facts_body_bytes"]
        head = "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        for route in ("POST /v1/facts", "PUT /v1/entities/emu", "PATCH /v1/entities/emu"):
            answer = self.send(server, (head % (route, limit + 1)).encode())
            self.assertRegex(answer, b"^HTTP/1.1 413 ")
            self.assertIn(b"expected a body of at most %d bytes, found %d" % (limit, limit + 1), answer)
        body = padded({"add": [["emu", "is_a", "kind1"]]}, limit)
        self.assertRegex(self.send(server, (head % ("POST /v1/facts", limit)).encode() + body), b"^HTTP/1.1 200 ")

    def test_held_body_bytes(self) -> None:
        """Bodies are held up to a limit, which one may fill; others are refused; what is not held any more makes room."""
        limit = 16 << 20
        server = self.start("--limit", f"held_body_bytes={limit}")
        whole = self.post("/v1/facts", padded({"add": [["emu", "is_a", "kind1"]]}, limit))
        small = self.post("/v1/facts", padded({"add": [["emu", "is_a", "kind1"]]}, 1000))
        self.assertRegex(self.send(server, whole), b"^HTTP/1.1 200 ")

        def is_refused() -> bool:
            """Beside one that is held, unless that was refused, since the one before it was still there."""
            with self.begin(server, whole[:-1]):
                for _ in range(20):
                    answer = read_answer(self.begin(server, small))
                    if answer.status != 200:
                        self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1"))
                        return True
                    time.sleep(0.05)
            return False

        wait_until(is_refused)
        wait_until(lambda: read_answer(self.begin(server, small)).status == 200)

    def test_held_response_bytes(self) -> None:
        """Large answers are held up to a limit, small ones are always sent, and memory is given back."""
        limit = 24 << 20
        server = self.start("--metrics", "127.0.0.1:0", "--limit", f"held_response_bytes={limit}")
        size = len(server.ask("POST", "/v1/predict", LARGE_ANSWER).body)
        held: list[socket.socket] = []
        began = b""
        while began != b"HTTP/1.1 503":
            self.assertLess(len(held), limit / size + 2)
            client = socket.socket()
            self.addCleanup(client.close)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.settimeout(TIMEOUT)
            client.connect(("127.0.0.1", server.port))
            client.sendall(self.post("/v1/predict", LARGE_ANSWER))
            began = client.recv(12)  # and no more
            held.append(client)
        self.assertIn(b"too many answers wait", held[-1].recv(65536))
        if not is_sanitized():
            self.assertLess(self.gauge(server, "resident_memory_bytes"), 8 * limit)
        self.assertEqual(server.post("/v1/predict", {"entity": "thing1", "k": 3})["entity"], "thing1")
        self.assertEqual(server.post("/v1/facts", {"add": [["emu", "is_a", "kind1"]]})["added"], 1)
        for client in held:
            client.close()
        wait_until(lambda: server.ask("POST", "/v1/predict", LARGE_ANSWER).status == 200)

    def test_small_response_bytes(self) -> None:
        """Answers up to this size are sent in any case."""
        server = self.start("--read-only")
        small = server.get("/v1/model").json["limits"]["small_response_bytes"]
        ask = {k: {"requests": [{"entity": "thing1", "relation": "eats", "k": k}] * 10} for k in range(1, 120)}
        most = bisect.bisect_right(range(120), small, 1, key=lambda k: len(server.ask("POST", "/v1/predict", ask[k]).body)) - 1
        full = self.start("--read-only", "--limit", "held_response_bytes=1")
        self.assertEqual(full.ask("POST", "/v1/predict", ask[most]).status, 200)
        refused = full.ask("POST", "/v1/predict", ask[most + 1])
        self.assertEqual((refused.status, refused.headers["Retry-After"]), (503, "1"))

    def head(self, more: bytes, size: int = 0) -> bytes:
        """The head of a request that adds a fact, padded to that many bytes."""
        head = b"POST /v1/facts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 36\r\n" + more
        return head + b"X: " + b"a" * (size - len(head) - 7) + b"\r\n\r\n"

    def test_header_bytes(self) -> None:
        """Targets and headers are taken up to their limit, and answered; beyond it nothing is done."""
        server = self.start()
        limit = server.get("/v1/model").json["limits"]["header_bytes"]
        body = b'{"add": [["emu", "is_a", "kind1"]]} '
        for size in (*range(limit - 500, limit + 1, 20), limit):
            self.assertRegex(self.send(server, self.head(b"", size) + body), b"^HTTP/1.1 200 ", size)
        log = server.get("/v1/model").json["log"]
        body = body.replace(b"emu", b"auk")
        for sent, status in ((b"GET /" + b"a" * limit + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
                             (b"GET /" + b"a" * 10 * limit + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
                             (self.head(b"", limit + 1) + body, 431), (self.head(b"", 3 * limit) + body, 431),
                             (self.head(b"Cookie: a=" + b"b" * (limit // 2) + b"\r\n") + body, 431)):
            self.assertRegex(self.send(server, sent), b"^HTTP/1.1 %d " % status)
        self.assertEqual(server.get("/v1/model").json["log"], log)

    def test_headers(self) -> None:
        """The same of their number, with that of cookies."""
        server = self.start()
        most = server.get("/v1/model").json["limits"]["headers"] - 5  # of every head here
        body = b'{"add": [["emu", "is_a", "kind1"]]} '
        for more in (b"a:\r\n" * most, b"Cookie: " + b"; ".join([b"a=b"] * (most - 1)) + b"\r\n"):
            self.assertRegex(self.send(server, self.head(more) + body), b"^HTTP/1.1 200 ")
            answer = self.send(server, self.head(more + b"b:\r\n") + body.replace(b"emu", b"auk"))
            self.assertRegex(answer, b"^HTTP/1.1 431 ")
            self.assertIn(b"Content-Type: application/problem+json\r\n", answer)
        for count in range(most, 1000, 50):
            answer = self.send(server, self.head(b"a:\r\n" * (count + 1)) + body.replace(b"emu", b"auk"))
            self.assertRegex(answer, b"^HTTP/1.1 431 ", count)
        self.assertEqual(server.get("/v1/entities/auk").status, 404)

    # ---- Work

    def test_batch_suggestions(self) -> None:
        """The first problems of a batch have similar names, the others none: each takes a pass over all names."""
        server = self.start()
        most = server.get("/v1/model").json["limits"]["batch_suggestions"]
        unknown = ({"entity": "thng12"}, {"facts": [["x", "eats", "thng12"], ["x", "is_a", "kind1"]], "entity": "x"}, {"entity": "thing1", "relation": "eat", "side": "tail"})
        for path in ("/v1/predict", "/v1/embed"):
            for one in unknown:
                results = server.post(path, {"requests": [{"entity": "thing1"}, *[one] * (most + 30)]})["results"]
                self.assertNotIn("problem", results[0])
                problems = [result["problem"] for result in results[1:]]
                self.assertEqual(["similar" in problem for problem in problems], [True] * most + [False] * 30)
                self.assertEqual(["did you mean" in problem["detail"] for problem in problems], [True] * most + [False] * 30)
                self.assertEqual({problem["status"] for problem in problems}, {422})

    def locked(self) -> contextlib.closing[sqlite3.Connection]:
        """Another program's lock on the store: writes wait for it, for seconds. Closing releases it."""
        other = sqlite3.connect(self.folder / "store" / "graph.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        return contextlib.closing(other)

    def assert_full(self, answers: list[Answer]) -> None:
        """Some were refused since too many wait, and say when to ask again; of the others, none."""
        refused = [answer for answer in answers if answer.status != 200]
        for answer in refused:
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1"))
            self.assertIn(b"too many requests wait", answer.body)
        self.assertTrue(0 < len(refused) < len(answers), answers)

    def test_waiting(self) -> None:
        """Of small requests of a kind only some wait."""
        server = self.start("--limit", "waiting=2", "--metrics", "127.0.0.1:0")
        with self.locked():
            clients = [self.begin(server, self.post("/v1/facts", {"add": [[f"emu{i}", "is_a", "kind1"]]})) for i in range(30)]
            wait_until(lambda: self.gauge(server, "http_refused_total") > 0)
        self.assert_full([read_answer(client) for client in clients])

    def test_waiting_explanations(self) -> None:
        """Of explanations fewer wait than of others."""
        server = self.start("--threads", "1", "--limit", "waiting_explanations=2")
        body = {"facts": MANY_FACTS[:30], "relation": "lives_in", "answer": "place1"}

        def is_full() -> bool:
            clients = [self.begin(server, self.post("/v1/explain", body)) for _ in range(40)]
            answers = [read_answer(client) for client in clients]
            if {answer.status for answer in answers} == {200}:
                return False
            self.assert_full(answers)
            return True

        wait_until(is_full)

    def occupy(self, server: Server, path: str, filling: Any, large: Any, small: Any) -> None:
        """Where large requests wait, for one thread and with room for one, another one is refused, and a small one is
        answered before those."""
        def is_refused() -> bool:
            clients = [self.begin(server, self.post(*filling)) for _ in range(3)]
            asked = server.ask("POST", path, large)
            self.assertEqual(server.ask("POST", path, small).status, 200)
            answered = select.select(clients, [], [], 0)[0]
            for client in clients:
                client.close()
            return asked.status == 503 and len(answered) < len(clients)

        wait_until(is_refused)

    def test_waiting_large(self) -> None:
        """Of large questions only some wait, as text; they are counted, and forgotten with their clients."""
        log = self.folder / "access.log"
        server = self.start("--threads", "1", "--metrics", "127.0.0.1:0", "--access-log", log, "--limit", "waiting_large=2")
        body = self.post("/v1/predict", {"requests": [{"facts": MANY_FACTS[:200], "k": 1}] * 130})
        clients = [server.raw() for _ in range(10)]
        senders = [threading.Thread(target=client.sendall, args=(body,)) for client in clients]
        for sender in senders:
            sender.start()
        wait_until(lambda: b'"status":503' in log.read_bytes())
        self.assertGreaterEqual(self.gauge(server, "http_refused_total"), 1)
        for sender in senders:
            sender.join()
        self.assertEqual(server.post("/v1/predict", {"entity": "thing1", "k": 1})["entity"], "thing1")
        for _ in range(3):
            with server.raw() as client:
                client.sendall(body)
        for client in clients:
            client.close()
        wait_until(lambda: log.read_bytes().count(b'"operation":"predict"') == len(clients) + 4)
        statuses = {json.loads(line)["status"] for line in log.read_text().splitlines()}
        self.assertEqual(statuses | {200}, {200, 499, 503})

    def test_small_prediction_pairs(self) -> None:
        server = self.start("--threads", "1", "--limit", "waiting_large=1")
        pairs = server.get("/v1/model").json["limits"]["small_prediction_pairs"]
        batches = [{"requests": [{"entity": "thing1", "k": 1}] * n} for n in (pairs // (2 * len(RELATIONS)), pairs // (2 * len(RELATIONS)) + 1)]
        filling = ("/v1/predict", {"requests": [{"facts": MANY_FACTS[:200], "k": 1}] * 130})
        self.occupy(server, "/v1/predict", filling, batches[1], batches[0])

    def test_small_explanation_facts(self) -> None:
        server = self.start("--threads", "1", "--limit", "waiting_large=1")
        facts = server.get("/v1/model").json["limits"]["small_explanation_facts"]
        asked = [{**HUGE_EXPLANATION, "facts": MANY_FACTS[:n]} for n in (facts, facts + 1)]
        self.occupy(server, "/v1/explain", ("/v1/explain", HUGE_EXPLANATION), asked[1], asked[0])

    def test_small_neighbors_batch(self) -> None:
        self.occupy_with_explanations("/v1/neighbors", "small_neighbors_batch")

    def test_small_embed_batch(self) -> None:
        self.occupy_with_explanations("/v1/embed", "small_embed_batch")

    def occupy_with_explanations(self, path: str, name: str) -> None:
        server = self.start("--threads", "1", "--limit", "waiting_large=1")
        most = server.get("/v1/model").json["limits"][name]
        batches = [{"requests": [{"entity": "thing1"}] * n} for n in (most, most + 1)]
        self.occupy(server, path, ("/v1/explain", HUGE_EXPLANATION), batches[1], batches[0])

    def test_small_change_bytes(self) -> None:
        server = self.start("--limit", "waiting_large=1", "--metrics", "127.0.0.1:0")
        most = server.get("/v1/model").json["limits"]["small_change_bytes"]
        large, small = (self.post("/v1/facts", padded({"add": [["emu", "is_a", "kind1"]]}, n)) for n in (most + 1, most))
        with self.locked():
            clients = [self.begin(server, large) for _ in range(4)]
            wait_until(lambda: self.gauge(server, "http_refused_total") > 0)
            others = [self.begin(server, small) for _ in range(4)]
        self.assert_full([read_answer(client) for client in clients])
        self.assertEqual([read_answer(client).status for client in others], [200] * 4)

    # ---- Connections

    def test_connections(self) -> None:
        """So many are served at the same time; the others are when these have gone."""
        few = ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh"]
        for words, wrapper, limit in ((("--limit", "connections=10"), (), 10), ((), few, 64), (("--limit", "connections=1"), (), 1)):
            server = self.start(*words, wrapper=wrapper)
            waiting = {server.raw() for _ in range(limit + 20)}
            for client in waiting:
                self.addCleanup(client.close)
                client.sendall(b"GET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while waiting:
                served: set[socket.socket] = set()
                wait_until(lambda: served.update(select.select(waiting, [], [], 0)[0]) or len(served) >= min(limit, len(waiting)))
                time.sleep(0.05)  # in which more would be served
                served.update(select.select(waiting, [], [], 0)[0])
                self.assertLessEqual(len(served), limit)
                for client in served:
                    self.assertIn(b'"connections":%d' % limit, client.recv(65536))
                    client.close()
                waiting -= served
            server.stop()

    def test_streams(self) -> None:
        """Of streams there is a limit; who leaves makes room."""
        limit = 5
        server = self.start("--limit", f"streams={limit}")
        request = b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n"
        streams = [self.begin(server, request) for _ in range(limit)]
        for stream in streams:
            self.assertRegex(stream.recv(1000), b"^HTTP/1.1 200 ")
        refused = server.get("/v1/changes")
        self.assertEqual((refused.status, refused.headers["Retry-After"]), (503, "1"))
        self.assertEqual(refused.detail, f"expected at most {limit} streams of changes, found more")
        streams.pop().close()

        def is_taken() -> bool:
            with self.begin(server, request) as client:
                return client.recv(1000).startswith(b"HTTP/1.1 200 ")

        wait_until(is_taken)
        told = b"".join(stream.recv(65536) for stream in select.select(streams, [], [], 0)[0])
        self.assertNotIn(b"alive", told)  # it was not the next sign of life that found it closed

    # ---- Seconds

    def test_request_seconds(self) -> None:
        """However steadily its bytes come, a request has so long to be whole; a connection without one is left alone."""
        server = self.start("--limit", "request_seconds=1")
        idle = server.connect()
        self.assertEqual(server.ask("GET", "/livez", connection=idle).status, 200)
        begun = (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ", self.post("/v1/predict", b"{" * 10000)[:500])
        clients = {self.begin(server, beginning) for beginning in begun}

        def are_cut_off() -> bool:
            for client in clients:
                with contextlib.suppress(OSError):
                    client.sendall(b"x")
            clients.difference_update([client for client in clients if self.is_closed(client)])
            return not clients

        wait_until(are_cut_off)
        self.assertEqual(server.ask("GET", "/livez", connection=idle).status, 200)

    def test_response_seconds(self) -> None:
        """However steadily it is read, a response has so long; streams of changes have any time."""
        server = self.start("--limit", "response_seconds=1")
        stream = self.begin(server, b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertRegex(stream.recv(1000), b"^HTTP/1.1 200 ")
        size = len(server.ask("POST", "/v1/predict", LARGE_ANSWER).body)
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.settimeout(TIMEOUT)
            client.connect(("127.0.0.1", server.port))
            client.sendall(self.post("/v1/predict", LARGE_ANSWER))
            got = 0
            with contextlib.suppress(ConnectionResetError):
                while piece := client.recv(1024 if got < 100_000 else 65536):
                    got += len(piece)
                    time.sleep(0.05 if got < 100_000 else 0)
        self.assertLess(got, size)
        server.post("/v1/facts", {"add": [["emu", "is_a", "kind1"]]})
        wait_until(lambda: b"event: change" in stream.recv(65536))

    def test_idle_seconds(self) -> None:
        """Connections without a request are closed, also where metrics are, so that who comes later gets in."""
        server = self.start("--limit", "idle_seconds=1", "--metrics", "127.0.0.1:0")
        stream = self.begin(server, b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertRegex(stream.recv(1000), b"^HTTP/1.1 200 ")
        kept = server.connect()
        self.assertEqual(server.ask("GET", "/livez", connection=kept).status, 200)
        for client in (server.raw(), kept.sock):
            self.assertEqual(client.recv(1), b"")
        scrapers = [socket.create_connection(("127.0.0.1", server.metrics_port)) for _ in range(100)]
        self.assertEqual(server.ask("GET", "/metrics", port=server.metrics_port).status, 200)
        for scraper in scrapers:
            scraper.close()
        server.post("/v1/facts", {"add": [["emu", "is_a", "kind1"]]})
        wait_until(lambda: b"event: change" in stream.recv(65536))

    def test_stop_seconds(self) -> None:
        """A server that stops waits so long for requests to become whole."""
        server = self.start("--limit", "stop_seconds=1")
        half = self.begin(server, b"GET /livez HTTP/1.1\r\nHo")
        wait_until(lambda: server.get("/livez").status == 200)
        self.assertEqual(server.stop(), 0)
        self.assertTrue(self.is_closed(half))


class TestTable(Served):
    def test_table(self) -> None:
        """Each limit that the server reports has a test of its name."""
        tested = [name.removeprefix("test_") for cls in (TestContent, TestLimits) for name in dir(cls) if name.startswith("test_")]
        self.assertEqual(sorted(self.model()["limits"]), sorted(tested))


class TestClients(Sending):
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
        for i in range(3):
            self.assertEqual(server.ask("POST", "/v1/facts", tsv(f"emu{i} is_a kind1"), TSV, connection=kept).json["added"], 1)
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

    def test_hidden_headers(self) -> None:
        """A value does not end at a NUL, nor do headers at a line without a name."""
        server = self.start("--metrics", "127.0.0.1:0")
        last = b"Content-Length: 4\r\n"
        for headers in (b"X: a\0b\r\n", b"X: \0\r\n", b"X: a\0\r\n", b"X: a\0\0\r\n", b"X:\0 a\r\n", b"X: a\r\n:\r\n", b":\r\n", b":x\r\n", b": x\r\nX: a\r\n",
                        b"\0: x\r\n", b"X\0: x\r\n"):
            for head in (headers, b"Host: localhost\r\n" + headers, headers + b"Host: localhost\r\n", b"Host: localhost\r\n" + headers + last):
                for end in (b"\r\n", b"\n"):
                    sent = b"GET %s HTTP/1.1\r\n" + head + b"\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                    for port, path in ((server.port, b"/livez"), (server.metrics_port, b"/metrics")):
                        answer = self.send(server, (sent % path).replace(b"\r\n", end), port)
                        self.assertRegex(answer, b"^HTTP/1.1 400 ", (head, end))
                        self.assertNotRegex(answer, b"HTTP/1.1 200 ")
        for end in (b"\r\n", b"\n"):
            for head in (b"Host: localhost\r\n", b"Host: localhost\r\nX:\r\nY: \t a \t \r\n", b"\r\nHost:localhost \r\n"[2:], b"Accept: */*\r\nHost: localhost\r\n"):
                sent = b"\r\nGET /livez HTTP/1.1\r\n" + head + b"Connection: close\r\n\r\n"
                self.assertRegex(self.send(server, sent.replace(b"\r\n", end)), b"^HTTP/1.1 200 ")

    def test_expectation(self) -> None:
        """A client that asks before it sends is told at once."""
        head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n"
        server = self.start()
        self.assertRegex(self.send(server, head % b"/v1/predict"), b"^HTTP/1.1 413 ")
        self.assertRegex(self.send(server, head % b"/v1/nothing"), b"^HTTP/1.1 404 ")
        with server.raw() as client:
            client.sendall(head % b"/v1/facts")
            self.assertRegex(client.recv(1000), b"^HTTP/1.1 100 ")

    @unittest.skipIf(is_sanitized(), "large changes take long")
    def test_large_changes(self) -> None:
        """Large bodies are parsed one by one: others go on, and memory is bounded."""
        server = self.start("--metrics", "127.0.0.1:0")
        body = b'{"add":[' + b",".join([b'["a","is_a","c"]'] * 300_000) + b"]}"  # too many, which is known when it is parsed
        statuses: list[int] = []
        threads = [threading.Thread(target=lambda: statuses.append(server.ask("POST", "/v1/facts", body, JSON).status)) for _ in range(6)]
        for thread in threads:
            thread.start()
        most = 0.0
        while any(thread.is_alive() for thread in threads):
            self.assertEqual(server.ask("POST", "/v1/facts", {"add": [["emu", "is_a", "kind1"]]}).status, 200)
            most = max(most, self.gauge(server, "resident_memory_bytes"))
        self.assertEqual(statuses, [422] * 6)
        self.assertLess(most, 400 << 20)
        facts = [[f"new{i}-" + "x" * 1000, "is_a", "kind1"] for i in range(2000)]
        self.assertEqual(server.post("/v1/facts", {"add": facts})["added"], len(facts))

    def test_gone_clients(self) -> None:
        """Explanations that nobody waits for are not made."""
        log = self.folder / "access.log"
        server = self.start("--threads", "1", "--access-log", log)
        sent = self.post("/v1/explain", {**HUGE_EXPLANATION, "facts": MANY_FACTS[:100]})
        for _ in range(6):
            self.begin(server, sent).close()
        wait_until(lambda: log.read_bytes().count(b"\n") == 6)
        self.assertLess(log.read_bytes().count(b'"status":200'), 6)
