"""A folder in which frameworks keep files is full or closed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, WritableDirectory
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import has_framework, size
from gpudoctor.targets import gpus_of, machine
from gpudoctor.tasks import export, filtered, query

# A single compiled kernel cache or model part needs some hundred MiB.
LITTLE = 1 << 30
# Whose folder it is, and the framework without which nobody writes there; None: everybody does.
OWNERS = {"PyTorch": "torch", "Triton": "torch", "CuPy": "cupy", "Hugging Face": "torch"}
# Without these the program ends; the others only lose their cache.
NEEDED = ("Triton", "CuPy", "temporary files")
VARIABLES = {
    "PyTorch": "TORCH_HOME",
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


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    bad = _full(facts) or _closed(facts)
    first = bad[0]
    look = Fix(
        "See what fills the disk.",
        (query("df", "-h", first.path), filtered(query("du", "-xhd1", first.path), query("sort", "-h"))),
        impact="none",
    )
    names = [n for f in bad if (n := VARIABLES.get(f.purpose))]
    move = Fix(
        "Let the caches lie on a disk with room, in a folder that you may write to.",
        tuple(export(name, f"/PATH/WITH/ROOM/{name.lower()}") for name in dict.fromkeys(names)),
        "change-environment",
        needs="restart of the program",
    )
    return (look, move) if _full(facts) else (move,)


@check(
    title="There is no room for the frameworks' files",
    severity=Severity.WARNING,
    cause="Frameworks compile kernels at the first run and load models into caches under the home folder; temporary "
    "files go to /tmp. A full disk ends them with 'No space left on device', a closed folder with 'Permission denied'.",
    fixes=_fixes,
    references=(
        "https://docs.pytorch.org/docs/stable/hub.html#where-are-my-downloaded-models-saved",
        "https://docs.cupy.dev/en/stable/reference/environment.html",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables",
    ),
    targets=machine,
    caused_by=("driver.*", "device.*"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def disk_full(facts: Facts) -> Problem | None:
    """Less than 1 GiB is left, or a folder that is needed may not be written to."""
    if not gpus_of(facts):
        return None
    full, closed = _full(facts), _closed(facts)
    if not full and not closed:
        for folder in _concerned(facts):
            known(folder.free)
        return None
    said = [f"{f.path} ({f.purpose}): {size(known_or(f.free, 0))} left" for f in full]
    said += [f"{f.path} ({f.purpose}): you may not write there" for f in closed if f not in full]
    return Problem(f"{'; '.join(said)}.", tuple(said))
