"""Whether the page cache does the work."""

from __future__ import annotations

import pytest

from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.train.cache_share import CacheShare
from penstock.window import Window


@pytest.mark.parametrize(
    ("metrics", "large"),
    [
        ({"app.read_bytes": 1e8, "read.bytes": 1e8}, False),
        ({"app.read_bytes": 1e8, "read.bytes": 3e7}, False),
        ({"app.read_bytes": 1e8, "read.bytes": 1e6}, True),
        ({"app.write_bytes": 1.2e8, "write.bytes": 1e8, "dirty.grown_bytes": 0.0}, True),
        ({"app.write_bytes": 1.2e8, "write.bytes": 1e8, "dirty.grown_bytes": 2e7}, False),
    ],
    ids=["from servers", "most from memory", "nearly all from memory", "written over", "piled up"],
)
def test_it_is_known_whether_the_page_cache_does_the_work(metrics: dict[str, float], large: bool) -> None:
    share = CacheShare()
    share.take(Window(Target("a", "fs"), 0.0, 0.5, LUSTRE.default, metrics))
    assert share.large == large


def test_counters_read_one_after_the_other_do_not_look_like_rewriting() -> None:
    share = CacheShare()
    for skew in (3e7, -3e7) * 8:
        metrics = {"app.write_bytes": 1e8 + skew, "write.bytes": 1e8, "dirty.grown_bytes": 0.0}
        share.take(Window(Target("a", "fs"), 0.0, 0.5, LUSTRE.default, metrics))
    assert not share.large
