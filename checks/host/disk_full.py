"""A directory in which frameworks keep files is full or not writable."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, WritableDirectory
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import has_framework, size
from gpudoctor.targets import gpus_of, machine
from gpudoctor.tasks import export, filtered, query

# A single kernel cache or model shard needs a few hundred MiB.
LITTLE = 1 << 30
# What models need is more; on a disk with less the temporary files stay alone.
ROOM = 20 << 30
# Whose directory it is, and the framework without which nothing writes there; not listed: everything does.
OWNERS = {"PyTorch": "torch", "torch.compile": "torch", "Triton": "torch", "CuPy": "cupy", "Hugging Face": "torch"}
# Without these the program fails; the others only lose their cache.
NEEDED = ("torch.compile", "Triton", "CuPy", "temporary files")
VARIABLES = {
    "PyTorch": "TORCH_HOME",
    "torch.compile": "TORCHINDUCTOR_CACHE_DIR",
    "Triton": "TRITON_CACHE_DIR",
    "CuPy": "CUPY_CACHE_DIR",
    "CUDA": "CUDA_CACHE_PATH",
    "Hugging Face": "HF_HOME",
    "temporary files": "TMPDIR",
}


def _concerned(facts: Facts) -> tuple[WritableDirectory, ...]:
    return tuple(f for f in facts.host.directories if (o := OWNERS.get(f.purpose)) is None or has_framework(facts, o))


def _full(facts: Facts) -> list[WritableDirectory]:
    return [f for f in _concerned(facts) if known_or(f.free, LITTLE) < LITTLE]


def _closed(facts: Facts) -> list[WritableDirectory]:
    return [f for f in _concerned(facts) if f.writable is False and f.purpose in NEEDED]


def _place(facts: Facts) -> str | None:
    """The directory of temporary files, where it has room, can be written to, and what is compiled can be loaded."""
    there = (f for f in facts.host.directories if f.purpose == "temporary files")
    fits = (f for f in there if f.writable is True and f.executable is True and known_or(f.free, 0) >= ROOM)
    return next((f.path for f in fits), None)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    bad = _full(facts) or _closed(facts)
    first = bad[0]
    look = Fix(
        "Find out what fills the disk.",
        (query("df", "-h", first.path), filtered(query("du", "-xhd1", first.path), query("sort", "-h"))),
        impact="none",
    )
    names = [n for f in bad if (n := VARIABLES.get(f.purpose))]
    place = _place(facts) or "/PATH/WITH/ROOM"
    move = Fix(
        "Move the caches to a disk with free space, to a directory that you can write to.",
        tuple(export(name, f"{place}/{name.lower()}") for name in dict.fromkeys(names)),
        "change-environment",
        needs="restart of the program",
    )
    return (look, move) if _full(facts) else (move,)


@check(
    title="No space or no write permission for the frameworks' caches",
    severity=Severity.WARNING,
    cause="Frameworks compile kernels on the first run and download models into caches under the home directory; "
    "temporary files go to /tmp. On a full disk they fail with 'No space left on device', in a directory that is not "
    "writable with 'Permission denied'.",
    fixes=_fixes,
    references=(
        "https://docs.pytorch.org/docs/stable/hub.html#where-are-my-downloaded-models-saved",
        "https://docs.cupy.dev/en/stable/reference/environment.html",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables",
    ),
    targets=machine,
    only_with=("gpus",),
    caused_by=("driver.*", "device.*"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def disk_full(facts: Facts) -> Problem | None:
    """Less than 1 GiB is free, or a directory that is needed is not writable."""
    if not gpus_of(facts):
        return None
    full, closed = _full(facts), _closed(facts)
    if not full and not closed:
        for directory in _concerned(facts):
            known(directory.free)
        return None
    lines = [f"{f.path} ({f.purpose}): {size(known_or(f.free, 0))} free" for f in full]
    lines += [f"{f.path} ({f.purpose}): not writable" for f in closed if f not in full]
    return Problem(f"{'; '.join(lines)}.", tuple(lines))
