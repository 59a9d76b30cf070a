#!/bin/sh
# PrologSlurmctld: asks which OSTs the job that starts should use, records that, and applies it.
#
# Slurm requeues a job whose PrologSlurmctld fails, so this one always exits 0, within most_seconds: without an answer
# the job runs as it would without us.
conf=/etc/penstock/schedule.conf
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export PATH
most_seconds=20
[ -r "$conf" ] && . "$conf"
{
    timeout -k 2 "$most_seconds" "$penstock" schedule advise "$site" --ledger "$ledger" \
        --start --slurm --apply --exports "$exports" --json </dev/null
} >>"${log:-/dev/null}" 2>&1
exit 0
