"""Model directories: read by their description alone, and refused where they are damaged.

Every bit of every header is flipped by the unit tests, in a process of their own; here it is the
commands: what they say, and that they end.
"""

from __future__ import annotations

import json
import os
import struct
import unittest
from pathlib import Path
from typing import Any

from kgraft import Word
from test_train import Trained, read_safetensors

NO_ID = 0xFFFFFFFF

FILES = ("config.json", "model.safetensors", "entities.tsv", "relations.tsv", "names.idx",
         "known.bin", "calibration.safetensors")

Facts = set[tuple[bytes, bytes, bytes]]


def sections(data: bytes, magic: bytes, count: int) -> list[bytes]:
    """Those of names.idx or known.bin."""
    assert data[:8] == magic and not any(data[8 + 16 * count : 128])
    places = [struct.unpack_from("<QQ", data, 8 + 16 * i) for i in range(count)]
    assert all(start % 64 == 0 and start + size <= len(data) for start, size in places)
    return [data[start : start + size] for start, size in places]


def numbers(data: bytes, kind: str) -> list[int]:
    return list(struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data))


def read_names(starts: bytes, slots: bytes, data: bytes) -> list[bytes]:
    """The names; and every one has its slot, to which the way from its hash is without a gap."""
    at = numbers(starts, "Q")
    names = [data[start:end] for start, end in zip(at, at[1:])]
    assert b"".join(names) == data
    pairs = list(zip(numbers(slots, "I")[::2], numbers(slots, "I")[1::2]))
    assert len(pairs) & (len(pairs) - 1) == 0 and len(pairs) > len(names)
    found = []
    for place, (hashed, i) in enumerate(pairs):
        if i != NO_ID:
            found.append(i)
            first = hashed % len(pairs)
            way = range((place - first) % len(pairs))
            assert all(pairs[(first + step) % len(pairs)][1] != NO_ID for step in way)
    assert sorted(found) == list(range(len(names)))
    return names


def read_facts(data: bytes, entities: list[bytes], relations: list[bytes]) -> Facts:
    starts, links = sections(data, b"kgknown1", 2)
    at = numbers(starts, "Q")
    pairs = list(zip(numbers(links, "I")[::2], numbers(links, "I")[1::2]))
    assert len(at) == len(entities) + 1 and at[0] == 0 and at[-1] == len(pairs)
    heads, tails = set(), set()
    for entity, start, end in zip(entities, at, at[1:]):
        own = pairs[start:end]
        assert own == sorted(set(own))
        for directed, other in own:
            relation = relations[directed // 2]
            if directed % 2 == 0:
                heads.add((entity, relation, entities[other]))
            else:
                tails.add((entities[other], relation, entity))
    assert heads == tails
    return heads


def calibration(relations: int, columns: int = 2, value: float = 1.5) -> bytes:
    size = 8 * relations * columns
    entry = {"dtype": "F32", "shape": [2 * relations, columns], "data_offsets": [0, size]}
    text = json.dumps({"calibration": entry}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + struct.pack("<f", value) * (size // 4)


class Models(Trained):
    """A model lies in `m`; `files` are its files as they were made."""

    def fill(self) -> None:
        super().fill()
        self.train("m")

    def setUp(self) -> None:
        super().setUp()
        self.files = {path.name: path.read_bytes() for path in (self.folder / "m").iterdir()}

    def path(self, name: str) -> Path:
        return self.folder / "m" / name

    def restore(self, name: str) -> None:
        self.path(name).write_bytes(self.files[name])

    def commands(self) -> list[list[Word]]:
        return [["info", "m"], ["eval", "m", "data", "--quiet"]]

    def refuse_all(self, pattern: str) -> None:
        for words in self.commands():
            self.refuse(*words, pattern=pattern)

    def accept_all(self) -> None:
        for words in self.commands():
            self.succeed(*words)

    def calibrate(self, data: bytes) -> None:
        """As others would do it, so without checksums."""
        with self.change_config("m") as config:
            config["files"]["calibration.safetensors"] = {"bytes": len(data)}
        self.path("calibration.safetensors").write_bytes(data)
        for name in ("calibration.safetensors", "config.json"):
            self.files[name] = self.path(name).read_bytes()


class Description(Models):
    """docs/model-directory.md, followed by a reader that knows nothing else."""

    def test_names(self) -> None:
        parts = sections(self.files["names.idx"], b"kgnames1", 6)
        self.assertEqual(read_names(*parts[:3]), self.lines("m/entities.tsv"))
        self.assertEqual(read_names(*parts[3:]), self.lines("m/relations.tsv"))

    def test_facts(self) -> None:
        entities, relations = self.lines("m/entities.tsv"), self.lines("m/relations.tsv")
        found = read_facts(self.files["known.bin"], entities, relations)
        self.assertEqual(found, {tuple(line.split(b"\t")) for line in self.lines("data/train.tsv")})

    def test_config(self) -> None:
        config = json.loads(self.files["config.json"])
        tensors = read_safetensors(self.files["model.safetensors"])
        self.assertEqual(config["kgraft_model"], 2)
        self.assertRegex(config["checksum"], r"\A[0-9a-f]{32}\Z")
        self.assertEqual(config["entities"], len(tensors["entities"]))
        self.assertEqual(config["relations"], len(tensors["relations"]))
        self.assertEqual(config["settings"]["dim"], len(tensors["entities"][0]))
        (length,) = struct.unpack_from("<Q", self.files["model.safetensors"])
        heads = {"model.safetensors": 8 + length, "names.idx": 128, "known.bin": 128,
                 "calibration.safetensors": len(self.files["calibration.safetensors"])}
        self.assertEqual({*config["files"], "config.json"}, set(FILES))
        for name, file in config["files"].items():
            self.assertEqual(file["bytes"], len(self.files[name]))
            self.assertRegex(file["xxh3"], r"\A[0-9a-f]{32}\Z")
            self.assertEqual(file.get("head", {}).get("bytes"), heads.get(name))

    def test_without_checksums(self) -> None:
        """A model is the same without what need not be there"""
        before = self.succeed("eval", "m", "data", "--json", "--quiet").json
        with self.change_config("m") as config:
            for name in ("names.idx", "known.bin"):
                del config["files"][name]
                self.path(name).unlink()
        self.assertEqual(self.succeed("eval", "m", "data", "--json", "--quiet").json, before)

    def test_calibration(self) -> None:
        self.calibrate(calibration(5))
        self.accept_all()
        pattern = r"m/calibration.safetensors: expected calibration of 10 x 2, found 10 x 3"
        self.calibrate(calibration(5, columns=3))
        self.refuse_all(pattern)
        for value in ("nan", "inf"):
            self.calibrate(calibration(5, value=float(value)))
            self.refuse_all(f"m: expected finite numbers, found {value} in row 0 of 'calibration'")

    def test_replaced_with_its_calibration(self) -> None:
        """--force knows the file, and a new model does not have the old one's"""
        own = self.files["calibration.safetensors"]
        self.calibrate(calibration(5))
        self.train("m", "--force")
        self.assertEqual(self.path("calibration.safetensors").read_bytes(), own)
        self.accept_all()


class Damage(Models):
    def replace(self, old: bytes, new: bytes) -> None:
        """In the config as it was made"""
        data = self.files["config.json"]
        self.assertIn(old, data)
        self.path("config.json").write_bytes(data.replace(old, new))

    def test_headers(self) -> None:
        for name in ("model.safetensors", "names.idx", "known.bin", "calibration.safetensors"):
            head = json.loads(self.files["config.json"])["files"][name]["head"]["bytes"]
            for at in (0, 9, head // 2, head - 1):
                data = bytearray(self.files[name])
                data[at] ^= 4
                self.path(name).write_bytes(data)
                self.refuse_all(f"m/{name}: expected the first {head} bytes as .*, found others")
            self.restore(name)
        self.accept_all()

    def test_config(self) -> None:
        """What is changed and still well-formed is found by the checksum"""
        for old, new in ((b'"seed": 5', b'"seed": 4'), (b'"lr": 0.', b'"lr": 1.'),
                         (b'"distmult"', b'"distmulr"'), (b'"entities.tsv"', b'"entitier.tsv"'),
                         (b'"kgraft_model": 2', b'"kgraft_model": 1')):
            self.replace(old, new)
            self.refuse_all("m/config.json: expected what has the checksum '.{32}', found .*")
        self.replace(b'"checksum"', b'"checksun"')
        self.refuse_all("m/config.json: expected the checksum of a model, found none")

    def test_config_written_anew(self) -> None:
        """Its checksum is that of its meaning"""
        config: dict[str, Any] = json.loads(self.files["config.json"])
        self.path("config.json").write_text(json.dumps(dict(reversed(config.items()))))
        self.accept_all()

    def test_other_versions(self) -> None:
        for version in (0, 3, -1):
            self.replace(b'"kgraft_model": 2', b'"kgraft_model": %d' % version)
            self.refuse_all(f"m/config.json: expected a model of version 1 to 2, found {version}")

    def test_truncated(self) -> None:
        for name in FILES:
            for size in (0, 1, len(self.files[name]) // 2, len(self.files[name]) - 2):
                self.path(name).write_bytes(self.files[name][:size])
                self.refuse_all("m.*: expected .*")
            self.restore(name)
        self.accept_all()

    def test_sizes_that_lie(self) -> None:
        for name, lie in (("entities", 1 << 40), ("entities", "120"), ("relations", 0),
                          ("relations", 6), ("relations", -5), ("entities", 1.5)):
            with self.change_config("m") as config:
                config[name] = lie
            self.refuse_all(r"m(/model\.safetensors)?: expected .*, found .*")
            self.restore("config.json")
        for dim in (0, 4, 16, 1 << 62, "8", None, True):
            with self.change_config("m") as config:
                config["settings"]["dim"] = dim
            self.refuse_all(r"m(/model\.safetensors)?: expected .*, found .*")
            self.restore("config.json")

    def test_no_files(self) -> None:
        """Gone, a folder, or a pipe, which nobody waits for"""
        for name in FILES:
            makers = (lambda path: None, os.mkdir, os.mkfifo)
            found = ("none", "something that is no file", "something that is no file")
            if name == "config.json":
                found = ("", "", "")
            for make, what in zip(makers, found):
                path = self.path(name)
                path.unlink()
                make(path)
                pattern = f"m: expected '{name}' as config.json describes it, found {what}"
                for words in self.commands():
                    result = self.run_kgraft(*words)
                    self.assert_refused(result, 2, pattern if what else "m(/config.json)?: expected .*")
                if path.is_dir():
                    path.rmdir()
                    path.touch()
                elif make is os.mkfifo:
                    path.unlink()
                self.restore(name)
        self.accept_all()


if __name__ == "__main__":
    unittest.main()
