"""libcuda.so.1 without libcuda.so, which Triton's linker looks for."""

import shlex

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.python import lasting
from gpudoctor.knowledge.python_rules import links_libcuda
from gpudoctor.maybe import known
from gpudoctor.queries.driver import OFF_PATH, loaded_libcuda
from gpudoctor.queries.frameworks import compiles_kernels
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, pythons
from gpudoctor.tasks import Tasks, as_root, cmd, export, query

_OWN = "~/.local/lib/libcuda-link"


def _directory_of(path: str) -> str:
    """The directory of a file."""
    return path.rpartition("/")[0]


def _triton(on: OnPython) -> str | None:
    found = (p.version for p in packages_of(on.python) if p.name in ("triton", "pytorch-triton"))
    return next((v for v in found if numbers(v)), None)


def _reached(facts: Facts) -> bool:
    """Whether a linker finds libcuda.so: in a loader directory, or through a variable of the linker or Triton."""
    env = facts.host.environment
    given = {f.rstrip("/") for f in env.get("LIBRARY_PATH", "").split(":")} | {env.get("TRITON_LIBCUDA_PATH", "")}
    return any(
        one.found_by != OFF_PATH or _directory_of(one.path) in given for one in known(facts.nvidia.link_libraries)
    )


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    library = loaded_libcuda(on.facts)
    path = library.path if library else "/usr/lib64/libcuda.so.1"
    link = shlex.quote(f"{_directory_of(path)}/libcuda.so")
    message = f"Create the symlink libcuda.so next to the driver's library.{lasting(on.facts)}"
    commands = (as_root("ln", "-s", path.rpartition("/")[2], link), as_root("ldconfig"))
    undo = (as_root("rm", link),)
    fixes = [Fix(message, commands, root=True, undo=undo, verify=query("ls", "-l", link))]
    if numbers(_triton(on) or "0") >= (2, 3):  # Triton reads this variable since then
        links = tuple(cmd("ln", "-s", path, f"{_OWN}/{name}") for name in ("libcuda.so", "libcuda.so.1"))
        own: Tasks = (cmd("mkdir", "-p", _OWN), *links, export("TRITON_LIBCUDA_PATH", _OWN))
        fixes.append(Fix("Without root: create the symlinks in a directory of your own.", own, "change-environment"))
    return tuple(fixes)


@check(
    title="libcuda.so is missing: torch.compile and Triton kernels fail to link (-lcuda)",
    severity=Severity.WARNING,
    cause="Up to release 3.5 Triton links the launcher of each kernel with -lcuda, for which the linker needs "
    "libcuda.so. The driver's runtime packages may contain only libcuda.so.1, which is enough for programs that are "
    "already linked: eager mode works.",
    fixes=_fixes,
    references=(
        "https://github.com/triton-lang/triton/issues/8667",
        "https://github.com/state-spaces/mamba/issues/123",
    ),
    targets=pythons,
    only_with=(ANY_GPU, "pythons.packages.name=triton,pytorch-triton"),
    caused_by=("driver.*", "cuda.compiler-missing"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def libcuda_link_missing(on: OnPython) -> Problem | None:
    """A Triton that links with -lcuda and a working driver, but no libcuda.so where the linker looks."""
    triton = _triton(on)
    if triton is None or not links_libcuda(triton) or not compiles_kernels(on.facts, on.python):
        return None
    if known(on.facts.nvidia.cuda.code) is None or _reached(on.facts):
        return None
    library = loaded_libcuda(on.facts)
    there = library.path if library else "libcuda.so.1"
    message = (
        f"Triton {triton} links with -lcuda, but there is no libcuda.so next to {there}: torch.compile and Triton "
        "kernels fail (cannot find -lcuda, or libcuda.so cannot found)."
    )
    return Problem(message, tuple(f"{one.path}: {one.found_by}" for one in known(on.facts.nvidia.link_libraries)))
