"""Compiled kernels are kept where nothing may be executed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, WritableDirectory
from gpudoctor.fixes.container import again, engine
from gpudoctor.fixes.frameworks import verify
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import compiles_kernels
from gpudoctor.targets import ANY_GPU, OnPython, in_container, pythons
from gpudoctor.tasks import as_root, cmd, export
from gpudoctor.tasks.placeholders import REST

# torch.compile keeps its own cache, with Triton's in it, in the temporary files unless it is told another place.
_COMPILED, _TEMPORARY, _TRITON = "torch.compile", "temporary files", "Triton"
_VARIABLES = {_COMPILED: "TORCHINDUCTOR_CACHE_DIR", _TEMPORARY: "TORCHINDUCTOR_CACHE_DIR", _TRITON: "TRITON_CACHE_DIR"}
_FOLDERS = {"TORCHINDUCTOR_CACHE_DIR": "torchinductor", "TRITON_CACHE_DIR": "triton"}


def _kept(facts: Facts) -> list[WritableDirectory]:
    """Where compiled kernels are kept: by torch.compile, unless Triton is told one place for all, and by Triton."""
    there = {directory.purpose: directory for directory in reversed(facts.host.directories)}
    compiled = _COMPILED if _COMPILED in there else _TEMPORARY
    places = (_TRITON,) if _VARIABLES[_TRITON] in facts.host.environment else (compiled, _TRITON)
    return [there[one] for one in places if one in there]


def _closed(facts: Facts) -> list[WritableDirectory]:
    return [directory for directory in _kept(facts) if directory.executable is False]


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    bad = _closed(on.facts)
    proof = verify(on.python, "import torch; print(torch.compile(torch.sin)(torch.ones(9, device='cuda')).sum())")
    better = (d for d in on.facts.host.directories if d.executable is True and d.writable is True)
    place = next(
        (d.path.rpartition("/")[0] for d in better if d.purpose not in (_TEMPORARY, _COMPILED)), "/PATH/WITH/EXEC"
    )
    variables = dict.fromkeys(_VARIABLES[directory.purpose] for directory in bad)
    move = Fix(
        "Keep compiled kernels in a directory from which code may be loaded.",
        tuple(export(name, f"{place}/{_FOLDERS[name]}") for name in variables),
        "change-environment",
        needs="restart of the program",
        verify=proof,
    )
    if in_container(on.facts):
        message = f"Start the container with {bad[0].path} mounted exec: Docker mounts `--tmpfs` noexec by default."
        program = engine(on.facts)
        start = cmd(program, "run", "--tmpfs", f"{bad[0].path}:exec", REST)
        return (move, again(message, *((start,) if program in ("docker", "podman") else ()), verify=proof))
    if bad[0].path != "/tmp":
        return (move,)
    message = "Mount /tmp without noexec until the next boot, where the rules of the site allow that."
    undo = (as_root("mount", "-o", "remount,noexec", "/tmp"),)
    task = as_root("mount", "-o", "remount,exec", "/tmp")
    return (move, Fix(message, (task,), "change-environment", root=True, undo=undo, verify=proof))


@check(
    title="Compiled kernels are kept on a file system that is mounted noexec (failed to map segment)",
    severity=Severity.WARNING,
    cause="torch.compile and Triton compile shared libraries, and load them from their caches: under /tmp and in the "
    "home directory. From a file system that is mounted noexec, as hardened servers and Docker's --tmpfs have it, the "
    "loader takes none: 'failed to map segment from shared object'.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/91005",
        "https://github.com/pytorch/pytorch/issues/123054",
    ),
    targets=pythons,
    only_with=(
        ANY_GPU,
        "pythons.packages.name=triton,pytorch-triton,triton-nightly",
        "host.directories.executable=False",
    ),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def cache_noexec(on: OnPython) -> Problem | None:
    """Triton is installed, and one of the places where it keeps what it compiles is mounted noexec."""
    if not compiles_kernels(on.facts, on.python):
        return None
    bad = _closed(on.facts)
    if not bad:
        for directory in _kept(on.facts):
            known(directory.executable)
        return None
    lines = [f"{directory.path} ({directory.purpose})" for directory in bad]
    message = f"{' and '.join(lines)}: mounted noexec, so what torch.compile and Triton compile there cannot be loaded."
    return Problem(message, tuple(lines))
