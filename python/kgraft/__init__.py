"""Knowledge-graph embeddings that also work for entities that were not in the training data.

    import kgraft

    model = kgraft.load("model")
    facts = [("rex", "hypernym", "dog.n.01"), ("rex", "part_meronym", "paw.n.01")]
    for answer in model.predict(facts, relation="hypernym", side="tail")["rex"]:
        print(answer.entity, answer.score)

A model is loaded by mapping its files, never changes, and may be used by any number of threads at
the same time. Whatever the library refuses is raised as `Error`.
"""

from ._client import Change, Client, Missing, ServerError, connect
from ._library import VERSION as __version__
from ._model import (
    Answer,
    Changes,
    Commit,
    Compaction,
    Contribution,
    Entry,
    Error,
    Explanation,
    Fact,
    Graph,
    Metrics,
    Model,
    Names,
    Neighbor,
    Reason,
    Share,
    check,
    create_store,
    load,
    open,
)

__all__ = [
    "Answer",
    "Change",
    "Changes",
    "Client",
    "Commit",
    "Compaction",
    "Contribution",
    "Entry",
    "Error",
    "Explanation",
    "Fact",
    "Graph",
    "Metrics",
    "Missing",
    "Model",
    "Names",
    "Neighbor",
    "Reason",
    "ServerError",
    "Share",
    "__version__",
    "check",
    "connect",
    "create_store",
    "load",
    "open",
]
