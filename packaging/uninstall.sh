#!/bin/sh
# Undoes install.sh: stops the agent, brings every original back, removes the program. Needs root; needs no network.
# Configuration (/etc/penstock) and state (/var/lib/penstock) stay unless --purge is given. DESTDIR works below another root.
set -eu
root=${DESTDIR:-}
purge=
case "${1:-}" in
    "") ;;
    --purge) purge=yes ;;
    *) echo "usage: uninstall.sh [--purge]" >&2; exit 2 ;;
esac

if [ -z "$root" ]; then
    if [ -d /run/systemd/system ]; then
        systemctl disable --now penstock 2>/dev/null || true
    fi
    # The program goes only after every knob holds its original, or its administrator's value.
    if [ -e /var/lib/penstock/journal.json ]; then
        /opt/penstock/bin/penstock agent restore || {
            echo "uninstall.sh: some originals could not be brought back; nothing was removed (see above)" >&2
            exit 1
        }
    fi
fi

rm -rf "$root/opt/penstock"
rm -f "$root/usr/local/bin/penstock" "$root/usr/local/share/man/man8/penstock-agent.8"
for file in systemd/system/penstock.service systemd/system/penstock-restore.service sysusers.d/penstock.conf \
    tmpfiles.d/penstock.conf; do
    rm -f "$root/etc/$file"
done
if [ -n "$purge" ]; then
    rm -rf "$root/etc/penstock" "$root/var/lib/penstock" "$root/var/cache/penstock"
fi
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
[ -n "$purge" ] || echo "Removed. Configuration and logs are still in /etc/penstock and /var/lib/penstock (--purge)." >&2
