"""CUDA_HOME points to a directory without a toolkit."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known, phrase, present
from gpudoctor.queries.packages import compiling
from gpudoctor.targets import nvidia_hardware
from gpudoctor.tasks import export, query, unset


def _other(facts: Facts) -> tuple[str, str] | None:
    """Another toolkit that has nvcc: its directory, and its version after a space, where known."""
    for nvcc in known(facts.toolkits.nvccs):
        directory = nvcc.path.removesuffix("/bin/nvcc")
        if directory != nvcc.path and directory != facts.toolkits.home.path:
            return directory, phrase(" {}", nvcc.version)
    return None


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    other, name = _other(facts), facts.toolkits.home.found_by
    message = f"Set {name} to the installed toolkit, here and where it is set (~/.bashrc, /etc/environment, the image)."
    commands = (export(name, other[0]),) if other else (unset(name),)
    undo = export(name, present(facts.toolkits.home.path))
    return (
        Fix(
            message if other else f"Unset {name}.",
            commands,
            "change-environment",
            undo=(undo,),
            verify=query("nvcc", "--version"),
        ),
    )


@check(
    title="CUDA_HOME points to a directory without nvcc",
    severity=Severity.WARNING,
    cause="The toolkit in that directory was removed or replaced, and the variable is stale: build tools look there "
    "first, not at the nvcc on PATH. Installed wheels are not affected.",
    fixes=_fixes,
    references=(
        "https://docs.pytorch.org/docs/stable/cpp_extension.html",
        "https://github.com/jwyang/faster-rcnn.pytorch/issues/631",
        "https://github.com/numba/numba/issues/9216",
    ),
    targets=nvidia_hardware,
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def home_stale(facts: Facts) -> Problem | None:
    """The directory does not exist or has no nvcc, while another toolkit is installed."""
    home = facts.toolkits.home
    if home.found_by not in ("CUDA_HOME", "CUDA_PATH") or home.path is None:
        return None
    gone = known(home.exists) is False
    if not gone and known(home.nvcc) is not None:
        return None
    other = _other(facts)
    if other is None and not gone:
        return None
    if other is None and any(compiling(facts, python)[1] for python in facts.pythons if python.error is None):
        return None  # unset it and the compiler is still missing, which is a check of its own
    if gone and ":" in home.path and home.path[1:2] != ":":  # a drive of Windows has it there
        what = "is a list of paths, but has to be one directory"
    else:
        what = "does not exist" if gone else "has no nvcc (no such file bin/nvcc)"
    message = f"{home.found_by} is {home.path}, which {what}"
    message += f"; the toolkit{other[1]} is in {other[0]}." if other else "."
    return Problem(message, severity=None if other else Severity.ADVICE)
