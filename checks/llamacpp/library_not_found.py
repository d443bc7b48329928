"""llama.cpp needs a library that the loader does not find."""

from posixpath import basename, dirname

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Need
from gpudoctor.fixes import llama_cpp as fixes
from gpudoctor.knowledge.llama_cpp import table
from gpudoctor.maybe import known
from gpudoctor.queries.llama_cpp import installed, lacking, name_of
from gpudoctor.targets import in_container

_MOST = 4  # libraries that a sentence names


def _missing(facts: Facts) -> tuple[Need, ...]:
    """The program's own libraries go first: without them it does not come as far as the others."""
    backend = None if facts.llama_cpp.missing else lacking(facts)
    return backend.missing if backend else facts.llama_cpp.missing


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    missing = _missing(facts)
    gone = tuple(need for need in missing if not need.copies)
    if not gone:
        return fixes.let_find(facts, missing)
    if facts.llama_cpp.missing:
        return (Fix("Install or build llama.cpp again, with all its libraries.", (), "reinstall-package"),)
    backend = lacking(facts)
    return fixes.bring(facts, backend.kind, gone) if backend else ()


def _listed(missing: tuple[Need, ...]) -> str:
    names = [need.soname for need in missing]
    more = f" and {len(names) - _MOST} more" if names[_MOST:] else ""
    return ", ".join(names[:_MOST]) + more


@check(
    title="llama.cpp needs a library that the loader does not find",
    severity=Severity.ERROR,
    cause="llama.cpp's library for a kind of GPU (libggml-cuda.so, libggml-hip.so, libggml-sycl.so, libggml-vulkan.so) "
    "needs the libraries of CUDA, ROCm, oneAPI or Vulkan. The loader searches LD_LIBRARY_PATH, the RUNPATH in the "
    "file, ld.so.conf and the system's directories alone, and takes no other major version. Where one is missing, a "
    "program that links to it ends with 'error while loading shared libraries'; one that opens it computes on the CPU: "
    "'no usable GPU found, --gpu-layers option will be ignored'.",
    fixes=_fixes,
    references=(
        "https://github.com/ggml-org/llama.cpp/issues/25807",
        "https://github.com/ggml-org/llama.cpp/issues/11404",
        "https://github.com/ggml-org/llama.cpp/issues/25573",
        "https://github.com/ggml-org/llama.cpp/issues/10588",
        "https://github.com/ggml-org/llama.cpp/blob/master/docs/docker.md",
        "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/post-install.html",
    ),
    targets=installed,
    caused_by=("container.*", "driver.*", "rocm.*", "intel.*", "wsl.*"),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def library_not_found(facts: Facts) -> Problem | None:
    """A backend for a GPU of this machine cannot be loaded, and no other one is there, or the program links to it."""
    backend = None if facts.llama_cpp.missing else lacking(facts)
    missing = _missing(facts)
    if not missing:
        known(facts.llama_cpp.backends)
        return None
    file = basename(missing[0].needed_by)
    dies = backend is None or backend.linked
    what = "does not start" if dies else "computes on the CPU"
    folders = dict.fromkeys(dirname(need.copies[0]) for need in missing if need.copies)
    gone = tuple(need for need in missing if not need.copies)
    message = f"{name_of(facts)} {what}: {file} needs {_listed(gone or missing)}, which the loader does not find"
    it = "they are" if (gone or missing)[1:] else "it is"
    if not gone:
        message += f": {it} in {' and '.join(folders)}, where it does not look."
    elif backend and (row := table().backend[backend.kind]).places:
        message += f"; {it} in no directory of {row.title} {'in this image' if in_container(facts) else 'here'}."
    else:
        message += f"; {it} not installed."
    seen = tuple(f"{basename(need.needed_by)} needs {need.soname}: not found" for need in missing[:6])
    return Problem(message, seen)
