"""kgraft tune: every run is what kgraft train makes of the same options, the best is the best by
validation, and whatever stops it, the same command goes on without repeating what is finished.
"""

from __future__ import annotations

import csv
import itertools
import random
import re
import shutil
import signal
import subprocess
import time
import unittest
from typing import Any

from kgraft import BINARY, Result, cases, environment, snapshot
from test_train import QUICK, SMALL_PROPAGATION, Trained, Wrong

Times = dict[str, int]
"""When files were written, by their paths."""


class Tuned(Trained):
    def tune(self, *words: str, out: str = "out") -> Result:
        return self.succeed("tune", "data", out, *QUICK, *words)

    def results(self, out: str = "out") -> list[dict[str, str]]:
        with open(self.folder / out / "results.tsv", newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    def folders(self, out: str = "out") -> set[str]:
        return {path.name for path in (self.folder / out).iterdir() if path.is_dir()}

    def times(self, out: str = "out") -> Times:
        """Of all files of the runs."""
        files = (self.folder / out).glob("*/*")
        return {f"{path.parent.name}/{path.name}": path.stat().st_mtime_ns for path in files}

    def without_seconds(self, out: str) -> list[dict[str, str]]:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in self.results(out)]

    def best_validation(self, model: str) -> Any:
        """The best validated epoch of a model's history, the earliest of equals."""
        history = self.succeed("info", model, "--json").json["history"]
        return max((e for e in history if "valid" in e), key=lambda e: e["valid"]["mrr"])


class Grids(Tuned):
    LISTS = {"lr": ["0.1", "0.01"], "l2": ["0.1", "0.01", "0"], "model": ["simple", "distmult"]}
    WORDS = ["--l2", "0.1,0.01,0", "--model=simple,distmult", "--lr", "1e-1,1e-2", "--psi", "0.4"]

    def test_combinations(self) -> None:
        """Every combination is there, and is what kgraft train makes of it"""
        self.tune(*self.WORDS)
        combinations = list(itertools.product(*self.LISTS.values()))
        names = {f"model={m},lr={lr},l2={l2}" for lr, l2, m in combinations}
        self.assertEqual(len(names), 12)
        self.assertEqual(self.folders(), names)
        self.assertEqual({row["run"] for row in self.results()}, names)
        for name in names:
            words = [f"--{word}" for word in name.split(",")]
            self.train("alone", "--psi", "0.4", *words, "--force")
            self.assertEqual(self.embeddings(f"out/{name}"), self.embeddings("alone"), name)

    def test_results(self) -> None:
        """Results are those of the best epochs, sorted, and eval finds the same"""
        self.tune(*self.WORDS)
        rows = self.results()
        self.assertEqual(
            list(rows[0]),
            ["run", "model", "lr", "l2", "best_epoch", "mrr", "hit@1", "hit@3", "hit@10",
             "seconds", "failure"],
        )
        for row in rows:
            self.assertEqual(row["run"], f"model={row['model']},lr={row['lr']},l2={row['l2']}")
            best = self.best_validation(f"out/{row['run']}")
            self.assertEqual(int(row["best_epoch"]), best["epoch"])
            self.assertAlmostEqual(float(row["mrr"]), best["valid"]["mrr"], places=6)
            for k in ("1", "3", "10"):
                self.assertAlmostEqual(float(row[f"hit@{k}"]), best["valid"]["hits"][k], places=6)
            self.assertEqual(row["failure"], "")
        measured = [float(row["mrr"]) for row in rows]
        self.assertEqual(measured, sorted(measured, reverse=True))
        self.assertGreater(measured[0], measured[-1])
        best_model = f"out/{rows[0]['run']}"
        found = self.succeed("eval", best_model, "data", "--split", "valid", "--json").json
        self.assertAlmostEqual(found["mrr"], measured[0], places=6)

    def test_table(self) -> None:
        """The table has the same order and marks the best"""
        result = self.tune(*self.WORDS)
        head, *lines = result.stdout.decode().splitlines()
        self.assertEqual(head.split(), ["model", "lr", "l2", "epoch", "MRR", "Hit@1", "Hit@3",
                                        "Hit@10", "seconds"])
        rows = self.results()
        self.assertEqual(len(lines), len(rows))
        for i, (line, row) in enumerate(zip(lines, rows)):
            self.assertEqual(line[0], " " if i else "*")
            expected = [row["model"], row["lr"], row["l2"], row["best_epoch"],
                        f"{float(row['mrr']):.4f}"]
            self.assertEqual(line[1:].split()[:5], expected)
        self.assertEqual(result.messages[-1], f"out/{rows[0]['run']}: the best of 12 runs: "
                                              f"validation MRR {float(rows[0]['mrr']):.4f}")

    def test_json(self) -> None:
        told = self.tune("--lr", "0.1,0.01,1e30", "--negatives", "1,2", "--json", "--quiet").json
        rows = self.results()
        self.assertEqual(told["best"], rows[0]["run"])
        self.assertEqual([run["run"] for run in told["runs"]], [row["run"] for row in rows])
        for run, row in zip(told["runs"], rows):
            self.assertEqual(run["model"], f"out/{row['run']}")
            self.assertEqual(run["options"], {"lr": float(row["lr"]),
                                              "negatives": int(row["negatives"])})
            if run["options"]["lr"] > 1:
                self.assertIn("no longer a number", run["failure"])
                continue
            best = self.best_validation(run["model"])
            self.assertEqual((run["best_epoch"], run["epochs"]), (best["epoch"], 6))
            self.assertAlmostEqual(run["valid"]["mrr"], best["valid"]["mrr"], places=12)
            self.assertGreaterEqual(run["seconds"], 0)

    def test_one_run(self) -> None:
        """Without lists it is a single run"""
        self.tune("--lr", "0.05")
        self.train("alone", "--lr", "0.05")
        self.assertEqual(self.folders(), {"run"})
        self.assertEqual(self.embeddings("out/run"), self.embeddings("alone"))

    def test_progress(self) -> None:
        """It tells of each run where it stands in the plan"""
        messages = self.tune("--lr", "0.1,0.2,0.3").messages
        for i, lr in enumerate(("0.1", "0.2", "0.3")):
            self.assertRegex(messages[i], rf"\Arun {i + 1} of 3, lr={lr}: epoch \d of 6 is the best")
        self.assertEqual(self.tune("--lr", "0.1,0.2,0.3", "--quiet").stderr, b"")

    def test_in_sample_validation(self) -> None:
        facts = self.read("g.tsv").splitlines(keepends=True)
        self.write({"in/train.tsv": b"".join(facts[:550]), "in/valid.tsv": b"".join(facts[550:])})
        told = self.succeed("tune", "in", "out", *QUICK, "--lr", "0.1,0.2", "--json").json
        self.assertEqual({run["valid"]["queries"] for run in told["runs"]}, {100})


class GoingOn(Tuned):
    def test_again(self) -> None:
        """The same command again trains nothing and tells the same"""
        words = ("--lr", "0.1,0.01", "--l2", "0.1,0")
        first = self.tune(*words)
        times, files = self.times(), snapshot(self.folder)
        again = self.tune(*words)
        self.assertEqual(self.times(), times)
        self.assertEqual(snapshot(self.folder), files)
        self.assertEqual(again.stdout, first.stdout)
        self.assertEqual(sum("done before" in line for line in again.messages), 4)

    def test_other_ways_to_write_it(self) -> None:
        self.tune("--lr", "0.1,0.01")
        times = self.times()
        self.succeed("tune", "--lr=1e-1,0.010", "data", "out/", *QUICK)
        self.assertEqual(self.times(), times)

    def test_wider_grid(self) -> None:
        """Another grid adds its runs"""
        self.tune("--lr", "0.1,0.01")
        before = self.times()
        self.tune("--lr", "0.2,0.1,0.01")
        self.assertEqual({k: v for k, v in self.times().items() if "lr=0.2" not in k}, before)
        self.assertEqual(self.folders(), {"lr=0.2", "lr=0.1", "lr=0.01"})
        self.assertEqual(len(self.results()), 3)
        self.tune("--lr", "0.1,0.01", "--dim", "4,8")
        self.assertEqual(len(self.folders()), 7)
        self.assertEqual(len(self.results()), 4)

    def test_more_epochs(self) -> None:
        """Runs go on from where they ended, to the same bytes"""
        self.tune("--lr", "0.1,0.01", "--epochs", "3")
        self.tune("--lr", "0.1,0.01")
        self.tune("--lr", "0.1,0.01", out="fresh")
        for name in ("lr=0.1", "lr=0.01"):
            self.assertEqual(self.embeddings(f"out/{name}"), self.embeddings(f"fresh/{name}"))
        self.assertEqual(self.without_seconds("out"), self.without_seconds("fresh"))

    def test_runs_that_stop_early(self) -> None:
        """A run that patience ended is finished"""
        words = ("--lr", "0.5,1", "--epochs", "60", "--patience", "2")
        told = self.tune(*words, "--json").json
        self.assertLess(min(run["epochs"] for run in told["runs"]), 60)
        times = self.times()
        self.tune(*words)
        self.assertEqual(self.times(), times)

    def test_without_checkpoints(self) -> None:
        """Who needs the room may remove the checkpoints of finished runs"""
        self.tune("--lr", "0.1,0.01")
        for path in self.folder.glob("out/*/checkpoint.safetensors"):
            path.unlink()
        times = self.times()
        self.tune("--lr", "0.1,0.01")
        self.assertEqual(self.times(), times)

    def test_runs_of_train(self) -> None:
        """A model that kgraft train made is as good as one of our own"""
        (self.folder / "out").mkdir()
        self.train("out/lr=0.1", "--lr", "0.1")
        times = self.times()
        self.tune("--lr", "0.1,0.2")
        self.assertEqual({k: v for k, v in self.times().items() if "lr=0.1" in k}, times)


class AtOnce(Tuned):
    """Runs that are trained at once come to what each comes to alone."""
    WORDS = ("--lr", "0.1,0.2,1e30", "--l2", "0.1,0", "--aggregate", "eravg,ls")

    def test_same_bytes(self) -> None:
        """For any number of runs and threads, with runs that fail among them"""
        self.tune(*self.WORDS, "--threads", "1", "--at-once", "1", out="whole")
        names = {path.parent.name for path in self.folder.glob("whole/*/model.safetensors")}
        self.assertEqual(len(names), 8)
        for threads, at_once in (("1", "3"), ("3", "3"), ("4", "2"), ("5", "0")):
            self.tune(*self.WORDS, "--threads", threads, "--at-once", at_once, out="out")
            self.assertEqual(self.without_seconds("out"), self.without_seconds("whole"))
            for name in names:
                self.assertEqual(self.embeddings(f"out/{name}"), self.embeddings(f"whole/{name}"))
            shutil.rmtree(self.folder / "out")

    def test_all_terms(self) -> None:
        """Also with the terms of the preset graft, each with what it counts and its own run"""
        words = ("--epochs", "2", "--dim", "8", "--validate-every", "1", *SMALL_PROPAGATION,
                 "--dropout", "0,0.5", "--seed", "0,1")
        self.succeed("tune", "data", "out", *words, "--threads", "2")
        for dropout, seed in itertools.product("0 0.5".split(), "0 1".split()):
            self.succeed("train", "data", "alone", *words[:-4],
                         "--dropout", dropout, "--seed", seed, "--force")
            name = f"dropout={dropout},seed={seed}"
            self.assertEqual(self.embeddings(f"out/{name}"), self.embeddings("alone"), name)

    def test_messages(self) -> None:
        """Each run is told of once, as it ends; memory is not known of one among others"""
        messages = self.tune(*self.WORDS, "--threads", "2").messages
        told = sorted(int(line.split()[1]) for line in messages if re.match(r"run \d+ of 12, ", line))
        self.assertEqual(told, list(range(1, 13)))
        machine = self.succeed("info", "out/aggregate=ls,lr=0.1,l2=0", "--json").json["machine"]
        self.assertNotIn("memory", machine)
        self.assertIn("needs", machine)

    def test_interrupt(self) -> None:
        """Ctrl-C stops all of them, each with a checkpoint, and the same command comes to the same"""
        words = "--dim 24 --epochs 80 --validate-every 20 --batch 20 --lr 0.1,0.2,0.05".split()
        self.tune(*words, out="whole")
        command = [BINARY, "tune", "data", "out", *QUICK, *words, "--threads", "2"]
        with subprocess.Popen(command, cwd=self.folder, env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            while child.poll() is None and len(list(self.folder.glob("out/*.training/check*"))) < 2:
                time.sleep(0.001)
            child.send_signal(signal.SIGINT)
            _, stderr = child.communicate()
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertEqual(stderr.count(b"the same command resumes it"), 1)
        self.tune(*words, "--threads", "2")
        self.assertEqual(self.without_seconds("out"), self.without_seconds("whole"))
        for name in self.folders("whole"):
            self.assertEqual(self.embeddings(f"out/{name}"), self.embeddings(f"whole/{name}"))

    def test_system_error(self) -> None:
        """The first error ends all, and is told once"""
        (self.folder / "out/lr=0.2.training").mkdir(parents=True)
        self.write({"out/lr=0.2.training/config.json": b"{}"})
        result = self.run_kgraft("tune", "data", "out", *QUICK, "--lr", "0.1,0.2", "--threads", "2", "--quiet")
        self.assertNotEqual(result.status, 0)
        self.assertEqual(len(result.messages), 1)


class Kills(Tuned):
    WORDS = "--dim 24 --epochs 80 --validate-every 20 --batch 20 --threads 1 --lr 0.1,0.2,0.05"

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [BINARY, "tune", "data", "out", *QUICK, *self.WORDS.split(), *words]
        return subprocess.Popen(command, cwd=self.folder, env=environment(),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finished(self) -> set[str]:
        return {path.parent.name for path in self.folder.glob("out/*/config.json")}

    def assert_same_as_whole(self) -> None:
        """The command again comes to the bytes and results of one that was left alone."""
        self.tune(*self.WORDS.split())
        self.assertEqual(self.without_seconds("out"), self.without_seconds("whole"))
        for name in self.folders("whole"):
            self.assertEqual(self.embeddings(f"out/{name}"), self.embeddings(f"whole/{name}"))
        self.assertEqual(self.folders(), self.folders("whole"))

    def test_sigkill(self) -> None:
        """Killed again and again, it comes to the same and repeats no finished run"""
        start = time.monotonic()
        self.tune(*self.WORDS.split(), out="whole")
        seconds = time.monotonic() - start
        draw = random.Random(2)
        seen: Times = {}
        for i in range(8):
            known = self.finished()
            with self.start("--quiet") as child:
                # At any time, or, so that all of them get somewhere, behind a run that is finished.
                while i % 4 == 3 and child.poll() is None and self.finished() == known:
                    time.sleep(0.001)
                time.sleep(draw.uniform(0, seconds / 6))
                child.kill()
            times = self.times()
            for name in self.finished():
                for path in (f"{name}/config.json", f"{name}/model.safetensors"):
                    self.assertEqual(times[path], seen.setdefault(path, times[path]), path)
        self.assertGreater(len(seen), 0, "no run was finished, so nothing could be repeated")
        self.assert_same_as_whole()
        times = self.times()
        self.assertEqual({path: times[path] for path in seen}, seen)

    def test_interrupt(self) -> None:
        """Ctrl-C keeps the checkpoint and says how to go on"""
        self.tune(*self.WORDS.split(), out="whole")
        with self.start() as child:
            while child.poll() is None and not list(self.folder.glob("out/lr=0.2.training/check*")):
                time.sleep(0.001)
            child.send_signal(signal.SIGINT)
            stdout, stderr = child.communicate()
        self.assertEqual((child.returncode, stdout), (-signal.SIGINT, b""))
        self.assertRegex(stderr, rb"\nstopped in run (2|3) of 3: the same command resumes it\n"
                                 rb"kgraft: stopped while training\n\Z")
        self.assertTrue((self.folder / "out/lr=0.2.training/checkpoint.safetensors").exists())
        self.assertIn("lr=0.1", {row["run"] for row in self.results()})
        self.assertLess(len(self.results()), 3)
        self.assert_same_as_whole()


class Failures(Tuned):
    def test_run_that_diverges(self) -> None:
        """It is listed with its message, and the others are trained"""
        result = self.tune("--lr", "1e30,0.1")
        good, bad = self.results()
        self.assertEqual((good["lr"], good["failure"], bad["lr"]), ("0.1", "", "1e+30"))
        self.assertRegex(bad["failure"], "no longer a number in step [0-9]+: ")
        self.assertEqual([bad[key] for key in ("best_epoch", "mrr", "seconds")], ["", "", ""])
        self.assertEqual(result.stdout.decode().splitlines()[2].split("failed: ")[1],
                         bad["failure"])
        self.assertFalse((self.folder / "out/lr=1e+30/config.json").exists())

    def test_it_is_not_repeated(self) -> None:
        self.tune("--lr", "1e30,0.1")
        times, files = self.times(), snapshot(self.folder)
        self.tune("--lr", "1e30,0.1")
        self.assertEqual((self.times(), snapshot(self.folder)), (times, files))

    def test_failure_of_other_settings(self) -> None:
        self.tune("--lr", "1e30,0.1")
        shutil.rmtree(self.folder / "out/lr=0.1")
        self.refuse("tune", "data", "out", *QUICK, "--lr", "1e30,0.1", "--l2", "0.5",
                    pattern=r"out/lr=1e\+30/failed.json: expected .*, found another --l2 .*")

    def test_all_fail(self) -> None:
        result = self.run_kgraft("tune", "data", "out", *QUICK, "--lr", "1e30,1e31", "--quiet")
        self.assertEqual(result.status, 2)
        self.assertEqual(result.messages, ["kgraft: expected a run that comes to a model, found "
                                           "that all of them failed"])
        self.assertEqual(result.stdout.count(b"  failed: "), 2)

    def test_its_folder_may_become_a_model(self) -> None:
        self.tune("--lr", "1e30,0.1")
        self.train("out/lr=1e+30", "--lr", "0.1", "--force")
        self.assertFalse((self.folder / "out/lr=1e+30/failed.json").exists())


WRONG = [
    Wrong("--lr 0.1,x", "--lr: expected a number, found 'x'"),
    Wrong("--lr 0.1,,0.2", "--lr: expected a number, found ''"),
    Wrong("--lr 0.1,0.2,", "--lr: expected a number, found ''"),
    Wrong("--lr=", "--lr: expected a number, found ''"),
    Wrong("--lr 0.1,0", "--lr: expected a rate above 0 .*, found 0"),
    Wrong("--lr 0.1 --l2 0.1,-1", "--l2: expected a weight from 0 .*, found -1"),
    Wrong("--lr 0.1,0.2 --psi 0,1.5", "--psi: expected .*, found 1.5"),
    Wrong("--model distmult,transe", "--model: expected .*, found 'transe'"),
    Wrong("--model distmult,simple --dim 8,9", "--dim: expected a multiple of 2 .*simple, found 9"),
    Wrong("--lr 0.1,0.2 --lr-last 0.15", "--lr-last: expected at most --lr, which is 0.1, found 0.15"),
    Wrong("--aggregate eravg,ls --graft-weights no", "--aggregate: expected graft for --graft-weights, found eravg"),
    Wrong("--n3 0.1,0.2", "--regularizer: expected n3 for --n3, found l2"),
    Wrong("--lr 0.1,0.2,0.1", "expected each value of a list once, found lr=0.1 twice"),
    Wrong("--lr 0.1,1e-1", "expected each value of a list once, found lr=0.1 twice"),
    Wrong("--lr 0.1,0.2 --validate-every 1,0", "expected runs that are validated, found "
                                               "lr=0.1,validate-every=0 without validation"),
    Wrong("--epochs 0", "expected runs that are validated, found run without validation"),
    Wrong("--resume", r"unknown option --resume .*"),
    Wrong("--force", r"unknown option --force .*"),
    Wrong("--lrr 1,2", r"unknown option --lrr, did you mean --lr\? .*"),
    Wrong("--josn", r"unknown option --josn, did you mean --json\? .*"),
    Wrong("--lr", r"--lr: expected a value \(X\) behind it"),
    Wrong("--seed " + ",".join(map(str, range(1001))), "expected a grid of at most 1000 runs, .*"),
    Wrong("more", "too many arguments: expected kgraft tune DATASET OUT"),
]


@cases(WRONG)
class Refusals(Tuned):
    """Nothing is trained and nothing is left, wherever in a list the bad value stands."""

    def check(self, row: Wrong) -> None:
        self.refuse("tune", "data", "out", *QUICK, *row.words.split(), pattern=row.pattern)

    def test_other_settings(self) -> None:
        self.tune("--lr", "0.1,0.2")
        self.refuse("tune", "data", "out", *QUICK, "--lr", "0.05,0.1", "--l2", "0.5",
                    pattern="out/lr=0.1: expected the settings .*, found another --l2 .*")

    def test_fewer_epochs(self) -> None:
        self.tune("--lr", "0.1,0.2")
        self.refuse("tune", "data", "out", *QUICK, "--lr", "0.05,0.1", "--epochs", "4",
                    pattern="out/lr=0.1: expected a run of at most 4 epochs, found one of 6")

    def test_other_settings_of_an_unfinished_run(self) -> None:
        self.tune("--lr", "0.1,0.2")
        (self.folder / "out/lr=0.2/config.json").unlink()
        self.refuse("tune", "data", "out", *QUICK, "--lr", "0.05,0.2", "--seed", "6",
                    pattern="out/lr=0.2/checkpoint.safetensors: .*, found another --seed .*")
        self.refuse("tune", "data", "out", *QUICK, "--lr", "0.05,0.2", "--epochs", "5",
                    pattern="out/lr=0.2: expected a run of at most 5 epochs, found one of 6")

    def test_other_data(self) -> None:
        self.tune("--lr", "0.1,0.2")
        self.succeed("split", "g.tsv", "other", "--seed", "9", "--quiet")
        self.refuse("tune", "other", "out", *QUICK, "--lr", "0.05,0.1",
                    pattern="out/lr=0.1: expected the data set .*, found another")

    def test_damaged_model(self) -> None:
        self.tune("--lr", "0.1,0.2")
        self.write({"out/lr=0.1/model.safetensors": b"cut off"})
        self.refuse("tune", "data", "out", *QUICK, "--lr", "0.1,0.2", pattern="out/lr=0.1: .*")

    def test_nothing_to_validate_by(self) -> None:
        self.refuse("tune", "g.tsv", "out", *QUICK, "--lr", "0.1,0.2", "--hold-out", "0",
                    pattern="g.tsv: expected facts to validate by, found none .*, and nothing is held out")
        self.write({"tiny.tsv": b"a\tr\tb\nb\tr\tc\n"})
        self.refuse("tune", "tiny.tsv", "out", *QUICK, "--lr", "0.1,0.2",
                    pattern="tiny.tsv: expected facts to validate by, found none .*, and too few .*")

    def test_nothing_to_hold_out(self) -> None:
        self.refuse("tune", "data", "out", *QUICK, "--lr", "0.1,0.2", "--hold-out", "0.1",
                    pattern="--hold-out: expected data without a validation part, found one.*")

    def test_no_data_set(self) -> None:
        self.refuse("tune", "nothing", "out", "--lr", "0.1,0.2", pattern="nothing: .*")

    def test_files_in_the_way(self) -> None:
        self.write({"out": b"mine", "other/lr=0.1": b"mine"})
        for out in ("out", "other"):
            self.refuse("tune", "data", out, *QUICK, "--lr", "0.2,0.1",
                        pattern=f"{out}/lr=0.[12]/config.json: .*: Not a directory")

    def test_no_folder_for_it(self) -> None:
        self.refuse("tune", "data", "no/out", *QUICK, "--lr", "0.2,0.1",
                    pattern="no/out: cannot create it: No such file or directory")


class Help(Tuned):
    def test_help(self) -> None:
        text = self.succeed("tune", "--help").stdout.decode()
        self.assertRegex(text, r"\Ausage: kgraft tune \[OPTION\]\.\.\. DATASET OUT\n")
        self.assertRegex(text, r"kgraft train that take a value")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_every_option_of_train_that_takes_a_value(self) -> None:
        """None is forgotten: each is understood, and its bad values are refused as train does"""
        text = self.succeed("train", "--help").stdout.decode()
        options = re.findall(r"(?m)^  --([a-z0-9-]+) [A-Zy]\S* ", text)
        self.assertGreater(len(options), 20)
        for option in options:
            self.refuse("tune", "data", "out", f"--{option}=?,?",
                        pattern=rf"--{option}: expected .*, found '\?'")


if __name__ == "__main__":
    unittest.main()
