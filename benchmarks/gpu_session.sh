#!/usr/bin/env bash
# Everything that needs a real GPU, in parts with a time limit each.
#
#     benchmarks/gpu_session.sh FOLDER [PART ...]
#
# Parts, in the order of the default, some 25 minutes on an H100:
#   about      what this machine is and has, and `gpudoctor check`
#   tests      the tests marked gpu
#   rounds     ten runs of the quick suite with other programs beside it
#   faults     faults that are planted, and workers that hang
#   calibrate  numbers that thresholds rest on (takes the reports of `rounds`)
#   clean      RUNS more runs of the quick suite, which may find nothing
#
# FOLDER then holds report.txt and kept.tar.gz (all reports and figures as JSON). If you have a GPU, run this and send
# the folder: it holds names and versions of hardware and software and measured numbers, and nothing about you.
#
# PYTHON   the interpreter with PyTorch and Triton (default: python3)
# WHEELS   a folder of wheels for what gpudoctor needs and PYTHON has not; without it pip asks its index
# LIMIT    seconds for each part (default: 540)
# RUNS     clean runs (default: 40)
#
# No setting of the GPU is changed. It should have nothing else to do meanwhile.
set -u
cd "$(dirname "$0")/.." || exit 2
if [ $# -lt 1 ]; then
    sed -n '2,24s/^# \{0,1\}//p' benchmarks/gpu_session.sh
    exit 2
fi
mkdir -p "$1" && FOLDER=$(cd "$1" && pwd) || exit 2
shift
PYTHON=$(command -v "${PYTHON:-python3}") || { echo "There is no such interpreter."; exit 2; }
LIMIT=${LIMIT:-540} RUNS=${RUNS:-40}
PLACE=${TMPDIR:-/tmp}/gpudoctor-on-a-gpu
OWN=$PLACE/own/bin/python
KEPT=$PLACE/kept
MINUTES=$((LIMIT / 60 - 2))
export FOLDER PYTHON LIMIT RUNS PLACE OWN KEPT MINUTES PYTHONUNBUFFERED=1

# An environment of its own for gpudoctor: this tree, the packages it needs, and behind them those that PYTHON has.
prepare() {
    local site others wanted
    [ -x "$OWN" ] || "$PYTHON" -m venv --without-pip "$PLACE/own" || return 1
    site=$("$OWN" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    others=$("$PYTHON" -c 'import sysconfig as s; print(*{s.get_path("purelib"), s.get_path("platlib")}, sep="\n")')
    printf '%s\n' "$PWD" "$others" >"$site/gpudoctor-on-a-gpu.pth"
    wanted=$("$OWN" - <<'END'
import importlib.util as u
needs = {"msgspec": "msgspec", "pynvml": "nvidia-ml-py", "numpy": "numpy", "packaging": "packaging", "rich": "rich",
         "pytest": "pytest", "pytest_timeout": "pytest-timeout", "psutil": "psutil"}
print(*(package for module, package in needs.items() if u.find_spec(module) is None))
END
    )
    if [ -n "$wanted" ]; then
        echo "missing beside $PYTHON: $wanted"
        # shellcheck disable=SC2086 # these are several words
        "$PYTHON" -m pip install -q --disable-pip-version-check --target "$site" \
            ${WHEELS:+--no-index --find-links "$WHEELS"} $wanted || echo "not installed; what needs it will fail"
    fi
    "$OWN" -m gpudoctor --version
}

about() {
    date -u '+%Y-%m-%d %H:%M UTC'
    uname -srm
    nvidia-smi || echo "nvidia-smi: not here"
    nvcc --version || echo "nvcc: not here"
    "$PYTHON" - <<'END'
import importlib.util as u, sys
print("interpreter", sys.executable, sys.version.split()[0])
for name in ("torch", "triton", "jax", "cupy", "tensorflow", "numpy", "pynvml"):
    print(f"  {name:<12}", "there" if u.find_spec(name) else "missing")
END
    "$OWN" -m gpudoctor check --verbose --python "$PYTHON"
    echo "gpudoctor check ended with $?"
}

tests() {
    GPUDOCTOR_GPU_PYTHON=$PYTHON GPUDOCTOR_TORCH=$PYTHON "$OWN" -m pytest -m gpu -rs -q -p no:cacheprovider \
        --durations 10 tests/smoke
}

rounds() {
    "$OWN" benchmarks/smoke.py --python "$PYTHON" --keep "$KEPT/rounds" --minutes "$MINUTES" \
        --only products copies memory pace variation clean freivalds
}

faults() {
    "$OWN" benchmarks/smoke.py --python "$PYTHON" --keep "$KEPT/faults" --only faults hangs
}

calibrate() {
    "$OWN" benchmarks/calibrate.py --python "$PYTHON" --reports "$KEPT/rounds"
}

clean() {
    "$OWN" benchmarks/smoke.py --python "$PYTHON" --keep "$KEPT/clean" --minutes "$MINUTES" --runs "$RUNS" \
        --only variation clean pace
}

# One part under the time limit; what it writes goes to the terminal and into the folder.
part() {
    echo "== $1"
    timeout -k 20 "$LIMIT" bash -c "$1" 2>&1
    local code=$?
    [ "$code" = 124 ] && echo "$1 took more than $LIMIT seconds and was ended"
    echo "== $1 ended with $code, $SECONDS seconds after the begin"
    return "$code"
}

export -f about tests rounds faults calibrate clean
all_of() {
    local worst=0 name
    prepare || return 1
    for name in "$@"; do
        part "$name" || worst=1
    done
    return $worst
}

mkdir -p "$KEPT"
[ $# -gt 0 ] || set -- about tests rounds faults calibrate clean
for name in "$@"; do
    case $name in about | tests | rounds | faults | calibrate | clean) ;; *) echo "There is no part $name."; exit 2 ;; esac
done
all_of "$@" | tee -a "$FOLDER/report.txt"
code=${PIPESTATUS[0]}
tar -C "$PLACE" -czf "$FOLDER/kept.tar.gz" kept
exit "$code"
