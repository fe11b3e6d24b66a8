"""kgraft adopt: embeddings trained elsewhere become a model, to the same bits.

numpy makes the arrays, of any type and order, and says what they come to in single precision.
"""

from __future__ import annotations

import functools
import json
import math
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grafted import hamilton
from kgraft import (
    ROOT,
    Case,
    Result,
    Word,
    cases,
    environment,
    is_sanitized,
    numbers_of_data,
    run,
    tsv,
    unpacked_data,
    zipped,
)
from test_eval import GOLDEN, Golden, check_golden, hashed_model
from test_export import Row, run_numpy
from test_train import SMALL_PROPAGATION, Trained, read_safetensors

# ---------------------------------------------------------------------------------------------
# Models that were exported


@dataclass(frozen=True)
class RoundTrip:
    model: str
    form: str
    words: str = ""

    @property
    def name(self) -> str:
        return f"{self.model} by way of {self.form}, trained with {self.words or 'defaults'}"


MODELS = ("distmult", "simple", "complex", "quate")
LS = "--aggregate ls --ls-lambda 0.3"
DIRECTED = "--preset graft --aggregate eravg --aggregate-relations shared --terms embedding --negatives 30"
ROUND_TRIPS = [
    RoundTrip(model, form, words)
    for model in MODELS
    for form, words in (("npy", LS), ("safetensors", ""), ("npy", DIRECTED))
]


@cases(ROUND_TRIPS)
class Exported(Trained):
    """An exported model, adopted, is the same model."""

    def check(self, row: RoundTrip) -> None:
        self.train("m", "--model", row.model, *row.words.split())
        self.succeed("export", "m", "--format", row.form, "--out", "x", "--quiet")
        one = "x/embeddings.safetensors"
        entities, relations = (
            (one, one) if row.form == "safetensors" else ("x/entities.npy", "x/relations.npy")
        )
        self.succeed(
            *("adopt", "a", "--entities", entities, "--relations", relations, "--quiet"),
            *("--entity-names", "x/entities.tsv", "--relation-names", "x/relations.tsv"),
            *("--model", row.model, "--known", "data/train.tsv"),
        )
        for name in (*("model.safetensors", "names.idx", "known.bin"), "entities.tsv", "relations.tsv"):
            self.assertEqual(self.read(f"a/{name}"), self.read(f"m/{name}"), name)
        for words in ([], ["--json"], ["--aggregate", "ls"], ["--aggregate", "ials"]):
            found = [self.succeed("eval", m, "data", *words, "--quiet").stdout for m in ("m", "a")]
            self.assertEqual(found[0], found[1])
        self.succeed("calibrate", "a", "data", "--quiet")
        facts = self.read("data/unseen-test.tsv").splitlines(keepends=True)
        found = [
            self.succeed("predict", m, "-", "--json", "--quiet", stdin=facts[0]).json["entities"]
            for m in ("m", "a")
        ]
        self.assertTrue(found[0])
        self.assertEqual(found[0], found[1])


class MoreThanRows(Trained):
    """What an export lacks is not missed later: it is refused at once."""

    def adopt(self, model: str = "distmult") -> list[str]:
        files = ("--entities", "x/entities.npy", "--relations", "x/relations.npy")
        names = ("--entity-names", "x/entities.tsv", "--relation-names", "x/relations.tsv")
        return ["adopt", "a", *files, *names, "--model", model]

    def check(self, reason: str, *words: str, model: str = "distmult") -> None:
        self.train("m", *words)
        self.succeed("export", "m", "--format", "npy", "--out", "x")
        pattern = (
            "x/export.json: expected the export of a model that is nothing but its rows, found one "
            rf"with {reason}, which adopt does not take: copy the model directory itself .*"
        )
        self.refuse(*self.adopt(model), pattern=pattern)

    def test_by_default(self) -> None:
        self.check(
            "'own rows of relations for aggregation', 'parameters of its aggregator', 'echo' and "
            "'propagation'", "--preset", "graft", "--negatives", "30", *SMALL_PROPAGATION
        )
        self.succeed("eval", "m", "data")
        shutil.copytree(self.folder / "m", self.folder / "copy")
        found = [self.succeed("eval", m, "data", "--json").json for m in ("m", "copy")]
        self.assertEqual(found[0], found[1])
        (self.folder / "x/export.json").unlink()  # the rows alone, in two directions
        self.assertTrue(self.succeed(*self.adopt(), "--json").json["directed"])

    def test_encoder(self) -> None:
        self.check("'an encoder'", "--model", "rgcn-d")

    def test_another_model(self) -> None:
        self.train("m", "--model", "complex")
        self.succeed("export", "m", "--format", "npy", "--out", "x")
        pattern = "x/export.json: expected the export of a model simple, found one of 'complex'"
        self.refuse(*self.adopt("simple"), pattern=pattern)

    def test_export_of_somebody_else(self) -> None:
        self.train("m")
        self.succeed("export", "m", "--format", "npy", "--out", "x")
        self.write({"x/export.json": b'{"model": "mine"}'})
        self.succeed(*self.adopt())
        self.write({"x/export.json": b"{"})
        self.refuse(*self.adopt(), "--force", pattern="x/export.json:1:.*")


# ---------------------------------------------------------------------------------------------
# Embeddings given by a formula, with known metrics


@numbers_of_data
@cases([row for row in GOLDEN if row.split == "test" and (row.dim == 32 or row.aggregate == "ls")])
class Hashed(unittest.TestCase):
    """Adopted embeddings are judged as they are known to be."""

    out: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.out = Path(tempfile.mkdtemp(prefix="kgraft-adopt-"))
        cls.addClassCleanup(shutil.rmtree, cls.out)

    def check(self, row: Golden) -> None:
        if is_sanitized() and row.dim > 32:
            self.skipTest("a sanitizer takes too long for as much as that")
        arrays = hashed_model(row.dim, self.out, "--arrays")
        model = self.out / f"model{row.dim}"
        known = unpacked_data() / "oWN18RR" / "train.txt"
        if not model.exists():
            words = ("--model", "distmult", "--known", known, "--quiet")
            files = ("--entities", "E.npy", "--relations", "R.npy")
            names = ("--entity-names", "entities", "--relation-names", "relations")
            result = run("adopt", model, *files, *names, *words, cwd=arrays)
            self.assertEqual(result.status, 0, result)
        check_golden(self, row, model)


# ---------------------------------------------------------------------------------------------
# Arrays of all kinds

ENTITIES, RELATIONS = 7, 3
NAMES = [f"e{i}" for i in range(ENTITIES)]

# Numbers of all sizes that every type can hold, or rounds.
VALUES = (
    "rng = np.random.default_rng(7)\n"
    f"E = rng.normal(size=({ENTITIES}, 8)) * 10.0 ** rng.integers(-4, 4, size=({ENTITIES}, 8))\n"
    f"R = rng.normal(size=({RELATIONS}, 8))\n"
    "E[0, 0], E[1, 1], E[2, 2], E[3, 3], E[4, 4] = 0.0, -0.0, 6e-8, -3e-6, 65504\n"
)

# What the safetensors format says, for types that numpy has and bfloat16, which is half a float.
SAFETENSORS = """
import json, struct
def bfloat16(x):
    return (np.asarray(x, '<f4').view('<u4') >> 16).astype('<u2')
def safetensors(path, **tensors):
    header, data = {'__metadata__': {'format': 'np'}}, b''
    for name, (dtype, values) in tensors.items():
        raw = values.tobytes()
        header[name] = {'dtype': dtype, 'shape': list(values.shape),
                        'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    open(path, 'wb').write(struct.pack('<Q', len(text)) + text + data)
"""


class Adopting(Case):
    """Names for small arrays lie there."""

    def setUp(self) -> None:
        super().setUp()
        self.write({"entities": "".join(f"{name}\n" for name in NAMES).encode()})
        self.write({"relations": b"r\ns\nt\n"})

    def words(self, *words: Word, **changes: str) -> list[Word]:
        chosen = {
            "entities": "E.npy",
            "relations": "R.npy",
            "entity_names": "entities",
            "relation_names": "relations",
            "model": "distmult",
            **changes,
        }
        options = (("--" + name.replace("_", "-"), value) for name, value in chosen.items())
        return ["adopt", "m", *(word for option in options for word in option), *words]

    def adopt(self, *words: Word, **changes: str) -> Result:
        return self.succeed(*self.words("--force", *words, **changes))

    def adopt_refused(self, pattern: str, *words: Word, **changes: str) -> None:
        self.refuse(*self.words(*words, **changes), pattern=pattern)

    def numpy(self, script: str) -> None:
        run_numpy(VALUES + SAFETENSORS + script, self.folder)

    def make(self) -> None:
        self.numpy("np.save('E.npy', E)\nnp.save('R.npy', R)\n")

    def tensor(self, name: str) -> bytes:
        rows = read_safetensors(self.read("m/model.safetensors"))[name]
        return b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)

    def assert_adopted(self) -> None:
        """The tensors are those that numpy has written down, bit by bit."""
        for name in ("entities", "relations"):
            self.assertEqual(self.tensor(name), self.read(f"expected-{name}"), name)


EXPECT = "E.astype('<f4').tofile('expected-entities')\nR.astype('<f4').tofile('expected-relations')\n"


@dataclass(frozen=True)
class Saved:
    dtype: str
    order: str
    version: str

    @property
    def name(self) -> str:
        return f"{self.dtype}, {self.order} order, version {self.version}"


SAVED = [Saved(dtype, order, "None")
         for dtype in ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8") for order in "CF"]
SAVED += [Saved("<f4", "C", version) for version in ("(1, 0)", "(2, 0)", "(3, 0)")]


@cases(SAVED)
class Npy(Adopting):
    """Real numbers as numpy saves them."""

    def check(self, row: Saved) -> None:
        self.numpy(
            f"E, R = E.astype('{row.dtype}'), R.astype('{row.dtype}')\n"
            "for name, x in ('E.npy', E), ('R.npy', R):\n"
            f"    x = np.array(x, order='{row.order}')\n"
            "    with open(name, 'wb') as file:\n"
            f"        np.lib.format.write_array(file, x, version={row.version})\n" + EXPECT
        )
        self.adopt()
        self.assert_adopted()

    def test_one_of_each(self) -> None:
        """The two tables may differ in type and order"""
        self.numpy("np.save('E.npy', np.asfortranarray(E))\nnp.save('R.npy', R.astype('>f4'))\n" + EXPECT)
        self.adopt()
        self.assert_adopted()

    def test_all_half_numbers(self) -> None:
        """Every number of two bytes that is finite"""
        self.numpy(
            "E = np.arange(1 << 16, dtype='<u2').view('<f2')\n"
            "E = E[np.isfinite(E)].reshape(-1, 8)\n"
            "np.save('E.npy', E)\nnp.save('R.npy', R)\n"
            "open('entities', 'w').writelines(f'{i}\\n' for i in range(len(E)))\n" + EXPECT
        )
        self.adopt()
        self.assert_adopted()

    def test_numbers_at_any_address(self) -> None:
        """A header as old versions of numpy, or others, write it"""
        self.numpy(
            "def save(name, x, header):\n"
            "    text = header.encode()\n"
            "    start = b'\\x93NUMPY\\x01\\x00' + struct.pack('<H', len(text))\n"
            "    open(name, 'wb').write(start + text + x.tobytes())\n"
            "save('E.npy', E.astype('<f4'), '''{\"shape\":(7L,8L),\"fortran_order\":False ,"
            "\"descr\":\"<f4\"}''')\n"
            "save('R.npy', R.astype('<f4'), '''{'shape': (3, 8,), 'descr': '<f4', "
            "'fortran_order': False}  \\n''')\n" + EXPECT
        )
        self.adopt()
        self.assert_adopted()


@dataclass(frozen=True)
class Stored:
    name: str
    make: str
    expect: str


STORED = [
    Stored("F64", "E, R", "E, R"),
    Stored("F32", "E.astype('<f4'), R.astype('<f4')", "E, R"),
    Stored("F16", "E.astype('<f2'), R.astype('<f2')", "E.astype('<f2'), R.astype('<f2')"),
    Stored(
        "BF16",
        "bfloat16(E), bfloat16(R)",
        "[(bfloat16(x).astype('<u4') << 16).view('<f4') for x in (E, R)]",
    ),
]


@cases(STORED)
class Safetensors(Adopting):
    def check(self, row: Stored) -> None:
        self.numpy(
            f"E2, R2 = {row.make}\n"
            f"safetensors('both', relations=('{row.name}', R2), entities=('{row.name}', E2))\n"
            f"E, R = {row.expect}\n" + EXPECT
        )
        self.adopt(entities="both", relations="both")
        self.assert_adopted()

    def test_chosen_tensors(self) -> None:
        """The only one of a file, whatever its name, or one by its name; a file's name may hold #"""
        self.numpy(
            "safetensors('one.st', weight=('F64', E))\n"
            "safetensors('many#1', a=('F64', E), b=('F64', R), c=('I64', E.astype('<i8')))\n" + EXPECT
        )
        self.adopt(entities="one.st", relations="many#1#b")
        self.assert_adopted()
        pattern = r"many#1: expected a tensor 'relations', found 3 others, one of them '.' .FILE#.*"
        self.adopt_refused(pattern, "--force", entities="one.st", relations="many#1")

    def test_refused_tensors(self) -> None:
        self.numpy(
            "safetensors('s', i=('I64', E.astype('<i8')), one=('F64', E[0]), three=('F64', E[None]),"
            " short=('F64', E[:0]))\n"
            "np.save('E.npy', E)"
        )
        for name, pattern in (
            ("i", "expected tensor 'i' of type F16, BF16, F32 or F64, found 'I64'"),
            ("one", "expected tensor 'one' with two dimensions, found 1"),
            ("three", "expected tensor 'three' with two dimensions, found 3"),
            ("short", "expected rows of numbers, found 0 x 8"),
            ("other", "expected a tensor 'other', found 4 others, one of them '.*"),
        ):
            self.adopt_refused(f"s: {pattern}", relations=f"s#{name}")
        self.adopt_refused("E.npy: expected a safetensors file, which has names, found .*",
                           relations="E.npy#x")
        self.adopt_refused("nothing: .*", relations="nothing#x")

    def test_places_that_lie(self) -> None:
        self.numpy("np.save('E.npy', E)")
        for shape, offsets, pattern in (
            ([3, 8], [0, 97], "expected tensor 'x' within the file, .*"),
            ([3, 8], [-96, 0], "expected tensor 'x' within the file, .*"),
            ([3, 8], [96, 0], "expected tensor 'x' within the file, .*"),
            ([3, 8], [0, 92], "expected the numbers of 3 x 8 entries, found 92 bytes .*"),
            ([-3, -8], [0, 96], "expected tensor 'x' with two dimensions, .*"),
            ([2**62, 8], [0, 96], "expected at most [0-9]* rows, found 4611686018427387904"),
            ([3, 2**62], [0, 96], "expected the numbers of 3 x 4611686018427387904 entries, .*"),
            ([3, 0], [0, 0], "expected rows of numbers, found 3 x 0"),
            ([3.0, 8], [0, 96], "expected tensor 'x' with two dimensions, .*"),
        ):
            entry = {"dtype": "F32", "shape": shape, "data_offsets": offsets}
            text = json.dumps({"x": entry}).encode()
            self.write({"R": struct.pack("<Q", len(text)) + text + bytes(96)})
            self.adopt_refused(f"R: {pattern}", relations="R")

    def test_header_of_many_lists(self) -> None:
        """They would take many times the memory of their text"""
        self.numpy("np.save('E.npy', E)")
        text = b'{"x": [' + b"[], " * 10000 + b"[]]}"
        self.write({"R": struct.pack("<Q", len(text)) + text})
        pattern = "R: expected at most one list or object for 8 bytes of JSON, found 10003 in .*"
        self.adopt_refused(pattern, relations="R")


# ---------------------------------------------------------------------------------------------
# Numbers of several parts

HALVES = (
    "def apart(x, parts):\n"
    "    return x.reshape(len(x), -1, parts).transpose(0, 2, 1).reshape(len(x), -1)\n"
)


@dataclass(frozen=True)
class Layout:
    name: str
    model: str
    words: str
    make: str
    expect: str


LAYOUTS = [
    Layout("complex, halves", "complex", "", "E, R", "E, R"),
    Layout("complex, halves by name", "complex", "--complex-layout halves", "E, R", "E, R"),
    Layout("complex, interleaved", "complex", "--complex-layout interleaved", "E, R",
           "apart(E, 2), apart(R, 2)"),
    Layout("quate, halves", "quate", "", "E, R", "E, R"),
    Layout("quate, interleaved", "quate", "--complex-layout interleaved", "E, R",
           "apart(E, 4), apart(R, 4)"),
    Layout("c16", "complex", "", "E.view('<c16'), R.view('<c16')", "apart(E, 2), apart(R, 2)"),
    Layout("c8, big-endian, Fortran order", "complex", "--complex-layout interleaved",
           "[np.asfortranarray(x.view('<c16')).astype('>c8') for x in (E, R)]",
           "apart(E, 2), apart(R, 2)"),
    Layout("c16 and halves", "complex", "", "E.view('<c16'), R", "apart(E, 2), R"),
]


@cases(LAYOUTS)
class Layouts(Adopting):
    def check(self, row: Layout) -> None:
        self.numpy(
            HALVES + f"E2, R2 = {row.make}\nnp.save('E.npy', E2)\nnp.save('R.npy', R2)\n"
            f"E, R = {row.expect}\n" + EXPECT
        )
        self.adopt(*row.words.split(), model=row.model)
        self.assert_adopted()

    def test_refused(self) -> None:
        self.numpy("np.save('E.npy', E)\nnp.save('R.npy', R)\nnp.save('C.npy', E + 1j * E)\n"
                   "np.save('D.npy', R + 1j * R)\n")
        for model in ("distmult", "simple"):
            pattern = f"--complex-layout: expected --model complex or quate, found {model}"
            self.adopt_refused(pattern, "--complex-layout", "halves", model=model)
        for model in ("distmult", "simple", "quate"):
            pattern = f"C.npy: expected real numbers for {model}, found complex ones"
            self.adopt_refused(pattern, model=model, entities="C.npy", relations="D.npy")
        pattern = "C.npy: expected --complex-layout interleaved or none for complex numbers, found .*"
        self.adopt_refused(pattern, "--complex-layout", "halves", model="complex",
                           entities="C.npy", relations="D.npy")
        self.adopt_refused("R.npy: expected rows of 16 numbers, as entities have, found 8",
                           model="complex", entities="C.npy")


# ---------------------------------------------------------------------------------------------
# Files of names


@dataclass(frozen=True)
class Listing:
    """A file of names, and the names that it gives, in order."""

    name: str
    content: bytes
    names: list[str] = field(default_factory=lambda: NAMES)


def lines(*texts: str) -> bytes:
    return "".join(text + "\n" for text in texts).encode()


SHUFFLED = [3, 6, 0, 2, 5, 1, 4]
SYNSETS = ["00260881", "00260622", "01332730", "3", "03066743", "00000000", "0"]
LISTINGS = [
    Listing("plain", lines(*NAMES)),
    Listing("plain, CRLF, no last newline", "\r\n".join(NAMES).encode()),
    Listing("plain, spaces", lines(*(f"a b {n}" for n in NAMES)), [f"a b {n}" for n in NAMES]),
    Listing("plain numbers", lines("6", "5", "4", "3", "2", "1", "0"), list("6543210")),
    Listing("plain, a return at the end", lines(*NAMES[:6], "x\r\r"), [*NAMES[:6], "x\r"]),
    Listing("DGL-KE", lines(*(f"{i}\te{i}" for i in range(7)))),
    Listing("DGL-KE, shuffled", lines(*(f"{i}\te{i}" for i in SHUFFLED))),
    Listing("DGL-KE, numbers as names", lines(*(f"{i}\t{SYNSETS[i]}" for i in SHUFFLED)), SYNSETS),
    Listing("LibKGE, gzipped", zipped(lines(*(f"{i}\te{i}" for i in range(7))))),
    Listing("name and id", lines(*(f"e{i}\t{i}" for i in SHUFFLED))),
    Listing("name and id, numbers", lines(*(f"{SYNSETS[i]}\t{i}" for i in SHUFFLED)), SYNSETS),
    Listing("both columns the same", lines(*(f"{i}\t{i}" for i in SHUFFLED)), list("0123456")),
    Listing("OpenKE", lines("7", *(f"e{i}\t{i}" for i in SHUFFLED))),
    Listing("OpenKE, spaces", lines("7", *(f"an e{i}  {i}" for i in SHUFFLED)),
            [f"an {n}" for n in NAMES]),
    Listing("OpenKE, numbers as names", lines("7", *(f"{SYNSETS[i]}\t{i}" for i in SHUFFLED)),
            SYNSETS),
    Listing("PyKEEN", zipped(lines("id\tlabel", *(f"{i}\te{i}" for i in range(7))))),
    Listing("PyKEEN, quoted", lines("id\tlabel", *(f"{i}\te{i}" for i in range(4)),
                                    '4\t"""Paris""@fr"', '5\t"a ""b"" c"', "6\tid"),
            [*NAMES[:4], '"Paris"@fr', 'a "b" c', "id"]),
]


@cases(LISTINGS)
class Names(Adopting):
    """All forms of names that are recognised."""

    def setUp(self) -> None:
        super().setUp()
        self.make()

    def check(self, row: Listing) -> None:
        self.write({"listing": row.content})
        self.adopt(entity_names="listing")
        found = self.read("m/entities.tsv").decode().replace("\r\r\n", "\r\n").split("\n")
        self.assertEqual(found, [*row.names, ""])
        found = self.succeed(*self.words("--force", entity_names="-"), stdin=row.content)
        self.assertEqual(self.read("m/entities.tsv").count(b"\n"), 7)


@dataclass(frozen=True)
class BadListing:
    name: str
    content: bytes
    pattern: str


def with_ids(*ids: str) -> bytes:
    return lines(*(f"{i}\tn{k}" for k, i in enumerate(ids)))


BAD_LISTINGS = [
    BadListing("nothing", b"", "listing: expected names, found none"),
    BadListing("too few", lines(*NAMES[:6]), "listing: expected 7 names, one for each row, found 6"),
    BadListing("too many", lines(*NAMES, "x"), "listing: expected 7 names, .*, found 8"),
    BadListing("twice", lines(*NAMES[:6], "e2"), "listing:7: expected each name once, found 'e2' again"),
    BadListing("an empty line", lines(*NAMES[:6], ""), "listing:7: expected a name, found an empty .*"),
    BadListing("NUL", lines(*NAMES[:6], "a\0b"), "listing:7: expected text, found a NUL byte .*"),
    BadListing("a tab further down", lines(*NAMES[:6], "6\te6"),
               r"listing:7: expected a name as on the first line, found '6\\x09e6'"),
    BadListing("three columns", lines(*(f"{i}\te{i}\tx" for i in range(7))),
               r"listing:1: expected a name and its id, separated by a tab, found '0\\x09e0\\x09x'"),
    BadListing("no ids", lines(*(f"a\te{i}" for i in range(7))),
               r"listing:1: expected a name and its id, separated by a tab, found 'a\\x09e0'"),
    BadListing("an id twice", with_ids("0", "1", "2", "3", "4", "5", "2"),
               "listing:7: expected each id once, found 2 again"),
    BadListing("ids from 1", with_ids("1", "2", "3", "4", "5", "6", "7"),
               "listing:7: expected ids below 7, the number of names, found 7"),
    BadListing("an id with zeros", with_ids("0", "1", "2", "3", "4", "5", "06"),
               r"listing:7: expected a name and its id, separated by a tab, found '06\\x09n6'"),
    BadListing("a huge id", with_ids("0", "1", "2", "3", "4", "5", "99999999999999999999"),
               "listing:7: expected a name and its id, .*"),
    BadListing("a name twice by ids", lines(*(f"{i}\tx" for i in range(7))),
               "listing:2: expected each name once, found 'x' again"),
    BadListing("an empty name", lines(*(f"{i}\te{i}" for i in range(6)), "6\t"),
               "listing:7: expected a name and its id, .*"),
    BadListing("both columns may be ids", lines(*(f"{i}\t{(i + 1) % 7}" for i in range(7))),
               "listing:1: expected ids in one column and names in the other, found that both .*"),
    BadListing("OpenKE, a count that lies", lines("8", *(f"e{i}\t{i}" for i in range(7))),
               "listing:1: expected 8 lines to follow, as the first line says, found 7"),
    BadListing("OpenKE, another matrix", lines("6", *(f"e{i}\t{i}" for i in range(6))),
               "listing: expected 7 names, one for each row, found 6"),
    BadListing("OpenKE, no id", lines("7", *(f"e{i}\t{i}" for i in range(6)), "e6"),
               "listing:8: expected a name and its id, .*, found 'e6'"),
    BadListing("PyKEEN, an empty label", lines("id\tlabel", *(f"{i}\te{i}" for i in range(6)), '6\t""'),
               "listing:8: expected a name, found an empty one"),
    BadListing("damaged gzip", zipped(lines(*NAMES))[:-9], "listing: expected intact gzip data, .*"),
]


@cases(BAD_LISTINGS)
class BadNames(Adopting):
    def setUp(self) -> None:
        super().setUp()
        self.make()

    def check(self, row: BadListing) -> None:
        self.write({"listing": row.content})
        self.adopt_refused(row.pattern, entity_names="listing")


# ---------------------------------------------------------------------------------------------
# Arrays that cannot be used


@dataclass(frozen=True)
class Bad:
    name: str
    script: str
    pattern: str


FINITE = "expected finite numbers that a 4-byte float can hold, found"
TYPES = "expected numbers of type f2, f4, f8, c8 or c16, found"
BAD = [
    Bad("not a number", "E[5, 6] = np.nan", f"E.npy: {FINITE} nan in row 5, column 6 .from 0."),
    Bad("infinite", "E[6, 7] = -np.inf", f"E.npy: {FINITE} -inf in row 6, column 7 .from 0."),
    Bad("too large", "R[2, 0] = 3.5e38", r"R.npy: .* found 3.5e\+38 in row 2, column 0 .*"),
    Bad("not a number of two bytes", "E = E.astype('<f2'); E[0, 1] = np.nan", f"E.npy: {FINITE} nan .*"),
    Bad("not a number by columns", "E = np.asfortranarray(E); E[1, 2] = np.inf",
        "E.npy: .* found inf in row 1, column 2 .*"),
    Bad("no rows", "R = R[:0]", "R.npy: expected rows of numbers, found 0 x 8"),
    Bad("no columns", "E = E[:, :0]", "E.npy: expected rows of numbers, found 7 x 0"),
    Bad("one dimension", "E = E.ravel()", "E.npy: expected two dimensions, found 1"),
    Bad("no dimension", "E = np.float32(1)", "E.npy: expected two dimensions, found 0"),
    Bad("three dimensions", "E = E.reshape(7, 4, 2)", "E.npy: expected two dimensions, found 3"),
    Bad("whole numbers", "E = E.astype('<i8')", f"E.npy: {TYPES} '<i8'"),
    Bad("bytes", "E = np.zeros((7, 8), 'u1')", r"E.npy: .* found '\|u1'"),
    Bad("text", "E = np.zeros((7, 8), 'U5')", f"E.npy: {TYPES} '<U5'"),
    Bad("long doubles", "E = E.astype('longdouble')", f"E.npy: {TYPES} '<f16'"),
    Bad("records", "E = np.zeros((7, 8), [('a', '<f4')])", "E.npy: expected a header with descr, .*"),
    Bad("more rows than names", "E = np.vstack([E, E])", "entities: expected 14 names, .*, found 7"),
    Bad("other widths", "R = R[:, :6]", "R.npy: expected rows of 8 numbers, as entities have, found 6"),
]


@cases(BAD)
class BadArrays(Adopting):
    def check(self, row: Bad) -> None:
        self.numpy(f"{row.script}\nnp.save('E.npy', E)\nnp.save('R.npy', R)\n")
        self.adopt_refused(row.pattern)

    def test_parts(self) -> None:
        self.numpy("np.save('E.npy', E[:, :6])\nnp.save('R.npy', R[:, :6])\n")
        pattern = "E.npy: expected rows of a multiple of 4 numbers for quate, found 6"
        self.adopt_refused(pattern, model="quate")
        self.adopt(model="complex")

    def test_largest_number(self) -> None:
        """The largest float of all is one"""
        self.numpy("E[0, 0] = np.finfo('f4').max\nnp.save('E.npy', E)\nnp.save('R.npy', R)\n" + EXPECT)
        self.adopt()
        self.assert_adopted()

    def test_zero_rows(self) -> None:
        """They are told of"""
        self.numpy("E[2] = E[4] = 0\nR[1] = -0.0\nnp.save('E.npy', E)\nnp.save('R.npy', R)\n")
        result = self.adopt("--json")
        self.assertEqual(result.json["zero_rows"], {"entities": 2, "relations": 1})
        self.assertEqual(
            result.messages[:2], ["rows of zeros: 2 entities", "rows of zeros: 1 relation"]
        )

    def test_cut_off(self) -> None:
        """At any place"""
        self.make()
        whole = self.read("E.npy")
        for size in [*range(0, 140), *range(140, len(whole), 40), len(whole) - 1]:
            self.write({"E.npy": whole[:size]})
            self.adopt_refused("E.npy: expected .*")
        self.write({"E.npy": whole + b"x"})
        self.adopt_refused("E.npy: expected the numbers of 7 x 8 entries, found 449 bytes .*")

    def test_headers_that_lie(self) -> None:
        self.make()
        whole = self.read("E.npy")
        for old, new, pattern in (
            (b"(7, 8)", b"(9, 8)", "E.npy: expected the numbers of 9 x 8 entries, .*"),
            (b"(7, 8), }" + b" " * 40, b"(9223372036854775807, 9223372036854775807)}      ",
             "E.npy: expected at most .* rows, found 9223372036854775807"),
            (b"(7, 8), }" + b" " * 40, b"(99999999999999999999, 8), }                     ",
             "E.npy: expected a header with .*"),
            (b"(7, 8)", b"(7  8)", "E.npy: expected a header with .*"),
            (b"(7, 8)", b"[7, 8]", "E.npy: expected a header with .*"),
            (b"(7, 8)", b"(-7,8)", "E.npy: expected a header with .*"),
            (b"'descr'", b"'shape'", "E.npy: expected a header with .*"),
            (b"'descr'", b"'other'", "E.npy: expected a header with .*"),
            (b"False", b"Maybe", "E.npy: expected a header with .*"),
            (b"}", b" ", "E.npy: expected a header with .*"),
            (b"} ", b"}x", "E.npy: expected a header with .*"),
            (b"\x93NUMPY\x01", b"\x93NUMPY\x04", "E.npy: expected an .npy file of version .*"),
            (b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00", "E.npy: expected an .npy file, found .*"),
        ):
            self.assertEqual(len(old), len(new))
            self.write({"E.npy": whole.replace(old, new, 1)})
            self.adopt_refused(pattern)

    def test_other_files(self) -> None:
        self.make()
        self.numpy("np.savez('E.npz', E=E)")
        pattern = "E.npz: expected an .npy or safetensors file, found an archive .*numpy.save"
        self.adopt_refused(pattern, entities="E.npz")
        self.adopt_refused("entities: expected an .npy or safetensors file, found neither", entities="entities")
        self.adopt_refused("nothing: .*", entities="nothing")
        (self.folder / "folder").mkdir()
        self.adopt_refused("folder: expected a file, found something else", entities="folder")


# ---------------------------------------------------------------------------------------------
# What is known, and the rest of the command


class Known(Adopting):
    def setUp(self) -> None:
        super().setUp()
        self.make()

    def test_facts(self) -> None:
        facts = tsv("e0 r e1", "e1 s e2", "e0 r e1", "e6 t e6")
        self.write({"facts.tsv": facts, "facts.gz": zipped(facts)})
        result = self.adopt("--known", "facts.tsv", "--json")
        self.assertEqual(result.json["known"], 3)
        self.assertEqual(result.messages, ["m: 7 entities, 3 relations, 8 numbers each, 3 known facts"])
        known = self.read("m/known.bin")
        self.adopt("--known", "facts.gz")
        self.assertEqual(self.read("m/known.bin"), known)
        self.succeed(*self.words("--force", "--known", "-"), stdin=facts)
        self.assertEqual(self.read("m/known.bin"), known)

    def test_none(self) -> None:
        self.adopt()
        self.assertFalse((self.folder / "m/known.bin").exists())

    def test_refused(self) -> None:
        for fact, pattern in (
            ("e0 r e7", "facts:3: expected an entity that has a row, found 'e7'"),
            ("x r e0", "facts:3: expected an entity that has a row, found 'x'"),
            ("e0 u e1", "facts:3: expected a relation that has a row, found 'u'"),
            ("e0 r", "facts:3: expected head, relation and tail .*"),
        ):
            self.write({"facts": tsv("e0 r e1", "e1 s e2", fact)})
            self.adopt_refused(pattern, "--known", "facts")
        self.write({"facts": b""})
        self.adopt_refused("facts: expected facts, found none", "--known", "facts")


    def known(self, listing: bytes) -> bytes:
        self.write({"facts": listing})
        self.adopt("--known", "facts")
        return self.read("m/known.bin")

    def test_as_others_write_them(self) -> None:
        """By ids, below a header, or as OpenKE has them: the same facts"""
        expected = self.known(tsv("e0 r e1", "e1 s e2", "e6 t e6"))
        for listing in (
            tsv("0 0 1", "1 1 2", "6 2 6"),
            tsv("head relation tail", "0 0 1", "1 1 2", "6 2 6"),
            tsv("head relation tail", "e0 r e1", "e1 s e2", "e6 t e6"),
            b"3\n0 1 0\n1 2 1\n6 6 2\n",
            b"3\r\n0\t1\t0\r\n1\t2\t1\r\n6\t6\t2\r\n",
        ):
            self.assertEqual(self.known(listing), expected, listing)

    def test_neither_names_nor_ids(self) -> None:
        for listing, pattern in (
            (tsv("0 0 1", "1 1 7"), "facts:2: expected the id of an entity, below 7, found '7'"),
            (tsv("0 3 1"), "facts:1: expected an entity that has a row, found '0'"),
            (tsv("0 0 1", "1 3 1"), "facts:2: expected the id of a relation, below 3, found '3'"),
            (tsv("0 0 1", "e1 r e2"), "facts:2: expected the id of an entity, below 7, found 'e1'"),
            (tsv("head relation tail"), "facts: expected facts, found none"),
            (b"2\n0 1 0\n", "facts:1: expected 2 facts, as the first line says, found 1"),
            (b"1\n0 1\n", "facts:2: expected the ids of head, tail and relation, found 2: '0 1'"),
            (b"1\n0 1 3\n", "facts:2: expected the id of a relation, below 3, found '3'"),
        ):
            self.write({"facts": listing})
            self.adopt_refused(pattern, "--known", "facts", "--force")

    def test_names_that_are_numbers(self) -> None:
        """Names come first, unless they cannot be meant; both ways to read them must agree"""
        self.write({"entities": b"0\n1\n2\n3\n5\n4\n60\n", "relations": b"0\n1\n2\n"})
        same = self.known(tsv("0 0 1", "1 2 3"))
        ids = self.known(tsv("0 0 1", "6 2 6"))
        self.assertEqual(ids, self.known(tsv("0 0 1", "60 2 60")))
        self.assertNotEqual(same, ids)
        self.write({"facts": tsv("0 0 4")})
        pattern = "facts: expected names or ids, found numbers that could be both, .*"
        self.adopt_refused(pattern, "--known", "facts", "--force")


class Settings(Adopting):
    def setUp(self) -> None:
        super().setUp()
        self.make()

    def config(self) -> Any:
        return json.loads(self.read("m/config.json"))

    def test_where_it_came_from(self) -> None:
        """info shows it"""
        self.write({"facts.tsv": tsv("e0 r e1")})
        self.adopt("--known", "facts.tsv", "--aggregate", "ls")
        self.assertEqual(
            self.config()["settings"], {"model": "distmult", "dim": 8, "aggregate": "ls"}
        )
        self.assertEqual(
            self.config()["adopted"],
            {
                "entities": "E.npy",
                "relations": "R.npy",
                "entity-names": "entities",
                "relation-names": "relations",
                "known": "facts.tsv",
            },
        )
        shown = self.succeed("info", "m").stdout.decode()
        self.assertRegex(shown, r"(?m)^adopted from\n +entities +E\.npy\n +relations +R\.npy\n")
        self.adopt()
        self.assertEqual(self.config()["settings"]["aggregate"], "eravg")

    def test_folder_that_exists(self) -> None:
        self.adopt()
        self.adopt_refused("m: it exists already .--force replaces it.")
        self.write({"m/mine": b"x"})
        self.adopt_refused("m: not replaced: it holds 'mine', .*", "--force")

    def test_in_place_of_a_trained_model(self) -> None:
        """Nothing of it is left"""
        self.write({"data/train.tsv": tsv("a r b", "b r c", "c s a", "a s c")})
        self.succeed("train", "data", "m", "--dim", "4", "--epochs", "1", "--quiet")
        self.assertTrue((self.folder / "m/checkpoint.safetensors").exists())
        self.adopt()
        self.assertEqual(
            sorted(path.name for path in (self.folder / "m").iterdir()),
            ["config.json", "entities.tsv", "model.safetensors", "names.idx", "relations.tsv"],
        )

    def test_options_that_are_missing(self) -> None:
        words = self.words()
        for i in range(2, len(words), 2):
            rest = [*words[:i], *words[i + 2 :]]
            self.refuse(*rest, pattern=f"expected {words[i]} [A-Z]+, found none")

    def test_names_as_others_spell_them(self) -> None:
        for model in ("DistMult", "SimplE", "ComplEx", "QuatE"):
            self.adopt(model=model)
            self.assertEqual(self.config()["settings"]["model"], model.lower())

    def test_models_that_cannot_be_adopted(self) -> None:
        pattern = "--model: expected distmult, simple, complex or quate, found 'rgcn-d'"
        self.adopt_refused(pattern, model="rgcn-d")
        for model in ("TransE", "RotatE"):
            pattern = (
                rf"--model: expected distmult, simple, complex or quate, found '{model}' \(its score "
                r"is a distance, which is not linear in an entity, .*\)"
            )
            self.adopt_refused(pattern, model=model)
        self.adopt_refused(".*rgcn-d.*", "--aggregate", "rgcn-d")


# ---------------------------------------------------------------------------------------------
# Reciprocal relations, and the recipes of the man page


def trilinear(model: str, head: Row, relation: Row, tail: Row) -> float:
    """The score of a triple, as the papers have it, by numbers of the model's own kind."""
    n = len(head)
    if model == "distmult":
        return sum(h * r * t for h, r, t in zip(head, relation, tail))
    if model == "simple":
        half = n // 2
        one = trilinear("distmult", head[:half], relation[:half], tail[half:])
        other = trilinear("distmult", tail[:half], relation[half:], head[half:])
        return (one + other) / 2
    if model == "complex":
        h, r, t = ([complex(row[i], row[n // 2 + i]) for i in range(n // 2)] for row in (head, relation, tail))
        return sum((a * b * c.conjugate()).real for a, b, c in zip(h, r, t))
    total = 0.0
    for i in range(n // 4):
        h, r, t = (row[i :: n // 4] for row in (head, relation, tail))
        size = math.sqrt(sum(x * x for x in r))
        total += sum(a * b for a, b in zip(hamilton(h, [x / size for x in r]), t))
    return total


@dataclass(frozen=True)
class Reciprocal:
    model: str
    layout: str

    @property
    def name(self) -> str:
        return f"{self.model}, {self.layout}"


@cases([Reciprocal(model, layout) for model in MODELS for layout in ("halves", "interleaved", "named")])
class Reciprocals(Adopting):
    """Heads are asked for by a row of their own, the query turned around, as LibKGE and PyKEEN do."""

    def check(self, row: Reciprocal) -> None:
        self.numpy(
            "R = rng.normal(size=(6, 8))\nE = rng.normal(size=E.shape)\n"
            "np.save('E.npy', E.astype('<f4'))\nnp.save('R.npy', R.astype('<f4'))\n"
            "np.savetxt('E.txt', E)\nnp.savetxt('R.txt', R)\n"
        )
        entities, rows = (
            [[float(x) for x in line.split()] for line in self.lines(f"{name}.txt")] for name in "ER"
        )
        words = ["--reciprocal", row.layout]
        if row.layout == "named":
            self.write({"relations": b"r\nr_inverse\ns\ns_inverse\nt\nt_inverse\n"})
            words = []
        else:
            pattern = "relations: expected 6 names, one for each row, found 3: .*--reciprocal halves .*"
            self.adopt_refused(pattern, model=row.model)
        self.assertTrue(self.adopt(*words, "--json", model=row.model).json["directed"])
        for i, relation in enumerate("rst"):
            forward, inverse = (i, 3 + i) if row.layout == "halves" else (2 * i, 2 * i + 1)
            for side in ("tail", "head"):
                asked = ("--entity", "e2", "--relation", relation, "--side", side, "--keep-known")
                found = self.succeed("predict", "m", *asked, "--json").json["entities"][0]["answers"]
                self.assertGreaterEqual(len(found), 6)
                for answer in found:
                    other = entities[NAMES.index(answer["entity"])]
                    used = rows[forward if side == "tail" else inverse]
                    expected = trilinear(row.model, entities[2], used, other)
                    self.assertAlmostEqual(answer["score"], expected, places=4)

    def test_odd_number_of_rows(self) -> None:
        self.make()
        pattern = "R.npy: --reciprocal: expected an even number of rows, found 3"
        self.adopt_refused(pattern, "--reciprocal", "halves")


@functools.cache
def has_torch() -> bool:
    words = ["/usr/bin/python3", "-c", "import torch"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@unittest.skipUnless(has_torch(), "no torch for the system's Python")
class Recipes(Adopting):
    """The lines of the man page, run on files made like those of the tools."""

    def recipe(self, tool: str) -> str:
        page = (ROOT / "docs/man/kgraft-adopt.1.scd").read_text()
        (found,) = re.findall(rf"(?s)^\*{tool}\*.*?```\n(import numpy, torch\n.*?)```", page, re.M)
        return found.replace("\\\\", "\\")

    def run_recipe(self, tool: str, made: str) -> None:
        values = "import torch, collections\nE = torch.tensor(E).float()\nR = torch.tensor(R).float()\n"
        self.numpy(values + made + self.recipe(tool) + EXPECT_TORCH)

    def test_libkge(self) -> None:
        for prefix in ("", "_base_model."):
            self.run_recipe(
                "LibKGE",
                "state = collections.OrderedDict()\n"
                f"state['{prefix}_entity_embedder._embeddings.weight'] = E\n"
                f"state['{prefix}_relation_embedder._embeddings.weight'] = R\n"
                "torch.save({'type': 'train', 'model': (state, {})}, 'checkpoint_best.pt')\n",
            )
            self.adopt(entities="entity.npy", relations="relation.npy", model="ComplEx")
            self.assert_adopted()

    def test_openke(self) -> None:
        for made, model in (
            ("state = {'ent_embeddings.weight': E, 'rel_embeddings.weight': R}\n", "DistMult"),
            (
                "state = {f'{n}_{p}_embeddings.weight': x[:, i : i + 4] for n, x in (('ent', E), ('rel', R))"
                " for p, i in (('im', 4), ('re', 0))}\n",
                "ComplEx",
            ),
        ):
            self.run_recipe("OpenKE", made + "torch.save(state, 'model.ckpt')\n")
            self.adopt(entities="entity.npy", relations="relation.npy", model=model)
            self.assert_adopted()

    def test_pykeen(self) -> None:
        model = (
            "class Part(torch.nn.Module):\n"
            "    def __init__(self, x):\n        super().__init__()\n        self.x = torch.nn.Parameter(x)\n"
            "    def forward(self):\n        return self.x\n"
            "class Model(torch.nn.Module):\n"
            "    def __init__(self, *parts):\n        super().__init__()\n"
            "        make = lambda list: torch.nn.ModuleList(map(Part, list))\n"
            "        self.entity_representations, self.relation_representations = map(make, parts)\n"
        )
        for parts, name in (
            ("[E], [R]", "DistMult"),
            ("[E[:, :4], E[:, 4:]], [R[:, :4], R[:, 4:]]", "SimplE"),
            ("[torch.complex(E[:, :4], E[:, 4:])], [torch.complex(R[:, :4], R[:, 4:])]", "ComplEx"),
        ):
            self.run_recipe("PyKEEN", f"{model}torch.save(Model({parts}), 'trained_model.pkl')\n")
            self.adopt(entities="entity.npy", relations="relation.npy", model=name)
            self.assert_adopted()


EXPECT_TORCH = (
    "E.numpy().astype('<f4').tofile('expected-entities')\n"
    "R.numpy().astype('<f4').tofile('expected-relations')\n"
)


@unittest.skipIf(is_sanitized(), "a sanitizer needs memory of its own")
class Memory(Case):
    """What is stored as we have it is not copied, everything else once."""

    ROWS, DIM = 100_000, 500

    def limit(self, size: int) -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))

    def adopt(self, entities: str, size: int) -> Result:
        words = ("--relations", "R.npy", "--entity-names", "names", "--relation-names", "relations")
        return self.run_kgraft(
            *("adopt", "m", "--entities", entities, *words, "--model", "distmult", "--force"),
            before=lambda: self.limit(size),
            env=environment(OPENBLAS_NUM_THREADS="1"),
        )

    def test_large_table(self) -> None:
        run_numpy(
            f"E = np.ones(({self.ROWS}, {self.DIM}), '<f4')\nnp.save('E.npy', E)\n"
            "np.save('big.npy', E.astype('>f4'))\nnp.save('R.npy', E[:2])\n",
            self.folder,
        )
        self.write({"names": lines(*(f"e{i}" for i in range(self.ROWS))), "relations": b"r\ns\n"})
        table = 4 * self.ROWS * self.DIM
        rest = 150_000_000  # enough for OpenBLAS to start
        self.assertLess(rest, table)
        self.assertEqual(self.adopt("E.npy", rest).status, 0)
        self.assertEqual(self.adopt("big.npy", table + rest).status, 0)
        self.assert_refused(self.adopt("big.npy", rest), 1, "out of memory")


if __name__ == "__main__":
    unittest.main()
