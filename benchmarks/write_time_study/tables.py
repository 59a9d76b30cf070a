"""Parts of a table of writes as the paper's studies need them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.errors import DataError
from penstock.plan.write.write_samples import Mask, WriteSamples

# The converged test sets by write scale (lowest and highest number of nodes).
TEST_SETS = {"small": (200, 256), "medium": (257, 512), "large": (513, 2000)}


def set_masks(samples: WriteSamples) -> dict[str, Mask]:
    """Converged samples by scale, and the unconverged ones of every scale."""
    masks = {
        name: (samples.nodes >= low) & (samples.nodes <= high) & samples.converged
        for name, (low, high) in TEST_SETS.items()
    }
    masks["unconverged"] = ~samples.converged & (samples.nodes >= TEST_SETS["small"][0])
    return masks


def concatenate(parts: Sequence[WriteSamples]) -> WriteSamples:
    """Several tables of one system as one."""
    if not parts:
        raise DataError("no samples")
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    return WriteSamples(
        parts[0].system,
        columns,
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.converged for part in parts]),
    )
