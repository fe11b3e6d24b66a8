"""PyKEEN (github.com/pykeen/pykeen) at the work of bench/peers. What it needs and Debian has not
is found in PYTHONPATH. It asks for PyTorch 2, and a name that is other in Debian's 1.13 is put
right."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from peer_work import DIM, FACTS, LEARNING_RATE, Result, Work, init_bound, names, peak_mb

BATCH = 4  # facts that are ranked at once: DistMult makes a row for each pair of fact and entity
RANKED = 100  # facts, since that takes long


def load(folder: Path) -> None:
    """Raises ImportError."""
    import torch
    import torch.optim.lr_scheduler as schedulers
    torch.set_num_threads(1)
    if not hasattr(schedulers, "LRScheduler"):
        setattr(schedulers, "LRScheduler", schedulers._LRScheduler)
    sys.path.insert(0, str(folder / "src"))
    import pykeen.pipeline  # noqa: F401


def uniform(rows: Any) -> Any:
    import torch
    bound = init_bound(rows.shape[0])
    numbers = torch.view_as_real(rows) if rows.is_complex() else rows
    torch.nn.init.uniform_(numbers, -bound, bound)
    return rows


def open_all(work: Work) -> tuple[dict[str, Any], Any]:
    import pandas
    from pykeen.losses import SoftplusLoss
    from pykeen.models import ComplEx, DistMult
    from pykeen.triples import CoreTriplesFactory
    entities, relations = len(names(work.data, "entity")), len(names(work.data, "relation"))
    parts = {part: CoreTriplesFactory(
        pandas.read_csv(work.data / f"{part}.del", sep="\t", header=None).to_numpy(),
        entities, relations) for part in ("train", "valid", "test")}
    options: dict[str, Any] = {
        "triples_factory": parts["train"], "loss": SoftplusLoss(reduction="sum"),
        "random_seed": work.seed, "entity_initializer": uniform, "relation_initializer": uniform,
        "regularizer": None}
    if work.model == "complex":
        return parts, ComplEx(embedding_dim=DIM // 2, **options)
    return parts, DistMult(embedding_dim=DIM, entity_constrainer=None, **options)


def rank(parts: dict[str, Any], model: Any) -> dict[str, float]:
    from pykeen.evaluation import RankBasedEvaluator
    found = RankBasedEvaluator().evaluate(
        model, parts["test"].mapped_triples[:RANKED], batch_size=BATCH, use_tqdm=False,
        additional_filter_triples=[parts["train"].mapped_triples, parts["valid"].mapped_triples])
    return {rule: float(found.get_metric(f"both.{rule}.inverse_harmonic_mean_rank"))
            for rule in ("optimistic", "realistic", "pessimistic")}


def save(model: Any, out: Path) -> None:
    import numpy
    for name, rows in (("entity", model.entity_representations[0]),
                       ("relation", model.relation_representations[0])):
        numpy.save(out / f"{name}.npy", rows().detach().numpy())


def run(folder: Path, work: Work) -> Result:
    import torch
    load(folder)
    from pykeen.training import SLCWATrainingLoop, TrainingCallback
    libraries = peak_mb()
    at: list[float] = []

    class Clock(TrainingCallback):  # type: ignore[misc]
        def post_epoch(self, epoch: int, epoch_loss: float, **kwargs: Any) -> None:
            at.append(time.process_time())

    parts, model = open_all(work)
    loop = SLCWATrainingLoop(
        model=model, triples_factory=parts["train"],
        optimizer=torch.optim.Adagrad(model.get_grad_params(), lr=LEARNING_RATE),
        negative_sampler="basic", negative_sampler_kwargs={"num_negs_per_pos":
                                                           work.loss.negatives})
    loop.train(parts["train"], num_epochs=work.epochs, batch_size=FACTS, callbacks=Clock(),
               use_tqdm=False)
    started = time.process_time()
    mrr = rank(parts, model)["realistic"]
    ranking = time.process_time() - started
    save(model, work.out)
    ranked = min(RANKED, len(parts["test"].mapped_triples))
    return Result((at[-1] - at[0]) / (len(at) - 1), 1e3 * ranking / (2 * ranked), peak_mb(),
                  libraries, ranked, mrr)


def rank_by_ties(folder: Path, work: Work) -> dict[str, float]:
    """The rows of work.out, ranked by each rule for equal scores."""
    import numpy
    import torch
    load(folder)
    parts, model = open_all(work)
    for name, rows in (("entity", model.entity_representations[0]),
                       ("relation", model.relation_representations[0])):
        saved = torch.from_numpy(numpy.load(work.out / f"{name}.npy"))
        weight = rows._embeddings.weight.data
        weight.copy_((saved if saved.is_complex() == weight.is_complex() else
                      torch.view_as_real(saved)).reshape(weight.shape))
    return rank(parts, model)
