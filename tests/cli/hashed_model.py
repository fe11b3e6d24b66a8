"""Makes a model folder of embeddings that are given by a formula (../shared/golden), not learned.

It is written from the description of the formats, not by kgraft: a model that kgraft has never seen.
With --arrays the folder holds what kgraft adopt takes: E.npy, R.npy, entities and relations.

usage: hashed_model.py DATASET DIM MODEL [--arrays]     (DATASET has a train.txt)

It wants numpy, and so runs as a program of its own, by the system's Python.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import numpy as np


def hashed(rows: int, dim: int, seed: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        z = np.arange(1, rows * dim + 1, dtype=np.uint64)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    values = (z >> np.uint64(40)).astype(np.float64) * 2.0**-24 - 0.5
    return values.astype("<f4").reshape(rows, dim)


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    header = {}
    start = 0
    for name, values in tensors.items():
        end = start + values.nbytes
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(values.tobytes() for values in tensors.values())
    return struct.pack("<Q", len(text)) + text + data


def write_arrays(folder: Path, entities: list[str], relations: list[str], dim: int) -> None:
    np.save(folder / "E.npy", hashed(len(entities), dim, 1))
    np.save(folder / "R.npy", hashed(len(relations), dim, 2))
    (folder / "entities").write_text("".join(name + "\n" for name in entities))
    (folder / "relations").write_text("".join(name + "\n" for name in relations))


def main() -> None:
    dataset, dim, model = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    entities: dict[str, None] = {}
    relations: dict[str, None] = {}
    for line in (dataset / "train.txt").read_text().splitlines():
        head, relation, tail = line.split("\t")
        entities[head] = relations[relation] = entities[tail] = None
    model.mkdir()
    if "--arrays" in sys.argv[4:]:
        write_arrays(model, list(entities), list(relations), dim)
        return
    files = {
        "model.safetensors": safetensors(
            {
                "entities": hashed(len(entities), dim, 1),
                "relations": hashed(len(relations), dim, 2),
            }
        ),
        "entities.tsv": "".join(name + "\n" for name in entities).encode(),
        "relations.tsv": "".join(name + "\n" for name in relations).encode(),
    }
    for name, content in files.items():
        (model / name).write_bytes(content)
    config = {
        "kgraft_model": 1,
        "entities": len(entities),
        "relations": len(relations),
        "settings": {"model": "distmult", "dim": dim},
        "files": {name: {"bytes": len(content)} for name, content in files.items()},
    }
    (model / "config.json").write_text(json.dumps(config))


main()
