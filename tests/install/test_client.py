"""The Python client of a server: it answers what the local package answers from the same store, and does what that does.

Runs as test_python does: `kgraft` is the package in python/, and KGRAFT names the tool.
"""

from __future__ import annotations

import dataclasses
import os
import re
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

import kgraft

TOOL = os.environ["KGRAFT"]
TIMEOUT = 300
SMALL = (
    "--propagation-layers 2 --propagation-width 16 --propagation-epochs 1 --dim 8 --epochs 1 --batch 50 "
    "--negatives 30 --seed 5"
).split()


def tool(*words: object) -> bytes:
    command = [TOOL, *map(str, words), "--quiet"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=TIMEOUT).stdout


def setUpModule() -> None:
    global FOLDER, FACTS
    holder = tempfile.TemporaryDirectory(prefix="kgraft-test-")
    unittest.addModuleCleanup(holder.cleanup)
    FOLDER = Path(holder.name)
    tool("generate", FOLDER / "g.tsv", "--facts", 3000, "--entities", 300, "--relations", 6)
    tool("train", FOLDER / "g.tsv", FOLDER / "model", *SMALL)
    FACTS = [tuple(line.split("\t")) for line in (FOLDER / "g.tsv").read_text().splitlines()]


class Served(unittest.TestCase):
    """A store of its own for each class, and a client of its server."""

    words: tuple[str, ...] = ()
    token: Any = None

    @classmethod
    def setUpClass(cls) -> None:
        cls.store = FOLDER / cls.__name__
        tool("store", FOLDER / "model", cls.store)
        command = [TOOL, "serve", cls.store, "--listen", "127.0.0.1:0", *cls.words]
        cls.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.stop)
        assert cls.process.stdout is not None
        match = re.search(r"http://\S+", cls.process.stdout.readline())
        assert match, "the server did not start"
        cls.url = match[0]
        cls.client = kgraft.connect(cls.url, token=cls.token)
        cls.addClassCleanup(cls.client.close)

    @classmethod
    def stop(cls) -> None:
        cls.process.terminate()
        cls.process.communicate(timeout=TIMEOUT)

    def local(self) -> kgraft.Model:
        graph = kgraft.open(self.store, read_only=True)
        self.addCleanup(graph.close)
        return graph.model

    def assert_same(self, found: Any, expected: Any) -> None:
        """All but the last digits, which JSON does not have of all numbers."""
        if dataclasses.is_dataclass(expected):
            self.assertIs(type(found), type(expected))
            for field in dataclasses.fields(expected):
                self.assert_same(getattr(found, field.name), getattr(expected, field.name))
        elif isinstance(expected, float):
            self.assertAlmostEqual(found, expected, delta=1e-6 * max(1, abs(expected)))
        elif isinstance(expected, dict):
            self.assertEqual(list(found), list(expected))
            self.assert_same(list(found.values()), list(expected.values()))
        elif isinstance(expected, (list, tuple)) and not isinstance(expected, str):
            self.assertEqual(len(found), len(expected))
            for one, other in zip(found, expected):
                self.assert_same(one, other)
        else:
            self.assertEqual(found, expected)


class Answers(Served):
    def setUp(self) -> None:
        self.model = self.local()
        self.known = FACTS[0][0]
        relation, other = FACTS[1][1], FACTS[1][2]
        self.new = [("new one", relation, other), (FACTS[2][0], FACTS[2][1], "new one")]

    def test_predict(self) -> None:
        for words in ({}, {"k": 3}, {"relation": FACTS[0][1], "side": "head"}, {"keep_known": True}, {"no_echo": True}):
            for subject in ({"entity": self.known}, {"facts": self.new}):
                expected = self.model.predict(**subject, **words)
                self.assertTrue(all(expected.values()))
                self.assert_same(self.client.predict(**subject, **words), expected)

    def test_least_probability(self) -> None:
        best = self.client.predict(entity=self.known, k=5)[self.known]
        least = best[2].probability
        found = self.client.predict(entity=self.known, k=5, min_probability=least)[self.known]
        self.assertEqual(found, [answer for answer in best if answer.probability >= least])

    def test_explain(self) -> None:
        for subject in ({"entity": self.known}, {"facts": self.new}):
            for answer in self.client.predict(**subject, k=3).popitem()[1]:
                link = {"relation": answer.relation, "side": answer.side, "answer": answer.entity}
                expected = self.model.explain(**subject, **link)
                found = self.client.explain(**subject, **link)
                self.assert_same(dataclasses.replace(found, shares=()), dataclasses.replace(expected, shares=()))
                self.assertEqual(len(found.shares), len(expected.shares))
                by_fact = {share.fact: share for share in expected.shares}
                for share in found.shares:
                    self.assert_same(share, by_fact[share.fact])
                rests = sum(term.rest for term in found.terms)
                self.assertAlmostEqual(sum(share.part for share in found.shares) + rests, found.score, places=3)

    def test_vectors(self) -> None:
        for subject in ({"entity": self.known}, {"facts": self.new}):
            words = {"relation": FACTS[0][1], "side": "tail"}
            found, expected = self.client.embed(**subject, **words), self.model.embed(**subject, **words)
            self.assertEqual(list(found), list(expected))
            for name, vector in expected.items():
                self.assertEqual(found[name].tobytes(), vector.tobytes())
            self.assert_same(self.client.neighbors(**subject, k=4), self.model.neighbors(**subject, k=4))

    def test_several_new_entities(self) -> None:
        """Each by its own facts, as a local model does it: of a list or of a file, in several batches"""
        new = [(f"new{i}", relation, tail) for i, (_, relation, tail) in enumerate(FACTS[:300])]
        new += [(head, relation, f"new{i % 7}") for i, (head, relation, _) in enumerate(FACTS[300:350])]
        path = FOLDER / "new.tsv"
        path.write_text("".join("\t".join(fact) + "\n" for fact in new))
        for few in ([new[0], new[1]], [("a", *FACTS[0][1:]), ("b", *FACTS[0][1:])], new[:20] + new[300:], path, str(path)):
            self.assert_same(self.client.predict(few, k=2), self.model.predict(few, k=2))
        found, expected = self.client.embed(path), self.model.embed(path)
        self.assertEqual(list(found), list(expected))
        for name, vector in expected.items():
            self.assertEqual(found[name].tobytes(), vector.tobytes())
        self.assert_same(self.client.neighbors(new[:3], k=2), self.model.neighbors(new[:3], k=2))
        self.assert_same(self.client.predict(new, entity="new3"), self.model.predict(new, entity="new3"))
        link = {"relation": FACTS[0][1], "answer": FACTS[0][2]}
        for graph in (self.client, self.model):
            with self.assertRaisesRegex(ValueError, "one new entity, or `entity`, found 2"):
                graph.explain(new[:2], **link)
            with self.assertRaisesRegex(ValueError, "a new entity of the facts, found 'nobody'"):
                graph.predict(new, entity="nobody")
            for bad in ([("x", FACTS[0][1], "y")], [FACTS[0]], [*new[:2], ("x", FACTS[0][1], "y")], FOLDER / "none.tsv"):
                with self.assertRaises(kgraft.Error):
                    graph.predict(bad)
        mixed = [new[0], ("new0", "nothing", FACTS[0][2]), ("x", FACTS[0][1], "y"), new[1]]
        self.assert_same(self.client.predict(mixed, skip_unknown=True), self.model.predict(mixed, skip_unknown=True))
        (FOLDER / "bad.tsv").write_text("a\tb\tc\nonly two\tnames\n")
        with self.assertRaises(kgraft.Error) as caught:
            self.client.predict(FOLDER / "bad.tsv")
        self.assertEqual(caught.exception.line, 2)

    def test_description(self) -> None:
        """What a local model says of itself"""
        graph = self.client.model
        self.assertEqual((graph.dim, graph.is_calibrated), (self.model.dim, self.model.is_calibrated))
        self.assertEqual((graph.generation, graph.last), (1, 0))

    def test_closed(self) -> None:
        """A client that was closed refuses everything, and ends what waits for changes"""
        client = kgraft.connect(self.url)
        client.describe()
        stream = client.follow()
        ended: list[BaseException] = []

        def wait() -> None:
            try:
                next(stream)
            except ValueError as error:
                ended.append(error)

        reader = threading.Thread(target=wait)
        reader.start()
        while not client._transport.streams:
            reader.join(0.01)
        client.close()
        reader.join(TIMEOUT)
        self.assertEqual([str(error) for error in ended], ["the client is closed"])
        for call in (client.describe, lambda: client.predict(entity=self.known), lambda: client.add([]), lambda: next(client.follow(0))):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()

    def test_contents(self) -> None:
        self.assertEqual(self.client.relations, list(self.model.relations))
        self.assertEqual(len(self.client.entities), len(self.model.entities))
        self.assertIn(self.known, self.client.entities)
        for unknown in "nobody", "no/body?", 7:
            self.assertNotIn(unknown, self.client.entities)
        prefix = self.known[:2]
        names = {name for name in self.model.entities if name.startswith(prefix)}
        self.assertLess(len(names), 100)
        self.assertEqual(set(self.client.entities.find(prefix, 100)), names)
        self.assertEqual(self.client.describe()["log"], 0)

    def test_facts_by_pages(self) -> None:
        """Of the entity with the most, there is more than a page"""
        counts: dict[str, set[tuple[str, ...]]] = {}
        for fact in FACTS:
            for name in (fact[0], fact[2]):
                counts.setdefault(name, set()).add(fact)
        hub = max(counts, key=lambda name: len(counts[name]))
        self.assertGreater(len(counts[hub]), 100)
        found = list(self.client.facts(hub))
        self.assertEqual(set(found), counts[hub])

    def test_missing(self) -> None:
        have = {fact.relation for fact in self.client.facts(self.known) if fact.head == self.known}
        for one in self.client.missing(entity=self.known, k=5):
            self.assertGreater(one.share, 0)
            self.assertFalse(one.side == "tail" and one.relation in have)
            for example in one.examples:
                ends = {fact.head if one.side == "tail" else fact.tail for fact in self.client.facts(example) if fact.relation == one.relation}
                self.assertIn(example, ends)

    def test_refused(self) -> None:
        with self.assertRaises(kgraft.ServerError) as caught:
            self.client.predict(entity=self.known + "x")
        self.assertEqual(caught.exception.status, 422)
        self.assertIn(self.known, caught.exception.similar)
        self.assertIsInstance(caught.exception, kgraft.Error)
        with self.assertRaises(kgraft.ServerError) as caught:
            self.client.predict(entity=self.known, relation="nothing")
        self.assertEqual(caught.exception.status, 422)
        for call, kind in (
            (lambda: self.client.predict(), TypeError),
            (lambda: self.client.predict(["abc"]), TypeError),
            (lambda: self.client.predict(entity="a", side="up"), ValueError),
            (lambda: self.client.predict(entity="a", k=0), ValueError),
            (lambda: kgraft.connect("127.0.0.1:80"), ValueError),
        ):
            with self.assertRaises(kind):
                call()

    def test_threads(self) -> None:
        expected = self.client.predict(entity=self.known)
        found: list[Any] = []
        threads = [threading.Thread(target=lambda: found.append(self.client.predict(entity=self.known))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 8)

    def test_nobody_there(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            gone = kgraft.connect(f"http://127.0.0.1:{taken.getsockname()[1]}")
            for call in (lambda: gone.predict(entity="a"), lambda: next(gone.follow(0))):
                with self.assertRaisesRegex(kgraft.ServerError, "http://127.0.0.1:.*Connection refused") as caught:
                    call()
                self.assertEqual(caught.exception.status, 0)


class Changing(Served):
    def test_add_and_remove(self) -> None:
        name = 'new/"one" ü?#%'
        facts = [(name, FACTS[0][1], FACTS[0][2]), (FACTS[1][0], FACTS[1][1], name)]
        commit = self.client.add(facts)
        self.assertEqual((commit.added, commit.entities_added, commit.last), (2, 1, self.client.describe()["log"]))
        self.assertEqual(set(self.client.facts(name)), set(facts))
        self.assertIn(name, self.client.entities)
        self.assert_same(self.client.predict(entity=name), self.local().predict(entity=name))
        self.assertEqual(self.client.add(facts[:1]).repeated, 1)
        commit = self.client.remove(facts)
        self.assertEqual((commit.removed, commit.entities_removed), (2, 1))
        self.assertNotIn(name, self.client.entities)
        self.assertEqual(self.client.remove(facts).missing, 2)

    def test_transaction(self) -> None:
        relation, other = FACTS[0][1:]
        with self.client.changes() as changes:
            changes.add([("one", relation, other), ("two", relation, other)])
            changes.remove([("two", relation, other)])
        self.assertEqual(changes.commit.added, 1)
        with self.assertRaises(ValueError):
            changes.add([])
        with self.assertRaises(KeyError):
            with self.client.changes() as broken:
                broken.add([("three", relation, other)])
                raise KeyError
        self.assertNotIn("three", self.client.entities)
        self.client.remove([("one", relation, other)])

    def test_source(self) -> None:
        fact = ("replayed", *FACTS[0][1:])
        for skipped in (0, 1):
            with self.client.changes(source="stream", offset=5) as changes:
                changes.add([fact])
            self.assertEqual((changes.commit.added, changes.commit.skipped), (1 - skipped, skipped))
        self.client.remove([fact])

    def test_follow(self) -> None:
        """Changes come in order, from any point of the log, and go on after the connection broke"""
        relation, other = FACTS[0][1:]
        since = self.client.describe()["log"]
        stream = self.client.follow()
        waiting: list[Any] = []
        reader = threading.Thread(target=lambda: waiting.extend(next(stream) for _ in range(2)))
        reader.start()
        fact = ("followed", relation, other)
        while reader.is_alive():  # it may not listen yet, or begin between the two
            self.client.add([fact])
            self.client.remove([fact])
            reader.join(0.2)
        stream.close()
        self.assertEqual({change.operation for change in waiting}, {"add", "remove"})
        again = self.client.follow(since)
        first = [next(again), next(again)]
        again.close()
        self.assertEqual([(change.number, change.operation, change.fact) for change in first],
                         [(since + 1, "add", fact), (since + 2, "remove", fact)])
        self.assertLess(abs(first[1].time.timestamp() - first[0].time.timestamp()), TIMEOUT)

    def test_lost_connection(self) -> None:
        """A connection that the other end has closed is replaced"""
        self.client.describe()
        for connection in self.client._transport.idle:
            connection.sock.shutdown(socket.SHUT_RDWR)
        self.assertEqual(self.client.add([("kept", *FACTS[0][1:])]).added, 1)
        self.client.remove([("kept", *FACTS[0][1:])])

    def test_repeated_change(self) -> None:
        """One whose answer was lost is sent again, and counts once: what others did in between stays"""
        client, fact = kgraft.connect(self.url), ("once", *FACTS[0][1:])
        self.addCleanup(client.close)
        client.describe()
        send = client._transport.send
        answers: list[Any] = []

        def lose_the_first(*words: Any, **named: Any) -> Any:
            answers.append(send(*words, **named))
            if len(answers) == 1:
                answers[0].read()
                self.client.remove([fact])
                raise ConnectionResetError
            return answers[-1]

        client._transport.send = lose_the_first
        commit = client.add([fact])
        self.assertEqual((len(answers), commit.added, commit.skipped), (2, 0, 1))
        self.assertNotIn("once", self.client.entities)


class Tokens(Served):
    token = "w" * 20

    @classmethod
    def setUpClass(cls) -> None:
        file = FOLDER / "tokens"
        file.write_text(f"read {'r' * 20}\nwrite {cls.token}\n")
        file.chmod(0o600)
        cls.words = ("--token-file", str(file))
        super().setUpClass()

    def test_rights(self) -> None:
        fact = ("n", *FACTS[0][1:])
        self.assertEqual(self.client.add([fact]).added, 1)
        reader = kgraft.connect(self.url, token="r" * 20)
        self.assertIn("n", reader.entities)
        for client, status in ((kgraft.connect(self.url), 401), (kgraft.connect(self.url, token="x" * 20), 401), (reader, 403)):
            with client, self.assertRaises(kgraft.ServerError) as caught:
                client.remove([fact])
            self.assertEqual(caught.exception.status, status)


if __name__ == "__main__":
    unittest.main()
