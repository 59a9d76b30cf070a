"""The one job that a Lustre client says all requests of its node belong to.

With `jobid_var` set to `nodelocal`, the client sends the value of `jobid_name` with every request. So a prolog that
writes the job's number there tells whose node it is. Other values of `jobid_var` name a variable in the environment
of each process; the client keeps no counters by it.
"""

from __future__ import annotations

import re
from pathlib import Path

_DIRECTORY = "sys/fs/lustre"
_JOB = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.+-]{0,63}")


def read_node_job(root: str | Path) -> str | None:
    """The job of this node; None if there is no Lustre client or if it does not say."""
    directory = Path(root) / _DIRECTORY
    try:
        variable = (directory / "jobid_var").read_text(encoding="ascii")
        name = (directory / "jobid_name").read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
    return parse_node_job(variable, name)


def parse_node_job(variable: str, name: str) -> str | None:
    """The job that these two settings name; a pattern such as `%e.%u` names none."""
    job = name.strip()
    return job if variable.strip() == "nodelocal" and _JOB.fullmatch(job) else None
