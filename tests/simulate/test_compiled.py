"""Which kernels Python may call. That compiled and uncompiled runs are equal is tested in tests/golden."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import penstock


def decorated(tree: ast.Module, decorator: str) -> set[str]:
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == decorator for mark in node.decorator_list)
    }


@pytest.mark.slow
def test_python_calls_only_kernels_that_have_a_way_in() -> None:
    root = Path(penstock.__file__).parent
    trees = {path: ast.parse(path.read_text("utf-8")) for path in root.rglob("*.py")}
    rooms = {path: tree for path, tree in trees.items() if path.parent == root / "simulate" / "kernel"}
    inner = {path.stem: decorated(tree, "kernel") for path, tree in rooms.items()}
    assert "_send_write" in inner["rpcs"]
    for path, tree in trees.items():
        closed = set(inner[path.stem]) if path in rooms else set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("penstock.simulate.kernel."):
                closed |= {name.name for name in node.names} & inner.get(
                    str(node.module).split(".")[3], set()
                )
        compiled = decorated(tree, "kernel") | decorated(tree, "entry")
        plain = [
            node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name in compiled)
        ]
        used = {name.id for node in plain for name in ast.walk(node) if isinstance(name, ast.Name)}
        assert not used & closed, path
