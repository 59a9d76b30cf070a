"""Reference of the files Penstock reads and leaves: model and survey files from those that ship, the rest by name."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.pages.markdown import page, table
from benchmarks.pages.shapes import shape

import penstock
from penstock.predict import modelfile, surveyfile
from penstock.simulate.cluster import CLUSTER_NAMES

SHIPPED = Path(penstock.__file__).parent / "predict"
LEAD = """\
Files that Penstock believes are checked whole before anything in them is used: size, UTF-8, no duplicate keys,
no NaN, format, schema, digest, index ranges. What fails gets one line and exit code 5. Nothing is ever
unpickled."""
WRITTEN = (
    ("`/etc/penstock/agent.toml`", "the agent's configuration", "[Configuration](configuration.md)"),
    (
        "`decisions.jsonl`",
        "the decision log, in the state directory",
        "[JSON formats](json.md#the-decision-log)",
    ),
    (
        "`journal.json`",
        "originals of every knob that was touched, in the state directory",
        "[Safety](../explanation/safety.md)",
    ),
    ("`knowledge.json`", "what the node measured, in the state directory", "[weir](../explanation/weir.md)"),
    (
        "recordings (`snapshot --record`)",
        "raw texts of the kernel, one probe a line",
        "[Reading a client](observing.md)",
    ),
    ("cluster files", "a simulated cluster", "[The simulated cluster](cluster.md)"),
    ("scenario files", "a whole simulated world", "[Worlds](worlds.md)"),
    (
        "application sets, `site.toml`",
        "what the scheduler's advice needs",
        "[Scheduling](../explanation/scheduling.md)",
    ),
    ("`system.toml`", "a machine whose writes are forecast", "[Write time](../explanation/write-time.md)"),
    ("campaign specifications", "many simulations", "[Many simulations](../how-to/scale.md)"),
)


def text() -> str:
    """The page."""
    model = json.loads((SHIPPED / "default.json").read_text(encoding="utf-8"))
    survey = json.loads((SHIPPED / "survey.json").read_text(encoding="utf-8"))
    return page(
        "Model, survey and other files",
        LEAD,
        "## Model files",
        f"Made by `penstock train fit`, read by the policies `carat`, `carat-authors`, `dial` and `greedy`. Format "
        f"`{modelfile.FORMAT}`, schema {modelfile.SCHEMA}, at most {modelfile.MAX_BYTES >> 20} MiB. Examples are of "
        "the file that ships.",
        shape(model),
        "## Survey files",
        f"Made by `penstock train survey`, read by `weir`. Format `{surveyfile.FORMAT}`, schema {surveyfile.SCHEMA}, "
        f"at most {surveyfile.MAX_CASES} cases. Examples are of the file that ships.",
        shape(survey),
        "## Other files",
        table(("file", "holds", "described in"), WRITTEN),
        f"Built-in clusters: {', '.join(f'`{name}`' for name in CLUSTER_NAMES)}.",
    )
