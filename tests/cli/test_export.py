"""kgraft export: what other tools read is what the model holds.

The readers here are written from the formats' descriptions; numpy itself reads .npy files.
"""

from __future__ import annotations

import atexit
import functools
import json
import struct
import subprocess
import unittest
from dataclasses import dataclass
from pathlib import Path

from kgraft import Case, Word, cases
from test_train import QUICK, Tensors, Trained, read_safetensors

Row = tuple[float, ...]


# Reads folders and scripts as lines of JSON, and answers each with null or what went wrong.
NUMPY = """
import json, os, sys, traceback, types
import numpy as np
for line in sys.stdin:
    folder, script = json.loads(line)
    main, failure = types.ModuleType("__main__"), None
    sys.modules["__main__"], main.np = main, np  # classes are pickled by their module's name
    try:
        os.chdir(folder)
        exec(script, vars(main))
    except Exception:
        failure = traceback.format_exc()
    vars(main).clear()
    print(json.dumps(failure), flush=True)
"""


@functools.cache
def numpy_process() -> subprocess.Popen[bytes]:
    """The system's Python, which alone has numpy. It runs all scripts of a module, since loading numpy
    takes far longer than each of them."""
    command = ["/usr/bin/python3", "-B", "-c", NUMPY]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(process.communicate)
    return process


def run_numpy(script: str, cwd: Path) -> None:
    """Runs a few lines with numpy, which is np there."""
    process = numpy_process()
    process.stdin.write(json.dumps([str(cwd), script]).encode() + b"\n")
    process.stdin.flush()
    failure = json.loads(process.stdout.readline() or b'"the process with numpy ended"')
    if failure is not None:
        raise AssertionError(failure)


def single(text: str) -> float:
    """A number as readers of single precision take it: by way of double precision."""
    number: float = struct.unpack("<f", struct.pack("<f", float(text)))[0]
    return number


def bits(row: Row) -> bytes:
    return struct.pack(f"<{len(row)}f", *row)


def read_word2vec(data: bytes) -> dict[str, Row]:
    """By gensim's rules: a line of two counts; then, of each line, what stands behind its last
    number is dropped, and single spaces separate the word and exactly as many numbers."""
    lines = data.split(b"\n")
    assert lines.pop() == b""
    count, size = (int(word) for word in lines.pop(0).split())
    assert len(lines) == count, (len(lines), count)
    words: dict[str, Row] = {}
    for line in lines:
        word, *numbers = line.rstrip().decode().split(" ")
        assert len(numbers) == size, line
        assert word not in words, word
        words[word] = tuple(map(single, numbers))
    return words


# A small model with names of any kind, none of which becomes another's by an underscore.
NAMES = ["dog", "hot dog", " leading", "a  b", "ends in return\r", "Zürich", "%20", "under_score"]


class Exported(Case):
    """A model of a few entities lies in `m`, made by another tool."""

    ENTITIES = "np.random.default_rng(1).normal(size=(len(names), 6)).astype('<f4')"

    def make(self, names: list[str], entities: str = ENTITIES) -> None:
        self.write({"names": "".join(n + ("\r\n" if n[-1] == "\r" else "\n") for n in names).encode()})
        self.write({"relations": b"r\ns t\n"})
        run_numpy(
            f"names = {names!r}\nnp.save('E.npy', {entities})\n"
            "np.save('R.npy', np.load('E.npy')[:2])",
            self.folder,
        )
        self.succeed(
            *("adopt", "m", "--entities", "E.npy", "--relations", "R.npy", "--model", "distmult"),
            *("--entity-names", "names", "--relation-names", "relations", "--quiet"),
        )

    def tensors(self) -> Tensors:
        return read_safetensors(self.read("m/model.safetensors"))

    def export(self, form: str, out: str, *words: Word) -> None:
        self.succeed("export", "m", "--format", form, "--out", out, "--quiet", *words)

    def assert_same(self, found: list[Row], expected: list[Row]) -> None:
        self.assertEqual([bits(row) for row in found], [bits(row) for row in expected])


class Formats(Exported):
    def setUp(self) -> None:
        super().setUp()
        self.make(NAMES)

    def test_npy(self) -> None:
        """numpy loads and maps it: same bits, C order, aligned"""
        self.export("npy", "out")
        run_numpy(
            "import struct\n"
            "data = open('m/model.safetensors', 'rb').read()\n"
            "start = 8 + struct.unpack('<Q', data[:8])[0]\n"
            "for name in 'entities', 'relations':\n"
            "    for mode in None, 'r':\n"
            "        found = np.load(f'out/{name}.npy', mmap_mode=mode, allow_pickle=False)\n"
            "        assert found.dtype == np.dtype('<f4') and found.flags.c_contiguous\n"
            "        assert found.shape == ((8, 6) if name == 'entities' else (2, 6))\n"
            "        assert found.tobytes() == data[start : start + found.nbytes]\n"
            "    start += found.nbytes\n"
            "    raw = open(f'out/{name}.npy', 'rb').read()\n"
            "    assert raw[:8] == bytes([0x93]) + b'NUMPY' + bytes([1, 0])\n"
            "    assert (len(raw) - found.nbytes) % 64 == 0\n"
            "    assert raw[len(raw) - found.nbytes - 1 :][:1] == bytes([10])\n",
            self.folder,
        )
        for name in ("entities.tsv", "relations.tsv"):
            self.assertEqual(self.read(f"out/{name}"), self.read(f"m/{name}"))
        self.assertEqual(len(list((self.folder / "out").iterdir())), 5)

    def test_safetensors(self) -> None:
        self.export("safetensors", "out")
        found = read_safetensors(self.read("out/embeddings.safetensors"))
        self.assertEqual(found, self.tensors())
        for name in ("entities.tsv", "relations.tsv"):
            self.assertEqual(self.read(f"out/{name}"), self.read(f"m/{name}"))
        self.assertEqual(len(list((self.folder / "out").iterdir())), 4)

    def test_word2vec(self) -> None:
        """Spaces become underscores, everything else stays"""
        self.export("word2vec", "out.txt")
        words = read_word2vec(self.read("out.txt"))
        self.assertEqual(list(words), [name.replace(" ", "_") for name in NAMES])
        self.assert_same(list(words.values()), self.tensors()["entities"])
        result = self.succeed("export", "m", "--format", "word2vec", "--out", "-")
        self.assertEqual((result.stdout, result.stderr), (self.read("out.txt"), b""))

    def test_projector(self) -> None:
        """As many names as vectors, without a header"""
        self.export("projector", "out")
        vectors = [line.decode().split("\t") for line in self.lines("out/vectors.tsv")]
        found = [tuple(map(single, line)) for line in vectors]
        self.assert_same(found, self.tensors()["entities"])
        self.assertEqual(self.read("out/metadata.tsv"), self.read("m/entities.tsv"))
        self.assertEqual(len(list((self.folder / "out").iterdir())), 2)

    def test_tsv(self) -> None:
        self.export("tsv", "out")
        for table, names in ("entities", NAMES), ("relations", ["r", "s t"]):
            lines = [line.decode().split("\t") for line in self.lines(f"out/{table}.tsv")]
            self.assertEqual([line[0] for line in lines], names)
            found = [tuple(map(single, line[1:])) for line in lines]
            self.assert_same(found, self.tensors()[table])

    def test_summary(self) -> None:
        result = self.succeed("export", "m", "--format", "tsv", "--out", "out")
        self.assertEqual(result.messages, ["out: 8 entities of 6 numbers each"])


class Numbers(Exported):
    def test_any_bits(self) -> None:
        """Denormals, extremes and random bits survive text; zero keeps its sign"""
        self.make(
            [f"e{i}" for i in range(2000)],
            "np.concatenate([np.array([0, 1 << 31, 1, (1 << 31) + 1, 0x7F7FFFFF, 0xFF7FFFFF,"
            " 0x00800000, 0x007FFFFF, 0x3F800001, 0x4B800000, 0x3DCCCCCD, 0x3EAAAAAB], '<u4'),"
            " np.random.default_rng(2).integers(0, 0x7F800000, 12000 - 12).astype('<u4')"
            " | np.random.default_rng(3).integers(0, 2, 12000 - 12).astype('<u4') << 31])"
            ".astype('<u4').view('<f4').reshape(2000, 6)",
        )
        expected = self.tensors()["entities"]
        self.export("word2vec", "out.txt")
        self.assert_same(list(read_word2vec(self.read("out.txt")).values()), expected)
        self.export("tsv", "out")
        rows = [line.decode().split("\t")[1:] for line in self.lines("out/entities.tsv")]
        self.assert_same([tuple(map(single, row)) for row in rows], expected)

    def test_short_numbers(self) -> None:
        """What people wrote is not padded with digits that say nothing"""
        self.make(["a", "b"], "np.array([[0.1, -0.3, 1, 0.001, 1e10, 123456]] * 2, '<f4')")
        self.export("tsv", "out")
        self.assertEqual(self.lines("out/entities.tsv")[0], b"a\t0.1\t-0.3\t1\t0.001\t1e+10\t123456")


class Encoded(Trained):
    def test_rgcn(self) -> None:
        """Rows that an encoder made are exported like others"""
        self.train("m", "--model", "rgcn-d", "--epochs", "1")
        self.succeed("export", "m", "--format", "safetensors", "--out", "out", "--quiet")
        found = read_safetensors(self.read("out/embeddings.safetensors"))
        model = read_safetensors(self.read("m/model.safetensors"))
        self.assertGreater(set(model), set(found))
        for name in ("entities", "relations"):
            self.assertEqual(found[name], model[name])


# ---------------------------------------------------------------------------------------------
# What is refused


class Directed(Trained):
    """A model of graft: two rows for each relation, and as many for aggregation."""

    def fill(self) -> None:
        super().fill()
        self.train("m", "--preset", "graft", "--batch", "50", "--negatives", "30", "--terms", "embedding+echo")

    def setUp(self) -> None:
        super().setUp()
        self.expected = read_safetensors(self.read("m/model.safetensors"))
        plain = self.read("m/relations.tsv").decode().splitlines()
        self.names = [name + suffix for name in plain for suffix in ("", "_inverse")]

    def export(self, form: str) -> None:
        self.succeed("export", "m", "--format", form, "--out", "out", "--quiet", "--force")

    def test_npy(self) -> None:
        self.export("npy")
        run_numpy(
            "import struct, json\n"
            "data = open('m/model.safetensors', 'rb').read()\n"
            "size = struct.unpack('<Q', data[:8])[0]\n"
            "header = json.loads(data[8 : 8 + size])\n"
            "for name in 'entities', 'relations', 'aggregate_relations':\n"
            "    start, end = header[name]['data_offsets']\n"
            "    found = np.load(f'out/{name}.npy', allow_pickle=False)\n"
            "    assert list(found.shape) == header[name]['shape']\n"
            "    assert found.tobytes() == data[8 + size + start : 8 + size + end]\n",
            self.folder,
        )
        self.assertEqual(self.read("out/relations.tsv").decode().splitlines(), self.names)
        self.assertEqual(len(list((self.folder / "out").iterdir())), 6)

    def test_safetensors(self) -> None:
        self.export("safetensors")
        found = read_safetensors(self.read("out/embeddings.safetensors"))
        tables = ("entities", "relations", "aggregate_relations")
        self.assertEqual(found, {name: self.expected[name] for name in tables})
        self.assertEqual(self.read("out/relations.tsv").decode().splitlines(), self.names)

    def test_tsv(self) -> None:
        self.export("npy")  # which is replaced, to the last file
        self.export("tsv")
        self.assertEqual(len(list((self.folder / "out").iterdir())), 4)
        for table in ("relations", "aggregate_relations"):
            lines = [line.decode().split("\t") for line in self.lines(f"out/{table}.tsv")]
            self.assertEqual([line[0] for line in lines], self.names)
            found = [bits(tuple(map(single, line[1:]))) for line in lines]
            self.assertEqual(found, [bits(row) for row in self.expected[table]])

    def test_which_row_is_which(self) -> None:
        """kgraft predict asks for tails by the first row, for heads by the second"""
        self.export("tsv")
        entities, relations = (
            {line.split("\t")[0]: [single(x) for x in line.split("\t")[1:]]
             for line in self.read(f"out/{table}.tsv").decode().splitlines()}
            for table in ("entities", "relations")
        )
        known = next(iter(entities))
        facts = f"new\tr0\t{known}\n".encode()
        for side, row in (("tail", "r0"), ("head", "r0_inverse")):
            words = ("--relation", "r0", "--side", side, "--json", "--quiet")
            listed = self.succeed("predict", "m", "-", *words, stdin=facts).json
            vector = self.succeed("embed", "m", "-", *words[:4], stdin=facts).stdout.decode()
            z = [float(x) for x in vector.rstrip("\n").split("\t")[1:]]
            for answer in listed["entities"][0]["answers"]:
                if answer["entity"] == known:
                    continue  # which may have an echo on top
                score = sum(a * b * c for a, b, c in zip(z, relations[row], entities[answer["entity"]]))
                self.assertAlmostEqual(answer["score"], score, places=5)

    def test_an_inverse_that_is_there_already(self) -> None:
        train = self.read("data/train.tsv").replace(b"\tr1\t", b"\tr0_inverse\t")
        self.write({"plain.tsv": train})
        words = (*QUICK, "--preset", "graft", "--negatives", "30", "--terms", "embedding")
        self.succeed("train", "plain.tsv", "p", *words)
        pattern = "expected relations of which none .*, found two rows for 'r0_inverse'"
        self.refuse("export", "p", "--format", "npy", "--out", "other", pattern=pattern)
        self.assertFalse((self.folder / "other").exists())


@dataclass(frozen=True)
class Collision:
    name: str
    names: list[str]


@cases(
    [
        Collision("with a name that is there", ["a b", "x", "a_b"]),
        Collision("with a name before it", ["a_b", "a b"]),
        Collision("of two changed names", ["a b_c", "x", "a_b c"]),
    ]
)
class Collisions(Exported):
    """Two entities must not share a word of word2vec's."""

    def check(self, row: Collision) -> None:
        self.make(row.names)
        pattern = "expected names that differ when their spaces are underscores, found two .* 'a_b.*"
        words = ("export", "m", "--format", "word2vec", "--out")
        self.refuse(*words, "out.txt", pattern=pattern)
        self.export("tsv", "out")


class Refused(Exported):
    def setUp(self) -> None:
        super().setUp()
        self.make(NAMES)

    def test_word2vec_over_a_file(self) -> None:
        words = ("export", "m", "--format", "word2vec", "--quiet", "--out", "old.txt")
        (self.folder / "old.txt").write_bytes(b"old")
        self.refuse(*words, pattern=r"old\.txt: it exists already \(--force replaces it\)")
        self.assertEqual(self.read("old.txt"), b"old")
        self.succeed(*words, "--force")
        self.assertNotEqual(self.read("old.txt"), b"old")
        model = self.read("m/config.json")
        pattern = r"--out: expected a file apart from what is read, found 'm/config.json' in it"
        self.refuse(*words[:-1], "m/config.json", "--force", pattern=pattern)
        self.assertEqual(self.read("m/config.json"), model)

    def test_options_that_are_missing(self) -> None:
        pattern = "expected --format and --out, found no --"
        self.refuse("export", "m", "--out", "out", pattern=pattern + "format")
        self.refuse("export", "m", "--format", "npy", pattern=pattern + "out")

    def test_folder_as_standard_output(self) -> None:
        for form in ("npy", "safetensors", "tsv", "projector"):
            pattern = f"--out: expected a folder for the files of {form}, found standard output"
            self.refuse("export", "m", "--format", form, "--out", "-", pattern=pattern)

    def test_folder_that_exists(self) -> None:
        self.export("tsv", "out")
        words = ("export", "m", "--format", "npy", "--out", "out")
        self.refuse(*words, pattern="out: it exists already .--force replaces it.")
        self.export("npy", "out", "--force")
        self.assertEqual(len(list((self.folder / "out").iterdir())), 5)
        self.write({"out/mine": b"x"})
        self.refuse(*words, "--force", pattern="out: not replaced: it holds 'mine', .*")

    def test_model_is_not_replaced(self) -> None:
        words = ("export", "m", "--format", "npy", "--out", "m", "--force")
        self.refuse(*words, pattern="--out: expected a file apart from what is read, found 'm'")

    def test_no_model(self) -> None:
        words = ("export", "nothing", "--format", "npy", "--out", "out")
        self.refuse(*words, pattern="nothing: cannot open it: .*")

    def test_full_output(self) -> None:
        pattern = "standard output: cannot write to it: No space left on device"
        with open("/dev/full", "wb") as full:
            self.refuse(
                *("export", "m", "--format", "word2vec", "--out", "-"),
                status=1, pattern=pattern, stdout=full,
            )


if __name__ == "__main__":
    unittest.main()
