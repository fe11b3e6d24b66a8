"""kgraft serve: each status that its description has, of each operation, is seen over a socket, with the type that the
description says. A status that is described and cannot be had fails this test, as does one that nobody thought of here."""

from __future__ import annotations

import shutil
import signal
from typing import Any, Mapping, NamedTuple, Optional

from http_server import Alone, Answer, Server, damage, made_world, wait_until

FACTS = [["emu", "is_a", "kind1"]]
QUESTION = {"entity": "thing1"}
# What is answered with success: the target, and what is sent.
GOOD: dict[str, tuple[str, Any]] = {
    "getModel": ("/v1/model", None),
    "listEntities": ("/v1/entities?prefix=thing", None),
    "getEntity": ("/v1/entities/thing1", None),
    "putEntity": ("/v1/entities/thing2", {"facts": [["thing2", "is_a", "kind1"]]}),
    "patchEntity": ("/v1/entities/thing3", {"add": [["thing3", "is_a", "kind1"]]}),
    "deleteEntity": ("/v1/entities/thing4", None),
    "postFacts": ("/v1/facts", {"add": FACTS}),
    "predict": ("/v1/predict", QUESTION),
    "explain": ("/v1/explain", {**QUESTION, "relation": "lives_in", "answer": "place2"}),
    "embed": ("/v1/embed", QUESTION),
    "neighbors": ("/v1/neighbors", QUESTION),
    "missing": ("/v1/missing", QUESTION),
    "streamChanges": ("/v1/changes", None),
    "compact": ("/v1/compactions", {}),
    "backUp": ("/v1/backups", {}),
    "listJobs": ("/v1/jobs", None),
    "getJob": ("/v1/jobs/1", None),
    "describe": ("/openapi.json", None),
    "live": ("/livez", None),
    "ready": ("/readyz", None),
}
# What any operation refuses: how its request is spoilt.
PICTURE = {"Content-Type": "image/png"}
SPOILT: dict[int, tuple[str, Mapping[str, str]]] = {
    400: ("?nonsense=1", {}),
    403: ("", {"Host": "elsewhere.example"}),
    406: ("", {"Accept": "image/png"}),
    411: ("", {"Transfer-Encoding": "chunked"}),
    413: ("", {"Content-Length": str(1 << 30)}),
    414: ("?" + "a" * (32 << 10), {}),
    415: ("", PICTURE),
    431: ("", {"X": "a" * (32 << 10)}),
}
# Others: target, what is sent, headers.
OTHERS: dict[tuple[str, int], tuple[str, Any, Mapping[str, str]]] = {
    ("getEntity", 304): ("/v1/entities/thing1", None, {"If-None-Match": "*"}),
    ("getEntity", 404): ("/v1/entities/nobody", None, {}),
    ("putEntity", 201): ("/v1/entities/emu", {"facts": FACTS}, {}),
    ("deleteEntity", 404): ("/v1/entities/nobody", None, {}),
    ("postFacts", 409): ("/v1/facts", {"remove": FACTS}, {"Idempotency-Key": "key"}),
    ("streamChanges", 422): ("/v1/changes?since=1000000", None, {}),
    ("getJob", 404): ("/v1/jobs/1000", None, {}),
}
# Said only by a server that has no memory for the answer.
UNSEEN = {("live", 503)}


class Operation(NamedTuple):
    method: str
    responses: Mapping[str, Any]


class TestStatuses(Alone):
    def setUp(self) -> None:
        super().setUp()
        self.seen: set[tuple[str, int]] = set()
        (self.folder / "backups").mkdir()
        self.server = self.start("--backup-dir", self.folder / "backups")
        paths = self.server.get("/openapi.json").json["paths"]
        self.operations = {about["operationId"]: Operation(method.upper(), about["responses"]) for path in paths.values() for method, about in path.items()}
        self.described = {(name, int(status)) for name, operation in self.operations.items() for status in operation.responses}

    def check(self, name: str, answer: Answer) -> int:
        """An answer is one of those that are described."""
        self.assertIn((name, answer.status), self.described, answer)
        content = self.operations[name].responses[str(answer.status)].get("content", {})
        kind = answer.headers.get("Content-Type")
        self.assertTrue(kind in content if content else not answer.body, (name, answer))
        self.seen.add((name, answer.status))
        return answer.status

    def ask(self, server: Server, name: str, target: Optional[str] = None, body: Any = None, headers: Mapping[str, str] = {}, **options: Any) -> int:
        """Without a target, what is good. Of a stream only the beginning is read."""
        if target is None:
            target, body = GOOD[name]
        method = self.operations[name].method
        if name != "streamChanges":
            return self.check(name, server.ask(method, target, body, headers, **options))
        connection = options.get("connection") or server.connect()
        connection.request(method, target, headers=dict(headers))
        response = connection.getresponse()
        answer = Answer(response.status, dict(response.getheaders()), b"")
        connection.close()
        return self.check(name, answer)

    def test_statuses(self) -> None:
        self.assertEqual(set(self.operations), set(GOOD))
        self.see_refusals()
        self.server.post("/v1/facts", {"add": [["auk", "is_a", "kind1"]]})
        self.assertEqual(self.server.ask("POST", "/v1/facts", {"add": FACTS}, {"Idempotency-Key": "key"}).status, 200)
        self.server.ask("DELETE", "/v1/entities/emu")
        self.see_successes()
        self.see_conflicts()
        self.see_stopping()
        self.see_tokens()
        self.see_damage()
        self.assertEqual(self.seen, self.described - UNSEEN)

    def see_refusals(self) -> None:
        for name, status in sorted(self.described):
            target, body = GOOD[name]
            if status in SPOILT:
                more, headers = SPOILT[status]
                separator = "&" if "?" in target else "?"
                self.assertEqual(self.ask(self.server, name, target + more.replace("?", separator), body, headers), status, name)
            elif status == 412:
                self.assertEqual(self.ask(self.server, name, target, body, {"If-Match": '"another"'}), status)
            elif status == 422 and body is not None:
                self.assertEqual(self.ask(self.server, name, target, {"nonsense": 1}), status)

    def see_successes(self) -> None:
        for (name, status), (target, body, headers) in OTHERS.items():
            self.assertEqual(self.ask(self.server, name, target, body, headers), status, name)
        for name in GOOD:
            if name != "backUp":
                self.assertLess(self.ask(self.server, name), 300, name)
        wait_until(lambda: self.ask(self.server, "backUp") == 202)

    def see_conflicts(self) -> None:
        """A job is refused while another one is under way, if that has not ended meanwhile."""
        for name in ("compact", "backUp"):
            def is_refused() -> bool:
                self.server.post("/v1/facts", {"add": [[f"{name}{len(self.seen)}", "is_a", "kind1"]]})
                self.server.ask("POST", "/v1/compactions", {})
                return self.ask(self.server, name) == 409

            wait_until(is_refused)

    def see_stopping(self) -> None:
        """A server that stops refuses what still comes over connections that it has."""
        with self.server.raw() as half:
            half.sendall(b"GET /livez HTTP/1.1\r\nHo")
            kept = {name: self.server.connect() for name in GOOD}
            for connection in kept.values():
                self.assertEqual(self.server.ask("GET", "/livez", connection=connection).status, 200)
            self.server.signal(signal.SIGTERM)
            wait_until(self.server.is_gone)
            for name, connection in kept.items():
                if name != "live":
                    self.assertEqual(self.ask(self.server, name, connection=connection), 503, name)
                connection.close()
        self.assertEqual(self.server.wait(), 0)

    def see_tokens(self) -> None:
        tokens = self.folder / "tokens"
        tokens.write_text("read reader-0123456789\n")
        tokens.chmod(0o600)
        server = self.start("--token-file", tokens)
        for name, status in sorted(self.described):
            if status == 401:
                self.assertEqual(self.ask(server, name), status)
        server.stop()

    def see_damage(self) -> None:
        """The first change that finds a store damaged."""
        for name, status in sorted(self.described):
            if status != 507:
                continue
            shutil.copytree(made_world() / "store", self.folder / name)
            server = Server(self.folder / name)
            self.addCleanup(server.stop)
            damage(self.folder / name / "graph.db")
            self.assertEqual(self.ask(server, name), status)
