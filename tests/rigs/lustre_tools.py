"""Stand-ins for `lfs` and `lctl` that record every call and behave as Lustre's manual says, on a state of their own.

They keep directory layouts, pools and parameters in one JSON file, refuse what Lustre refuses, and print what it
prints. They move no data and know only the options that scheduling uses; anything else is refused.
"""

from __future__ import annotations

import fcntl
import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

State = dict[str, Any]
LONGEST_POOL_NAME = 15
STRIPE_UNIT = 64 << 10
PLAIN = {"end": -1, "count": 1, "size": 1 << 20, "offset": -1, "pool": "", "osts": [], "mdt": False}


class ToolError(Exception):
    """What Lustre would print on stderr before it exits with an error."""


def install_tools(home: Path, osts: int, fsname: str = "scratch", mgs: bool = True) -> Path:
    """Put both stand-ins into `home/bin`, for a file system with `osts` OSTs; returns that directory."""
    home.mkdir(parents=True, exist_ok=True)
    targets = {str(index): {"total_kb": 1000000, "used_kb": 100000, "flags": ""} for index in range(osts)}
    state = {
        "fsname": fsname,
        "mgs": mgs,
        "osts": targets,
        "layouts": {},
        "pools": {},
        "params": {},
        "calls": [],
    }
    (home / "state.json").write_text(json.dumps(state))
    (home / "bin").mkdir(exist_ok=True)
    for name in ("lfs", "lctl"):
        tool = home / "bin" / name
        tool.write_text(f'#!/bin/sh\nexec {sys.executable} -P {__file__} "{home}/state.json" {name} "$@"\n')
        tool.chmod(0o755)
    return home / "bin"


def tool_state(home: Path) -> State:
    """The stand-ins' file system now: layouts, pools, and every call."""
    state: State = json.loads((home / "state.json").read_text())
    return state


def change_state(home: Path, **values: Any) -> None:
    """Do to the file system what its administrators do."""
    (home / "state.json").write_text(json.dumps(tool_state(home) | values))


def main(arguments: list[str]) -> int:
    """Run one call under a lock, and keep it."""
    path, tool, *words = arguments
    with Path(path).open("r+", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        state = json.load(stream)
        state["calls"].append([tool, *words])
        try:
            printed, code = _call(state, tool, words), 0
            sys.stdout.write(printed)
        except ToolError as error:
            sys.stderr.write(f"{tool} {words[0] if words else ''}: {error}\n")
            code = 1
        stream.seek(0)
        stream.truncate()
        json.dump(state, stream)
    return code


def _call(state: State, tool: str, words: list[str]) -> str:
    calls = {
        ("lfs", "setstripe"): _setstripe,
        ("lfs", "getstripe"): _getstripe,
        ("lfs", "df"): _df,
        ("lctl", "pool_new"): _pool_new,
        ("lctl", "pool_add"): _pool_add,
        ("lctl", "pool_remove"): _pool_remove,
        ("lctl", "pool_destroy"): _pool_destroy,
        ("lctl", "get_param"): _get_param,
    }
    call = calls.get((tool, words[0])) if words else None
    if call is None:
        raise ToolError("unknown command")
    return call(state, words[1:])


def _setstripe(state: State, words: list[str]) -> str:
    *options, directory = words
    if not Path(directory).is_dir():
        raise ToolError(f"setstripe error for '{directory}': No such file or directory")
    if options == ["-d"]:
        state["layouts"].pop(directory, None)
        return ""
    if len(options) == 1 and options[0].startswith("--yaml="):
        state["layouts"][directory] = json.loads(Path(options[0][7:]).read_text())
        return ""
    components: list[dict[str, Any]] = []
    for option, value in zip(options[::2], options[1::2], strict=True):
        if option == "-E" or not components:
            components.append(dict(PLAIN))
        _set(components[-1], option, value)
    for one in components:
        _check(state, one)
    if "-E" not in options and len(components) > 1:
        raise ToolError("bad options")
    state["layouts"][directory] = {"composite": "-E" in options, "components": components}
    return ""


def _set(component: dict[str, Any], option: str, value: str) -> None:
    names = {"-c": "count", "-S": "size", "-i": "offset"}
    if option == "-E":
        units = {"k": 10, "m": 20, "g": 30}
        shift = units.get(value[-1].lower())
        component["end"] = -1 if value in ("-1", "eof") else int(value[:-1]) << shift if shift else int(value)
    elif option in names:
        component[names[option]] = int(value)
    elif option == "-o":
        component["osts"] = [int(index) for index in value.split(",")]
        component["offset"] = component["osts"][0]
    elif option == "-p":
        component["pool"] = value
    elif option == "-L" and value == "mdt":
        component["mdt"] = True
    else:
        raise ToolError(f"unrecognized option '{option}'")


def _check(state: State, one: dict[str, Any]) -> None:
    if one["osts"] and one["count"] != len(one["osts"]):
        raise ToolError("stripe count must agree with the number of OSTs in the list")
    unknown = [index for index in one["osts"] if str(index) not in state["osts"]]
    if unknown:
        raise ToolError(f"no OST with index {unknown[0]}")
    if one["size"] % STRIPE_UNIT:
        raise ToolError(f"stripe size must be a multiple of {STRIPE_UNIT}")
    if one["pool"] and one["pool"] not in state["pools"]:
        raise ToolError(f"pool '{state['fsname']}.{one['pool']}' does not exist")


def _getstripe(state: State, words: list[str]) -> str:
    *options, directory = words
    if not Path(directory).is_dir():
        raise ToolError(f"can't find '{directory}': No such file or directory")
    if set(options) - {"-d", "--raw", "--yaml"}:
        raise ToolError("unrecognized option")
    layout = state["layouts"].get(directory)
    if "--yaml" in options:
        return json.dumps(layout)
    if layout is None:
        return f"{directory}\nstripe_count:  0 stripe_size:   0 pattern:       0 stripe_offset: -1\n\n"
    if not layout["composite"]:
        return f"{directory}\n{_component(layout['components'][0])}\n"
    lines = [directory, "  lcm_layout_gen:    0", "  lcm_mirror_count:  1"]
    lines.append(f"  lcm_entry_count:   {len(layout['components'])}")
    start = 0
    for one in layout["components"]:
        end = "EOF" if one["end"] == -1 else str(one["end"])
        lines += [
            "    lcme_id:             N/A",
            "    lcme_mirror_id:      N/A",
            "    lcme_flags:          0",
        ]
        lines += [f"    lcme_extent.e_start: {start}", f"    lcme_extent.e_end:   {end}"]
        lines += [f"      {_component(one)}"]
        start = one["end"]
    return "\n".join(lines) + "\n"


def _component(one: dict[str, Any]) -> str:
    pattern = "mdt" if one["mdt"] else "raid0"
    pool = f" pool:         {one['pool']}" if one["pool"] else ""
    text = (
        f"stripe_count:  {one['count']} stripe_size:   {one['size']} pattern:       {pattern} "
        f"stripe_offset: {one['offset']}{pool}\n"
    )
    listed = "".join(f"      - {n}: {{ l_ost_idx: {index} }}\n" for n, index in enumerate(one["osts"]))
    return text + (f"      lmm_objects:\n{listed}" if listed else "")


def _df(state: State, words: list[str]) -> str:
    mount = words[-1] if words and words[-1].startswith("/") else "/mnt"
    lines = ["UUID                   1K-blocks        Used   Available Use% Mounted on"]
    lines.append(f"{state['fsname']}-MDT0000_UUID      500000       20000      480000   4% {mount}[MDT:0]")
    for index, ost in state["osts"].items():
        if ost["flags"] == "inactive":
            lines.append(f"OST{int(index):04x}             : inactive device")
            continue
        total, used = ost["total_kb"], ost["used_kb"]
        uuid = f"{state['fsname']}-OST{int(index):04x}_UUID"
        flags = f" {ost['flags']}" if ost["flags"] else ""
        share = f"{100 * used // total}%"
        lines.append(
            f"{uuid} {total:>12} {used:>11} {total - used:>11} {share:>4} {mount}[OST:{index}]{flags}"
        )
    lines += ["", f"filesystem_summary:  1000 100 900  10% {mount}", ""]
    return "\n".join(lines)


def _pool(state: State, name: str) -> str:
    if not state["mgs"]:
        raise ToolError("this command must be run on the MGS")
    fsname, _, pool = name.partition(".")
    if fsname != state["fsname"] or not pool or len(pool) > LONGEST_POOL_NAME:
        raise ToolError(f"argument {name} must be <fsname>.<poolname>, the pool at most 15 characters")
    return pool


def _pool_new(state: State, words: list[str]) -> str:
    pool = _pool(state, words[0])
    if pool in state["pools"]:
        raise ToolError(f"Pool {words[0]} already exists")
    state["pools"][pool] = []
    return f"Pool {words[0]} created\n"


def _pool_add(state: State, words: list[str]) -> str:
    pool = _members(state, words[0])
    for target in words[1:]:
        index = int(target.removeprefix(f"{state['fsname']}-OST"), 16)
        if str(index) not in state["osts"]:
            raise ToolError(f"OST {target} is not part of the '{state['fsname']}' fs")
        pool.append(target)
    return "".join(f"OST {target}_UUID added to pool {words[0]}\n" for target in words[1:])


def _pool_remove(state: State, words: list[str]) -> str:
    pool = _members(state, words[0])
    for target in words[1:]:
        if target not in pool:
            raise ToolError(f"OST {target} is not in pool {words[0]}")
        pool.remove(target)
    return ""


def _pool_destroy(state: State, words: list[str]) -> str:
    if _members(state, words[0]):
        raise ToolError(f"Pool {words[0]} not empty, please remove all members")
    del state["pools"][_pool(state, words[0])]
    return f"Pool {words[0]} destroyed\n"


def _members(state: State, name: str) -> list[str]:
    pool = _pool(state, name)
    if pool not in state["pools"]:
        raise ToolError(f"Pool {name} not found")
    members: list[str] = state["pools"][pool]
    return members


def _get_param(state: State, words: list[str]) -> str:
    found = ""
    for pattern in words:
        names = [name for name in state["params"] if fnmatchcase(name, pattern)]
        if not names:
            raise ToolError(f"param_path '{pattern}': No such file or directory")
        for name in names:
            text = state["params"][name]
            found += f"{name}=\n{text}" if "\n" in text else f"{name}={text}\n"
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
