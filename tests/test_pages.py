"""The documentation site: it builds without a network, its links lead somewhere, its marked commands run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.pages import __main__ as pages
from benchmarks.pages import formats, links, metrics, shapes, stage

from penstock.agent.settings import AgentConfig
from penstock.cli.main import VERBS

SAMPLED = ("snapshot", "agent status", "simulate run", "plan write", "schedule advise")


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return stage.made_pages()


@pytest.fixture(scope="module")
def site(made: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("needs the extra [docs]")
    place = tmp_path_factory.mktemp("documentation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "made_pages", lambda: made)
        # Whatever asks for another machine fails.
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            patch.setenv(name, "http://127.0.0.1:1")
        return pages.build(place)


@pytest.mark.slow
def test_site_has_no_dead_link_and_fetches_nothing_from_elsewhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 60
    assert list(links.site_problems(site)) == []


def test_every_page_is_in_the_table_of_contents(made: dict[str, str]) -> None:
    configured = tomllib.loads((stage.DOCS / stage.CONFIG).read_text())["project"]["nav"]
    listed = sorted(_paths(configured))
    written = {str(path.relative_to(stage.DOCS)) for path in stage.DOCS.rglob("*.md")}
    assert listed == sorted({*written, *made, *stage.ADOPTED.values()})


def _paths(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for inner in entry.values() if isinstance(entry, dict) else entry:
            yield from _paths(inner)


def test_links_of_the_project_lead_to_files() -> None:
    assert list(links.project_problems()) == []


def test_link_checks_notice_what_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h2 id="here">b</h2>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">ok</a><a href="b.html#gone">1</a><a href="c.html">2</a><img src="https://x.org/i.png">'
    )
    assert list(links.site_problems(tmp_path)) == [
        "a.html: fetches https://x.org/i.png",
        "a.html: b.html#gone: no such place on that page",
        "a.html: c.html leads nowhere",
    ]
    (tmp_path / "docs").mkdir()
    missing = "docs/" + "nowhere.md"  # in two pieces, so that this file does not name it
    (tmp_path / "README.md").write_text(f"[a]({missing}), [b](docs)\n```\n[not](a link)\n```\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "x.py").write_text(f"# see {missing}\n")
    assert list(links.project_problems(tmp_path)) == [
        f"README.md: {missing} leads nowhere",
        f"src/x.py: {missing} leads nowhere",
    ]


def test_reference_has_every_verb_option_key_and_metric(made: dict[str, str]) -> None:
    for verb in VERBS:
        assert f"# penstock {verb}" in made[f"reference/cli/{verb}.md"]
    assert "`--take-back`" in made["reference/cli/agent.md"]
    for section in ("scope", "guard", "metrics"):
        for key in AgentConfig.model_fields[section].annotation.model_fields:  # type: ignore[union-attr]
            assert f"| `{key}` |" in made["reference/configuration.md"]
    assert "`penstock_agent_last_tick_timestamp_seconds`" in metrics.text()
    assert "### `Cluster`" in made["reference/python.md"]


def test_json_reference_explains_most_keys_of_what_commands_print(made: dict[str, str]) -> None:
    answers, events = formats.samples()
    commands = [answer.command for answer in answers]
    for verb in SAMPLED:
        assert any(command.startswith(verb) for command in commands)
    assert {"start", "decision"} <= {event["event"] for event in events}
    documents = [*(answer.document for answer in answers), *events]
    keys = [path for document in documents for path, _, _ in shapes.rows(document)]
    unknown = [path for document in documents for path in shapes.unexplained(document)]
    assert len(unknown) < len(keys) / 10, unknown


def test_docs_task_says_what_it_can_do() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pages", "--help"],
        cwd=stage.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "--run" in done.stdout
