#!/bin/sh
# Slurm's HealthCheckProgram: drains a node whose GPUs have a problem, with the reason.
#
# It never resumes a node: some faults, such as an Xid in the kernel log, disappear before they are fixed.
# `scontrol update nodename=NODE state=resume` does that. If slurm.conf is not where Slurm looks for it, set SLURM_CONF
# here: slurmd does not pass it on.
set -u
PATH=${PATH:+$PATH:}/usr/sbin:/usr/bin:/sbin:/bin
node=${SLURMD_NODENAME:-$(hostname -s)}

line=$("$(dirname "$0")/gpudoctor-node.sh")
code=$?
if [ "$code" -eq 1 ]; then
    # A node that is out of service already keeps its reason: it may be an operator's.
    scontrol show node "$node" | grep -q 'State=[^ ]*DRAIN' && exit 0
    exec scontrol update nodename="$node" state=drain reason="gpudoctor: $line"
fi
# Unknown is no reason to lose a node. slurmd writes the line to its log, because the exit code is not 0.
[ "$code" -eq 0 ] || echo "gpudoctor: $line"
exit "$code"
