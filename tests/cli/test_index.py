"""kgraft index: the same answers to the byte, from a copy of the rows that is noticed when it is damaged or
of another model.
"""

from __future__ import annotations

import json

from grafted import GRAFT, PROPAGATION, SMALL_PROPAGATION, Grafted
from sealed import xxh3


class Index(Grafted):
    def asked(self, model: str) -> list[bytes]:
        head, relation, _ = self.facts[0]
        known = sorted(self.seen)[:3]
        commands = [
            ("predict", model, "facts.tsv", "--json"),
            ("predict", model, "facts.tsv", "--relation", relation, "-k", "40", "--json"),
            ("neighbors", model, "--entity", known[0], "--json"),
            *(("predict", model, "--entity", name, "--json") for name in known),
        ]
        return [self.succeed(*words).stdout.replace(model.encode(), b"MODEL") for words in commands]

    def test_answers_are_the_same(self) -> None:
        for name, settings in (("g", GRAFT), ("p", PROPAGATION)):
            self.succeed("train", "data", name, *settings, "--epochs", "2", "--quiet")
        for name in ("model", "g", "p"):
            plain = self.asked(name)
            self.assertEqual(self.succeed("index", name).stderr, f"{name}: indexed\n".encode())
            self.assertEqual(self.asked(name), plain)

    def test_file(self) -> None:
        self.succeed("index", "model", "--quiet")
        config = json.loads(self.read("model/config.json"))
        index = self.read("model/rows.int8")
        self.assertEqual(config["files"]["rows.int8"]["bytes"], len(index))
        self.assertEqual(config["files"]["rows.int8"]["xxh3"], xxh3(index))
        stride = -(-config["settings"]["dim"] // 32) * 32
        self.assertGreaterEqual(len(index), config["entities"] * (stride + 12))
        told = self.succeed("check", "model", "--json", "--quiet").json
        self.assertIn(("model/rows.int8", "verified"), [(f["path"], f["state"]) for f in told["files"]])
        self.succeed("index", "model", "--quiet")
        self.assertEqual(self.read("model/rows.int8"), index)
        self.assertEqual(json.loads(self.read("model/config.json")), config)

    def test_damage(self) -> None:
        self.succeed("index", "model", "--quiet")
        index = bytearray(self.read("model/rows.int8"))
        index[-70] ^= 1
        self.write({"model/rows.int8": bytes(index)})
        self.assertIn(b"damaged", self.run_kgraft("check", "model").stdout)
        index[3] ^= 1  # in its head
        self.write({"model/rows.int8": bytes(index)})
        self.assert_refused(
            self.run_kgraft("predict", "model", "facts.tsv"), 2,
            "model/rows.int8: expected the first 128 bytes as config.json describes them, found others")
        self.succeed("index", "model", "--quiet")
        self.assertTrue(self.succeed("check", "model", "--json", "--quiet").json["verified"])

    def test_without_rows(self) -> None:
        self.succeed("train", "data", "p", "--terms", "propagation", *SMALL_PROPAGATION, "--quiet")
        self.refuse("index", "p", pattern="expected a model with the term embedding, found one without")
        self.refuse("index", "missing", pattern="missing: .*No such file or directory")
