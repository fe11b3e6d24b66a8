"""Rows of entities in half precision: what is stored are the rows of training, rounded, and whatever is asked
of the model is answered as by its twin that has the rounded rows in single precision.
"""

from __future__ import annotations

import json
import shutil
import struct

from grafted import GRAFT, MODELS, PROPAGATION, SMALL, Grafted
from test_train import QUICK

HALF = ("--store-dim-type", "f16")


def split(data: bytes) -> tuple[dict, bytes]:
    """The header of a safetensors file, and its numbers."""
    (length,) = struct.unpack_from("<Q", data)
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def tensor(data: bytes, name: str) -> bytes:
    header, numbers = split(data)
    begin, end = header[name]["data_offsets"]
    return numbers[begin:end]


class HalfRows(Grafted):
    def train_both(self, *words: str) -> None:
        for name, more in (("full", ()), ("half", HALF)):
            self.succeed("train", "data", name, *words, *more, "--force", "--quiet")

    def make_twin(self) -> None:
        """The model *half* with the same rows in single precision, as another program would write it"""
        shutil.rmtree(self.folder / "twin", ignore_errors=True)
        shutil.copytree(self.folder / "half", self.folder / "twin")
        header, numbers = split(self.read("half/model.safetensors"))
        data = b""
        for name, about in header.items():
            begin, end = about["data_offsets"]
            part = numbers[begin:end]
            if name == "entities":
                count = len(part) // 2
                part = struct.pack(f"<{count}f", *struct.unpack(f"<{count}e", part))
            header[name] = {**about, "dtype": "F32", "data_offsets": [len(data), len(data) + len(part)]}
            data += part
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        config = json.loads(self.read("half/config.json"))
        config.pop("checksum")
        config["kgraft_model"] = 1
        content = struct.pack("<Q", len(text)) + text + data
        config["files"]["model.safetensors"] = {"bytes": len(content)}
        self.write({"twin/model.safetensors": content, "twin/config.json": json.dumps(config).encode()})

    def test_what_is_stored(self) -> None:
        """The rows to the nearest half, everything else as it is; odd numbers of them, too"""
        for words in (GRAFT, ("--preset", "paper", "--dim", "7", *QUICK)):
            self.train_both(*words)
            full, half = (self.read(f"{name}/model.safetensors") for name in ("full", "half"))
            rows = tensor(full, "entities")
            numbers = struct.unpack(f"<{len(rows) // 4}f", rows)
            self.assertEqual(tensor(half, "entities"), struct.pack(f"<{len(numbers)}e", *numbers))
            self.assertEqual(split(half)[0]["entities"]["dtype"], "F16")
            names = set(split(full)[0])
            self.assertEqual(set(split(half)[0]), names)
            for name in names - {"entities"}:
                self.assertEqual(tensor(half, name), tensor(full, name))
            settings = json.loads(self.read("half/config.json"))["settings"]
            self.assertEqual(settings.pop("store_dim_type"), "f16")
            self.assertEqual(settings, json.loads(self.read("full/config.json"))["settings"])
            self.assertTrue(self.succeed("check", "half", "--json", "--quiet").json["verified"])

    def answers(self, model: str) -> list[bytes]:
        head, relation, tail = self.facts[0]
        known = sorted(self.seen)[:3]
        commands = [
            ("predict", model, "facts.tsv", "--json", "-k", "30"),
            ("predict", model, "facts.tsv", "--relation", relation, "--json"),
            *(("predict", model, "--entity", name, "--json") for name in known),
            ("neighbors", model, "--entity", known[0], "--json"),
            ("embed", model, "facts.tsv"),
            ("explain", model, "facts.tsv", "--relation", relation, "--json"),
            ("eval", model, "data", "--json"),
            ("eval", model, "data", "--in-sample", "--json"),
            ("export", model, "--format", "word2vec", "--out", "-"),
        ]
        return [self.run_kgraft(*words).stdout.replace(model.encode(), b"MODEL") for words in commands]

    def test_answers(self) -> None:
        plain = [(*SMALL, "--terms", "embedding", "--model", model) for model in MODELS]
        for words in (*plain, GRAFT, PROPAGATION, (*QUICK, "--preset", "paper", "--aggregate", "ials", "--psi", "0")):
            self.train_both(*words, "--epochs", "2")
            self.make_twin()
            expected = self.answers("twin")
            self.assertEqual(self.answers("half"), expected, words)
            self.assertGreater(sum(len(answer) > 0 for answer in expected), 5, words)
            self.succeed("index", "half", "--quiet")
            self.assertEqual(self.answers("half"), expected, words)

    def test_store(self) -> None:
        """A live graph on such a model, also compacted from its rows"""
        self.train_both(*GRAFT, "--epochs", "2")
        self.make_twin()
        head, relation, tail = self.facts[0]
        told = []
        for name in ("twin", "half"):
            self.succeed("store", name, f"{name}-store")
            self.succeed("add", f"{name}-store", "facts.tsv")
            told.append(self.succeed("predict", f"{name}-store", "--entity", head, "--json").stdout)
        self.assertEqual(told[0].replace(b"twin", b"half"), told[1])
        self.succeed("compact", "half-store", "--quiet")
        self.succeed("predict", "half-store", "--entity", head)

    def test_damage(self) -> None:
        self.train_both(*GRAFT, "--epochs", "1")
        data = bytearray(self.read("half/model.safetensors"))
        data[-2:] = struct.pack("<e", float("inf"))
        self.write({"half/model.safetensors": bytes(data)})
        self.assertEqual(self.run_kgraft("check", "half").status, 2)
        self.make_twin()
        self.assertIn(b"expected finite numbers", self.run_kgraft("check", "twin").stdout)
        self.assertIn("expected f32 or f16",
                      self.run_kgraft("train", "data", "m", "--store-dim-type", "f8").stderr.decode())
        self.refuse("train", "data", "m", "--terms", "propagation", *HALF, pattern="--terms: expected embedding among them for --store-dim-type, found propagation")
