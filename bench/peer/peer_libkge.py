"""LibKGE (github.com/uma-pi1/kge) at the work of bench/peers and bench/wikidata5m. Its search for settings is not used
here, and the packages that only this needs are stood in for if they are not installed: an import
of them gives empty classes."""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from peer_work import DIM, FACTS, LEARNING_RATE, Result, Work, facts, peak_mb

SEARCH = {"ax", "ConfigSpace", "hpbandster", "igraph"}


class Empty(ModuleType):
    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class StandIn(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in SEARCH else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def load(folder: Path) -> None:
    """Raises ImportError."""
    import torch
    torch.set_num_threads(1)
    sys.meta_path.append(StandIn())  # asked after all others
    sys.path.insert(0, str(folder))
    if find_spec("kge") is None:
        raise ImportError(f"no package kge in {folder}")
    import kge.job  # noqa: F401


def options(work: Work) -> dict[str, Any]:
    softmax = work.loss.name == "softmax"
    # kgraft has this for both queries of a fact, and LibKGE divides by three.
    embedder = {"dim": DIM, "initialize": "xavier_uniform_", "sparse": True,
                "regularize_weight": 6.0 * work.loss.n3}
    if work.loss.n3 > 0 and work.model == "complex":
        embedder |= {"space": "complex", "regularize": "n3", "regularize_args": {"weighted": True}}
    elif work.loss.n3 > 0:
        embedder |= {"regularize_args": {"weighted": True, "p": 3}}
    samples = work.loss.negatives if softmax else work.loss.negatives // 2
    return {
        "job": {"device": "cpu"}, "console": {"quiet": True},
        "random_seed": {"default": work.seed}, "model": work.model, "lookup_embedder": embedder,
        "train": {"type": "negative_sampling", "loss": "kl" if softmax else "bce",
                  "max_epochs": work.epochs, "batch_size": FACTS,
                  "checkpoint": {"every": 0, "keep_init": False},
                  "optimizer": {"default": {"type": "Adagrad", "args": {"lr": LEARNING_RATE}}}},
        "negative_sampling": {"num_samples": {"s": samples, "o": samples}, "shared": softmax,
                              "with_replacement": not softmax},
        "valid": {"every": 0, "last": False}, "eval": {"split": "test"},
    }


def open_all(work: Work, folder: str) -> tuple[Any, Any]:
    from kge import Config, Dataset
    from kge.util.seed import seed_from_config
    config = Config(folder=folder)
    config.load_options(options(work), create=True)
    config.init_folder()
    seed_from_config(config)
    return config, Dataset.create(config, folder=str(work.data))


def rank(config: Any, dataset: Any, model: Any, ties: str = "rounded_mean_rank") -> float:
    from kge.job import EvaluationJob
    config = config.clone()
    config.set_all({"job.type": "eval", "entity_ranking.tie_handling.type": ties})
    trace = EvaluationJob.create(config, dataset, model=model).run()
    return float(trace["mean_reciprocal_rank_filtered"])


def run(folder: Path, work: Work) -> Result:
    import numpy
    load(folder)
    from kge.job import TrainingJob
    libraries = peak_mb()
    with tempfile.TemporaryDirectory() as scratch:
        config, dataset = open_all(work, scratch)
        job = TrainingJob.create(config, dataset)
        seconds = [0.0] * work.epochs

        def count(job: Any, sign: int) -> None:
            seconds[job.epoch - 1] += sign * time.process_time()

        job.pre_epoch_hooks.append(lambda job: count(job, -1))
        job.post_epoch_hooks.append(lambda job: count(job, 1))
        job.run()
        started = time.process_time()
        mrr = rank(config, dataset, job.model)
        ranking = time.process_time() - started
        ranked = len(facts(work.data / "test.del"))
        for name, embedder in (("entity", job.model.get_s_embedder()),
                               ("relation", job.model.get_p_embedder())):
            numpy.save(work.out / f"{name}.npy", embedder.embed_all().detach().numpy())
    return Result(sum(seconds[1:]) / len(seconds[1:]), 1e3 * ranking / (2 * ranked), peak_mb(),
                  libraries, ranked, mrr)


def rank_by_ties(folder: Path, work: Work) -> dict[str, float]:
    """The rows of work.out, ranked by each rule for equal scores."""
    import numpy
    import torch
    load(folder)
    from kge.model import KgeModel
    with tempfile.TemporaryDirectory() as scratch:
        config, dataset = open_all(work, scratch)
        model = KgeModel.create(config, dataset)
        for name, embedder in (("entity", model.get_s_embedder()),
                               ("relation", model.get_p_embedder())):
            rows = torch.from_numpy(numpy.load(work.out / f"{name}.npy"))
            embedder._embeddings.weight.data.copy_(rows)
        return {rule: rank(config, dataset, model, ties) for rule, ties in (
            ("optimistic", "best_rank"), ("pessimistic", "worst_rank"))}


# ---- A share of an epoch, for bench/wikidata5m ----


@dataclass(frozen=True)
class Share:
    data: Path
    dim: int
    facts: int  # of a batch
    negatives: int  # that a batch shares, for either end
    seconds: float  # reading included
    threads: int


class Over(Exception):
    """The time is."""


def share_options(work: Share) -> dict[str, Any]:
    return {
        "job": {"device": "cpu"}, "console": {"quiet": True}, "random_seed": {"default": 0}, "model": "distmult",
        "lookup_embedder": {"dim": work.dim, "initialize": "xavier_uniform_", "sparse": True},
        "train": {"type": "negative_sampling", "loss": "kl", "max_epochs": 1, "batch_size": work.facts,
                  "optimizer": {"default": {"type": "Adagrad", "args": {"lr": LEARNING_RATE}}}},
        "negative_sampling": {"num_samples": {"s": work.negatives, "o": work.negatives}, "shared": True,
                              "shared_type": "naive", "with_replacement": False},
        "valid": {"every": 0, "last": False},
    }


def run_share(folder: Path, work: Share) -> dict[str, Any]:
    """Facts that were trained with, the first batch apart, and the seconds that this took."""
    began = time.monotonic()
    load(folder)
    import torch
    from kge import Config, Dataset
    from kge.job import TrainingJob
    torch.set_num_threads(work.threads)
    with tempfile.TemporaryDirectory() as scratch:
        config = Config(folder=scratch)
        config.load_options(share_options(work), create=True)
        config.init_folder()
        dataset = Dataset.create(config, preload_data=False, folder=str(work.data))
        job = TrainingJob.create(config, dataset)
        job.save = lambda filename: None  # it would write the first values
        ends: list[float] = []

        def count(job: Any) -> None:
            ends.append(time.monotonic())
            if ends[-1] - began >= work.seconds:
                raise Over

        job.post_batch_hooks.append(count)
        try:
            job.run()
        except Over:
            pass
    return {"facts": work.facts * (len(ends) - 1), "seconds": ends[-1] - ends[0], "memory": peak_mb() * 1e6}
