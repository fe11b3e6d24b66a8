"""The Python package, against the tool, against numpy, and against its promises.

Runs under the system's Python, which has numpy, and imports `kgraft` from `python/`: the modules of
tests/cli, of which one has the same name, must not be on the path. The environment names the tool
(KGRAFT), the library (KGRAFT_LIBRARY), and the header (KGRAFT_HEADER).
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib.util
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from pathlib import Path
from typing import Any, Callable

import kgraft
from kgraft import _library

try:
    import numpy as np
except ImportError:
    np = None

TOOL = os.environ["KGRAFT"]
HEADER = Path(os.environ["KGRAFT_HEADER"])
PACKAGE = Path(kgraft.__file__).parent
TIMEOUT = 300

needs_numpy = unittest.skipIf(np is None, "numpy is not installed")


# ---------------------------------------------------------------------------------------------
# A small model and some new entities


def tool(*words: object) -> bytes:
    command = [TOOL, *map(str, words), "--quiet"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=TIMEOUT).stdout


def setUpModule() -> None:
    global FOLDER, MODEL, FACTS
    holder = tempfile.TemporaryDirectory(prefix="kgraft-test-")
    unittest.addModuleCleanup(holder.cleanup)
    FOLDER = Path(holder.name)
    MODEL = FOLDER / "model"
    tool("generate", FOLDER / "g.tsv", "--facts", 3000, "--entities", 300, "--relations", 6)
    tool("split", FOLDER / "g.tsv", FOLDER / "data", "--seed", 1)
    words = "--preset paper --dim 16 --epochs 5 --validate-every 5"
    tool("train", FOLDER / "data", MODEL, *words.split())
    FACTS = FOLDER / "facts.tsv"
    lines = (FOLDER / "data/unseen-test.tsv").read_text().splitlines(keepends=True)
    FACTS.write_text("".join(lines[:60]))


def facts() -> list[tuple[str, str, str]]:
    return [tuple(line.split("\t")) for line in FACTS.read_text().splitlines()]


def tensors(path: Path) -> dict[str, tuple[list[int], bytes]]:
    """Shapes and bytes of a safetensors file, read by the format's description."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    begin = 8 + length
    return {
        name: (row["shape"], data[begin + row["data_offsets"][0] : begin + row["data_offsets"][1]])
        for name, row in header.items()
    }


class OwnModel:
    """A copy that nobody else has open, and whether it is."""

    def __init__(self, name: str) -> None:
        self.path = FOLDER / name
        shutil.copytree(MODEL, self.path)
        self.table = self.path / "model.safetensors"

    def is_mapped(self) -> bool:
        return str(self.table.resolve()) in Path("/proc/self/maps").read_text()


# ---------------------------------------------------------------------------------------------
# The package and the header


class Header(unittest.TestCase):
    def test_structs(self) -> None:
        """Every struct has the size, and every field the place, that the compiler gives it"""
        lines = []
        expected = []
        for name, kind in _library.STRUCTS.items():
            lines.append(f'printf("%zu\\n", sizeof({name}));')
            expected.append(ctypes.sizeof(kind))
            for field, *_ in kind._fields_:
                lines.append(f'printf("%zu\\n", offsetof({name}, {field}));')
                expected.append(getattr(kind, field).offset)
        body = "\n".join(lines)
        source = f"#include <stdio.h>\n#include <kgraft.h>\nint main(void) {{ {body} return 0; }}\n"
        program = FOLDER / "structs"
        command = ["cc", "-x", "c", "-I", HEADER.parent, "-", "-o", program]
        subprocess.run(command, input=source, text=True, check=True, timeout=TIMEOUT)
        found = subprocess.run([program], capture_output=True, check=True).stdout
        self.assertEqual(list(map(int, found.split())), expected)

    def test_structs_are_whole(self) -> None:
        """No field of the header's structs is missing"""
        text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
        for name, kind in _library.STRUCTS.items():
            body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", text, re.DOTALL)
            assert body is not None, name
            declared = re.findall(r"(\w+)(?:\[\w+\])?\s*;", body[1])
            self.assertEqual([field for field, *_ in kind._fields_], declared, name)

    def test_functions(self) -> None:
        """Every function takes as many arguments as the header says"""
        text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
        declared = dict(re.findall(r"KG_API\b[^;(]*?\b(kg_\w+)\(([^)]*)\)", text))
        for name, (_, arguments) in _library.FUNCTIONS.items():
            parameters = [] if declared[name] == "void" else declared[name].split(",")
            self.assertEqual(len(arguments), len(parameters), name)

    def test_abi(self) -> None:
        self.assertIn(f"\n#define KG_ABI {_library.ABI}\n", HEADER.read_text())
        self.assertEqual(_library.library().kg_abi(), _library.ABI)

    def test_version(self) -> None:
        self.assertEqual(tool("--version").decode(), f"kgraft {kgraft.__version__}\n")


# ---------------------------------------------------------------------------------------------
# What is in a model


class Contents(unittest.TestCase):
    def setUp(self) -> None:
        self.model = kgraft.load(MODEL)
        self.names = (MODEL / "entities.tsv").read_text().splitlines()

    def test_about(self) -> None:
        about = json.loads(tool("info", MODEL, "--json"))
        self.assertEqual(self.model.kind, "distmult")
        self.assertEqual(self.model.aggregate, "eravg")
        self.assertEqual(self.model.dim, 16)
        self.assertEqual(len(self.model.entities), about["entities"])
        self.assertEqual(len(self.model.relations), about["relations"])
        self.assertTrue(self.model.has_facts)

    def test_names(self) -> None:
        self.assertEqual(list(self.model.entities), self.names)
        relations = (MODEL / "relations.tsv").read_text().splitlines()
        self.assertEqual(list(self.model.relations), relations)

    def test_names_are_a_sequence(self) -> None:
        entities = self.model.entities
        self.assertEqual(entities[-1], self.names[-1])
        self.assertEqual(entities[3:9:2], self.names[3:9:2])
        self.assertEqual(entities.index(self.names[7]), 7)
        self.assertIn(self.names[7], entities)
        for unknown in "nobody", "", 7, self.names[7] + " ":
            self.assertNotIn(unknown, entities)
        for place in len(entities), -len(entities) - 1:
            with self.assertRaises(IndexError):
                entities[place]
        with self.assertRaisesRegex(ValueError, "nobody"):
            entities.index("nobody")

    def test_names_need_not_be_utf_8(self) -> None:
        folder = FOLDER / "latin"
        folder.mkdir()
        (folder / "g.tsv").write_bytes(b"caf\xe9\tr\tb\nb\tr\tc\nc\tr\tcaf\xe9\n")
        tool("train", folder / "g.tsv", folder / "model", "--dim", 4, "--epochs", 1)
        model = kgraft.load(folder / "model")
        name = b"caf\xe9".decode("utf-8", "surrogateescape")
        self.assertEqual(model.entities[model.entities.index(name)], name)
        self.assertEqual(list(model.embed([("new", "r", name)])), ["new"])


@needs_numpy
class Arrays(unittest.TestCase):
    """Vectors are the mapped file itself."""

    def setUp(self) -> None:
        self.model = kgraft.load(MODEL)

    def test_they_are_the_numbers_of_the_file(self) -> None:
        stored = tensors(MODEL / "model.safetensors")
        for name, vectors in (
            ("entities", self.model.entity_vectors),
            ("relations", self.model.relation_vectors),
        ):
            shape, data = stored[name]
            self.assertEqual((list(vectors.shape), vectors.tobytes()), (shape, data))
            self.assertEqual(vectors.dtype, np.float32)

    def test_nothing_is_copied(self) -> None:
        vectors = self.model.entity_vectors
        address = _library.library().kg_model_entity_vectors(self.model._handle.pointer)
        self.assertEqual(vectors.__array_interface__["data"][0], address)
        self.assertFalse(vectors.flags.owndata)
        self.assertTrue(np.shares_memory(vectors, self.model.entity_vectors))

    def test_they_are_read_only_for_good(self) -> None:
        vectors = self.model.entity_vectors
        with self.assertRaises(ValueError):
            vectors[0, 0] = 1
        with self.assertRaises(ValueError):
            vectors.flags.writeable = True

    def test_they_keep_the_model_alive(self) -> None:
        """Until the last of them is gone, the file stays mapped, and no longer"""
        own = OwnModel("kept")
        model = kgraft.load(own.path)
        row = model.entity_vectors[5]
        expected = tensors(own.table)["entities"][1][5 * 64 : 6 * 64]
        model.close()
        del model
        gc.collect()
        self.assertTrue(own.is_mapped())
        self.assertEqual(row.tobytes(), expected)
        del row
        self.assertFalse(own.is_mapped())

    def test_embeddings_are_the_callers(self) -> None:
        vector = next(iter(self.model.embed(FACTS).values()))
        vector += 1


# ---------------------------------------------------------------------------------------------
# Other graphs


class NewGraph(unittest.TestCase):
    """A model of propagation, on a graph of other entities."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.data = FOLDER / "new"
        (cls.data).mkdir()
        lines = (FOLDER / "g.tsv").read_text().splitlines(keepends=True)
        renamed = [re.sub(r"\be(?=\d)", "n", line) for line in lines]
        (cls.data / "train.txt").write_text("".join(lines[:1500]))
        (cls.data / "inference.txt").write_text("".join(renamed[1500:2900]))
        (cls.data / "inference_validation.txt").write_text("".join(renamed[2900:2950]))
        (cls.data / "inference_test.txt").write_text("".join(renamed[2950:]))
        words = "--propagation-layers 2 --propagation-width 16 --propagation-epochs 1"
        tool("train", cls.data, FOLDER / "mover", *words.split())

    def setUp(self) -> None:
        self.model = kgraft.load(FOLDER / "mover")

    def test_evaluate(self) -> None:
        for split in "test", "valid":
            found = self.model.evaluate(self.data, split=split)
            words = ("eval", FOLDER / "mover", self.data, "--split", split, "--json")
            expected = json.loads(tool(*words))
            self.assertEqual(found.queries, 100)
            self.assertAlmostEqual(found.mrr, expected["mrr"], 12)
            self.assertAlmostEqual(found.mr, expected["mr"], 9)
            self.assertAlmostEqual(found.hits[10], expected["hits"]["10"], 12)
        with self.assertRaisesRegex(ValueError, "train"):
            self.model.evaluate(self.data, split="train")
        with self.assertRaisesRegex(kgraft.Error, "facts in valid"):
            self.model.evaluate(self.data, split="valid", in_sample=True)

    def test_evaluate_unseen(self) -> None:
        found = kgraft.load(MODEL).evaluate(FOLDER / "data")
        expected = json.loads(tool("eval", MODEL, FOLDER / "data", "--json"))
        self.assertAlmostEqual(found.mrr, expected["mrr"], 12)

    def test_predict(self) -> None:
        model = self.model.on_graph(self.data)
        self.assertEqual(list(model.relations), list(self.model.relations))
        self.assertFalse(set(model.entities) & set(self.model.entities))
        self.assertEqual(model.dim, 0)
        name = model.entities[3]
        words = ("predict", FOLDER / "mover", "--graph", self.data, "--entity", name, "--json")
        (expected,) = json.loads(tool(*words))["entities"]
        found = [(a.entity, a.relation, a.side) for a in model.predict(entity=name)[name]]
        listed = [(a["entity"], a["relation"], a["side"]) for a in expected["answers"]]
        self.assertEqual(found, listed)
        relation = model.relations[0]
        why = model.explain(entity=name, relation=relation, answer=model.entities[5])
        self.assertEqual(len(why.shares), expected["facts"])
        facts = [("new", relation, name)]
        self.assertEqual(len(model.predict(facts, k=4)["new"]), 4)
        with self.assertRaises(ValueError):
            model.predict(entity=self.model.entities[0])

    def test_it_keeps_the_trained_model_alive(self) -> None:
        expected = self.model.on_graph(self.data).predict(entity="n7")
        trained = kgraft.load(FOLDER / "mover")
        model = trained.on_graph(self.data)
        trained.close()
        del trained
        gc.collect()
        self.assertEqual(model.predict(entity="n7"), expected)

    def test_unknown_relations(self) -> None:
        graph = FOLDER / "unknown.tsv"
        graph.write_text(f"a\t{self.model.relations[0]}\tb\nb\tnever\tc\n")
        with self.assertRaisesRegex(kgraft.Error, "never"):
            self.model.on_graph(graph)
        self.assertEqual(list(self.model.on_graph(graph, skip_unknown=True).entities), ["a", "b"])
        with self.assertRaisesRegex(kgraft.Error, "propagation"):
            kgraft.load(MODEL).on_graph(FOLDER / "g.tsv")

    @needs_numpy
    def test_no_vectors(self) -> None:
        self.assertEqual(self.model.entity_vectors.shape, (len(self.model.entities), 0))


# ---------------------------------------------------------------------------------------------
# Answers


@needs_numpy
class AgainstNumpy(unittest.TestCase):
    """DistMult and means of facts, computed anew."""

    def setUp(self) -> None:
        self.model = kgraft.load(MODEL)
        self.vectors = self.model.entity_vectors.astype(np.float64)
        self.relations = self.model.relation_vectors.astype(np.float64)

    def rows(self) -> dict[str, list[Any]]:
        """What each fact of a new entity says about its vector."""
        return {name: list(rows.values()) for name, rows in self.rows_by_fact().items()}

    def rows_by_fact(self) -> dict[str, dict[tuple[str, str, str], Any]]:
        rows: dict[str, dict[tuple[str, str, str], Any]] = {}
        for head, relation, tail in sorted(set(facts())):
            known, new = (head, tail) if head in self.model.entities else (tail, head)
            entity = self.vectors[self.model.entities.index(known)]
            row = entity * self.relations[self.model.relations.index(relation)]
            rows.setdefault(new, {})[head, relation, tail] = row
        return rows

    def test_embed(self) -> None:
        found = self.model.embed(FACTS)
        expected = {name: np.mean(rows, axis=0) for name, rows in self.rows().items()}
        self.assertEqual(found.keys(), expected.keys())
        for name, vector in found.items():
            np.testing.assert_allclose(vector, expected[name], rtol=1e-5, atol=1e-7)

    def test_embed_known(self) -> None:
        name = self.model.entities[5]
        (vector,) = self.model.embed(entity=name).values()
        self.assertEqual(vector.tobytes(), self.model.entity_vectors[5].tobytes())

    def test_predict(self) -> None:
        relation = self.model.relations[2]
        found = self.model.predict(FACTS, relation=relation, side="tail", k=7, keep_known=True)
        for name, rows in self.rows_by_fact().items():
            scores = self.vectors @ (np.mean(list(rows.values()), axis=0) * self.relations[2])
            for fact in rows:  # what is known scores as if it were not
                if fact[:2] == (name, relation):
                    others = [row for other, row in rows.items() if other != fact]
                    place = self.model.entities.index(fact[2])
                    mean = np.mean(others, axis=0) if others else 0 * rows[fact]
                    scores[place] = self.vectors[place] @ (mean * self.relations[2])
            best = np.sort(scores)[::-1][:7]
            np.testing.assert_allclose([a.score for a in found[name]], best, rtol=1e-4, atol=1e-7)
            for answer in found[name]:
                self.assertEqual((answer.relation, answer.side), (relation, "tail"))
                score = scores[self.model.entities.index(answer.entity)]
                self.assertAlmostEqual(answer.score, score, 5)

    def test_known_answers_are_left_out(self) -> None:
        head, relation, tail = next(f for f in facts() if f[2] in self.model.entities)
        options = {"relation": relation, "side": "tail", "k": len(self.model.entities)}
        everyone = {a.entity for a in self.model.predict(FACTS, keep_known=True, **options)[head]}
        self.assertEqual(everyone, set(self.model.entities))
        others = {a.entity for a in self.model.predict(FACTS, **options)[head]}
        known = {f[2] for f in facts() if f[:2] == (head, relation)}
        self.assertIn(tail, known)
        self.assertEqual(others, everyone - known)

    def test_neighbors(self) -> None:
        lengths = np.linalg.norm(self.vectors, axis=1)
        for name, neighbors in self.model.neighbors(FACTS, k=4).items():
            mean = np.mean(self.rows()[name], axis=0)
            cosines = self.vectors @ mean / (lengths * np.linalg.norm(mean))
            best = np.argsort(-cosines, kind="stable")[:4]
            self.assertEqual([n.entity for n in neighbors], [self.model.entities[i] for i in best])
            np.testing.assert_allclose([n.cosine for n in neighbors], cosines[best], rtol=1e-4)

    def test_explain(self) -> None:
        name, rows = max(self.rows().items(), key=lambda item: len(item[1]))
        relation, answer = self.model.relations[1], self.model.entities[9]
        why = self.model.explain(FACTS, entity=name, relation=relation, answer=answer)
        asked = self.relations[1] * self.vectors[9]
        self.assertEqual(len(why.shares), len(rows))
        parts = [row @ asked / len(rows) for row in rows]
        found = {share.fact: share.part for share in why.shares}
        expected = dict(zip(sorted({f for f in facts() if name in f}), parts))
        self.assertEqual(found.keys(), expected.keys())
        for fact, part in found.items():
            self.assertAlmostEqual(part, expected[fact], 6)
        self.assertAlmostEqual(why.score, sum(parts), 6)
        self.assertEqual({share.weight for share in why.shares}, {1 / len(rows)})
        for share in why.shares:
            without = [f for f in facts() if f != share.fact]
            again = self.model.explain(without, entity=name, relation=relation, answer=answer)
            self.assertEqual(again.rank, share.rank_without)


def to_float(number: float) -> float:
    """As C's float, of which the tool prints enough digits."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def as_told(number: float) -> float:
    """As much of a double as the tool prints."""
    return float(f"{number:.15g}")


class AgainstTheTool(unittest.TestCase):
    """What the package says is what the tool says in JSON, to its last digit."""

    def setUp(self) -> None:
        self.model = kgraft.load(MODEL)

    def check_predictions(self, *words: str, **options: Any) -> None:
        told = json.loads(tool("predict", MODEL, FACTS, "--json", "-k", 5, *words))
        found = self.model.predict(FACTS, k=5, **options)
        expected = {
            row["entity"]: [
                kgraft.Answer(
                    a["relation"], a["side"], a["entity"], to_float(a["score"]),
                    to_float(a["probability"]),
                )
                for a in row["answers"]
            ]
            for row in told["entities"]
        }
        self.assertGreater(len(expected), 3)
        self.assertEqual(found, expected)

    def test_predict(self) -> None:
        self.assertTrue(self.model.is_calibrated)
        self.check_predictions()

    def test_predict_one_relation(self) -> None:
        relation = self.model.relations[1]
        for side in "head", "tail":
            words = ["--relation", relation, "--side", side]
            self.check_predictions(*words, relation=relation, side=side)

    def test_predict_by_least_squares(self) -> None:
        """It warns, since the model is not calibrated for it"""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.model.predict(FACTS, k=5)
        self.model = kgraft.load(MODEL, aggregate="ls", ls_lambda=0.5, threads=2)
        with self.assertWarnsRegex(UserWarning, "probabilities do not hold: .*") as caught:
            self.check_predictions("--aggregate", "ls", "--ls-lambda", "0.5")
        self.assertEqual(caught.filename, __file__)
        with self.assertWarnsRegex(UserWarning, "probabilities do not hold: .*"):
            self.model.predict(entity=self.model.entities[0])

    def test_predict_with_implicit_negatives(self) -> None:
        """Each setting of ials by itself, and both"""
        seen = []
        for options in (
            {}, {"ials_alpha": 0.02}, {"ials_lambda": 0.7}, {"ials_alpha": 0.02, "ials_lambda": 0.7},
        ):
            words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
            self.model = kgraft.load(MODEL, aggregate="ials", **options)
            self.check_predictions("--aggregate", "ials", *words)
            found = self.model.predict(FACTS, k=5)
            self.assertNotIn(found, seen, options)
            seen.append(found)

    def test_neighbors(self) -> None:
        told = json.loads(tool("neighbors", MODEL, FACTS, "--json", "-k", 5))
        expected = {
            row["entity"]: [
                kgraft.Neighbor(n["entity"], to_float(n["cosine"])) for n in row["neighbors"]
            ]
            for row in told["entities"]
        }
        self.assertEqual(self.model.neighbors(FACTS, k=5), expected)

    def test_embed(self) -> None:
        lines = tool("embed", MODEL, FACTS).decode().splitlines()
        expected = {}
        for name, *numbers in (line.split("\t") for line in lines):
            expected[name] = [to_float(float(number)) for number in numbers]
        found = self.model.embed(FACTS)
        self.assertEqual({name: list(map(float, found[name])) for name in found}, expected)

    def test_explain(self) -> None:
        name, relation, answer = facts()[0]
        if name in self.model.entities:
            name, answer = answer, name
        for side in "head", "tail":
            words = ["--entity", name, "--relation", relation, "--answer", answer, "--side", side]
            told = json.loads(tool("explain", MODEL, FACTS, "--json", *words))
            found = self.model.explain(
                FACTS, entity=name, relation=relation, answer=answer, side=side
            )
            self.assertEqual(found.probability, to_float(told["probability"]))
            self.assertEqual((as_told(found.score), found.rank), (told["score"], told["rank"]))
            expected = {
                (s["head"], s["relation"], s["tail"], s["weight"], s["part"], s["rank_without"])
                for s in told["shares"]
            }
            shares = {
                (*s.fact, as_told(s.weight), as_told(s.part), s.rank_without)
                for s in found.shares
            }
            self.assertEqual(shares, expected)
            self.assertEqual([said.term for said in found.terms], ["embedding", "echo"])

    def test_explain_a_known_entity(self) -> None:
        entity, answer, relation = *self.model.entities[3:5], self.model.relations[0]
        words = ["--entity", entity, "--relation", relation, "--answer", answer]
        told = json.loads(tool("explain", MODEL, "--json", *words))
        found = self.model.explain(entity=entity, relation=relation, answer=answer)
        self.assertEqual((as_told(found.score), found.rank), (told["score"], told["rank"]))
        self.assertEqual(
            {(*s.fact, as_told(s.part)) for s in found.shares},
            {(s["head"], s["relation"], s["tail"], s["part"]) for s in told["shares"]},
        )
        self.assertGreater(len(found.shares), 0)

    def test_explain_propagation(self) -> None:
        path = FOLDER / "propagated"
        words = ["--preset", "graft", "--dim", 8, "--epochs", 2]
        words += ["--terms", "all", "--propagation-layers", 3, "--propagation-epochs", 1]
        tool("train", FOLDER / "data", path, *words)
        model = kgraft.load(path)
        name = next(end for fact in facts() for end in fact if end not in model.entities)
        relation = facts()[0][1]
        seen = set()
        for answer in model.predict(FACTS, entity=name, relation=relation, side="tail", k=30)[name]:
            words = ["--entity", name, "--relation", relation, "--answer", answer.entity]
            told = json.loads(tool("explain", path, FACTS, "--json", *words))
            found = model.explain(FACTS, entity=name, relation=relation, answer=answer.entity)
            for said, expected in zip(found.terms, told["terms"], strict=True):
                seen |= {said.term} if said.reasons else set()
                self.assertEqual(said.term, expected["term"])
                self.assertEqual(as_told(said.part), expected["part"])
                self.assertEqual(as_told(said.rest), expected["rest"])
                self.assertEqual(said.reason_count, expected["reason_count"])
                for reason, other in zip(said.reasons, expected["reasons"], strict=True):
                    steps = [kgraft.Fact(s["head"], s["relation"], s["tail"]) for s in other["path"]]
                    self.assertEqual(list(reason.path), steps)
                    fact = kgraft.Fact(*(other["fact"][k] for k in kgraft.Fact._fields))
                    self.assertEqual(reason.fact, fact)
                    self.assertEqual(as_told(reason.share), other["share"])
            shares = {s.fact: as_told(s.propagation) for s in found.shares}
            told_shares = {kgraft.Fact(s["head"], s["relation"], s["tail"]): s["propagation"] for s in told["shares"]}
            self.assertEqual(shares, told_shares)
            self.assertEqual((found.untested_facts, found.unexpanded), (0, 0))
        self.assertEqual(seen, {"propagation"})


# ---------------------------------------------------------------------------------------------
# Facts


class Facts(unittest.TestCase):
    def setUp(self) -> None:
        self.model = kgraft.load(MODEL)

    def test_a_file_or_a_list(self) -> None:
        from_file = self.model.predict(FACTS, relation=self.model.relations[0], side="head")
        self.assertGreater(len(from_file), 1)
        for given in str(FACTS), facts(), iter(facts()):
            found = self.model.predict(given, relation=self.model.relations[0], side="head")
            self.assertEqual(found, from_file)

    def test_one_entity_of_several(self) -> None:
        vectors = self.model.embed(FACTS)
        name = list(vectors)[-1]
        (found,) = self.model.embed(FACTS, entity=name).items()
        self.assertEqual((found[0], bytes(found[1])), (name, bytes(vectors[name])))

    def test_strangers_are_refused(self) -> None:
        with self.assertRaisesRegex(kgraft.Error, "nobody") as caught:
            self.model.embed([*facts(), ("new", "nobody", self.model.entities[0])])
        self.assertEqual(caught.exception.line, len(facts()) + 1)

    def test_strangers_are_skipped(self) -> None:
        given = [*facts(), (self.model.entities[0], "nobody", "b")]
        found = self.model.embed(given, skip_unknown=True)
        self.assertEqual(found.keys(), self.model.embed(FACTS).keys())

    def test_wrong_shapes(self) -> None:
        """Each is told what was expected, and which one is wrong"""
        known, relation = self.model.entities[0], self.model.relations[0]
        triple = r"expected \(head, relation, tail\), three strings, found "
        for given, message in [
            (5, "expected facts as the path of a TSV file or .*, found 5"),
            (b"facts.tsv", "expected facts as the path of a TSV file or .*"),
            (("new", relation, known), rf"facts\[0\]: {triple}'new'"),
            (["abc"], rf"facts\[0\]: {triple}'abc'"),
            ([*facts(), ("new", known)], rf"facts\[{len(facts())}\]: {triple}\('new', .*"),
            ([("new", relation, known, "more")], rf"facts\[0\]: {triple}.*"),
            ([("new", relation, 3)], rf"facts\[0\]: {triple}\('new', .*, 3\)"),
            ([{"new": relation}], rf"facts\[0\]: {triple}.*"),
            ([None], rf"facts\[0\]: {triple}None"),
            ([["x" * 1000]], rf"facts\[0\]: {triple}\['x{{70,80}}\.\.\."),
        ]:
            with self.assertRaisesRegex(TypeError, f"^{message}$"):
                self.model.embed(given)

    def test_wrong_names_and_numbers(self) -> None:
        for words in {"entity": 5}, {"facts": FACTS, "relation": 5}, {"facts": FACTS, "entity": 5}:
            with self.assertRaisesRegex(TypeError, r"expected a name \(str\), found 5"):
                self.model.predict(**words)
        for ask in self.model.predict, self.model.neighbors:
            for k in 0, -1:
                with self.assertRaisesRegex(ValueError, f"from 1 as k, found {k}"):
                    ask(FACTS, k=k)
            with self.assertRaises(TypeError):
                ask(FACTS, k="5")

    def test_messages_have_no_options_of_the_tool(self) -> None:
        known, relation = self.model.entities[0], self.model.relations[0]
        for fact, setting in [
            ((known, relation, known), "`entity`"),
            (("zzzzzz", relation, "yyyyyy"), "`skip_unknown`"),
        ]:
            with self.assertRaisesRegex(kgraft.Error, setting) as caught:
                self.model.embed([fact])
            self.assertNotIn("--", str(caught.exception))

    def test_reprs_are_short(self) -> None:
        self.assertEqual(
            repr(self.model),
            f"<kgraft.Model distmult, {len(self.model.entities)} entities, 6 relations, dim 16>",
        )
        self.assertEqual(repr(self.model.relations), "<names of 6 relations>")
        relation = self.model.relations[0]
        (name, (answer, *_)), *_ = self.model.predict(FACTS, relation=relation, side="tail").items()
        self.assertEqual(
            repr(answer),
            f"Answer(relation={relation!r}, side='tail', entity={answer.entity!r}, "
            f"score={answer.score:.4g}, probability={answer.probability:.4g})",
        )
        why = self.model.explain(FACTS, entity=name, relation=relation, answer=answer.entity)
        self.assertRegex(
            repr(why),
            r"^Explanation\(score=\S+, rank=\S+, probability=\S+, shares=<\d+>, terms=<2>, "
            r"untested_facts=0, unexpanded=0\)$",
        )
        self.assertRegex(repr(why.shares[0]), r"^Share\(fact=Fact\(head=.*\), weight=\S+, part=.*\)$")
        self.model.close()
        self.assertEqual(repr(self.model), "<kgraft.Model, closed>")

    def test_a_bad_line(self) -> None:
        file = FOLDER / "bad.tsv"
        file.write_text("a\tb\tc\nd\te\n")
        with self.assertRaises(kgraft.Error) as caught:
            self.model.embed(file)
        self.assertEqual((caught.exception.source, caught.exception.line), (str(file), 2))
        self.assertIn(f"{file}:2", str(caught.exception))

    def test_wrong_queries(self) -> None:
        for words, message in [
            ({}, "facts or an entity"),
            ({"entity": "nobody"}, "nobody"),
            ({"facts": FACTS, "entity": "nobody"}, "nobody"),
            ({"facts": FACTS, "relation": "nothing"}, "nothing"),
            ({"facts": FACTS, "side": "left"}, "left"),
        ]:
            with self.assertRaisesRegex((ValueError, TypeError), message):
                self.model.predict(**words)
        with self.assertRaisesRegex(ValueError, "expected one new entity"):
            self.model.explain(
                FACTS, relation=self.model.relations[0], answer=self.model.entities[0]
            )


# ---------------------------------------------------------------------------------------------
# Life and threads


class Life(unittest.TestCase):
    def test_no_model(self) -> None:
        with self.assertRaisesRegex(kgraft.Error, "nowhere"):
            kgraft.load(FOLDER / "nowhere")

    def test_wrong_options(self) -> None:
        with self.assertRaisesRegex(kgraft.Error, "bogus"):
            kgraft.load(MODEL, aggregate="bogus").embed(FACTS)

    def test_after_closing(self) -> None:
        """Everything is refused, nothing crashes"""
        with kgraft.load(MODEL) as model:
            entities = model.entities
        relation = (MODEL / "relations.tsv").read_text().split("\n")[0]
        for ask in (
            lambda: model.embed(FACTS),
            lambda: model.predict(FACTS, relation=relation, side="tail"),
            lambda: model.neighbors(FACTS),
            lambda: model.explain(FACTS, relation=relation, answer="x"),
            lambda: model.entities,
            lambda: model.relations,
            lambda: model.entity_vectors,
            lambda: model.relation_vectors,
            lambda: model.dim,
            lambda: model.kind,
        ):
            with self.assertRaisesRegex(ValueError, "the model is closed"):
                ask()
        model.close()
        self.assertEqual(entities[0], (MODEL / "entities.tsv").read_text().split("\n")[0])

    def test_closing_lets_go_of_the_files(self) -> None:
        own = OwnModel("closed")
        model = kgraft.load(own.path)
        self.assertTrue(own.is_mapped())
        model.embed(FACTS)
        model.close()
        self.assertFalse(own.is_mapped())

    def test_many_threads(self) -> None:
        """Answers do not depend on who else asks"""
        model = kgraft.load(MODEL)
        relation = model.relations[0]
        expected = model.predict(FACTS, relation=relation, side="tail")
        wrong: list[object] = []

        def ask() -> None:
            for _ in range(30):
                found = model.predict(FACTS, relation=relation, side="tail")
                if found != expected:
                    wrong.append(found)

        run_threads([ask] * 8)
        self.assertEqual(wrong, [])

    def test_closing_while_others_ask(self) -> None:
        own = OwnModel("shared")
        model = kgraft.load(own.path)
        ended: list[BaseException] = []
        started = threading.Barrier(5)

        def ask() -> None:
            started.wait()
            try:
                while True:
                    model.neighbors(FACTS)
            except ValueError as error:
                ended.append(error)

        def close() -> None:
            started.wait()
            model.close()

        run_threads([ask] * 4 + [close])
        self.assertEqual(list(map(str, ended)), ["the model is closed"] * 4)
        self.assertFalse(own.is_mapped())


def run_threads(work: list[Any]) -> None:
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
        assert not thread.is_alive()


# ---------------------------------------------------------------------------------------------
# Without numpy, and where the library is


def run_python(code: str, **changes: str) -> subprocess.CompletedProcess[str]:
    own = {"PYTHONPATH": str(PACKAGE.parent), "MODEL": str(MODEL), "FACTS": str(FACTS)}
    env = {**os.environ, **own, **changes}
    env = {name: value for name, value in env.items() if value}
    command = [sys.executable, "-B", "-c", code]
    return subprocess.run(
        command, env=env, cwd=FOLDER, capture_output=True, text=True, timeout=TIMEOUT
    )


class WithoutNumpy(unittest.TestCase):
    CODE = """
import os, sys
sys.modules["numpy"] = None
import kgraft
model = kgraft.load(os.environ["MODEL"])
vectors = model.entity_vectors
assert type(vectors) is memoryview and vectors.readonly and vectors.format == "f"
assert vectors.shape == (len(model.entities), model.dim)
(name, vector), *_ = model.embed(os.environ["FACTS"]).items()
assert type(vector) is memoryview and vector.shape == (model.dim,)
model.close()
print(name, vectors[3, 2], *vector)
"""

    def test_memoryviews(self) -> None:
        done = run_python(self.CODE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        model = kgraft.load(MODEL)
        (name, vector), *_ = model.embed(FACTS).items()
        numbers = [float(model.entity_vectors[3, 2]), *map(float, vector)]
        self.assertEqual(done.stdout.split(), [name, *map(str, numbers)])


class Library(unittest.TestCase):
    """The environment's, the one beside the package, the system's."""

    SHOW = """
import kgraft
kgraft.load('model').embed('facts.tsv')
print(open('/proc/self/maps').read())
"""

    def check_loaded(self, path: Path, **changes: str) -> None:
        done = run_python(self.SHOW, **changes)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            set(re.findall(r"/\S*libkgraft\S*", done.stdout)), {str(path.resolve())}
        )

    def copy_package(self, name: str) -> Path:
        shutil.copytree(PACKAGE, FOLDER / name / "kgraft", ignore=shutil.ignore_patterns("__*__"))
        return FOLDER / name

    def test_by_the_environment(self) -> None:
        copy = FOLDER / "mine.so"
        shutil.copy(os.environ["KGRAFT_LIBRARY"], copy)
        done = run_python(self.SHOW, KGRAFT_LIBRARY=str(copy))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(copy.resolve()), done.stdout)

    def test_beside_the_package(self) -> None:
        place = self.copy_package("beside")
        library = place / "kgraft" / "libkgraft.so.1"
        shutil.copy(os.environ["KGRAFT_LIBRARY"], library)
        self.check_loaded(library, KGRAFT_LIBRARY="", PYTHONPATH=str(place))

    def test_of_the_system(self) -> None:
        library = Path(os.environ["KGRAFT_LIBRARY"])
        self.check_loaded(library, KGRAFT_LIBRARY="", LD_LIBRARY_PATH=str(library.parent))

    def test_nowhere(self) -> None:
        done = run_python(self.SHOW, KGRAFT_LIBRARY="/nowhere/libkgraft.so")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"OSError: expected libkgraft\.so\.{_library.ABI} .*: /nowhere/libkgraft\.so")

    def test_of_another_abi(self) -> None:
        other = FOLDER / "other.so"
        for source, found in [
            (f"int kg_abi(void) {{ return {_library.ABI + 1}; }}", _library.ABI + 1),
            ('const char *kg_version(void) { return "0.0.1"; }', "none"),
        ]:
            command = ["cc", "-shared", "-x", "c", "-", "-o", other]
            subprocess.run(command, input=source, text=True, check=True, timeout=TIMEOUT)
            done = run_python(self.SHOW, KGRAFT_LIBRARY=str(other))
            self.assertEqual(done.returncode, 1)
            expected = f"OSError: expected a kgraft library with ABI {_library.ABI}, .*"
            self.assertRegex(done.stderr, f"{expected}found ABI {found}: {other}")
            self.assertNotIn("Exception ignored", done.stderr)


class Pip(unittest.TestCase):
    def test_install_without_a_network(self) -> None:
        """Into a new environment, which has pip and nothing else"""
        if importlib.util.find_spec("ensurepip") is None:
            self.skipTest("python3-venv is not installed")
        env = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
        run = functools.partial(
            subprocess.run, check=True, env={**env, "PIP_NO_INDEX": "1"}, cwd=FOLDER,
            capture_output=True, text=True, timeout=TIMEOUT,
        )
        source = FOLDER / "source"
        shutil.copytree(PACKAGE.parent, source, ignore=shutil.ignore_patterns("__pycache__"))
        run([sys.executable, "-m", "venv", "venv"])
        done = run(["venv/bin/pip", "install", source], check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        code = """
import kgraft
print(kgraft.__file__)
(name, answers), *_ = kgraft.load("model").predict("facts.tsv", k=1).items()
print(name, answers[0].entity)
"""
        place, answer = run(["venv/bin/python", "-c", code]).stdout.splitlines()
        self.assertTrue(Path(place).is_relative_to(FOLDER / "venv"), place)
        (name, answers), *_ = kgraft.load(MODEL).predict(FACTS, k=1).items()
        self.assertEqual(answer, f"{name} {answers[0].entity}")
        shown = run(["venv/bin/pip", "show", "--files", "kgraft"]).stdout
        self.assertIn(f"\nVersion: {kgraft.__version__}\n", shown)
        self.assertIn("kgraft/py.typed", shown)
        run(["venv/bin/pip", "check"])

    def test_choice_of_kernels(self) -> None:
        """By the processor's features alone, since OpenBLAS may not know it"""
        flags = re.search(r"(?m)^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text())
        features = set(flags[1].split()) if flags else set()
        expected = "SkylakeX" if "avx512vl" in features else "Haswell" if "fma" in features else None
        self.assertEqual(_library._best_kernels(), expected)

    def test_kernels(self) -> None:
        """The best for this processor, whatever OpenBLAS would choose; the environment and the threads
        are as before"""
        program = """
import ctypes, os
from kgraft import _library
before = dict(os.environ), len(os.listdir('/proc/self/task'))
load = ctypes.CDLL
def load_noting(path):
    global chosen
    chosen = os.environ.get("OPENBLAS_CORETYPE")
    return load(path)
ctypes.CDLL = load_noting
library = _library.library()
after = dict(os.environ), len(os.listdir('/proc/self/task'))
print(library.kg_kernels_used(), library.kg_kernels_better(), before == after, chosen)
"""
        env = {k: "" for k in ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS") if k in os.environ}
        done = run_python(program, **env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"^b'\w+' None True {_library._best_kernels()}\n$")
        done = run_python(program, OPENBLAS_CORETYPE="Nehalem")
        self.assertRegex(done.stdout, r"^b'Nehalem' \S+ True Nehalem\n$")

    def test_fork(self) -> None:
        """Children of a process that has used several threads use several, too"""
        relation = (MODEL / "relations.tsv").read_text().split("\n")[0]
        model = kgraft.load(MODEL, threads=2)
        expected = model.predict(FACTS, relation=relation, side="tail")
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if model.predict(FACTS, relation=relation, side="tail") == expected else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)



class TestLive(unittest.TestCase):
    """Facts that come and go."""

    def test_added_entities_are_asked_and_answers(self) -> None:
        model = kgraft.load(MODEL)
        name = facts()[0][0] if facts()[0][0] not in model.entities else facts()[0][2]
        own = [f for f in facts() if name in (f[0], f[2])]
        relation = own[0][1]
        with model.live() as graph:
            before = graph.model
            commit = graph.add(own + own[:1])
            self.assertEqual((commit.added, commit.entities_added), (len(set(own)), 1))
            self.assertNotIn(name, before.entities)
            self.assertIn(name, graph.model.entities)
            expected = model.predict(own, relation=relation, side="tail")[name]
            self.assertEqual(
                expected, graph.model.predict(entity=name, relation=relation, side="tail")[name]
            )
            self.assertEqual(len(graph.model.entity_vectors), len(model.entities))
            everyone = graph.model.neighbors(entity=model.entities[0], k=len(model.entities))
            self.assertIn(name, [n.entity for n in everyone[model.entities[0]]])
            gone = graph.remove(own)
            self.assertEqual((gone.removed, gone.entities_removed, gone.missing), (len(set(own)), 1, 0))
            self.assertNotIn(name, graph.model.entities)

    def test_transactions_are_whole(self) -> None:
        model = kgraft.load(MODEL)
        entity, relation = model.entities[0], model.relations[0]
        with model.live() as graph:
            with self.assertRaisesRegex(kgraft.Error, "expected a relation of the model"):
                with graph.changes() as changes:
                    changes.add([("new", relation, entity)])
                    changes.add([("new", relation + "x", entity)])
            self.assertNotIn("new", graph.model.entities)
            with graph.changes() as changes:
                changes.add([("new", relation, entity), ("newer", relation, "new")])
                changes.remove([("new", relation, entity)])
            self.assertEqual((changes.commit.added, changes.commit.missing), (1, 1))
            with self.assertRaisesRegex(ValueError, "over"):
                changes.add([("new", relation, entity)])
            with self.assertRaisesRegex(TypeError, "expected .head, relation, tail."):
                graph.add(["abc"])
            last = graph.model
        self.assertIn("newer", last.entities)
        with self.assertRaisesRegex(ValueError, "the graph is closed"):
            graph.add([])
        with model.live(skip_unknown=True) as graph:
            self.assertEqual(graph.add([("new", "nothing", entity)]).unknown, 1)
            with self.assertRaisesRegex(kgraft.Error, "in memory alone"):
                graph.offset("stream")

    def test_stores(self) -> None:
        """What was committed is there when the store is opened again; what an exception ended is not"""
        store = FOLDER / "store"
        kgraft.create_store(store, MODEL)
        model = kgraft.load(store)
        entity, relation = model.entities[0], model.relations[0]
        with kgraft.open(store) as graph:
            self.assertIsNone(graph.offset("stream"))
            with graph.changes(source="stream", offset=3) as changes:
                changes.add([("new", relation, entity)])
            with graph.changes(source="stream", offset=3) as again:
                again.add([("newer", relation, entity)])
            assert changes.commit is not None and again.commit is not None
            self.assertEqual((changes.commit.entities_added, changes.commit.last), (1, 1))
            self.assertEqual((again.commit.entities_added, again.commit.skipped), (0, 1))
            with self.assertRaisesRegex(KeyError, "stop"):
                with graph.changes() as changes:
                    changes.add([("newest", relation, entity)])
                    raise KeyError("stop")
            expected = graph.model.predict(entity="new", relation=relation)
            with self.assertRaisesRegex(kgraft.Error, "writ"):
                kgraft.open(store)
        with kgraft.open(store, read_only=True) as reader:
            self.assertEqual(reader.model.predict(entity="new", relation=relation), expected)
            with self.assertRaisesRegex(kgraft.Error, "reading only"):
                reader.remove([("new", relation, entity)])
        self.assertEqual(kgraft.load(store).predict(entity="new", relation=relation), expected)
        with kgraft.open(store, allow_relations=True) as graph:
            self.assertEqual(graph.offset("stream"), 3)
            self.assertEqual(graph.add([("new", "nothing", entity)]).unknown, 1)
            self.assertEqual(graph.remove([("new", relation, entity)]).entities_removed, 1)
        self.assertEqual(set(kgraft.load(store).entities), set(model.entities))

    def test_strings_with_nul(self) -> None:
        """To C a NUL is the end of a string: what is behind it is not dropped, but refused"""
        store = FOLDER / "store-of-nul"
        kgraft.create_store(store, MODEL)
        model = kgraft.load(MODEL)
        cut = f"{MODEL}\0b"
        with kgraft.open(store) as graph:
            calls: list[Callable[[], object]] = [
                lambda: graph.changes(source="a\0b", offset=1).__enter__(),
                lambda: graph.offset("a\0b"),
                lambda: graph.log(source="a\0b"),
                lambda: kgraft.load(cut),
                lambda: kgraft.load(MODEL, aggregate="mean\0b"),
                lambda: kgraft.open(f"{store}\0b", read_only=True),
                lambda: kgraft.create_store(f"{FOLDER}/new\0b", MODEL),
                lambda: kgraft.create_store(FOLDER / "new", cut),
                lambda: kgraft.check(cut),
                lambda: model.predict(facts(), entity=f"{facts()[0][0]}\0b"),
                lambda: model.predict("facts\0b"),
            ]
            for i, call in enumerate(calls):
                with self.assertRaisesRegex(ValueError, "without NUL, found '", msg=f"call {i}"):
                    call()
            self.assertIsNone(graph.offset("a"))
            with self.assertRaisesRegex(kgraft.Error, "without NUL"):
                graph.add([("a\0b", model.relations[0], model.entities[0])])

    def test_compaction(self) -> None:
        """The graph goes over to the next generation by itself; given up, it stays as it is"""
        store = FOLDER / "compacted"
        kgraft.create_store(store, MODEL)
        with kgraft.open(store) as graph:
            model = graph.model
            entity, relation = model.entities[0], model.relations[0]
            facts = graph.facts
            graph.add([("new", relation, entity), ("newer", relation, "new")])
            with graph.changes(source="stream", offset=3) as changes:
                changes.remove([("newer", relation, "new")])
            self.assertEqual((graph.generation, graph.last, graph.facts), (1, 3, facts + 1))
            entries = graph.log(since=2)
            self.assertEqual(
                [(e.number, e.is_added, e.fact, e.source, e.offset) for e in entries],
                [(3, False, ("newer", relation, "new"), "stream", 3)],
            )
            self.assertEqual([e.source for e in graph.log()], [None, None, "stream"])
            before = graph.model
            answers = before.predict(entity="new", relation=relation)
            with self.assertRaisesRegex(kgraft.Error, "stop|cancel"):
                graph.compact(progress=lambda stage, done, total: False)
            with self.assertRaises(ZeroDivisionError):
                graph.compact(progress=lambda stage, done, total: 1 / 0)
            self.assertEqual(graph.generation, 1)
            done = graph.compact(threads=1)
            self.assertEqual((done.generation, done.is_new, done.facts), (2, True, facts + 1))
            self.assertEqual((graph.generation, graph.last, graph.facts), (2, 3, facts + 1))
            self.assertEqual(before.predict(entity="new", relation=relation), answers)
            fresh = kgraft.load(store).predict(entity="new", relation=relation)
            self.assertEqual(graph.model.predict(entity="new", relation=relation), fresh)
            self.assertFalse(graph.compact().is_new)
        with kgraft.load(MODEL).live() as graph:
            self.assertEqual(graph.generation, 0)
            with self.assertRaisesRegex(kgraft.Error, "in memory alone"):
                graph.compact()


if __name__ == "__main__":
    unittest.main()
