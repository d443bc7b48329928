#!/bin/sh
# Prints one line about this node's GPUs: exit code 0 healthy, 1 a problem, 2 unknown or no GPU (as --format npd).
#
#   gpudoctor-node.sh [SECONDS]   reuse a "healthy" result up to this age; without it, the node is checked
#
# Only "healthy" is cached: a node that was fixed is checked again at once. The cache is in /run, which a reboot
# empties, in a directory that only root can write to.
set -u
umask 022
PATH=${PATH:+$PATH:}/usr/sbin:/usr/bin:/sbin:/bin
gpudoctor=/opt/gpudoctor/bin/gpudoctor
folder=/run/gpudoctor
kept=$folder/well
oldest=${1:-0}

if [ "$oldest" -gt 0 ] && [ -f "$kept" ]; then
    age=$(($(date +%s) - $(stat -c %Y "$kept")))
    if [ "$age" -ge 0 ] && [ "$age" -le "$oldest" ]; then
        echo "$(cat "$kept") (seen $age s ago)"
        exit 0
    fi
fi

# Slurm kills a health check after 60 seconds: 40, and the few that ending a program that hangs may take. In a prolog
# there are the variables of one job, such as the GPUs that it may see: the node is checked, so without them.
line=$(env -i PATH="$PATH" HOME=/root "$gpudoctor" check --quick --timeout 40 --format npd)
code=$?
[ -n "$line" ] || line="gpudoctor printed nothing and exited with $code"
case $code in
    0) mkdir -p "$folder" && printf '%s\n' "$line" >"$kept.$$" && mv -f "$kept.$$" "$kept" ;;
    1) rm -f "$kept" ;;
    *) rm -f "$kept" && code=2 ;;
esac
printf '%s\n' "$line"
exit "$code"
