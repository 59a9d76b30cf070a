"""A Linux guest under QEMU that runs one command on this machine's own files: for kernel features the host lacks.

The guest boots Debian's kernel with an initial file system of busybox and the modules asked for. It sees the
host's root read-only, below a layer in its own memory, so it runs the very interpreter and code of the test and
can change nothing on the host. The guest's own /tmp, /run and /dev cover the host's; directories that the command
needs there are kept visible. One directory is shared for results. There is no network device.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SHARE = "/guest"
_BUSYBOX = "/bin/busybox"
_BASE_MODULES = ("virtio_pci", "9p", "9pnet_virtio", "overlay")
# Plain `max` announces fast string copies, which software emulation carries out byte by byte.
_CPU = "max,-erms,-fsrm"
# On a busy machine the guest's timer ticks late, which the kernel would take for a broken one.
_KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check"
_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
for module in $(cat /modules/order); do insmod /modules/$module || echo "no module $module"; done
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=524288 root /lower
mount -t tmpfs none /layer; mkdir /layer/upper /layer/work
mount -t overlay -o lowerdir=/lower,upperdir=/layer/upper,workdir=/layer/work none /new
mkdir -p /new{share} /new/sys/kernel/debug /whole
mount -o bind /new /whole
mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288 share /new{share}
for place in proc sys dev; do mount --move /$place /new/$place; done
mkdir -p /new/dev/pts; mount -t devpts none /new/dev/pts
for place in tmp run; do mount -t tmpfs none /new/$place; done
mount -t debugfs none /new/sys/kernel/debug
while read -r place; do mkdir -p "/new$place"; mount -o bind "/whole$place" "/new$place"; done < /kept
ip link set lo up
chroot /new /bin/sh {share}/command > /new{share}/output 2>&1
echo $? > /new{share}/status
sync
echo o > /new/proc/sysrq-trigger
sleep 60
"""


@dataclass(frozen=True, slots=True)
class GuestRun:
    """What became of a command: its exit status, None when the guest never got so far, and all it said."""

    status: int | None
    output: str
    console: str


def kernel_release() -> str | None:
    """The newest kernel that Debian's package left on this machine, None where there is none."""
    found = sorted(path.name.removeprefix("vmlinuz-") for path in Path("/boot").glob("vmlinuz-*-amd64"))
    usable = [release for release in found if Path("/lib/modules", release, "modules.dep").exists()]
    return usable[-1] if usable else None


def why_not() -> str | None:
    """Why this machine cannot start a guest; None where it can."""
    if kernel_release() is None:
        return "needs the Debian package linux-image-amd64"
    for tool, package in (("qemu-system-x86_64", "qemu-system-x86"), ("modprobe", "kmod")):
        if shutil.which(tool) is None:
            return f"needs the Debian package {package}"
    return None if Path(_BUSYBOX).exists() else "needs the Debian package busybox-static"


def run_in_guest(
    command: str,
    share: Path,
    modules: Sequence[str] = (),
    *,
    kept: Sequence[Path] = (),
    memory_mib: int = 1024,
    timeout_s: float = 180.0,
) -> GuestRun:
    """Boot, run one shell command as root, power off.

    `share` is the guest's `/guest`, writable by both. `kept` are directories of the host that the command needs,
    wherever they lie.
    """
    share.mkdir(parents=True, exist_ok=True)
    (share / "command").write_text(command, encoding="utf-8")
    initial = share / "initramfs"
    release = kernel_release()
    if release is None:
        raise FileNotFoundError("no kernel for a guest in /boot")
    _write_initramfs(initial, release, (*_BASE_MODULES, *modules), kept)
    machine = ["qemu-system-x86_64", "-cpu", _CPU, "-accel", "tcg,thread=multi", "-smp", "2"]
    machine += ["-m", str(memory_mib), "-nographic", "-no-reboot", "-nic", "none", "-monitor", "none"]
    machine += ["-kernel", f"/boot/vmlinuz-{release}", "-initrd", str(initial)]
    machine += [
        "-append",
        _KERNEL_OPTIONS,
        "-serial",
        f"file:{share / 'console'}",
    ]
    machine += _shared("root", Path("/"), read_only=True) + _shared("share", share, read_only=False)
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(machine, check=False, timeout=timeout_s, stdin=subprocess.DEVNULL, capture_output=True)
    status = _text(share / "status").strip()
    code = int(status) if status.isdigit() else None
    return GuestRun(code, _text(share / "output"), _text(share / "console"))


def _shared(tag: str, path: Path, *, read_only: bool) -> list[str]:
    options = f"local,id={tag},path={path},security_model=none,multidevs=remap"
    options += ",readonly=on" if read_only else ""
    return ["-fsdev", options, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


def _write_initramfs(archive: Path, release: str, modules: Sequence[str], kept: Sequence[Path]) -> None:
    stage = archive.with_suffix(".d")
    for place in ("bin", "sbin", "proc", "sys", "dev", "lower", "layer", "new", "modules"):
        (stage / place).mkdir(parents=True)
    shutil.copy(_BUSYBOX, stage / "bin/busybox")
    order: list[str] = []
    for module in modules:
        order += [path for path in _with_needed(release, module) if path not in order]
    for path in order:
        shutil.copy(path, stage / "modules")
    (stage / "modules/order").write_text(
        "\n".join(Path(path).name for path in order) + "\n", encoding="ascii"
    )
    (stage / "kept").write_text("".join(f"{path.resolve()}\n" for path in kept), encoding="utf-8")
    init = stage / "init"
    init.write_text(_INIT.format(share=SHARE), encoding="ascii")
    init.chmod(0o755)
    names = "\n".join(sorted(str(path.relative_to(stage)) for path in stage.rglob("*")))
    with archive.open("wb") as out:
        pack = [_BUSYBOX, "cpio", "-o", "-H", "newc"]
        subprocess.run(
            pack, cwd=stage, input=names.encode(), stdout=out, stderr=subprocess.DEVNULL, check=True
        )
    shutil.rmtree(stage)


def _with_needed(release: str, module: str) -> list[str]:
    """The files of a module and of all it needs, in the order in which they must be loaded."""
    asked = ["modprobe", "-S", release, "--show-depends", module]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return [line.split()[1] for line in said.splitlines() if line.startswith("insmod ")]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
