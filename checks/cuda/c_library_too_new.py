"""A C library whose headers clash with those of the CUDA toolkit."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.python import lasting
from gpudoctor.knowledge.host_compilers import host_compilers
from gpudoctor.maybe import known, phrase, present
from gpudoctor.queries.build_toolkit import is_taken
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import nvidia_hardware
from gpudoctor.tasks import as_root, cmd

# A compiler with headers of its own, and flags that can add another directory of headers.
_CHOICES = ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX")
_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    (header,), home = known(facts.toolkits.home.old_headers), present(facts.toolkits.home.path).rstrip("/")
    wanted = max((host_compilers().declared[name] for name in header.functions), key=numbers)
    newer = Fix(
        f"Build with CUDA Toolkit {wanted} or newer, if the driver and the GPU support it; extensions of PyTorch "
        "need one of the CUDA major version that PyTorch is built for."
    )
    if header.path.startswith("/nix/store/"):
        return (newer,)
    own = header.path.startswith(f"{facts.host.environment.get('HOME', '/root')}/")
    names = "|".join(header.functions)
    script = rf"s/((double|float) +({names})f?\((double|float) x\));/\1 noexcept(true);/"
    message = "Make the toolkit's header declare them as glibc does; the original is kept as a file that ends in .orig."
    edit, back = ("sed", "-i.orig", "-E", script, header.path), ("mv", f"{header.path}.orig", header.path)
    patched = Fix(
        message + lasting(facts),
        (cmd(*edit) if own else as_root(*edit),),
        "change-environment",
        root=not own,
        undo=(cmd(*back) if own else as_root(*back),),
        verify=cmd(f"{home}/bin/nvcc", "-x", "cu", "-c", "/dev/null", "-o", "/tmp/empty.o"),
    )
    return patched, newer


@check(
    title="The C library's headers are too new for this CUDA toolkit: nvcc compiles no file",
    severity=Severity.WARNING,
    cause="glibc 2.41 came to declare cospi and sinpi, glibc 2.42 rsqrt, and it declares them noexcept. Older toolkits "
    "declare the same functions without, and nvcc includes both headers in every file: 'exception specification is "
    "incompatible with that of previous function'. Another gcc does not help. Installed wheels are not affected.",
    fixes=_fixes,
    references=(
        "https://github.com/ggml-org/llama.cpp/issues/19100",
        "https://github.com/opencv/opencv/issues/27111",
        "https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md",
    ),
    targets=nvidia_hardware,
    caused_by=("cuda.home-stale",),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def c_library_too_new(facts: Facts) -> Problem | None:
    """crt/math_functions.h of the toolkit that builds take, and bits/mathcalls.h; not where conda's compiler is meant.

    Where no variable and no PATH names the toolkit, and no package compiles at run time, builds with CMake alone take
    it: that is advice.
    """
    home, env = facts.toolkits.home, facts.host.environment
    prefix = env.get("CONDA_PREFIX") or "conda"
    if home.path == prefix or any(word in env.get(name, "") for name in _CHOICES for word in (prefix, "conda")):
        return None
    if any(word in env.get(name, "") for name in _FLAGS for word in ("-I", "include", "isystem")):
        return None
    header = next(iter(known(home.old_headers)), None)
    if header is None or not header.functions:
        return None
    names = " and ".join(header.functions) if len(header.functions) < 3 else "cospi, sinpi and rsqrt"
    which = "nvcc" + phrase(" {}", known(home.nvcc)) + phrase(" ({})", home.path)
    message = (
        f"{which} compiles no file here: its {header.path} declares {names} otherwise than this system's glibc does."
    )
    return Problem(message, severity=None if is_taken(facts) else Severity.ADVICE)
