"""kgraft store, add, remove and log, and what is asked of a store: what a store holds is what a set in memory holds, whoever writes to
it, in whichever format, and whatever ends the program."""

from __future__ import annotations

import fcntl
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any, Iterator

import unittest

from kgraft import BINARY, Case, Result, needs_small_disk, on_small_disk, snapshot, tsv
from test_durable import STRACE, can_trace

SMALL = "--preset paper --dim 4 --epochs 1 --threads 1 --quiet".split()
BASE = ("a r b", "b r c", "c s a", "a s c")

Facts = set[tuple[str, ...]]


class Stored(Case):
    """A store over few facts lies in `store`."""

    def fill(self) -> None:
        self.write({"base.tsv": tsv(*BASE)})
        self.succeed("train", "base.tsv", "model", *SMALL)
        self.succeed("store", "model", "store", "--quiet")

    def change(self, command: str, *facts: str, words: tuple[str, ...] = ()) -> Any:
        result = self.succeed(command, "store", "-", "--json", "--quiet", *words, stdin=tsv(*facts))
        return {name: count for name, count in result.json.items() if count != 0}

    def rows(self, query: str, store: str = "store") -> list[tuple[Any, ...]]:
        """As a user of the file gets them."""
        connection = sqlite3.connect(f"file:{self.folder / store}/graph.db?mode=ro", uri=True)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def live(self, store: str = "store") -> Facts:
        base = {tuple(fact.split()) for fact in BASE}
        added = set(self.rows("SELECT * FROM added", store))
        withdrawn = set(self.rows("SELECT * FROM withdrawn", store))
        self.assertFalse(added & base)
        self.assertLessEqual(withdrawn, base)
        return base - withdrawn | added

    def log(self, *words: str) -> list[Any]:
        found = self.succeed("log", "store", "--json", *words).json
        self.assertEqual(found["store"], "store")
        entries: list[Any] = found["entries"]
        return entries


class Changes(Stored):
    def test_add_and_remove(self) -> None:
        self.assertEqual(self.change("add", "n r a", "a r b", "n r a"), {"added": 1, "present": 2, "last": 1})
        self.assertEqual(self.change("remove", "a r b", "x r y"), {"removed": 1, "absent": 1, "last": 2})
        self.assertEqual(self.live(), {("n", "r", "a"), ("b", "r", "c"), ("c", "s", "a"), ("a", "s", "c")})
        self.change("add", "a r b")
        self.change("remove", "n r a")
        self.assertEqual(self.live(), {tuple(fact.split()) for fact in BASE})
        self.assertEqual(self.rows("SELECT count(*) FROM changes"), [(0,)])

    def test_log(self) -> None:
        self.change("add", "n r a", "m r a", words=("--source", "s", "--offset", "7"))
        self.change("remove", "n r a")
        first, second, third = self.log()
        self.assertRegex(first.pop("time"), r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(first, {"number": 1, "operation": "add", "head": "n", "relation": "r", "tail": "a",
                                 "source": "s", "offset": 7})
        self.assertEqual((second["head"], third["operation"], "source" in third), ("m", "remove", False))
        self.assertEqual([entry["number"] for entry in self.log("--since", "1")], [2, 3])
        self.assertEqual([entry["number"] for entry in self.log("--source", "s")], [1, 2])
        lines = self.succeed("log", "store", "--since", "1").stdout.decode().splitlines()
        self.assertEqual([line.split("\t")[2:] for line in lines],
                         [["A", "m", "r", "a", "s", "7"], ["D", "n", "r", "a"]])

    def test_log_since_a_time(self) -> None:
        self.change("add", "n r a")
        time.sleep(0.002)
        self.change("add", "m r a")
        first, second = (entry["time"] for entry in self.log())
        for since in second, second.removesuffix("Z"):
            self.assertEqual([entry["number"] for entry in self.log("--since", since)], [2])
            self.assertEqual(len(self.succeed("log", "store", "--since", since).stdout.splitlines()), 1)
        for since in first, first[:19], first[:16] + "Z", first[:10], "1970-01-01", "2024-02-29", "1":
            self.assertEqual(len(self.log("--since", since)), 1 if since == "1" else 2, since)
        self.assertEqual(self.log("--since", "2999-12-31T23:59"), [])
        for since in "yesterday", "2026-02-30", "2026-1-1", "2026-01-01T24:00", "2026-01-01T12", "2026-01-01 12:00", "+026-01-01", "Z":
            self.refuse("log", "store", "--since", since, pattern="--since: expected the number of an entry or a time such as 2026-01-31 or "
                        f"2026-01-31T12:00:00Z, found '{re.escape(since)}'")

    def test_log_of_a_long_name(self) -> None:
        name = "\u00e9" * 5000
        self.change("add", f"{name} r \x1b[1m")
        line = self.succeed("log", "store").stdout.decode()
        self.assertEqual(line.split("\t")[3:], [name, "r", "\\x1b[1m\n"])

    def test_forget(self) -> None:
        self.change("add", "secret r a", "kept r a")
        self.change("remove", "secret r a")
        self.assertTrue(any(b"secret" in (data or b"") for data in snapshot(self.folder / "store").values()))
        self.assertEqual(self.succeed("log", "store", "--forget", "--json").json,
                         {"forgotten": 2, "in_base": 0, "gave_up": False})
        self.assertFalse(any(b"secret" in (data or b"") for data in snapshot(self.folder / "store").values()))
        self.assertEqual([entry["head"] for entry in self.log()], ["kept"])
        self.change("remove", "a r b")
        self.assertIn("1 withdrawn fact that the model was trained on: in its files until kgraft compact",
                      self.succeed("log", "store", "--forget").stderr.decode())
        self.refuse("log", "store", "--forget", "--since", "1",
                    pattern="expected --forget without --since and --source: it is about all withdrawn facts")

    def test_replay(self) -> None:
        words = ("--source", "s", "--offset")
        self.assertEqual(self.change("add", "n r a", words=(*words, "5")), {"added": 1, "last": 1})
        self.change("remove", "n r a")
        for offset in "5", "0", "4":
            self.assertEqual(self.change("add", "n r a", words=(*words, offset)), {"skipped": 1, "last": 2})
        self.assertEqual(self.change("add", "n r a", words=(*words, "6")), {"added": 1, "last": 3})
        self.refuse("add", "store", "base.tsv", "--source", "s",
                    pattern="expected --source and --offset together, found one without the other")

    def test_bad_lines(self) -> None:
        facts = b"n\tr\ta\nn r a\nm\tx\ta\nl\tr\ta\n"
        before = snapshot(self.folder / "store")
        result = self.run_kgraft("add", "store", "-", stdin=facts)
        self.assert_refused(result, 2, r"standard input:2: expected head, relation and tail .*")
        self.assertEqual(self.rows("SELECT count(*) FROM log"), [(0,)])
        self.assertEqual({k: v for k, v in snapshot(self.folder / "store").items() if k != b"lock"},
                         {k: v for k, v in before.items() if k != b"lock"})
        result = self.succeed("add", "store", "-", "--on-error", "skip", "--json", stdin=facts)
        self.assertEqual((result.json["added"], result.json["bad_lines"]), (2, 2))
        self.assertRegex(result.messages[0], "^kgraft: standard input:2: expected head")
        self.assertRegex(result.messages[1], r"^kgraft: standard input:3: expected a relation that the model "
                         r"knows, found 'x', did you mean 'r' or 's'\? \(--allow-relations takes new ones\)$")
        self.assertEqual(self.change("add", "m x a", words=("--allow-relations",))["added"], 1)

    def test_patch(self) -> None:
        patch = (b"H id <u:1> .\nTX .\nA <a> <r> <n> .\nTC .\nTX .\nD <a> <r> <n> .\nTA .\n"
                 b"D <a> <r> <b> .\n").replace(b"<a>", b"<u:a>").replace(b"<n>", b"<u:n>")
        facts = b"<u:a> <u:r> <u:b> .\n"
        self.write({"base.nt": facts, "p.rdfp": patch.replace(b"<r>", b"<u:r>").replace(b"<b>", b"<u:b>")})
        self.succeed("train", "base.nt", "rdf", *SMALL)
        self.succeed("store", "rdf", "rdf-store")
        found = self.succeed("add", "rdf-store", "p.rdfp", "--json").json
        self.assertEqual((found["added"], found["removed"]), (1, 1))
        self.assertEqual(self.rows("SELECT * FROM added", "rdf-store"), [("u:a", "u:r", "u:n")])
        self.assertEqual(self.rows("SELECT * FROM withdrawn", "rdf-store"), [("u:a", "u:r", "u:b")])

    def test_linked_model(self) -> None:
        """Of a model of symbolic links the files are taken"""
        linked = self.folder / "linked"
        linked.mkdir()
        (self.folder / "model").rename(self.folder / "cache")
        for file in (self.folder / "cache").iterdir():
            (linked / file.name).symlink_to(Path("..") / "cache" / file.name)
        self.succeed("store", "linked", "other", "--quiet")
        shutil.rmtree(linked)
        shutil.rmtree(self.folder / "cache")
        for file in (self.folder / "other" / "generation-1").iterdir():
            self.assertFalse(file.is_symlink(), file)
        self.succeed("add", "other", "-", "--quiet", stdin=tsv("n r a"))
        self.assertEqual(self.succeed("info", "other", "--json").json["facts"], len(BASE) + 1)

    def test_refused(self) -> None:
        self.refuse("store", "model", "store", pattern="store: expected a new name, found a store")
        self.refuse("store", "base.tsv", "other", pattern="base.tsv.*")
        self.refuse("add", "model", "base.tsv",
                    pattern=r"model: expected a store \(a folder with graph.db\), found a model "
                            r"\(kgraft store MODEL STORE makes a store of it\)")
        self.refuse("log", "nothing", pattern=r"nothing: expected a store .*")


class Asked(Stored):
    """A store is asked as a model is."""

    def fill(self) -> None:
        super().fill()
        self.change("add", "n r a", "m r n", "b s m")
        self.change("remove", "a r b")

    def answers(self, entity: str, side: str) -> list[str]:
        words = ("--entity", entity, "--relation", "r", "--side", side, "--json")
        (found,) = self.succeed("predict", "store", *words).json["entities"]
        return [answer["entity"] for answer in found["answers"]]

    def test_predict(self) -> None:
        self.assertEqual(set(self.answers("n", "tail")), {"b", "c", "m"})
        self.assertEqual(set(self.answers("a", "head")), {"b", "c", "m"})
        self.assertIn("b", self.answers("a", "tail"))  # withdrawn
        words = ("--relation", "r", "--side", "head", "--json")
        (found,) = self.succeed("predict", "store", "-", *words, stdin=tsv("q r m")).json["entities"]
        self.assertIn("n", [answer["entity"] for answer in found["answers"]])
        self.refuse("predict", "store", "--entity", "nobody", "--relation", "r",
                    pattern="--entity: expected an entity that the model knows, found 'nobody'.*")

    def test_explain(self) -> None:
        words = ("--entity", "n", "--relation", "r", "--answer", "m")
        found = self.succeed("explain", "store", *words, "--json").json
        self.assertEqual({(s["head"], s["relation"], s["tail"]) for s in found["shares"]},
                         {("n", "r", "a"), ("m", "r", "n")})
        self.assertAlmostEqual(sum(s["part"] for s in found["shares"]), found["score"], 5)
        self.assertIn("by its 2 facts, as if it were new",
                      self.succeed("explain", "store", *words).stdout.decode())

    def test_fact_with_itself(self) -> None:
        self.change("add", "solo r solo")
        words = ("--entity", "solo", "--relation", "r")
        self.assertIn("solo, 1 fact", self.succeed("predict", "store", *words).stdout.decode())
        (found,) = self.succeed("neighbors", "store", "--entity", "solo", "--json").json["entities"]
        self.assertEqual(found["facts"], 1)
        self.assertIn("by its 1 fact, as if", self.succeed("explain", "store", *words, "--answer", "a").stdout.decode())

    def test_new_name(self) -> None:
        """The same facts under a new name have the same answers; the old one is unknown"""
        def ask(name: str) -> bytes:
            return self.succeed("predict", "store", "--entity", name, "--relation", "r", "--json").stdout

        self.change("add", "old r a", "b s old")
        before = ask("old")
        self.change("remove", "old r a", "b s old")
        self.change("add", "renamed r a", "b s renamed")
        self.assertEqual(ask("renamed").replace(b'"renamed"', b'"old"'), before)
        self.refuse("predict", "store", "--entity", "old", "--relation", "r", pattern="--entity: expected an entity .*")

    def test_new_relation(self) -> None:
        """Its facts are kept for the next generation, and until then nothing is said of them"""
        self.change("add", "fresh new a", words=("--allow-relations",))
        self.assertNotIn("fresh", self.answers("a", "head"))
        self.refuse("predict", "store", "--entity", "fresh", "--relation", "r",
                    pattern="--entity: expected an entity that the model knows, found 'fresh', all of whose facts are "
                    "of relations that the model will know after kgraft compact")
        self.assertEqual(self.succeed("info", "store", "--json").json["facts"], 7)

    def test_vectors(self) -> None:
        """The vector that embed writes is the row that export writes, and its own nearest direction"""
        line = self.succeed("embed", "store", "--entity", "n").stdout
        self.succeed("export", "store", "--format", "tsv", "--out", "out", "--quiet")
        rows = (self.folder / "out/entities.tsv").read_bytes().splitlines(keepends=True)
        self.assertEqual([row.split(b"\t")[0] for row in rows], [b"a", b"b", b"c", b"m", b"n"])
        self.assertEqual(rows[4], line)
        self.succeed("export", "model", "--format", "tsv", "--out", "of-model", "--quiet")
        self.assertEqual(b"".join(rows[:3]), (self.folder / "of-model/entities.tsv").read_bytes())
        self.succeed("export", "store", "--format", "npy", "--out", "npy", "--quiet")
        self.assertIn(b"(5, 4)", (self.folder / "npy/entities.npy").read_bytes())
        (found,) = self.succeed("neighbors", "store", "--entity", "n", "--json").json["entities"]
        self.assertEqual({other["entity"] for other in found["neighbors"]}, {"a", "b", "c", "m"})

    def test_info(self) -> None:
        self.change("add", "l r a", words=("--source", "s", "--offset", "9"))
        found = self.succeed("info", "store", "--json").json
        self.assertEqual(found.pop("model"), self.succeed("info", "model", "--json").json)
        self.assertEqual(found, {"generation": 1, "added": 4, "withdrawn": 1, "last": 5, "facts": 7, "entities": 6,
                                 "later_entities": 3, "sources": [{"name": "s", "offset": 9}]})
        shown = self.succeed("info", "store").stdout.decode()
        self.assertRegex(shown, r"store\n  generation +1\n  added +4\n  withdrawn +1\n  last +5\n"
                         r"  facts +7\n  entities +6\n  later_entities +3\n"
                         r"last offsets of sources\n  s +9\nmodel\n")

    def test_order_does_not_matter(self) -> None:
        """The same facts, the same bytes; and those of the model where nothing has changed"""
        def ask(folder: str) -> list[bytes]:
            commands = ("predict", folder, "--entity", "a", "--relation", "r"), ("neighbors", folder, "--entity", "c")
            return [self.succeed(*words).stdout for words in commands]

        before = ask("store")
        self.succeed("store", "model", "other", "--quiet")
        for command, facts in ("remove", "a r b"), ("add", "x r a"), ("add", "b s m"), ("remove", "x r a"), \
                ("add", "n r a"), ("add", "m r n"):
            self.succeed(command, "other", "-", "--quiet", stdin=tsv(facts))
        self.assertEqual(ask("other"), before)
        self.change("remove", "n r a", "m r n", "b s m")
        self.change("add", "a r b")
        self.change("add", "a x b", words=("--allow-relations",))
        self.assertEqual(ask("store"), ask("model"))


class Full(Stored):
    @needs_small_disk
    def test_full_disk(self) -> None:
        """A store on a full disk takes nothing, and can be read; with more space it goes on"""
        (self.folder / "disk").mkdir()
        many = "".join(f"{i:0500}\tr\ta\n" for i in range(4000)).encode()
        self.write({"many.tsv": many})
        script = (
            'mount -t tmpfs -o size="$1" tmpfs disk || exit 99; shift; cp -r store disk/store; '
            '"$@"; status=$?; rm -rf store; cp -r disk/store store; exit $status'
        )
        result = self.run_kgraft("add", "disk/store", "many.tsv", wrapper=on_small_disk(script, "1m"))
        self.assert_refused(result, 1, r"disk/store/graph\.db: the disk is full")
        self.assertEqual(self.log(), [])
        self.assertEqual(self.succeed("add", "store", "many.tsv", "--json").json["added"], 4000)


class ReadOnly(Stored):
    @needs_small_disk
    def test_read_only_disk(self) -> None:
        """A store that was copied to a read-only disk, without SQLite's files beside graph.db, is read"""
        self.change("add", "n r a")
        self.succeed("log", "store")
        (self.folder / "disk").mkdir()
        script = (
            'mount -t tmpfs -o size="$1" tmpfs disk || exit 99; shift; cp -r store "disk/a store?%25"; '
            'rm -f disk/*/graph.db-*; mount -o remount,ro disk || exit 98; "$@"'
        )
        words = ("log", "disk/a store?%25", "--json")
        result = self.run_kgraft(*words, wrapper=on_small_disk(script, "4m"))
        self.assertEqual(result.status, 0, result)
        self.assertEqual([entry["head"] for entry in result.json["entries"]], ["n"])


@unittest.skipUnless(can_trace(), "no strace that may trace, or a sanitizer that would be traced")
class Killed(Stored):
    """At every system call that changes a file, of a command that makes a store and of one that adds."""

    CHANGING = "mkdir,link,rename,unlink,write,pwrite64,fsync,fdatasync,ftruncate"

    def trace(self, *words: str, options: tuple[str, ...] = (), stdin: bytes = b"") -> Result:
        log = self.folder / "trace"
        wrapper = [STRACE, "-f", "-o", str(log), "-e", f"trace={self.CHANGING}", *options]
        return self.run_kgraft(*words, wrapper=wrapper, stdin=stdin)

    def each_kill(self, *words: str, stdin: bytes = b"") -> Iterator[str]:
        self.assertEqual(self.trace(*words, stdin=stdin).status, 0)
        counts: dict[str, int] = {}
        calls = re.findall(r"(?m)^\d+ +(\w+)\(", (self.folder / "trace").read_text())
        self.assertGreater(len(calls), 15)
        for name in calls:
            counts[name] = counts.get(name, 0) + 1
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            if words[0] == "add":
                shutil.copytree(self.folder / "store", self.folder / "out")
            inject = ("-e", f"inject={name}:signal=KILL:when={counts[name]}")
            result = self.trace(*words, options=inject, stdin=stdin)
            self.assertEqual(result.status, -signal.SIGKILL, (name, result))
            yield f"killed at {name} {counts[name]}"

    def test_add(self) -> None:
        facts = tsv("n r a", "m r a", "n s b")
        shutil.copytree(self.folder / "store", self.folder / "out")
        words = ("add", "out", "-", "--quiet", "--source", "s", "--offset", "1")
        before = self.live()
        after = before | {("n", "r", "a"), ("m", "r", "a"), ("n", "s", "b")}
        seen = set()
        for where in self.each_kill(*words, stdin=facts):
            result = self.succeed("log", "out", "--json").json["entries"]
            self.assertIn(len(result), (0, 3), where)
            self.assertEqual(self.live("out"), after if result else before, where)
            again = self.succeed(*words, "--json", stdin=facts).json
            self.assertEqual(again["skipped" if result else "added"], 3, where)
            self.assertEqual(self.live("out"), after, where)
            seen.add(len(result))
        self.assertEqual(seen, {0, 3})

    def test_store(self) -> None:
        """Either it is there, or it can be made"""
        seen = set()
        for where in self.each_kill("store", "model", "out", "--quiet"):
            is_made = (self.folder / "out/graph.db").exists()
            seen.add(is_made)
            if not is_made:
                self.succeed("store", "model", "out", "--quiet")
            self.succeed("add", "out", "-", "--quiet", stdin=tsv("n r a"))
            self.assertEqual(len(self.live("out")), len(BASE) + 1, where)
        self.assertEqual(seen, {False, True})


class Together(Stored):
    def test_slow_pipe(self) -> None:
        """Who waits for its input does not keep others from writing"""
        with subprocess.Popen([BINARY, "add", "store", "-", "--quiet"], cwd=self.folder, stdin=subprocess.PIPE) as slow:
            assert slow.stdin is not None
            slow.stdin.write(tsv("slow r a"))
            slow.stdin.flush()
            while not (self.folder / "store/lock").read_bytes().startswith(f"process {slow.pid} ".encode()):
                self.assertIsNone(slow.poll())
            self.change("add", "quick r a")
            slow.stdin.close()
            self.assertEqual(slow.wait(), 0)
        self.assertEqual([entry["head"] for entry in self.log()], ["quick", "slow"])

    def test_second_writer(self) -> None:
        with open(self.folder / "store/lock", "r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.truncate(0)
            lock.write("process 7 (other)\n")
            lock.flush()
            self.assert_refused(self.run_kgraft("add", "store", "base.tsv"), 2,
                                r"store: another process is writing it: 'process 7 \(other\)'")
            self.assertEqual(self.log(), [])
        self.change("add", "n r a")
        self.assertEqual(len(self.log()), 1)
