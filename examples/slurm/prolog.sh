#!/bin/sh
# Slurm's Prolog: no job starts on a node whose GPUs have a problem. Slurm then drains the node and queues the job again.
#
# While the health check runs every five minutes, this reads one file: what it found, at most ten minutes old.
# It calls no command of Slurm, as prologs may not.
set -u
PATH=${PATH:+$PATH:}/usr/sbin:/usr/bin:/sbin:/bin
line=$("$(dirname "$0")/gpudoctor-node.sh" 600)
code=$?
[ "$code" -eq 0 ] && exit 0
echo "gpudoctor: $line" >&2
[ "$code" -ne 1 ]
