"""kgraft embed: vectors against a slow twin, and the files that hold them."""

from __future__ import annotations

import ast
import struct
import unittest
from typing import Any

from grafted import AGGREGATES, MODELS, Grafted, Twin
from kgraft import cases, tsv
from test_predict import Setting


def read_tsv(data: bytes) -> dict[bytes, list[float]]:
    rows = (line.split(b"\t") for line in data.split(b"\n")[:-1])
    return {name: [float(number) for number in numbers] for name, *numbers in rows}


def read_npy(data: bytes) -> list[tuple[float, ...]]:
    """A matrix by the format's description: a magic word, a version, the header's length, the
    header as a Python literal, the numbers."""
    assert data[:8] == b"\x93NUMPY\x01\x00"
    (size,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + size].decode("latin-1"))
    assert (header["descr"], header["fortran_order"]) == ("<f4", False)
    rows, columns = header["shape"]
    assert len(data) == 10 + size + 4 * rows * columns
    return [struct.unpack_from(f"<{columns}f", data, 10 + size + 4 * i * columns) for i in range(rows)]


@cases([Setting(model, aggregate) for model in MODELS for aggregate in AGGREGATES])
class Vectors(Grafted):
    """Those of every new entity."""

    def check(self, row: Setting) -> None:
        self.prepare("--model", row.model)
        twin = Twin.read(self.folder / "model")
        new_entities = self.new_entities()
        words = ("embed", "model", "facts.tsv", "--aggregate", row.aggregate)
        found = read_tsv(self.succeed(*words).stdout)
        self.assertEqual(list(found), [name.encode() for name in new_entities])
        for name, facts in new_entities.items():
            expected = twin.embed(name, facts, row.aggregate)
            vector = found[name.encode()]
            self.assertEqual(len(vector), len(expected))
            size = max(map(abs, expected))
            for number, other in zip(vector, expected):
                self.assertAlmostEqual(number, other, delta=2e-5 * size)


class Files(Grafted):
    def test_the_same_to_a_file(self) -> None:
        expected = self.succeed("embed", "model", "facts.tsv").stdout
        self.assertEqual(self.succeed("embed", "model", "facts.tsv", "--out", "-").stdout, expected)
        result = self.succeed("embed", "model", "facts.tsv", "--out", "vectors.tsv")
        self.assertEqual((result.stdout, self.read("vectors.tsv")), (b"", expected))

    def test_numpy(self) -> None:
        """The same numbers, and the names beside them"""
        expected = read_tsv(self.succeed("embed", "model", "facts.tsv").stdout)
        for force in (), ("--force",):  # the second time over the first
            result = self.succeed("embed", "model", "facts.tsv", "--out", "vectors.npy", *force)
            self.assertEqual(result.stdout, b"")
            self.assertEqual(self.lines("vectors.names.tsv"), list(expected))
            for row, numbers in zip(read_npy(self.read("vectors.npy")), expected.values()):
                self.assertEqual(row, struct.unpack("8f", struct.pack("8f", *numbers)))

    def test_nothing_is_left_where_one_file_fails(self) -> None:
        (self.folder / "vectors.names.tsv").mkdir()
        pattern = r"vectors\.names\.tsv: cannot .*"
        self.refuse("embed", "model", "facts.tsv", "--out", "vectors.npy", pattern=pattern)

    def test_one_of_the_new_entities(self) -> None:
        every = read_tsv(self.succeed("embed", "model", "facts.tsv").stdout)
        name = list(every)[2]
        found = read_tsv(self.succeed("embed", "model", "facts.tsv", "--entity", name).stdout)
        self.assertEqual(found, {name: every[name]})

    def test_a_vector_that_is_known(self) -> None:
        """With eavg and one fact, it is the other end's, to the bit"""
        twin = Twin.read(self.folder / "model")
        other = list(twin.entities)[3]
        facts = tsv(f"new r0 {other}")
        found = read_tsv(
            self.succeed("embed", "model", "-", "--aggregate", "eavg", stdin=facts).stdout
        )
        as_floats = struct.unpack("8f", struct.pack("8f", *found[b"new"]))
        self.assertEqual(as_floats, tuple(twin.entities[other]))

    def test_order_and_company_do_not_matter(self) -> None:
        lines = self.read("facts.tsv").splitlines(keepends=True)
        for aggregate in AGGREGATES:
            words = ("--aggregate", aggregate)
            expected = read_tsv(self.succeed("embed", "model", "facts.tsv", *words).stdout)
            shuffled = b"".join(reversed(lines + lines[:5]))
            found = read_tsv(self.succeed("embed", "model", "-", *words, stdin=shuffled).stdout)
            self.assertEqual(found, expected)

    def test_any_name(self) -> None:
        other = self.known[0][0].encode()
        facts = b"\xff a\r\tr0\t" + other + b"\n"
        found = read_tsv(self.succeed("embed", "model", "-", stdin=facts).stdout)
        self.assertEqual(list(found), [b"\xff a\r"])

    def test_what_is_there_is_not_replaced(self) -> None:
        """Unless that is asked for; and the facts never"""
        (self.folder / "link.tsv").symlink_to("facts.tsv")
        (self.folder / "x.names.tsv").hardlink_to(self.folder / "facts.tsv")
        (self.folder / "old.tsv").write_bytes(b"old")
        (self.folder / "y.names.tsv").write_bytes(b"old")
        facts = self.read("facts.tsv")
        words: Any = ("embed", "model", "facts.tsv", "--out")
        own = r"--out: expected a file apart from what is read, found '.*'"
        for name in "facts.tsv", "./facts.tsv", "link.tsv", "x.npy":
            for force in (), ("--force",):
                self.refuse(*words, name, *force, pattern=own)
        self.assertEqual(self.read("facts.tsv"), facts)
        there = r"(old|y\.names)\.tsv: it exists already \(--force replaces it\)"
        for name in "old.tsv", "y.npy":
            self.refuse(*words, name, pattern=there)
        self.assertEqual((self.read("old.tsv"), self.read("y.names.tsv")), (b"old", b"old"))
        self.succeed(*words, "old.tsv", "--force")
        self.assertEqual(self.read("old.tsv"), self.succeed("embed", "model", "facts.tsv").stdout)

    def test_refused(self) -> None:
        words: Any = ("embed", "model", "facts.tsv", "--out")
        self.refuse(*words, "vectors.txt", pattern="--out: expected a name that ends in .*'vectors.txt'")
        self.refuse(*words, "nowhere/vectors.tsv", pattern="nowhere/.*")
        self.refuse("embed", pattern="too few arguments: .*")
        self.refuse("embed", "model", pattern="expected FACTS about new entities, or --entity .*")
        self.refuse("embed", "model", "facts.tsv", "--entity", "x", pattern="--entity: .*'x'.*")


if __name__ == "__main__":
    unittest.main()
