"""Recurrent and temporal-convolutional networks for `train compare`. No other module uses torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.errors import require_extra
from penstock.predict.featuresets import PRINTED
from penstock.predict.trees.forest import Floats
from penstock.train.samples import Samples

BATCH = 512


def fit_sequence(
    kind: str, found: Samples, train: np.ndarray[Any, Any], given: Mapping[str, Any], seed: int
) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """A network that reads snapshot after snapshot, oldest first, with the candidate added to each."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise require_extra("nets", error) from None
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    shape = SequenceShaper(found, train)
    make = _recurrent if kind == "rnn" else _convolutional
    net = make(torch, shape.width, given["width"])
    _train(torch, net, (shape(found.vectors[train]), found.label[train].astype(np.float32)), given, seed)

    def score(rows: Floats) -> Floats:
        with torch.no_grad():
            logits = net(torch.from_numpy(shape(rows)))
        return np.asarray(logits.numpy(), dtype=np.float64)

    return score, score


class SequenceShaper:
    """Turns flat vectors into scaled (sample, step, feature) arrays. Unknown values become the mean.

    A step is a snapshot and the change that led to it; the oldest one's change is not known.
    """

    def __init__(self, found: Samples, train: np.ndarray[Any, Any]) -> None:
        metrics = PRINTED.now(found.direction)
        self.metrics = len(metrics)
        # Snapshots come first, then one change fewer.
        self.steps = (found.past.shape[1] // self.metrics + 1) // 2
        known = found.vectors[train]
        self.mean, self.scale = np.nanmean(known, axis=0), np.nanstd(known, axis=0) + 1e-6
        self.width = 2 * self.metrics + found.candidate.shape[1]

    def __call__(self, vectors: Floats) -> np.ndarray[Any, Any]:
        scaled = np.nan_to_num((vectors - self.mean) / self.scale)
        cut, end = self.steps * self.metrics, (2 * self.steps - 1) * self.metrics
        snapshots = scaled[:, :cut].reshape(len(vectors), self.steps, self.metrics)
        changes = np.zeros_like(snapshots)
        changes[:, :-1] = scaled[:, cut:end].reshape(len(vectors), self.steps - 1, self.metrics)
        candidate = np.repeat(scaled[:, None, end:], self.steps, axis=1)
        steps = np.concatenate([snapshots, changes], axis=2)[:, ::-1]
        return np.ascontiguousarray(np.concatenate([steps, candidate], axis=2), dtype=np.float32)


def _recurrent(torch: Any, inputs: int, width: int) -> Any:
    class Recurrent(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cells = torch.nn.RNN(inputs, width, num_layers=2, batch_first=True)
            self.head = torch.nn.Linear(width, 1)

        def forward(self, steps: Any) -> Any:
            return self.head(self.cells(steps)[0][:, -1])[:, 0]

    return Recurrent()


def _convolutional(torch: Any, inputs: int, width: int) -> Any:
    class Convolutional(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Conv1d(inputs, width, 2, padding=1)
            self.second = torch.nn.Conv1d(width, width, 2, padding=2, dilation=2)
            self.head = torch.nn.Linear(width, 1)

        def forward(self, steps: Any) -> Any:
            length = steps.shape[1]
            # Cutting the right end keeps the convolution causal.
            hidden = torch.relu(self.first(steps.transpose(1, 2))[..., :length])
            hidden = torch.relu(self.second(hidden)[..., :length]) + hidden
            return self.head(hidden[..., -1])[:, 0]

    return Convolutional()


def _train(torch: Any, net: Any, data: tuple[Floats, Floats], given: Mapping[str, Any], seed: int) -> None:
    inputs, wanted = (torch.from_numpy(part) for part in data)
    optimiser = torch.optim.Adam(net.parameters(), lr=given["learning_rate"])
    loss = torch.nn.BCEWithLogitsLoss()
    rng = np.random.default_rng(seed)
    for _ in range(given["epochs"]):
        order = torch.from_numpy(rng.permutation(len(wanted)))
        for start in range(0, len(wanted), BATCH):
            chosen = order[start : start + BATCH]
            optimiser.zero_grad()
            loss(net(inputs[chosen]), wanted[chosen]).backward()
            optimiser.step()
    net.eval()
