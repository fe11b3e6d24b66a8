"""Out-of-sample splits by the paper's six steps, with random numbers of its own.

Written from the section "Datasets" of the paper alone, it shares nothing with the program: one is
C with tickets drawn by Philox, the other numpy with its own generator. So if both follow the paper,
each count of Table 1 must have the same distribution over the splits of both.

It wants numpy, and so runs as a program of its own, by the system's Python.

usage: split_sampler.py FOLDER SPLITS
Prints an object: for each count of Table 1, the list of its values.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np


def read(folder: Path) -> np.ndarray:
    """Step 1: all facts as rows of numbers, each once."""
    names: list[dict[bytes, int]] = [{}, {}]  # of entities and of relations
    facts = set()
    for part in "train", "valid", "test":
        for line in (folder / f"{part}.txt").read_bytes().splitlines():
            head, relation, tail = line.split(b"\t")
            pairs = (names[0], head), (names[1], relation), (names[0], tail)
            facts.add(tuple(ids.setdefault(name, len(ids)) for ids, name in pairs))
    return np.array(sorted(facts))


def split(facts: np.ndarray, generator: np.random.Generator) -> dict[str, int]:
    """Steps 2 to 6, and the counts of Table 1."""
    heads, relations, tails = facts.T
    size = facts[:, [0, 2]].max() + 1

    def facts_of(entities: np.ndarray) -> np.ndarray:
        return np.bincount(entities, minlength=size)

    degrees = facts_of(heads) + facts_of(tails[tails != heads])
    frequent = np.flatnonzero(degrees >= 2)
    unseen = np.zeros(size, bool)
    unseen[generator.permutation(frequent)[: len(frequent) // 5]] = True

    train = ~unseen[heads] & ~unseen[tails]
    asked = unseen[heads] ^ unseen[tails]

    known = (facts_of(heads[train]) + facts_of(tails[train])) > 0
    known_relations = np.bincount(relations[train], minlength=relations.max() + 1) > 0
    ends = np.where(unseen[heads], tails, heads)  # the one that is not unseen
    asked &= known[ends] & known_relations[relations]

    counts = facts_of(np.where(unseen[heads], heads, tails)[asked])
    survivors = generator.permutation(np.flatnonzero(counts >= 2))

    half = len(survivors) // 2
    return {
        "entities": int(known.sum()),
        "unseen_valid": half,
        "unseen_test": len(survivors) - half,
        "relations": int(known_relations.sum()),
        "train": int(train.sum()),
        "queries_valid": int(counts[survivors[:half]].sum()),
        "queries_test": int(counts[survivors[half:]].sum()),
    }


def main() -> None:
    facts = read(Path(sys.argv[1]))
    splits = [split(facts, np.random.default_rng(seed)) for seed in range(int(sys.argv[2]))]
    print(json.dumps({key: [counts[key] for counts in splits] for key in splits[0]}))


if __name__ == "__main__":
    main()
