"""What each tool is asked to do, and what comes back: see bench/peers."""

from __future__ import annotations

import json
import math
import resource
from dataclasses import dataclass
from pathlib import Path

DIM = 200  # numbers of a row
LEARNING_RATE = 0.1
FACTS = 500  # of a batch


@dataclass(frozen=True)
class Loss:
    name: str
    negatives: int
    n3: float  # weight of |x|^3 for each query
    tools: tuple[str, ...]


LOSSES = [Loss("softplus", 10, 0, ("kgraft", "LibKGE", "PyKEEN")),
          Loss("softmax", 1024, 0.05, ("kgraft", "LibKGE"))]


@dataclass(frozen=True)
class Work:
    data: Path  # see write_numbered
    model: str  # distmult or complex
    loss: Loss
    epochs: int
    seed: int
    out: Path  # where entity.npy and relation.npy go


@dataclass(frozen=True)
class Result:
    epoch_s: float  # of the processor, mean of all epochs but the first
    query_ms: float  # of the processor, to rank
    memory_mb: float
    libraries_mb: float  # of which before there are data
    ranked: int  # facts of the test part, the first ones; each is two queries
    mrr: float  # of these


def init_bound(rows: int) -> float:
    """All tables begin uniform within this."""
    return math.sqrt(6 / (rows + DIM))


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def facts(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def names(data: Path, kind: str) -> list[str]:
    return [line.split("\t")[1] for line in facts(data / f"{kind}_ids.del")]


def write_numbered(dataset: Path, data: Path) -> None:
    """A data set of names as one of numbers, as LibKGE reads it: PART.del, entity_ids.del and
    relation_ids.del. The numbers are in the order of appearance."""
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    data.mkdir()
    for part in ("train", "valid", "test"):
        with open(data / f"{part}.del", "w", encoding="utf-8") as out:
            for line in facts(dataset / f"{part}.txt"):
                head, relation, tail = line.split("\t")
                out.write(f"{entities.setdefault(head, len(entities))}\t"
                          f"{relations.setdefault(relation, len(relations))}\t"
                          f"{entities.setdefault(tail, len(entities))}\n")
    for kind, numbers in (("entity", entities), ("relation", relations)):
        (data / f"{kind}_ids.del").write_text(
            "".join(f"{number}\t{name}\n" for name, number in numbers.items()), encoding="utf-8")
    (data / "dataset.yaml").write_text(json.dumps({"dataset": {
        "name": dataset.name, "num_entities": len(entities), "num_relations": len(relations),
        "pickle": False}}))
