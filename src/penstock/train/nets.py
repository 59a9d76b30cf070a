"""Recurrent and temporal-convolutional networks for `train compare`. No other module uses torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import require_extra
from penstock.predict.features import past_columns, row_names
from penstock.predict.trees.forest import Floats
from penstock.train.samples import Samples

EPOCHS, BATCH, WIDTH = 15, 512, 48


def fit_sequence(
    kind: str, found: Samples, train: np.ndarray[Any, Any], history: int, seed: int
) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """A network that reads the past interval by interval, oldest first, with the candidate added to each."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise require_extra("nets", error) from None
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    shape = _Shaper(found, train, history)
    net = _recurrent(torch, shape.width) if kind == "rnn" else _convolutional(torch, shape.width)
    _train(torch, net, shape(found.vectors[train]), found.label[train].astype(np.float32), seed)

    def score(rows: Floats) -> Floats:
        with torch.no_grad():
            logits = net(torch.from_numpy(shape(rows)))
        return np.asarray(logits.numpy(), dtype=np.float64)

    return score, score


class _Shaper:
    """Turns flat vectors into scaled (sample, step, feature) arrays. Unknown values become the mean."""

    def __init__(self, found: Samples, train: np.ndarray[Any, Any], history: int) -> None:
        self.steps, self.row = history + 1, len(row_names(found.direction))
        self.places = np.array(past_columns(found.direction, history)).T
        known = found.vectors[train]
        self.mean, self.scale = np.nanmean(known, axis=0), np.nanstd(known, axis=0) + 1e-6
        self.width = self.row + found.candidate.shape[1]

    def __call__(self, vectors: Floats) -> np.ndarray[Any, Any]:
        scaled = np.nan_to_num((vectors - self.mean) / self.scale)
        count = self.places.shape[1]
        past = np.zeros((len(vectors), self.steps, self.row))
        past[:, self.places[0], self.places[1]] = scaled[:, :count]
        candidate = np.repeat(scaled[:, None, count:], self.steps, axis=1)
        return np.ascontiguousarray(np.concatenate([past[:, ::-1], candidate], axis=2), dtype=np.float32)


def _recurrent(torch: Any, width: int) -> Any:
    class Recurrent(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cells = torch.nn.RNN(width, WIDTH, num_layers=2, batch_first=True)
            self.head = torch.nn.Linear(WIDTH, 1)

        def forward(self, steps: Any) -> Any:
            return self.head(self.cells(steps)[0][:, -1])[:, 0]

    return Recurrent()


def _convolutional(torch: Any, width: int) -> Any:
    class Convolutional(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Conv1d(width, WIDTH, 2, padding=1)
            self.second = torch.nn.Conv1d(WIDTH, WIDTH, 2, padding=2, dilation=2)
            self.head = torch.nn.Linear(WIDTH, 1)

        def forward(self, steps: Any) -> Any:
            length = steps.shape[1]
            # Cutting the right end keeps the convolution causal.
            hidden = torch.relu(self.first(steps.transpose(1, 2))[..., :length])
            hidden = torch.relu(self.second(hidden)[..., :length]) + hidden
            return self.head(hidden[..., -1])[:, 0]

    return Convolutional()


def _train(torch: Any, net: Any, steps: np.ndarray[Any, Any], label: np.ndarray[Any, Any], seed: int) -> None:
    inputs, wanted = torch.from_numpy(steps), torch.from_numpy(label)
    optimiser = torch.optim.Adam(net.parameters(), lr=2e-3)
    loss = torch.nn.BCEWithLogitsLoss()
    rng = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        order = torch.from_numpy(rng.permutation(len(label)))
        for start in range(0, len(label), BATCH):
            chosen = order[start : start + BATCH]
            optimiser.zero_grad()
            loss(net(inputs[chosen]), wanted[chosen]).backward()
            optimiser.step()
    net.eval()
