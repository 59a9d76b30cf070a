#!/bin/sh
# Installs Penstock from the wheels beside this script: needs root and Python 3.11 or newer, but no network.
# Nothing is started or enabled, and an existing agent.toml is left as it is. DESTDIR installs below another root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${DESTDIR:-}

python=${PYTHON:-python3}
"$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "install.sh: needs Python 3.11 or newer with venv; set PYTHON=/path/to/python3" >&2
    exit 3
}
[ -z "$root" ] || { mkdir -p "$root" && root=$(cd "$root" && pwd); }
prefix=$root/opt/penstock
"$python" -m venv "$prefix"
"$prefix/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --find-links "$here/wheels" \
    --upgrade "penstock$(cat "$here/extras" 2>/dev/null || true)"

if [ -n "$root" ]; then
    # The entry scripts and the environment's own files name the build directory; in the image they lie elsewhere.
    for file in "$prefix"/pyvenv.cfg "$prefix"/bin/*; do
        [ -f "$file" ] && [ ! -L "$file" ] && grep -qI -F -e "$prefix" "$file" || continue
        "$prefix/bin/python" - "$file" "$prefix" <<'PYTHON'
import pathlib, sys

file, prefix = pathlib.Path(sys.argv[1]), sys.argv[2]
file.write_text(file.read_text().replace(prefix, "/opt/penstock"))
PYTHON
    done
fi

put() { # put MODE FILE DIRECTORY
    install -d "$root$3"
    install -m "$1" "$here/$2" "$root$3/"
}
put 644 systemd/penstock.service /etc/systemd/system
put 644 systemd/penstock-restore.service /etc/systemd/system
put 644 sysusers.d/penstock.conf /etc/sysusers.d
put 644 tmpfiles.d/penstock.conf /etc/tmpfiles.d
put 644 man/penstock-agent.8 /usr/local/share/man/man8
put 644 systemd/share.conf /opt/penstock/share/systemd
put 644 prometheus/penstock.rules.yml /opt/penstock/share
put 644 grafana/penstock-fleet.json /opt/penstock/share
put 755 slurm/prolog.sh /opt/penstock/share/slurm
put 755 slurm/epilog.sh /opt/penstock/share/slurm
for file in prolog-slurmctld.sh epilog-slurmctld.sh task-prolog.sh; do
    put 755 "slurm/$file" /opt/penstock/share/slurm
done
put 644 slurm/job_submit.lua /opt/penstock/share/slurm
put 644 slurm/schedule.conf /opt/penstock/share/slurm
[ -e "$root/etc/penstock/agent.toml" ] || put 644 agent.toml /etc/penstock
install -d -m 755 "$root/etc/penstock/agent.toml.d"
install -d "$root/usr/local/bin"
ln -sf /opt/penstock/bin/penstock "$root/usr/local/bin/penstock"

if [ -z "$root" ] && [ -d /run/systemd/system ]; then
    systemd-sysusers penstock.conf
    systemd-tmpfiles --create penstock.conf
    systemctl daemon-reload
fi
echo "Installed. It observes until told otherwise: systemctl enable --now penstock" >&2
