"""libcuda.so.1 without libcuda.so, or with an empty one, which Triton's linker looks for."""

import shlex

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes.python import lasting
from gpudoctor.knowledge.python_rules import links_libcuda
from gpudoctor.maybe import known
from gpudoctor.queries.driver import OFF_PATH, loaded_libcuda
from gpudoctor.queries.frameworks import compiles_kernels
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, pythons
from gpudoctor.tasks import Tasks, as_root, cmd, export, query

_OWN = "~/.local/lib/libcuda-link"
_CACHE = "~/.triton/cache"


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


def _empty(facts: Facts) -> DriverLibrary | None:
    """An empty libcuda.so where Triton lets the linker look first: in the directory of the driver's libcuda.so.1."""
    library = loaded_libcuda(facts)
    named = facts.host.environment.get("TRITON_LIBCUDA_PATH") or (_directory_of(library.path) if library else "")
    links = known(facts.nvidia.link_libraries)
    return next((one for one in links if one.size == 0 and _directory_of(one.path) == named.rstrip("/")), None)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    library, empty = loaded_libcuda(on.facts), _empty(on.facts)
    path = library.path if library else "/usr/lib64/libcuda.so.1"
    link = shlex.quote(empty.path if empty else f"{_directory_of(path)}/libcuda.so")
    target = path if empty and _directory_of(empty.path) != _directory_of(path) else path.rpartition("/")[2]
    again = (cmd("rm", "-rf", on.facts.host.environment.get("TRITON_CACHE_DIR", _CACHE)),) if empty else ()
    created = "Replace the empty file by a symlink to" if empty else "Create the symlink libcuda.so next to"
    message = f"{created} the driver's library{', and delete what was linked with it' if empty else ''}."
    commands = (as_root("ln", "-sf" if empty else "-s", target, link), as_root("ldconfig"), *again)
    undo = (as_root("rm", link),)
    verified = query("ls", "-lL", link)
    fixes = [Fix(f"{message}{lasting(on.facts)}", commands, root=True, undo=undo, verify=verified)]
    if numbers(_triton(on) or "0") >= (2, 3):  # Triton reads this variable since then
        links = tuple(cmd("ln", "-s", path, f"{_OWN}/{name}") for name in ("libcuda.so", "libcuda.so.1"))
        own: Tasks = (cmd("mkdir", "-p", _OWN), *links, export("TRITON_LIBCUDA_PATH", _OWN), *again)
        fixes.append(Fix("Without root: create the symlinks in a directory of your own.", own, "change-environment"))
    return tuple(fixes)


@check(
    title="libcuda.so is missing or empty: torch.compile and Triton kernels fail to link (-lcuda)",
    severity=Severity.WARNING,
    cause="Up to release 3.5 Triton links the launcher of each kernel with -lcuda, for which the linker needs "
    "libcuda.so. The driver's runtime packages may contain only libcuda.so.1, which is enough for programs that are "
    "already linked: eager mode works. Containers that got the host's driver once (distrobox --nvidia, images built "
    "with the NVIDIA runtime) may keep an empty file of that name, which the linker accepts without a word.",
    fixes=_fixes,
    references=(
        "https://github.com/triton-lang/triton/issues/8667",
        "https://github.com/state-spaces/mamba/issues/123",
        "https://github.com/89luca89/distrobox/pull/2024",
        "https://github.com/ublue-os/bluefin/issues/2559",
    ),
    targets=pythons,
    only_with=(ANY_GPU, "pythons.packages.name=triton,pytorch-triton"),
    caused_by=("driver.*", "cuda.compiler-missing"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def libcuda_link_missing(on: OnPython) -> Problem | None:
    """A Triton that links with -lcuda and a working driver, but no libcuda.so, or an empty one, for the linker."""
    triton = _triton(on)
    if triton is None or not links_libcuda(triton) or not compiles_kernels(on.facts, on.python):
        return None
    if known(on.facts.nvidia.cuda.code) is None:
        return None
    empty = _empty(on.facts)
    if empty is None and _reached(on.facts):
        return None
    library = loaded_libcuda(on.facts)
    there = library.path if library else "libcuda.so.1"
    how = f"Triton {triton} links with -lcuda, but"
    message = (
        f"{how} {empty.path} is an empty file, which gives the linker nothing: torch.compile and Triton kernels fail "
        "(undefined symbol: cuModuleGetFunction)."
        if empty
        else f"{how} there is no libcuda.so next to {there}: torch.compile and Triton kernels fail "
        "(cannot find -lcuda, or libcuda.so cannot found)."
    )
    return Problem(message, tuple(f"{one.path}: {one.found_by}" for one in known(on.facts.nvidia.link_libraries)))
