"""`penstock simulate workloads`: the workloads that can be run, and their options."""

from __future__ import annotations

import click

from penstock.cli.options import console, emit_json, json_option


@click.command(epilog="Example: penstock simulate workloads dlio-bert")
@click.argument("name", required=False)
@json_option
def workloads(name: str | None, as_json: bool) -> None:
    """List the workloads, or one application's parameters and where its numbers come from.

    Parameters are given with the name: --workload dlio-bert:threads=8,osts=2
    """
    from penstock.errors import UsageError, did_you_mean
    from penstock.simulate.applications import APPLICATIONS
    from penstock.simulate.metadata.workloads import NAMES as METADATA_NAMES
    from penstock.simulate.reading.reading_workloads import NAMES as READING_NAMES
    from penstock.workload import NAMES

    if name is not None and name not in APPLICATIONS:
        raise UsageError(f"unknown application {name!r}{did_you_mean(name, APPLICATIONS)}")
    chosen = list(APPLICATIONS.values()) if name is None else [APPLICATIONS[name]]
    if as_json:
        emit_json(
            {
                "synthetic": list(NAMES),
                "metadata": list(METADATA_NAMES),
                "readahead": list(READING_NAMES),
                "applications": [
                    {
                        "name": app.name,
                        "summary": app.summary,
                        "source": app.source,
                        "parameters": {
                            p.name: {"default": p.default, "meaning": p.meaning} for p in app.parameters
                        },
                    }
                    for app in chosen
                ],
            }
        )
        return
    from rich.table import Table

    if name is None:
        console().print(f"Synthetic: {', '.join(NAMES)}", soft_wrap=True)
        console().print(f"Metadata, with any number of threads: {', '.join(METADATA_NAMES)}", soft_wrap=True)
        console().print(f"Readahead, with any number of threads: {', '.join(READING_NAMES)}", soft_wrap=True)
        table = Table("application", "what it does", "parameters")
        for app in chosen:
            table.add_row(app.name, app.summary, " ".join(p.name for p in app.parameters))
    else:
        console().print(f"{chosen[0].summary}.\n{chosen[0].source}\n", soft_wrap=True)
        table = Table("parameter", "default", "meaning")
        for p in chosen[0].parameters:
            table.add_row(p.name, f"{p.default:,.10g}", p.meaning)
    console().print(table)
