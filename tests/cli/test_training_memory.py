"""What a run says it will need is what it takes; and one that cannot fit is refused before it starts."""

from __future__ import annotations

import json
import resource
import unittest

from kgraft import Case, is_sanitized

SHARE = 0.15
CONSTANT = 32e6  # kernels, threads and the allocator take what they take on each machine

GRAFT = ("--optimizer", "adagrad-row", "--terms", "embedding+echo", "--negatives", "128")
PAPER = ("--preset", "paper", "--negatives", "1")


@unittest.skipIf(is_sanitized(), "sanitizers take memory of their own")
class TrainingMemory(Case):
    def generate(self, facts: int, entities: int, exponent: str = "0.6") -> None:
        self.succeed("generate", "g.tsv", "--facts", str(facts), "--entities", str(entities),
                     "--relations", "30", "--exponent", exponent, "--quiet")

    def check(self, *words: str) -> None:
        self.succeed("train", "g.tsv", "m", *words, "--epochs", "1", "--force", "--quiet")
        machine = json.loads(self.read("m/config.json"))["machine"]
        needs = machine["needs"]
        parts = [needs[part] for part in ("rows", "state", "graph", "work")]
        self.assertAlmostEqual(needs["total"], sum(parts), delta=4)
        self.assertAlmostEqual(needs["total"], machine["memory"], delta=SHARE * machine["memory"] + CONSTANT)

    def test_rows(self) -> None:
        """Most of it are rows, and their state unless there is one number for each"""
        self.generate(30000, 30000)
        self.check(*GRAFT, "--dim", "512", "--batch", "2048")
        self.check(*PAPER, "--dim", "512")

    def test_facts(self) -> None:
        self.generate(300000, 10000)
        self.check(*PAPER, "--dim", "16", "--hold-out", "0")

    def test_propagation(self) -> None:
        self.generate(2000, 1000)
        self.check("--terms", "all", "--dim", "64", "--propagation-epochs", "1")

    def test_refused(self) -> None:
        self.generate(1000, 1000)
        limit = 2 << 30
        told = self.run_kgraft("train", "g.tsv", "m", "--dim", "800000", "--threads", "1",
                               before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(told.status, 2)
        self.assertRegex(
            told.stderr.decode(),
            r"m: needs [\d.]+ GB: rows [\d.]+, state [\d.]+, graph 0.0, work [\d.]+\n"
            r".*expected training to fit into the 2\.1 GB of memory that there are, found that it "
            r"needs [\d.]+ GB: .* \(less: --optimizer adagrad-row, a smaller --dim")
        self.assertNotIn("m", [path.name for path in self.folder.iterdir()])

