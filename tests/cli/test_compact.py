"""kgraft compact: the next generation is a function of the last one and the set of live facts, whatever
happens while it is trained, and is there as a whole or not at all."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kgraft import BINARY, TIMEOUT, Case, Result, environment, snapshot, tsv
from test_durable import STRACE, can_trace

SMALL = "--preset paper --dim 4 --batch 100 --epochs 8 --threads 1 --quiet --lr 0.1".split()
GRAFT = "--threads 1 --quiet --propagation-layers 2 --propagation-width 16".split()
# Of a model, what depends on time.
TIMED = ("checkpoint.safetensors", "config.json")


class Compacted(Case):
    """`store` is of a model that was trained on `base`; `rest` are other facts of the same graph."""

    MODEL = SMALL

    def fill(self) -> None:
        self.succeed("generate", "g.tsv", "--facts", "330", "--entities", "80", "--relations", "4")
        facts = self.read("g.tsv").splitlines(keepends=True)
        self.write({"base.tsv": b"".join(facts[:300]), "rest.tsv": b"".join(facts[300:])})
        self.succeed("train", "base.tsv", "model", *self.MODEL)
        self.succeed("store", "model", "store", "--quiet")

    def setUp(self) -> None:
        super().setUp()
        self.base, self.rest = (self.read(name).splitlines(keepends=True) for name in ("base.tsv", "rest.tsv"))

    def change(self, command: str, facts: list[bytes], store: str = "store", *words: str) -> None:
        self.succeed(command, store, "-", "--quiet", *words, stdin=b"".join(facts))

    def compact(self, *words: str, store: str = "store") -> Any:
        return self.succeed("compact", store, "--threads", "1", "--quiet", "--json", *words).json

    def rows(self, query: str, store: str = "store") -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(f"file:{self.folder / store}/graph.db?mode=ro", uri=True)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def generation(self, store: str = "store") -> int:
        (found,) = self.rows("SELECT number FROM generations WHERE state = 'current'", store)
        return int(found[0])

    def model(self, number: int, store: str = "store") -> dict[bytes, bytes | None]:
        """A generation, but for what depends on time."""
        folder = self.folder / store / f"generation-{number}"
        found = snapshot(folder)
        config = json.loads(found[b"config.json"] or b"")
        kept = {name: config.get(name) for name in ("settings", "warm_start", "data", "dataset", "calibration")}
        files = {name: data for name, data in found.items() if name.decode() not in TIMED}
        return {**files, b"config": json.dumps(kept).encode()}

    LONG = ("compact", "store", "--epochs", "1500", "--threads", "1", "--quiet")

    @contextmanager
    def start(self) -> Iterator[subprocess.Popen[bytes]]:
        """A compaction that has begun to train, and then waits; it ends with the block, however that ends."""
        with subprocess.Popen([BINARY, *self.LONG], cwd=self.folder, env=environment(),
                              stderr=subprocess.DEVNULL) as child:
            try:
                while not (self.folder / "store/generation-2.training").exists():
                    self.assertIsNone(child.poll())
                child.send_signal(signal.SIGSTOP)
                self.assertEqual(self.generation(), 1)
                yield child
            finally:
                child.kill()


class Generations(Compacted):
    def test_next(self) -> None:
        self.change("add", [*self.rest, *tsv("new r0 e1", "new r1 newer").splitlines(keepends=True)])
        self.change("remove", self.base[:5])
        found = self.compact()
        self.assertEqual((found["generation"], found["new"]), (2, True))
        self.assertEqual((found["added"], found["removed"], found["facts"]), (32, 5, 327))
        self.assertEqual((found["new_entities"], found["epochs"]), (2, 4))
        self.assertEqual(self.generation(), 2)
        self.assertEqual(self.rows("SELECT count(*) FROM changes"), [(0,)])
        names = sorted(path.name for path in (self.folder / "store").glob("generation*"))
        self.assertEqual(names, ["generation-2"])
        entities = self.read("store/generation-2/entities.tsv").splitlines()
        self.assertEqual(entities[-2:], [b"new", b"newer"])
        self.succeed("check", "store/generation-2")

    def test_nothing_to_do(self) -> None:
        before = snapshot(self.folder / "store")
        self.assertEqual(self.compact()["new"], False)
        after = snapshot(self.folder / "store")
        self.assertEqual([name for name in before if before[name] != after[name]], [b"lock"])

    def test_entities_without_facts(self) -> None:
        """They are gone, and with them the names of what was withdrawn"""
        self.change("add", tsv("secret r0 e1").splitlines(keepends=True))
        self.compact()
        self.change("remove", tsv("secret r0 e1").splitlines(keepends=True))
        self.assertEqual(self.compact()["gone_entities"], 1)
        self.succeed("log", "store", "--forget", "--quiet")
        self.assertFalse(any(b"secret" in (data or b"") for data in snapshot(self.folder / "store").values()))

    def test_relations_without_facts(self) -> None:
        """One that came later is gone with its last fact; those of the first model stay"""
        lines = tsv("e1 secret e2", "e3 secret e1").splitlines(keepends=True)
        self.change("add", [*lines, *tsv("e2 other e3").splitlines(keepends=True)], "store", "--allow-relations")
        self.assertEqual(self.compact()["relations"], 6)
        self.change("remove", [*lines, *(line for line in self.base if b"\tr1\t" in line)])
        self.assertEqual(self.compact()["relations"], 5)
        self.assertEqual(self.read("store/generation-3/relations.tsv"), b"r0\nr1\nr2\nr3\nother\n")
        self.succeed("log", "store", "--forget", "--quiet")
        self.assertFalse(any(b"secret" in (data or b"") for data in snapshot(self.folder / "store").values()))
        self.change("add", tsv("e2 r1 e3").splitlines(keepends=True))

    def test_relations_of_a_generation(self) -> None:
        """A store that is made of another one's generation keeps all relations of that"""
        other = tsv("e2 other e3").splitlines(keepends=True)
        self.change("add", other, "store", "--allow-relations")
        self.compact()
        self.succeed("store", "store/generation-2", "second", "--quiet")
        self.change("remove", other, "second")
        self.assertEqual(self.compact(store="second")["relations"], 5)
        self.change("remove", other)
        self.assertEqual(self.compact()["relations"], 4)

    def test_all_withdrawn(self) -> None:
        self.change("remove", self.base)
        self.assert_refused(self.run_kgraft("compact", "store"), 2,
                            "store: expected live facts to train on, found none")
        self.assertEqual(self.rows("SELECT number, state FROM generations"), [(1, "current")])

    def test_order(self) -> None:
        """The same live facts, however they came to be"""
        shutil.copytree(self.folder / "store", self.folder / "other")
        self.change("add", self.rest)
        self.change("remove", self.base[:9])
        self.change("remove", [*self.base[5:9], *self.rest[3:7]], "other")
        for fact in reversed(self.rest):
            self.change("add", [fact], "other")
        self.change("remove", [self.rest[0], *self.base[:7]], "other")
        self.change("add", [self.rest[0]], "other")
        self.compact("--threads", "3")
        self.compact(store="other")
        self.assertEqual(self.model(2), self.model(2, "other"))

    def test_from_scratch(self) -> None:
        """As train does, where the facts are in the same order"""
        self.change("add", self.rest)
        self.compact("--from-scratch")
        self.assertNotIn("warm_start", json.loads(self.read("store/generation-2/config.json")))
        self.assertEqual(json.loads(self.read("store/generation-2/config.json"))["epochs"], 8)

    def test_restart(self) -> None:
        """An unfinished compaction has the facts of its beginning, unless it is given up"""
        self.change("add", self.rest[:10])
        with self.start() as child:
            child.kill()
        self.change("add", self.rest[10:])
        shutil.copytree(self.folder / "store", self.folder / "other")
        self.assertEqual((self.compact("--epochs", "1500")["added"], self.rows("SELECT count(*) FROM added")), (10, [(20,)]))
        self.assertEqual(self.compact("--restart", store="other")["added"], 30)
        self.assertEqual(self.rows("SELECT count(*) FROM added", "other"), [(0,)])

    def test_forgotten(self) -> None:
        """What is forgotten does not come back with a compaction that knew it"""
        self.change("add", [*self.rest[:10], b"secret\tr0\te1\n"])
        with self.start() as child:
            self.change("remove", [b"secret\tr0\te1\n"])
            self.assert_refused(self.run_kgraft("log", "store", "--forget"), 2,
                                "store: expected that nobody compacts it, found a compaction at work .*")
            child.kill()
        self.assertTrue(self.succeed("log", "store", "--forget", "--json").json["gave_up"])
        self.assertEqual(self.rows("SELECT number FROM generations"), [(1,)])
        self.assertEqual(self.compact()["added"], 10)
        for file in (self.folder / "store").rglob("*"):
            self.assertFalse(file.is_file() and b"secret" in file.read_bytes(), file)

    @unittest.skipUnless(can_trace(), "no strace that may trace, or a sanitizer that would be traced")
    def test_info_meanwhile(self) -> None:
        """What is removed while it is about to be opened is not missed: info shows what took its place"""
        self.change("add", self.rest)
        expected = self.succeed("info", "store", "--json").json["facts"]
        file = self.folder.resolve() / "store/generation-1/config.json"
        log = self.folder / "trace"
        child = subprocess.Popen(
            [str(STRACE), "-f", "-o", log, "-P", file, "-e", "trace=openat",
             "-e", "inject=openat:delay_enter=4000000:when=1", BINARY, "info", "store", "--json"],
            cwd=self.folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not log.exists() or b"generation-1/config.json" not in log.read_bytes():
            self.assertIsNone(child.poll())
        self.compact("--epochs", "1")
        out, problem = child.communicate()
        self.assertEqual((child.returncode, problem), (0, b""))
        found = json.loads(out)
        self.assertEqual((found["generation"], found["added"], found["facts"]), (2, 0, expected))

    def test_refused(self) -> None:
        self.change("add", self.rest)
        self.assert_refused(self.run_kgraft("compact", "store", "--epochs", "30001"), 2,
                            "--epochs: expected at most 30000, found 30001")
        self.succeed("export", "model", "--format", "npy", "--out", "rows")
        self.succeed("adopt", "adopted", "--model", "distmult", "--entities", "rows/entities.npy",
                     "--relations", "rows/relations.npy", "--entity-names", "rows/entities.tsv",
                     "--relation-names", "rows/relations.tsv", "--known", "base.tsv")
        self.succeed("store", "adopted", "adopted-store")
        self.change("add", self.rest, "adopted-store")
        self.assert_refused(self.run_kgraft("compact", "adopted-store"), 2,
                            ".*/adopted-store/generation-1: expected a model that kgraft trained, found .*")
        self.assertEqual(self.rows("SELECT number FROM generations"), [(1,)])


class Graft(Compacted):
    MODEL = [*GRAFT, "--epochs", "4", "--dim", "8"]

    def test_warm_start(self) -> None:
        """Propagation and the calibration are those of the last generation; a new relation is learned"""
        self.change("add", self.rest)
        self.compact()
        config = json.loads(self.read("store/generation-2/config.json"))
        self.assertTrue(config["warm_start"]["propagation"])
        first = json.loads(self.read("model/config.json"))
        self.assertEqual(config["settings"] | {"hold_out": 0}, first["settings"] | {"hold_out": 0})
        self.assertEqual(self.read("store/generation-2/calibration.safetensors"),
                         self.read("model/calibration.safetensors"))
        self.change("add", tsv("e1 likes e2", "e2 likes e3").splitlines(keepends=True), "store", "--allow-relations")
        self.assertEqual(self.compact()["new_relations"], 1)
        config = json.loads(self.read("store/generation-3/config.json"))
        self.assertFalse(config["warm_start"]["propagation"])
        answers = self.succeed("predict", "store/generation-3", "-", "--relation", "likes", "--json",
                               stdin=tsv("x likes e1", "x r0 e2"))
        self.assertTrue(answers.json)


    def test_propagation_alone(self) -> None:
        """Nothing is trained: the same values on another graph"""
        self.succeed("train", "base.tsv", "alone", *GRAFT, "--terms", "propagation",
                     "--propagation-epochs", "1")
        self.succeed("store", "alone", "alone-store", "--quiet")
        self.change("add", self.rest, "alone-store")
        self.assertEqual(self.compact(store="alone-store")["epochs"], 0)
        self.assertEqual(self.read("alone-store/generation-2/model.safetensors"), self.read("alone/model.safetensors"))
        self.assertNotEqual(self.read("alone-store/generation-2/known.bin"), self.read("alone/known.bin"))


class Meanwhile(Compacted):
    def test_others(self) -> None:
        """While one process trains, others add and remove, but do not compact"""
        self.change("add", self.rest[:10])
        with self.start() as child:
            self.change("add", self.rest[10:])
            self.change("remove", [*self.base[:3], self.rest[0]])
            self.assert_refused(self.run_kgraft("compact", "store"), 2,
                                "store: expected a store that nobody compacts, found that it is being compacted")
            child.send_signal(signal.SIGCONT)
            self.assertEqual(child.wait(TIMEOUT), 0)
        self.assertEqual(self.generation(), 2)
        self.assertEqual(self.rows("SELECT count(*) FROM added"), [(20,)])
        self.assertEqual(self.rows("SELECT count(*) FROM withdrawn"), [(4,)])

    def test_stopped(self) -> None:
        """By a user: the same command goes on"""
        self.change("add", self.rest)
        with self.start() as child:
            child.send_signal(signal.SIGINT)
            child.send_signal(signal.SIGCONT)
            self.assertEqual(child.wait(TIMEOUT), -signal.SIGINT)
        self.assertEqual(self.generation(), 1)
        self.succeed(*self.LONG)
        self.assertEqual(self.generation(), 2)


@unittest.skipUnless(can_trace(), "no strace that may trace, or a sanitizer that would be traced")
class Killed(Compacted):
    """At system calls that change something on disk."""

    CHANGING = "mkdir,write,pwrite64,fsync,fdatasync,linkat,rename,renameat2,unlink,unlinkat,rmdir,ftruncate"
    WORDS = ("compact", "out", "--epochs", "3", "--threads", "1", "--quiet")

    def setUp(self) -> None:
        super().setUp()
        self.change("add", self.rest)
        self.change("remove", self.base[:4])
        shutil.copytree(self.folder / "store", self.folder / "out")
        self.calls = self.list_calls()
        self.done = self.model(2, "out")

    def trace(self, *options: str) -> Result:
        wrapper = [STRACE, "-f", "-o", str(self.folder / "trace"), "-e", f"trace={self.CHANGING}", *options]
        return self.run_kgraft(*self.WORDS, wrapper=wrapper, env=environment(OMP_NUM_THREADS="1"))

    def list_calls(self) -> list[tuple[str, int]]:
        self.assertEqual(self.trace().status, 0)
        counts: dict[str, int] = {}
        found = []
        for name in re.findall(r"(?m)^\d+ +(\w+)\(", (self.folder / "trace").read_text()):
            counts[name] = counts.get(name, 0) + 1
            found.append((name, counts[name]))
        self.assertGreater(len(found), 60)
        return found

    def restore(self) -> None:
        shutil.rmtree(self.folder / "out")
        shutil.copytree(self.folder / "store", self.folder / "out")

    def test_killed(self) -> None:
        """It is done or not, facts can be added, and another one ends in the same bytes"""
        first = self.model(1)
        seen = set()
        for name, count in self.calls[::4]:
            self.restore()
            where = f"killed at {name} {count}"
            result = self.trace("-e", f"inject={name}:signal=KILL:when={count}")
            self.assertEqual(result.status, -signal.SIGKILL, (where, result))
            generation = self.generation("out")
            self.assertEqual(self.model(generation, "out"), self.done if generation == 2 else first, where)
            seen.add(generation)
            self.succeed(*self.WORDS)
            self.assertEqual(self.model(2, "out"), self.done, where)
            self.assertEqual(sorted(path.name for path in (self.folder / "out").glob("gen*")), ["generation-2"])
        self.assertEqual(seen, {1, 2})

    def test_failing(self) -> None:
        """A full disk at any time: what was there is there, and it can be repeated"""
        first = self.model(1)
        for name, count in self.calls[::9]:
            if name in ("unlink", "unlinkat", "rmdir", "ftruncate"):
                continue
            self.restore()
            where = f"no space at {name} {count}"
            result = self.trace("-e", f"inject={name}:error=ENOSPC:when={count}")
            generation = self.generation("out")
            self.assertTrue(generation == 2 or result.status == 1, (where, result))
            self.assertEqual(self.model(generation, "out"), self.done if generation == 2 else first, where)
            self.succeed(*self.WORDS)
            self.assertEqual(self.model(2, "out"), self.done, where)


if __name__ == "__main__":
    unittest.main()
