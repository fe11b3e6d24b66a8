"""kgraft reproduce: its numbers are those that train and eval give one by one, means and deviations
are right, and whatever stops it, the same command goes on without repeating what is finished.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import time
import unittest
from dataclasses import dataclass
from typing import Any, Iterable, Optional

import browser
from kgraft import BINARY, Result, cases, environment, is_sanitized, numbers_of_data, unpacked_data
from test_train import SMALL_PROPAGATION, Trained

OPTIONS = "--preset paper --dim 8 --batch 50 --epochs 6 --validate-every 2"
SLOW = "--preset paper --dim 40 --batch 20 --epochs 30"

TABLE = {
    "title": "A table",
    "kind": "tables",
    "text": ["Something to say."],
    "panels": [{"data": "data", "entries": [
        {"name": "Popularity", "eval": "--baseline popularity", "paper": [0.1, 0.2, 0.3, 0.4]},
        {"name": "mean", "train": OPTIONS, "seeds": 3, "paper": [0.5, 0.6, 0.7, 0.8]},
        {"name": "mean, asked with ls", "train": OPTIONS, "eval": "--aggregate ls", "seeds": 2,
         "rule": True},
        {"name": "in one go", "train": OPTIONS + " --lr 0.2", "chosen_by": "a throw of dice"},
        {"name": "too fast", "train": OPTIONS + " --lr 1e30"},
    ]}],
}

CURVE = {
    "title": "A curve",
    "kind": "curves",
    "panels": [{"data": "data", "entries": [
        {"name": "mean", "train": OPTIONS, "option": "psi", "values": ["0", "0.5", "1"], "seeds": 2},
        {"name": "ls", "train": OPTIONS + " --aggregate ls", "option": "psi", "values": ["0.25", "1"]},
    ]}],
}

BINS = {
    "title": "Bins",
    "kind": "bins",
    "panels": [{"data": "data", "entries": [
        {"name": "psi 0", "train": OPTIONS + " --psi 0"},
        {"name": "psi 0.5", "train": OPTIONS, "seeds": 2},
    ]}],
}


class Reproduced(Trained):
    def setUp(self) -> None:
        super().setUp()
        for name, description in (("table", TABLE), ("curve", CURVE), ("bins", BINS)):
            self.describe(name, description)

    def describe(self, name: str, description: Any) -> None:
        self.write({f"{name}.json": json.dumps(description).encode()})

    def reproduce(self, *words: str, out: str = "out") -> Result:
        return self.succeed("reproduce", *words, "--data", ".", "--out", out)

    def results(self, out: str = "out") -> Any:
        return json.loads(self.read(f"{out}/results.json"))

    def experiment(self, name: str) -> Any:
        self.reproduce(f"{name}.json")
        (found,) = self.results()["experiments"]
        return found

    def judge(self, train: str, seed: int, *words: str) -> Any:
        """What train and eval say when they are asked themselves."""
        self.succeed("train", "data", "alone", *train.split(), "--seed", str(seed), "--force")
        return self.succeed("eval", "alone", "data", *words, "--json").json

    def assert_cell(self, cell: Any, values: list[float], paper: Optional[float] = None) -> None:
        self.assertAlmostEqual(cell["value"], statistics.mean(values), places=12)
        self.assertEqual(cell["seeds"], len(values))
        self.assertEqual("sd" in cell, len(values) > 1)
        if len(values) > 1:
            self.assertAlmostEqual(cell["sd"], statistics.stdev(values), places=12)
        self.assertEqual(cell.get("paper"), paper)


class Numbers(Reproduced):
    def test_table(self) -> None:
        """A row holds what train and eval say, over all seeds, beside the paper"""
        (table,) = self.experiment("table")["tables"]
        labels = [column["label"] for column in table["columns"]]
        self.assertEqual(labels[:4], ["MRR", "Hit@1", "Hit@3", "Hit@10"])
        popular, mean, ls, once, failed = table["rows"]
        asked = self.succeed("eval", "data", "--baseline", "popularity", "--json").json
        self.assert_cell(popular["cells"][0], [asked["mrr"]], 0.1)
        self.assert_cell(popular["cells"][3], [asked["hits"]["10"]], 0.4)
        self.assertIsNone(popular["cells"][labels.index("epoch")])
        found = [self.judge(OPTIONS, seed) for seed in range(3)]
        self.assertEqual(len({each["mrr"] for each in found}), 3)
        self.assert_cell(mean["cells"][0], [each["mrr"] for each in found], 0.5)
        self.assert_cell(mean["cells"][1], [each["hits"]["1"] for each in found], 0.6)
        fresh = labels.index("MRR, fresh")
        self.assert_cell(mean["cells"][fresh], [each["fresh"]["mrr"] for each in found])
        found = [self.judge(OPTIONS, seed, "--aggregate", "ls") for seed in range(2)]
        self.assert_cell(ls["cells"][0], [each["mrr"] for each in found])
        self.assertTrue(ls["rule"])
        self.assertIn("a throw of dice", once["note"])
        self.assertEqual(failed["cells"][0], {"text": "failed"})
        self.assertIn("no longer a number", failed["runs"][0]["failure"])

    def test_validation(self) -> None:
        """Beside the metrics stands how the model came to be"""
        (table,) = self.experiment("table")["tables"]
        run = table["rows"][1]["runs"][2]
        history = self.succeed("info", f"out/runs/data/{run['run']}", "--json").json["history"]
        best = max((e for e in history if "valid" in e), key=lambda e: e["valid"]["mrr"])
        self.assertEqual((run["seed"], run["epochs"], run["best_epoch"]), (2, 6, best["epoch"]))
        self.assertAlmostEqual(run["valid_mrr"], best["valid"]["mrr"], places=12)

    def test_costs(self) -> None:
        """Seconds are those of the epochs and of what comes before; memory is that of the run"""
        (table,) = self.experiment("table")["tables"]
        labels = [column["label"] for column in table["columns"]]
        (run,) = table["rows"][3]["runs"]
        about = self.succeed("info", f"out/runs/data/{run['run']}", "--json").json
        seconds = sum(epoch["seconds"] for epoch in about["history"])
        self.assertAlmostEqual(run["seconds"], seconds + about["machine"]["preparing"], places=9)
        self.assertAlmostEqual(run["megabytes"], about["machine"]["memory"] / 1e6, places=9)
        self.assertTrue(1 < run["megabytes"] < 1000)
        self.assertIsNone(table["rows"][0]["cells"][labels.index("MB")])

    def test_kinds_together(self) -> None:
        """A data set may have several tables and a plot, each with its title"""
        entries = TABLE["panels"][0]["entries"]
        panels = [{"data": "data", "entries": entries[:1]},
                  {"data": "data", "title": "again", "entries": entries[1:2]},
                  {"data": "data", "title": "facts", "kind": "bins",
                   "entries": BINS["panels"][0]["entries"]},
                  {"data": "data", "title": "sizes", "kind": "counts"}]
        self.describe("mixed", {**TABLE, "panels": panels})
        found = self.experiment("mixed")
        self.assertEqual([t["title"] for t in found["tables"]], ["data", "again", "facts", "Data sets"])
        self.assertEqual([(p["name"], p["title"]) for p in found["plots"]], [("mixed-data", "facts")])
        alone = self.experiment("bins")
        self.assertEqual(found["plots"][0]["series"], alone["plots"][0]["series"])
        self.assertEqual(found["tables"][3]["rows"][0]["label"], "data")

    def test_curve(self) -> None:
        """A point for each value, and a table of the same numbers"""
        experiment = self.experiment("curve")
        (plot,), (table,) = experiment["plots"], experiment["tables"]
        mean, ls = plot["series"]
        self.assertEqual([point[0] for point in mean["points"]], [0, 0.5, 1])
        self.assertEqual([point[0] for point in ls["points"]], [0.25, 1])
        for x, y, sd in mean["points"]:
            values = [self.judge(f"{OPTIONS} --psi {x}", seed)["mrr"] for seed in range(2)]
            self.assertAlmostEqual(y, statistics.mean(values), places=12)
            self.assertAlmostEqual(sd, statistics.stdev(values), places=12)
        rows = {row["label"]: row["cells"] for row in table["rows"]}
        self.assertEqual(list(rows), ["0", "0.25", "0.5", "1"])
        self.assertIsNone(rows["0"][1])
        self.assertIsNone(rows["0.25"][0])
        self.assertEqual(rows["1"][1]["value"], ls["points"][1][1])

    def test_failed_curve(self) -> None:
        """What failed has no point, and a plot without any is none"""
        fails = {"train": OPTIONS + " --lr 1e30", "option": "psi", "values": ["0", "1"]}
        works = CURVE["panels"][0]["entries"][1]
        self.describe("half", {**CURVE, "panels": [{"data": "data", "entries": [
            {"name": "no", **fails}, works]}]})
        self.describe("none", {**CURVE, "panels": [{"data": "data", "entries": [
            {"name": "no", **fails}]}]})
        half, none = (self.experiment(name) for name in ("half", "none"))
        self.assertEqual([series["name"] for series in half["plots"][0]["series"]], ["ls"])
        self.assertEqual(none["plots"], [])
        (cell,) = none["tables"][0]["rows"][0]["cells"]
        self.assertEqual(cell["text"], "failed")

    def test_bins(self) -> None:
        experiment = self.experiment("bins")
        (plot,) = experiment["plots"]
        found = [self.judge(OPTIONS, seed)["bins"] for seed in range(2)]
        expected = [f"{low} to {high}" if low < high else f"{high}"
                    for low, high in (each["facts"] for each in found[0])]
        self.assertEqual(plot["x_labels"], expected)
        for i, (x, y, _) in enumerate(plot["series"][1]["points"]):
            self.assertEqual(x, i)
            self.assertAlmostEqual(y, statistics.mean(b[i]["mrr"] for b in found), places=12)

    def test_other_bins(self) -> None:
        """Points stand over the labels of their own bins"""
        entries = [{"name": "two", "train": OPTIONS, "eval": "--bins 2"},
                   {"name": "five", "train": OPTIONS}]
        self.describe("mixed", {**BINS, "panels": [{"data": "data", "entries": entries}]})
        (plot,) = self.experiment("mixed")["plots"]
        found = {point[1]: plot["x_labels"][int(point[0])]
                 for series in plot["series"] for point in series["points"]}
        for words in ([], ["--bins", "2"]):
            for each in self.judge(OPTIONS, 0, *words)["bins"]:
                low, high = each["facts"]
                value = next(v for v in found if abs(v - each["mrr"]) < 1e-12)
                self.assertEqual(found[value], f"{low} to {high}" if low < high else f"{high}")

    def test_data_sets(self) -> None:
        """Counts and histograms are those of kgraft stats"""
        self.describe("counts", {"title": "My counts", "kind": "counts", "panels": [
            {"data": "data", "paper": {"entities": 7}}]})
        self.describe("bars", {"title": "my <bars>", "kind": "histograms", "panels": [
            {"data": "data", "most": 3}]})
        self.reproduce("counts.json", "bars.json")
        self.assertEqual(self.results()["title"], "My counts, my <bars>")
        kernels = self.succeed("info", "--json").json["kernels"]
        self.assertEqual(self.results()["machine"]["kernels"], kernels)
        self.assertIn(b"<h1>My counts, my &lt;bars&gt;</h1>", self.read("out/report.html"))
        counts, bars = self.results()["experiments"]
        stats = self.stats("data")
        (row,) = counts["tables"][0]["rows"]
        self.assertEqual(row["cells"][0], {"value": stats["entities"], "paper": 7})
        self.assertEqual(row["cells"][6], {"value": stats["queries_test"]})
        (series,) = bars["plots"][0]["series"]
        expected = [pair for pair in stats["queries_test_by_facts"]["histogram"] if pair[0] <= 3]
        self.assertEqual(series["points"], expected)
        bins = self.judge(OPTIONS, 0)["bins"]
        self.assertEqual(series["groups"], [each["facts"] for each in bins])


class Limits(Reproduced):
    def test_seeds(self) -> None:
        self.reproduce("table.json", "--seeds", "1")
        (table,) = self.results()["experiments"][0]["tables"]
        self.assertEqual([len(row["runs"]) for row in table["rows"]], [1] * 5)
        self.assertEqual(self.results()["command"],
                         "kgraft reproduce table.json --seeds 1 --data DIR")

    def test_one_data_set(self) -> None:
        """Other data sets need not be there"""
        panels = [*TABLE["panels"], {**TABLE["panels"][0], "data": "missing"}]
        self.describe("two", {**TABLE, "panels": panels})
        self.reproduce("two.json", "--only", "data")
        self.assertEqual(len(self.results()["experiments"][0]["tables"]), 1)
        self.refuse("reproduce", "two.json", "--data", ".", "--out", "other",
                    pattern=r"\./missing: .*")
        self.refuse("reproduce", "two.json", "--data", ".", "--only", "dat", "--out", "other",
                    pattern="--only: expected a data set of these experiments, found 'dat'")

    def test_threads(self) -> None:
        """Any number of them gives the same"""
        self.reproduce("table.json", "--threads", "1", out="one")
        self.reproduce("table.json", "--threads", "3", out="three")
        one, three = self.results("one"), self.results("three")
        self.assertEqual(without_times(one), without_times(three))


def without_times(value: Any) -> Any:
    """The columns and keys that tell how, and how fast, it was computed left out."""
    if isinstance(value, dict):
        kept = {k: without_times(v) for k, v in value.items() if k not in ("seconds", "threads", "megabytes")}
        if "columns" in kept:
            last = [column["label"] for column in kept["columns"]].index("seconds")
            for row in kept["rows"]:
                row["cells"] = row["cells"][:last]
        return kept
    return [without_times(each) for each in value] if isinstance(value, list) else value


class GoingOn(Reproduced):
    def times(self) -> dict[str, int]:
        files = [*self.folder.glob("out/runs/**/*"), *self.folder.glob("out/results/**/*")]
        return {str(file): file.stat().st_mtime_ns for file in files if file.is_file()}

    def test_again(self) -> None:
        """The same command again trains and judges nothing, and tells the same"""
        first = self.reproduce("table.json", "curve.json")
        times, results = self.times(), self.read("out/results.json")
        again = self.reproduce("table.json", "curve.json")
        self.assertEqual(self.times(), times)
        self.assertEqual(self.read("out/results.json"), results)
        self.assertEqual(again.stdout, first.stdout)
        self.assertIn("11 runs, 11 done before", again.messages)

    def test_other_ways_to_write_it(self) -> None:
        """Options that say the same make the same run"""
        self.describe("short", entry(name="e", train="--preset paper --dim 8 --epochs 2 "
                                     "--validate-every 1"))
        self.describe("long", entry(name="e", train="--validate-every=1 --preset paper --psi 0.50 --epochs 2 "
                                    "--aggregate eravg --dim 8 --lr 1e-1 --model distmult"))
        self.reproduce("short.json")
        times = self.times()
        self.reproduce("long.json")
        self.assertEqual(self.times(), times)

    def test_names_of_runs(self) -> None:
        """What sets a run apart from its preset; the paper's goes without saying"""
        small = " ".join(SMALL_PROPAGATION)
        entries = [{"name": words, "train": f"--epochs 2 --validate-every 1 {words}"}
                   for words in ("--preset paper --dim 8", f"--dim 8 {small}", f"--dim 8 --dropout 0.5 {small}",
                                 "--model rgcn-d --dim 8")]
        self.describe("named", {**TABLE, "panels": [{"data": "data", "entries": entries}]})
        self.reproduce("named.json")
        names = {path.name for path in (self.folder / "out/runs/data").iterdir()}
        propagation = "propagation-layers=2,propagation-width=16,propagation-epochs=1"
        self.assertEqual(names, {
            "dim=8,epochs=2,validate-every=1",
            f"preset=graft,dim=8,epochs=2,{propagation},validate-every=1",
            f"preset=graft,dim=8,epochs=2,dropout=0.5,{propagation},validate-every=1",
            "model=rgcn-d,dim=8,aggregate=rgcn-d,psi=0,batch=10000,epochs=2,optimizer=adam,lr=0.01,"
            "lr-last=0.01,l2=0,validate-every=1",
        })

    def test_settings_from_the_data_set(self) -> None:
        """What is not given follows from the data set, as in training by itself"""
        self.succeed("generate", "g.tsv", "--facts", "600", "--entities", "120", "--relations", "40")
        self.succeed("split", "g.tsv", "many", "--quiet")
        words = ("--dim", "8", "--epochs", "2", "--validate-every", "1", *SMALL_PROPAGATION)
        self.succeed("train", "many", "alone", *words, "--quiet")
        self.describe("many", {**TABLE, "panels": [
            {"data": "many", "entries": [{"name": "e", "train": " ".join(words)}]}]})
        self.reproduce("many.json")
        (run,) = (self.folder / "out/runs/many").iterdir()
        self.assertIn("propagation-echoes=1", run.name)
        self.assertEqual((run / "model.safetensors").read_bytes(), self.read("alone/model.safetensors"))

    def test_shared_runs(self) -> None:
        """What experiments have in common is trained once"""
        self.reproduce("table.json")
        times = self.times()
        self.reproduce("bins.json")
        self.assertEqual({k: v for k, v in self.times().items() if k in times}, times)

    def test_killed(self) -> None:
        """Killed again and again, it ends with the same results"""
        slow = {**TABLE, "panels": [{"data": "data", "entries": [
            {"name": "a", "train": SLOW, "seeds": 3},
            {"name": "b", "train": SLOW + " --aggregate ls"}]}]}
        self.describe("slow", slow)
        start = time.monotonic()
        self.reproduce("slow.json", out="whole")
        seconds = time.monotonic() - start
        command = [BINARY, "reproduce", "slow.json", "--data", ".", "--out", "out", "--quiet"]
        for _ in range(6):
            with subprocess.Popen(command, cwd=self.folder, env=environment(),
                                  stdout=subprocess.DEVNULL) as child:
                time.sleep(seconds / 8)
                child.kill()
        self.reproduce("slow.json")
        self.assertEqual(without_times(self.results()), without_times(self.results("whole")))

    def test_damaged_judgements(self) -> None:
        """A judgement that cannot be read is made again"""
        self.reproduce("table.json")
        results = self.read("out/results.json")
        kept = sorted((self.folder / "out/results/data").glob("*+*"))
        for file, content in zip(kept, (b"", b"{", b'{"metrics": 5}', b"[]", b"{}")):
            file.write_bytes(content)
        self.reproduce("table.json")
        self.assertEqual(self.read("out/results.json"), results)

    def test_without_models(self) -> None:
        """Results are enough: models may go, and another folder can begin with them"""
        self.reproduce("table.json")
        results = self.results()
        (self.folder / "out/results").rename(self.folder / "kept")
        again = self.succeed("reproduce", "table.json", "--data", ".", "--out", "new", "--results", "kept")
        self.assertIn("5 runs, 5 done before", again.messages)
        self.assertFalse((self.folder / "new/runs").exists())
        self.assertEqual(self.results("new")["experiments"], results["experiments"])
        self.assertLess(max(file.stat().st_size for file in (self.folder / "kept/data").iterdir()), 6000)

    def test_missing_evaluation(self) -> None:
        """What is asked of a model for the first time needs the model, and no other"""
        self.reproduce("table.json", out="first")
        self.describe("more", {**TABLE, "panels": [{"data": "data", "entries": [
            {"name": "mean", "train": OPTIONS, "eval": "--aggregate ls-u"},
            {"name": "fast", "train": OPTIONS + " --lr 0.2"}]}]})
        again = self.succeed("reproduce", "more.json", "--data", ".", "--out", "new",
                             "--results", "first/results")
        self.assertIn("2 runs, 1 done before", again.messages)
        (first,) = (self.folder / "new/runs/data").iterdir()
        self.assertEqual((first / "model.safetensors").read_bytes(),
                         self.read(f"first/runs/data/{first.name}/model.safetensors"))

    def test_damaged_records(self) -> None:
        """A record that cannot be read is made again; one of other data is an error"""
        self.reproduce("bins.json")
        results = self.read("out/results.json")
        records = sorted(set((self.folder / "out/results/data").iterdir()) -
                         set((self.folder / "out/results/data").glob("*+*")))
        contents = [record.read_bytes() for record in records]
        for file, content in zip(records, (b"", b"[]", b"{}")):
            file.write_bytes(content)
        self.reproduce("bins.json")
        self.assertEqual(self.read("out/results.json"), results)
        self.assertEqual([record.read_bytes() for record in records], contents)
        (self.folder / "out/runs").rename(self.folder / "gone")
        for record in records:
            about = json.loads(record.read_bytes())
            record.write_text(json.dumps({**about, "dataset": "other"}))
        self.refuse("reproduce", "bins.json", "--data", ".", "--out", "out",
                    pattern=r"out/results/data/.*: expected the data set that the run was .*")

    def test_more_epochs_than_recorded(self) -> None:
        """A record of fewer epochs is no result of more"""
        text = "--preset paper --dim 8 --batch 50 --validate-every 2 --l2 0.02 --epochs"
        self.describe("few", entry(name="e", train=f"{text} 2"))
        self.describe("more", entry(name="e", train=f"{text} 4"))
        self.reproduce("few.json")
        (name,) = (path.name for path in (self.folder / "out/runs/data").iterdir())
        (record,) = (self.folder / "out/results/data").glob(f"{name}.json")
        self.write({f"out/results/data/{name.replace('epochs=2', 'epochs=4')}.json": record.read_bytes()})
        self.reproduce("more.json")
        (row,) = self.results()["experiments"][0]["tables"][0]["rows"]
        self.assertEqual(row["runs"][0]["epochs"], 4)

    def test_other_settings(self) -> None:
        """A model that others have put there is not taken for ours"""
        self.reproduce("bins.json")
        name = next((self.folder / "out/runs/data").iterdir()).name
        self.succeed("train", "data", f"out/runs/data/{name}", *OPTIONS.split(), "--dim", "4",
                     "--force")
        result = self.run_kgraft("reproduce", "bins.json", "--data", ".", "--out", "out")
        self.assert_refused(result, 2, r".*dim.*")


class Choices(Reproduced):
    """Settings are those with the best validation of a grid."""
    TRAIN = "--preset paper --dim 8 --batch 50 --epochs 6"
    LISTS = {"lr": ["0.1", "0.02"], "psi": ["0", "0.5", "1"]}
    GRID = "--lr 0.1,0.02 --psi 0,0.5,1 --validate-every 1"

    def entries(self) -> list[Any]:
        return [{"name": name, "train": f"{self.TRAIN} --validate-every {every}", "grid": self.GRID, "seeds": 2}
                for name, every in (("often", 1), ("seldom", 5))]

    def tuned(self) -> dict[str, list[dict[str, Any]]]:
        """The history of each run, as kgraft tune makes it."""
        words = [word for name, values in self.LISTS.items() for word in (f"--{name}", ",".join(values))]
        self.succeed("tune", "data", "tuned", *self.TRAIN.split(), "--validate-every", "1", *words)
        return {path.name: self.succeed("info", str(path), "--json").json["history"]
                for path in (self.folder / "tuned").iterdir() if path.is_dir()}

    def test_choice(self) -> None:
        """The best by the epochs that a row's own runs validate, trained for all seeds"""
        self.describe("chosen", {**TABLE, "panels": [{"data": "data", "entries": self.entries()}]})
        (table,) = self.experiment("chosen")["tables"]
        histories = self.tuned()
        for row, every in zip(table["rows"], (1, 5)):
            found = [(epoch["valid"]["mrr"], name) for name, history in histories.items() for epoch in history
                     if epoch["epoch"] in (1, 6) or epoch["epoch"] % every == 0]
            mrr, name = max(found)
            (choice,) = row["choices"]
            self.assertAlmostEqual(choice["valid_mrr"], mrr, places=12)
            self.assertEqual((choice["runs"], choice["failed"], choice["epochs"]), (6, 0, 6))
            settings = {word.split()[0]: word.split()[1] for word in choice["settings"].split("--")[1:]}
            self.assertEqual(name, f"psi={settings['psi']},lr={settings['lr']}")
            values = [self.judge(f"{self.TRAIN} --validate-every {every} {choice['settings']}", seed)["mrr"]
                      for seed in range(2)]
            self.assert_cell(row["cells"][0], values)
            self.assertIn(f"settings: {choice['settings']}, the best of 6 by validation", row["note"])

    def test_it_is_trained_once(self) -> None:
        """Rows share a grid; the same command again trains nothing; neither does one with only the results"""
        self.describe("chosen", {**TABLE, "panels": [{"data": "data", "entries": self.entries()}]})
        first = self.reproduce("chosen.json")
        self.assertEqual([line for line in first.messages if "done before" in line],
                         ["6 runs, 0 done before", "9 runs, 6 done before"])
        again = self.reproduce("chosen.json", "--results", "out/results", out="new")
        self.assertEqual([line for line in again.messages if "done before" in line],
                         ["6 runs, 6 done before", "9 runs, 9 done before"])
        self.assertEqual(self.results("new")["experiments"], self.results()["experiments"])

    def test_curve(self) -> None:
        """Each point has settings of its own"""
        self.describe("curve", {**CURVE, "panels": [{"data": "data", "entries": [
            {"name": "e", "train": self.TRAIN + " --validate-every 1", "option": "psi", "values": ["0", "1"],
             "grid": "--lr 0.1,0.02"}]}]})
        (table,) = self.experiment("curve")["tables"]
        (run,), (other,) = (row["cells"][0]["runs"] for row in table["rows"])
        histories = self.tuned()
        for each, psi in ((run, "0"), (other, "1")):
            best = max(max(epoch["valid"]["mrr"] for epoch in histories[f"psi={psi},lr={lr}"])
                       for lr in self.LISTS["lr"])
            self.assertAlmostEqual(each["valid_mrr"], best, places=12)

    def test_failures(self) -> None:
        """What fails is not chosen; if all fail, there is nothing to go on with"""
        for name, rates in (("some", "1e30,0.1"), ("none", "1e30,1e31")):
            self.describe(name, entry(name="e", train=OPTIONS, grid=f"--lr {rates}"))
        (table,) = self.experiment("some")["tables"]
        (choice,) = table["rows"][0]["choices"]
        self.assertEqual((choice["settings"], choice["failed"]), ("--lr 0.1", 1))
        result = self.run_kgraft("reproduce", "none.json", "--data", ".", "--out", "out", "--quiet")
        self.assert_refused(result, 2, "e: expected a run of the grid that comes to a model, .*")


@dataclass(frozen=True)
class Bad:
    name: str
    description: Any
    pattern: str


def entry(**keys: Any) -> Any:
    return {"title": "t", "kind": "tables", "panels": [{"data": "data", "entries": [keys]}]}


BAD = [
    Bad("no object", [], r"bad: expected the description of an experiment, found .*"),
    Bad("no title", {"kind": "tables"}, r"bad: .*title.*"),
    Bad("kind", {"title": "t", "kind": "pie"}, r"bad: kind: expected counts, .*"),
    Bad("slip", {"title": "t", "kind": "tables", "panel": []}, r"bad: .*at its top: the unknown key 'panel', did you mean 'panels'\?"),
    Bad("text", {"title": "t", "kind": "tables", "text": "t"}, r"bad: text: .*"),
    Bad("panels", {"title": "t", "kind": "tables", "panels": {}}, r"bad: panels: .*"),
    Bad("way out", {"title": "t", "kind": "tables", "panels": [{"data": "../data"}]},
        r"bad: data: expected a name of .*"),
    Bad("no panels", {"title": "t", "kind": "tables"}, r"bad: panels: .*"),
    Bad("panels of complexity", {**TABLE, "kind": "complexity"}, r"bad: panels: .*"),
    Bad("no entries", {**TABLE, "panels": [{"data": "data"}]}, r"bad: entries: .*"),
    Bad("entries of counts", {**TABLE, "kind": "counts"}, r"bad: entries: .*"),
    Bad("twice the same", {**TABLE, "panels": TABLE["panels"] * 2}, r"bad: data: expected one .*"),
    Bad("twice the same title", {**TABLE, "panels": [
        {**TABLE["panels"][0], "title": "a"}, {**TABLE["panels"][0], "title": "a"}]},
        r"bad: data: expected one .*"),
    Bad("two plots", {**TABLE, "panels": [
        {**BINS["panels"][0], "kind": "bins", "title": "a"},
        {**CURVE["panels"][0], "kind": "curves", "title": "b"}]}, r"bad: data: expected one .*"),
    Bad("kind of a panel", {**TABLE, "panels": [{**TABLE["panels"][0], "kind": "pie"}]},
        r"bad: kind: expected counts, .*"),
    Bad("complexity of a data set", {**TABLE, "panels": [{"data": "data", "kind": "complexity"}]},
        r"bad: kind: expected one that is about a data set .*"),
    Bad("no name", entry(train=OPTIONS), r"bad: .*name.*"),
    Bad("paper", entry(name="e", train=OPTIONS, paper=[1, 2]), r"bad: paper: .*"),
    Bad("no seeds", entry(name="e", train=OPTIONS, seeds=0), r"bad: seeds: .*"),
    Bad("values in a table", entry(name="e", train=OPTIONS, option="psi", values=["1"]),
        r"bad: e: expected .*"),
    Bad("no option", {**CURVE, "panels": [{"data": "data", "entries": [
        {"name": "e", "train": OPTIONS}]}]}, r"bad: e: expected .*"),
    Bad("no number", {**CURVE, "panels": [{"data": "data", "entries": [
        {"name": "e", "train": OPTIONS, "option": "psi", "values": ["much"]}]}]},
        r"bad: e: expected .*"),
    Bad("other option", {**CURVE, "panels": [{"data": "data", "entries": [
        CURVE["panels"][0]["entries"][0],
        {"name": "e", "train": OPTIONS, "option": "lr", "values": ["1"]}]}]},
        r"bad: e: expected the same .*"),
    Bad("value twice", {**CURVE, "panels": [{"data": "data", "entries": [
        {"name": "e", "train": OPTIONS, "option": "psi", "values": ["0.5", ".5"]}]}]},
        r"bad: e: expected .*"),
    Bad("seeds varied", {**CURVE, "panels": [{"data": "data", "entries": [
        {"name": "e", "train": OPTIONS, "option": "seed", "values": ["1"]}]}]},
        r"e: option: expected any but seed, .*"),
    Bad("flag varied", {**CURVE, "panels": [{"data": "data", "entries": [
        {"name": "e", "train": OPTIONS, "option": "force", "values": ["1"]}]}]},
        r"e: option: expected one of kgraft train .*"),
    Bad("seed", entry(name="e", train=OPTIONS + " --seed 7"), r"e: expected options .* --seed, .*"),
    Bad("flag", entry(name="e", train=OPTIONS + " --force"), r"e: expected options .* --force, .*"),
    Bad("no value", entry(name="e", train=OPTIONS + " --lr"), r"e: --lr: expected a value .*"),
    Bad("no list", entry(name="e", train=OPTIONS, grid="--lr"), r"e: grid: expected options with lists .*"),
    Bad("no option of a list", entry(name="e", train=OPTIONS, grid="lr 1,2"), r"e: grid: expected options with .*"),
    Bad("list of one", entry(name="e", train=OPTIONS, grid="--lr 1"), r"e: grid: expected 2 to 1000 .*"),
    Bad("large grid", entry(name="e", train=OPTIONS, grid="--lr " + ",".join("1" * 1001)),
        r"e: grid: expected 2 to 1000 .*"),
    Bad("empty value", entry(name="e", train=OPTIONS, grid="--lr ,1"), r"e: --lr: expected a .*"),
    Bad("value of a list", entry(name="e", train=OPTIONS, grid="--psi 1,2"), r"e: --psi: .*"),
    Bad("seeds of a grid", entry(name="e", train=OPTIONS, grid="--seed 1,2"), r"e: expected options .* --seed, .*"),
    Bad("grid of nothing", entry(name="e", eval="--baseline echo", grid="--lr 1,2"), r'bad: e: expected "train"'),
    Bad("chosen twice", entry(name="e", train=OPTIONS, grid="--lr 1,2", chosen_by="me"), r"bad: e: expected .*"),
    Bad("paper of a table", {**TABLE, "panels": [{**TABLE["panels"][0], "paper": {"train": 1}}]},
        r"bad: paper: .*"),
    Bad("paper's words", {"title": "t", "kind": "counts", "panels": [
        {"data": "data", "paper": {"train": "1"}}]}, r"bad: paper: .*"),
    Bad("bins", entry(name="e", train=OPTIONS, eval="--bins 0"), r"e: --bins: .*"),
    Bad("ranks", entry(name="e", train=OPTIONS, eval="--ranks f"), r"e: expected .* --ranks, .*"),
    Bad("in-sample", entry(name="e", train=OPTIONS, eval="--in-sample"),
        r".*expected a data set with facts in test, found none .*"),
    Bad("aggregate", entry(name="e", train=OPTIONS, eval="--aggregate rgcn-d"), r"e: --aggregate: .*"),
    Bad("ridge", entry(name="e", train=OPTIONS, eval="--aggregate ls --ls-lambda -1"),
        r"e: --ls-lambda: .*"),
    Bad("unknown option", entry(name="e", train="--psy 1"),
        r"e: unknown option --psy, did you mean --psi\? .*"),
    Bad("no option of train", entry(name="e", train="data"),
        r"e: expected an option of kgraft train, found 'data'"),
    Bad("bad value", entry(name="e", train="--psi 2"), r"e: --psi: .*"),
    Bad("option without effect", entry(name="e", train=OPTIONS + " --n3 0.1"),
        r"e: --regularizer: expected n3 for --n3, found l2"),
    Bad("eval", entry(name="e", train=OPTIONS, eval="--split trial"), r"e: --split: .*"),
    Bad("nothing trained", entry(name="e"), r"e: expected options of kgraft train, .*"),
    Bad("trained for nothing", entry(name="e", train=OPTIONS, eval="--baseline echo"),
        r"e: expected options of kgraft train, .*"),
    Bad("not validated", entry(name="e", train=OPTIONS + " --validate-every 0"),
        r"e: expected runs that are validated, .*"),
]


@cases(BAD)
class BadDescriptions(Reproduced):
    def check(self, row: Bad) -> None:
        self.describe("bad", row.description)
        self.refuse("reproduce", "bad.json", "--data", ".", "--out", "out", pattern=row.pattern)


class BadWords(Reproduced):
    def test_unknown_name(self) -> None:
        self.refuse("reproduce", "tabel2", "--data", ".",
                    pattern=r"unknown experiment 'tabel2', did you mean table2\? .*")

    def test_bad_name(self) -> None:
        self.describe("a name", TABLE)
        self.refuse("reproduce", "a name.json", "--data", ".", pattern=r"a name: .* expected .*")

    def test_all_and_more(self) -> None:
        self.refuse("reproduce", "all", "table1", "--data", ".", pattern="expected all, or .*")

    def test_threads(self) -> None:
        self.refuse("reproduce", "complexity", "--threads", "2000", pattern="--threads: .*")

    def test_twice(self) -> None:
        self.refuse("reproduce", "table1", "table1", "--data", ".",
                    pattern="expected each experiment once, found table1 twice")

    def test_no_data(self) -> None:
        self.refuse("reproduce", "table1", pattern="expected --data .*")

    def test_missing_file(self) -> None:
        self.refuse("reproduce", "none.json", "--data", ".", pattern=r"none\.json: .*")

    def test_broken_file(self) -> None:
        self.write({"broken.json": b'{"title": "t", '})
        self.refuse("reproduce", "broken.json", "--data", ".", pattern=r"broken\.json:1:?.*")


# What a reader sees: how many rows each table has, and which words each plot has on its axes.
SHOWN = """{
    tables: [...document.querySelectorAll("table")].map(t => t.querySelectorAll("tbody tr").length),
    plots: [...document.querySelectorAll("figure svg")].map(svg =>
        [...svg.querySelectorAll("text")].filter(t => t.getBoundingClientRect().width > 0)
            .map(t => t.textContent.trim()))
}"""


@unittest.skipIf(is_sanitized(), "what it trains, and more of it, others train in less time")
class BuiltIn(Reproduced):
    """All experiments that come with the program, on data sets that are small enough."""

    def setUp(self) -> None:
        super().setUp()
        self.succeed("generate", "s.tsv", "--facts", "150", "--entities", "30", "--relations", "3")
        (self.folder / "sets").mkdir()
        for name in ("oWN18RR", "oFB15k-237"):
            self.succeed("split", "s.tsv", f"sets/{name}", "--quiet")
        facts = self.read("s.tsv").splitlines(keepends=True)
        for name in ("WN18AM", "WN18RR", "FB15k-237"):
            self.write({f"sets/{name}/train.tsv": b"".join(facts[:130]),
                        f"sets/{name}/valid.tsv": b"".join(facts[130:140]),
                        f"sets/{name}/test.tsv": b"".join(facts[140:])})

    def test_all(self) -> None:
        self.succeed("reproduce", "all", "--data", "sets", "--out", "out", "--seeds", "1")
        found = {each["name"]: each for each in self.results()["experiments"]}
        self.assertEqual(list(found), ["table1", "figure2", "table2", "table3", "figure3a",
                                       "figure3bc", "complexity", "record", "insample"])
        record = [table["title"] for table in found["record"]["tables"]]
        self.assertEqual(record, ["oWN18RR", "oFB15k-237", "oWN18RR, without each part",
                                  "oWN18RR, by number of facts", "oFB15k-237, by number of facts"])
        self.assertEqual([name for name in found if "beside" in found[name]], ["insample"])
        for table in found["table2"]["tables"]:
            self.assertGreaterEqual(sum("paper" in row["cells"][0] for row in table["rows"]), 10)
            for row in table["rows"]:
                self.assertTrue(0 < row["cells"][0]["value"] <= 1, row)
        self.assertEqual([len(plot["series"]) for plot in found["figure3a"]["plots"]], [2, 1])
        self.check_page(found.values())

    def check_page(self, experiments: Iterable[Any]) -> None:
        """The page shows all of it, in a browser without network."""
        if browser.PROGRAM is None:
            self.skipTest("chromium is not installed")
        page = self.folder / "out" / "report.html"
        shown = browser.ask(page, SHOWN, size=(1200, 900))
        tables = [table for each in experiments for table in each["tables"]]
        plots = [plot for each in experiments for plot in each["plots"]]
        self.assertEqual(shown["tables"], [len(table["rows"]) for table in tables])
        self.assertEqual(len(shown["plots"]), len(plots))
        for words, plot in zip(shown["plots"], plots):
            self.assertTrue({plot["x"], plot["y"]} <= set(words), (plot["name"], words))
            self.assertGreater(sum(bool(re.match(r"[\d.,]+\Z", word)) for word in words), 3, words)


@numbers_of_data
class RealData(Reproduced):
    def test_table1(self) -> None:
        """The paper's counts, to the digit for oWN18RR"""
        self.succeed("reproduce", "table1", "--data", str(unpacked_data()), "--out", "out")
        first, second = self.results()["experiments"][0]["tables"][0]["rows"]
        for cell in first["cells"]:
            self.assertEqual(cell["value"], cell["paper"])
        self.assertEqual(second["cells"][5], {"value": 44601, "paper": 44601})

    def test_popularity(self) -> None:
        """The paper's row, to the digit"""
        self.describe("row", {"title": "t", "kind": "tables", "panels": [{"data": "oWN18RR",
            "entries": [{"name": "Popularity", "eval": "--baseline popularity",
                         "paper": [0.0094, 0.0030, 0.0076, 0.0215]}]}]})
        self.succeed("reproduce", "row.json", "--data", str(unpacked_data()), "--out", "out")
        (row,) = self.results()["experiments"][0]["tables"][0]["rows"]
        for cell in row["cells"][:4]:
            self.assertAlmostEqual(cell["value"], cell["paper"], places=4)


if __name__ == "__main__":
    unittest.main()
