"""What the tests of new entities share: small trained models, and a slow twin of them in Python.

The twin reads a model's files by the formats' descriptions and computes by the definitions, in
double precision: query vectors of each model, aggregates, scores, ranks.
"""

from __future__ import annotations

import atexit
import functools
import json
import math
import shutil
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable, Sequence

from kgraft import Case, run
from test_train import QUICK, SMALL_PROPAGATION, read_safetensors

MODELS = ("distmult", "simple", "complex", "quate")
AGGREGATES = ("eravg", "ls", "eavg", "ials")

# How a model of graft is trained; it is asked as it was trained, unless said.
SMALL = ("--preset", "graft", "--batch", "50", "--negatives", "30")
GRAFT = (*SMALL, "--terms", "embedding+echo")
PROPAGATION = (*SMALL, "--terms", "all", *SMALL_PROPAGATION)

Vector = Sequence[float]
Fact = tuple[str, str, str]
"""Head, relation, tail."""


def dot(x: Vector, y: Vector) -> float:
    return math.fsum(a * b for a, b in zip(x, y))


def length(x: Vector) -> float:
    return math.sqrt(dot(x, x))


def hamilton(x: Vector, y: Vector) -> Vector:
    """The product of two quaternions."""
    (a, b, c, d), (e, f, g, h) = x, y
    return (a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e)


def simple_query(r: Vector, x: Vector, missing: str) -> Vector:
    half = len(r) // 2
    a, b, p, inverse = x[:half], x[half:], r[:half], r[half:]
    if missing == "head":
        p, inverse = inverse, p
    return [i * v / 2 for i, v in zip(inverse, b)] + [i * v / 2 for i, v in zip(p, a)]


def complex_query(r: Vector, x: Vector, missing: str) -> Vector:
    half = len(r) // 2
    sign = 1 if missing == "tail" else -1
    products = [
        complex(r[i], sign * r[half + i]) * complex(x[i], x[half + i]) for i in range(half)
    ]
    return [z.real for z in products] + [z.imag for z in products]


def quate_query(r: Vector, x: Vector, missing: str) -> Vector:
    n = len(r) // 4
    sign = 1 if missing == "tail" else -1
    parts = []
    for i in range(n):
        turn = r[i::n]
        size = length(turn)
        unit = [v / size for v in turn] if size else [1.0, 0.0, 0.0, 0.0]
        parts.append(hamilton(x[i::n], [unit[0], *(sign * v for v in unit[1:])]))
    return [part[k] for k in range(4) for part in parts]


QUERIES = {
    "distmult": lambda r, x, missing: [a * b for a, b in zip(r, x)],
    "simple": simple_query,
    "complex": complex_query,
    "quate": quate_query,
}


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """By elimination; the matrix is positive definite."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    for i, pivot in enumerate(rows):
        for row in rows[i + 1 :]:
            factor = row[i] / pivot[i]
            for k in range(i, len(row)):
                row[k] -= factor * pivot[k]
    out = [0.0] * len(rows)
    for i in reversed(range(len(rows))):
        known = sum(rows[i][k] * out[k] for k in range(i + 1, len(rows)))
        out[i] = (rows[i][-1] - known) / rows[i][i]
    return out


def normalized(x: Vector) -> Vector:
    size = length(x)
    return [v / size for v in x] if size else x


@dataclass
class Twin:
    """A model, by what its files say."""

    kind: str
    entities: dict[str, Vector]
    relations: dict[str, Vector]
    calibration: list[Vector]

    @staticmethod
    def read(folder: Path) -> Twin:
        tensors = read_safetensors((folder / "model.safetensors").read_bytes())
        config = json.loads((folder / "config.json").read_text())
        names = {
            what: (folder / f"{what}.tsv").read_text().splitlines()
            for what in ("entities", "relations")
        }
        calibration = folder / "calibration.safetensors"
        return Twin(
            config["settings"]["model"],
            dict(zip(names["entities"], tensors["entities"])),
            dict(zip(names["relations"], tensors["relations"])),
            read_safetensors(calibration.read_bytes())["calibration"] if calibration.exists() else [],
        )

    def query(self, fact: Fact, missing: str) -> Vector:
        """The query vector of the fact's missing end."""
        head, relation, tail = fact
        known = self.entities[head if missing == "tail" else tail]
        return QUERIES[self.kind](self.relations[relation], known, missing)

    def embed(self, entity: str, facts: Iterable[Fact], aggregate: str) -> Vector:
        links = sorted({fact for fact in facts if (fact[0] == entity) != (fact[2] == entity)})
        sides = ["head" if fact[0] == entity else "tail" for fact in links]
        if aggregate == "eavg":
            rows = [
                self.entities[fact[2] if side == "head" else fact[0]]
                for fact, side in zip(links, sides)
            ]
        else:
            rows = [self.query(fact, side) for fact, side in zip(links, sides)]
        if aggregate == "ials":
            return solve(
                self.implicit({(fact[1], side) for fact, side in zip(links, sides)}, rows),
                [math.fsum(row[k] for row in rows) for k in range(len(rows[0]))],
            )
        weights = [1 / len(rows)] * len(rows)
        if aggregate == "ls":
            rows = [normalized(row) for row in rows]
            gram = [[dot(x, y) + 0.1 * (x is y) for y in rows] for x in rows]
            weights = solve(gram, [float(length(row) > 0) for row in rows])
        return [math.fsum(w * row[k] for w, row in zip(weights, rows)) for k in range(len(rows[0]))]

    def implicit(self, directed: Iterable[tuple[str, str]], rows: Sequence[Vector]) -> list[list[float]]:
        """The matrix of ials for facts of these directed relations, with the usual settings: the
        facts', a little of what any entity could be linked to by them, and a ridge."""
        square = math.fsum(dot(row, row) for row in rows) / len(rows)
        terms = [(1.0, row) for row in rows]
        for relation, missing in directed:
            for known in self.entities.values():
                terms.append((0.001, QUERIES[self.kind](self.relations[relation], known, missing)))
        size = range(len(rows[0]))
        return [
            [math.fsum(w * q[j] * q[k] for w, q in terms) + 0.1 * square * (j == k) for k in size]
            for j in size
        ]

    def score(self, vector: Vector, relation: str, side: str, answer: str) -> float:
        """Of the answer at that side of a link of an entity with that vector."""
        other = "head" if side == "tail" else "tail"
        query = QUERIES[self.kind](self.relations[relation], self.entities[answer], other)
        return dot(vector, query)

    def probability(self, relation: str, side: str, score: float) -> float:
        directed = 2 * list(self.relations).index(relation) + (side == "head")
        slope, offset = self.calibration[directed]
        return 1 / (1 + math.exp(-(slope * score + offset)))


def as_tsv(facts: Iterable[Fact]) -> bytes:
    return b"".join("\t".join(fact).encode() + b"\n" for fact in facts)


def rank_in(answers: list[dict[str, Any]], entity: str) -> float:
    """The rank of an entity in a whole list: that of its score, ties counting half."""
    score = next(answer["score"] for answer in answers if answer["entity"] == entity)
    higher = sum(answer["score"] > score for answer in answers)
    equal = sum(answer["score"] == score for answer in answers)
    return higher + (equal + 1) / 2


@functools.cache
def prepared(*words: str) -> Path:
    """A folder with a small out-of-sample data set in `data`, and a model trained on it in `model`;
    made once."""
    folder = Path(tempfile.mkdtemp(prefix="kgraft-grafted-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    graph = ("generate", "g.tsv", "--facts", "500", "--entities", "80", "--relations", "4")
    for command in (
        graph, ("split", "g.tsv", "data", "--quiet"), ("train", "data", "model", *QUICK, *words)
    ):
        result = run(*command, cwd=folder)
        assert result.status == 0, result
    return folder


class Grafted(Case):
    """A trained model lies in `model`. Facts about new entities are those of the test part of the
    data set that it was made from."""

    def setUp(self) -> None:
        super().setUp()
        self.prepare()

    def prepare(self, *words: str) -> None:
        """Trains with these options instead."""
        shutil.copytree(prepared(*words), self.folder, dirs_exist_ok=True)
        self.read_facts()

    def read_facts(self) -> None:
        lines = self.read("data/unseen-test.tsv").decode().splitlines()
        self.facts: list[Fact] = [(h, r, t) for h, r, t in (line.split("\t") for line in lines)]
        train = self.read("data/train.tsv").decode().splitlines()
        self.known: list[Fact] = [(h, r, t) for h, r, t in (line.split("\t") for line in train)]
        self.seen = {end for fact in self.known for end in (fact[0], fact[2])}
        self.write({"facts.tsv": as_tsv(self.facts)})

    def new_entities(self) -> dict[str, list[Fact]]:
        """Facts by the end that is new, in order of first appearance."""
        out: dict[str, list[Fact]] = {}
        for fact in self.facts:
            out.setdefault(fact[0] if fact[2] in self.seen else fact[2], []).append(fact)
        return out

    def ask(self, command: str, *words: Any, **options: Any) -> Any:
        return self.succeed(command, *words, "--json", "--quiet", **options).json

    def break_numbers(self, value: float) -> None:
        """Every row of the model's first ten entities starts with `value`."""
        path = self.folder / "model" / "model.safetensors"
        data = bytearray(path.read_bytes())
        (size,) = struct.unpack_from("<Q", data)
        about = json.loads(data[8 : 8 + size])["entities"]
        for row in range(10):
            at = 8 + size + about["data_offsets"][0] + 4 * row * about["shape"][1]
            struct.pack_into("<f", data, at, value)
        path.write_bytes(data)
