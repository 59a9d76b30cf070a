#!/bin/sh
# TaskProlog: puts what the job was told (PENSTOCK_OSTS and so on) into its environment. Starts no Python, asks nobody.
conf=/etc/penstock/schedule.conf
PATH=/usr/bin:/bin
[ -r "$conf" ] && . "$conf"
case ${SLURM_JOB_ID:-} in
    '' | *[!0-9A-Za-z_]*) exit 0 ;;
esac
told=${exports:-/nowhere}/$SLURM_JOB_ID.env
[ -r "$told" ] && [ ! -L "$told" ] || exit 0
while IFS='=' read -r name value; do
    case $name in
        PENSTOCK_RESOURCES | PENSTOCK_COUNT | PENSTOCK_OSTS | PENSTOCK_LFS | PENSTOCK_NODES)
            printf 'export %s=%s\n' "$name" "$value"
            ;;
    esac
done <"$told"
exit 0
