#!/bin/sh
# Installs Penstock from the wheels beside this script: needs root and Python 3.11 or newer, but no network.
# Nothing is started or enabled, and an existing agent.toml is left as it is. DESTDIR installs below another root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${DESTDIR:-}
prefix=$root/opt/penstock

python=${PYTHON:-python3}
"$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "install.sh: needs Python 3.11 or newer with venv; set PYTHON=/path/to/python3" >&2
    exit 3
}
"$python" -m venv "$prefix"
"$prefix/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --find-links "$here/wheels" \
    --upgrade "penstock$(cat "$here/extras" 2>/dev/null || true)"

put() { # put MODE FILE DIRECTORY
    install -d "$root$3"
    install -m "$1" "$here/$2" "$root$3/"
}
put 644 systemd/penstock.service /etc/systemd/system
put 644 systemd/penstock-restore.service /etc/systemd/system
put 644 sysusers.d/penstock.conf /etc/sysusers.d
put 644 tmpfiles.d/penstock.conf /etc/tmpfiles.d
put 644 man/penstock-agent.8 /usr/local/share/man/man8
put 644 prometheus/penstock.rules.yml /opt/penstock/share
put 755 slurm/prolog.sh /opt/penstock/share/slurm
put 755 slurm/epilog.sh /opt/penstock/share/slurm
[ -e "$root/etc/penstock/agent.toml" ] || put 644 agent.toml /etc/penstock
install -d "$root/usr/local/bin"
ln -sf /opt/penstock/bin/penstock "$root/usr/local/bin/penstock"

if [ -z "$root" ] && [ -d /run/systemd/system ]; then
    systemd-sysusers penstock.conf
    systemd-tmpfiles --create penstock.conf
    systemctl daemon-reload
fi
echo "Installed. It observes until told otherwise: systemctl enable --now penstock" >&2
