#!/bin/sh
# Slurm Prolog: leaves a mark that a job begins on this node, for the penstock agent's log. Nothing else.
#
# A prolog that fails drains the node, so this one always exits 0, and within a second: it starts no Python, does not
# talk to the agent, and whatever the disk does, it waits for it half a second at most.
what=begin
PATH=/usr/bin:/bin

mark() {
    case ${SLURM_JOB_ID:-} in
        '' | [!0-9A-Za-z]* | *[!0-9A-Za-z_+-]*) return ;;
    esac
    jobs=${PENSTOCK_STATE_DIR:-/var/lib/penstock}/jobs
    [ -d "$jobs" ] && [ ! -L "$jobs" ] || return
    # Nobody has taken marks for long: do not fill the disk.
    set -- "$jobs"/*.begin "$jobs"/*.end
    [ $# -lt 1000 ] || return
    umask 077
    new=$jobs/.$SLURM_JOB_ID.$what.$$
    # A job may ask to be left alone: PENSTOCK=off, as a site's own prolog or a SPANK plug-in passes it, or its comment.
    wish=${PENSTOCK:-${SPANK_PENSTOCK:-}}
    case " ${SLURM_JOB_COMMENT:-} " in
        *[!A-Za-z0-9_]penstock=off[!A-Za-z0-9_]*) wish=off ;;
    esac
    [ "$wish" = off ] || wish=
    printf '%.64s\n%s\n' "${SLURM_JOB_USER:-}" "$wish" >"$new" && mv -f "$new" "$jobs/$SLURM_JOB_ID.$what"
}

# exec, so that nothing of slurmd's stays open behind a disk that hangs.
(
    exec </dev/null >/dev/null 2>&1
    mark
) &
marker=$!
for tenth in 1 2 3 4 5; do
    kill -0 "$marker" 2>/dev/null || break
    sleep 0.1 2>/dev/null
done
exit 0
