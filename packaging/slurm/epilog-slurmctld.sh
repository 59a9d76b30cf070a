#!/bin/sh
# EpilogSlurmctld: gives back the OSTs of the job that ended and the layout its directory had.
#
# Always exits 0, within most_seconds. What it could not do, --reconcile does later.
conf=/etc/penstock/schedule.conf
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export PATH
most_seconds=20
[ -r "$conf" ] && . "$conf"
{
    timeout -k 2 "$most_seconds" "$penstock" schedule advise "$site" --ledger "$ledger" \
        --end "$SLURM_JOB_ID" --apply --exports "$exports" --json </dev/null
} >>"${log:-/dev/null}" 2>&1
exit 0
