"""kgraft check: a bit that is flipped anywhere is noticed, and so is a number that is none; and what
other commands say when they meet one.
"""

from __future__ import annotations

import json
import math
import struct
import unittest

from kgraft import Result
from sealed import open_checkpoint, seal_checkpoint, xxh3
from test_train import QUICK, Trained

CHECKPOINT = "m/checkpoint.safetensors"


class Checked(Trained):
    def fill(self) -> None:
        super().fill()
        self.train("m", "--threads", "1")

    def check(self, path: str = "m") -> Result:
        return self.run_kgraft("check", path, "--quiet")

    def flip(self, name: str, place: int, bit: int = 3) -> bytes:
        """Flips a bit; returns what was there."""
        whole = self.read(name)
        data = bytearray(whole)
        data[place] ^= 1 << bit
        self.write({name: bytes(data)})
        return whole

    def places(self, name: str) -> list[int]:
        size = len(self.read(name))
        return sorted({0, size // 3, size // 2, size - 2, size - 1})


class Whole(Checked):
    def test_model(self) -> None:
        told = self.succeed("check", "m", "--json", "--quiet").json
        self.assertEqual((told["path"], told["whole"], told["verified"]), ("m", True, True))
        names = {path.name for path in (self.folder / "m").iterdir()}
        self.assertEqual({file["path"] for file in told["files"]}, {f"m/{name}" for name in names})
        for file in told["files"]:
            data = self.read(file["path"])
            self.assertEqual((file["state"], file["bytes"]), ("verified", len(data)))
        rows = sum(len(self.lines(f"m/{name}.tsv")) for name in ("entities", "relations"))
        numbers = {file["path"]: file["numbers"] for file in told["files"]}
        self.assertEqual(numbers["m/model.safetensors"], 8 * rows)
        self.assertEqual(numbers[CHECKPOINT], 2 * 8 * rows)  # with Adagrad's state; they are the best

    def test_hashes_are_those_of_xxhash(self) -> None:
        for name, file in json.loads(self.read("m/config.json"))["files"].items():
            self.assertEqual(file["xxh3"], xxh3(self.read(f"m/{name}")))
        data = self.read(CHECKPOINT)
        told = open_checkpoint(data)[0]["__metadata__"]["xxh3"]
        self.assertEqual(told, xxh3(data.replace(told.encode(), b"0" * 32, 1)))

    def test_dataset(self) -> None:
        lines = self.succeed("check", "data").stdout.splitlines()
        self.assertIn(b"verified    data/dataset.json", lines)
        self.assertIn(b"verified    data/train.tsv", lines)

    def test_checkpoint(self) -> None:
        result = self.succeed("check", CHECKPOINT)
        self.assertEqual(result.stdout, b"verified    m/checkpoint.safetensors\n")
        self.assertRegex(result.messages[-1], "1 file, .*numbers: no damage found")

    def test_model_of_others(self) -> None:
        """Without checksums it is looked at, and said not to be verified"""
        with self.change_config("m"):
            pass
        told = self.succeed("check", "m", "--json", "--quiet").json
        self.assertEqual((told["whole"], told["verified"]), (True, False))
        states = {file["path"]: file["state"] for file in told["files"]}
        self.assertEqual(states.pop(CHECKPOINT), "verified")
        self.assertEqual(set(states.values()), {"unverified"})

    def test_something_else(self) -> None:
        for path in ("g.tsv", ".", "nothing"):
            self.refuse("check", path, pattern=f"{path}: .*")


class Damaged(Checked):
    def assert_damaged(self, path: str, name: str, place: object) -> None:
        result = self.check(path)
        self.assertEqual(result.status, 2, (name, place, result))
        self.assertRegex(result.messages[-1], "kgraft: .*")

    def check_flips(self, path: str, name: str) -> None:
        for place in self.places(name):
            whole = self.flip(name, place)
            self.assert_damaged(path, name, place)
            self.write({name: whole})

    def test_model(self) -> None:
        """A bit in any file; but white space in config.json means nothing"""
        for file in (self.folder / "m").iterdir():
            if file.name != "config.json":
                self.check_flips("m", f"m/{file.name}")
        self.assertEqual(self.check().status, 0)

    def test_config(self) -> None:
        whole = self.read("m/config.json")
        for old, new in ((b'"dim": 8', b'"dim": 9'), (b'"loss"', b'"lost"'), (b'"mrr": 0.', b'"mrr": 1.')):
            self.assertIn(old, whole)
            self.write({"m/config.json": whole.replace(old, new, 1)})
            self.assert_damaged("m", "config.json", old)

    def test_dataset(self) -> None:
        for file in (self.folder / "data").glob("*.tsv"):
            self.check_flips("data", f"data/{file.name}")
        whole = self.read("data/dataset.json")
        self.write({"data/dataset.json": whole.replace(b'"train": 4', b'"train": 5', 1)})
        self.assertNotEqual(self.read("data/dataset.json"), whole)
        self.assert_damaged("data", "dataset.json", "counts")

    def test_all_problems_are_told(self) -> None:
        self.flip("m/model.safetensors", -1)
        self.flip("m/known.bin", -1)
        (self.folder / "m/entities.tsv").unlink()
        result = self.run_kgraft("check", "m", "--json", "--quiet")
        self.assertEqual(result.status, 2)
        states = {file["path"]: file["state"] for file in result.json["files"]}
        bad = {"m/model.safetensors", "m/known.bin", "m/entities.tsv"}
        self.assertEqual({path for path, state in states.items() if state == "damaged"}, bad)
        self.assertFalse(result.json["whole"])

    def test_numbers_that_are_none(self) -> None:
        """In a model without checksums"""
        with self.change_config("m"):
            pass
        whole = self.read("m/model.safetensors")
        for value in (math.nan, math.inf, -math.inf):
            self.write({"m/model.safetensors": whole[:-4] + struct.pack("<f", value)})
            result = self.check()
            self.assertEqual(result.status, 2)
            self.assertRegex(result.messages[-1], "m/model.safetensors: expected finite numbers, .*")

    def test_facts_with_nobody(self) -> None:
        """In a model without checksums: all files are well-formed, but do not fit together"""
        with self.change_config("m"):
            pass
        data = bytearray(self.read("m/known.bin"))
        start, size = struct.unpack_from("<QQ", data, 24)  # of the links
        struct.pack_into("<I", data, start + size - 4, len(self.lines("m/entities.tsv")))
        self.write({"m/known.bin": bytes(data)})
        self.assert_damaged("m", "known.bin", "the last entity")


class Met(Checked):
    """Opening looks at no numbers; but one that is not finite is an error where it is met."""

    PATTERN = ".*expected a model of finite numbers, found .*: it is damaged .kgraft check .*"

    def setUp(self) -> None:
        super().setUp()
        names = self.lines("m/entities.tsv")
        self.known, self.other = names[0].decode(), names[-1].decode()
        relation = self.lines("m/relations.tsv")[0].decode()
        self.write({"new.tsv": f"new\t{relation}\t{self.known}\n".encode()})
        ask = ("--relation", relation)
        self.commands = [
            ("predict", "m", "new.tsv"),
            ("predict", "m", "new.tsv", *ask, "--side", "tail", "--json"),
            ("explain", "m", "new.tsv", *ask, "--side", "tail", "--answer", self.other),
            ("neighbors", "m", "new.tsv"),
            ("neighbors", "m", "--entity", self.known),
            ("eval", "m", "data"),
            ("calibrate", "m", "data"),
            ("export", "m", "--format", "npy", "--out", "exported"),
        ]

    def damage(self, row: int, value: float) -> None:
        """Sets the first number of an entity's row."""
        data = bytearray(self.read("m/model.safetensors"))
        header, _ = open_checkpoint(bytes(data))
        (length,) = struct.unpack_from("<Q", data)
        rows, columns = header["entities"]["shape"]
        start = 8 + length + header["entities"]["data_offsets"][0]
        struct.pack_into("<f", data, start + 4 * columns * (row % rows), value)
        self.write({"m/model.safetensors": bytes(data)})

    def test_candidate(self) -> None:
        for value in (math.nan, math.inf, -math.inf):
            self.damage(-1, value)
            for words in self.commands:
                self.refuse(*words, pattern=self.PATTERN)
        self.succeed("embed", "m", "new.tsv")

    def test_end_of_a_fact(self) -> None:
        self.damage(0, math.nan)
        for words in [*self.commands, ("embed", "m", "new.tsv")]:
            self.refuse(*words, pattern=self.PATTERN)

    def test_no_damage(self) -> None:
        for words in self.commands:
            self.succeed(*words)


class Checkpoints(Checked):
    """A run does not go on from a checkpoint that is damaged."""

    def resume(self, pattern: str) -> None:
        self.refuse("train", "data", "m", *QUICK, "--epochs", "8", "--resume", pattern=pattern)

    def test_flipped_bits(self) -> None:
        for place in self.places(CHECKPOINT):
            whole = self.flip(CHECKPOINT, place)
            self.resume(f"{CHECKPOINT}: expected .*, found .*")
            self.write({CHECKPOINT: whole})
        self.train("m", "--epochs", "8", "--resume")

    def test_zeros(self) -> None:
        """All of it, or all numbers"""
        whole = self.read(CHECKPOINT)
        header, numbers = open_checkpoint(whole)
        for data in (bytes(len(whole)), whole[: -len(numbers)] + bytes(len(numbers))):
            self.write({CHECKPOINT: data})
            self.resume(f"{CHECKPOINT}: expected .*, found .*")

    def test_without_a_checksum(self) -> None:
        header, numbers = open_checkpoint(self.read(CHECKPOINT))
        data = seal_checkpoint(header, numbers).replace(b'"xxh3"', b'"xxh2"', 1)
        self.write({CHECKPOINT: data})
        self.resume(f"{CHECKPOINT}: expected a checksum in its metadata, found none")

    def test_sealed_again(self) -> None:
        """As others may write it"""
        self.write({CHECKPOINT: seal_checkpoint(*open_checkpoint(self.read(CHECKPOINT)))})
        self.train("m", "--epochs", "8", "--resume")


if __name__ == "__main__":
    unittest.main()
