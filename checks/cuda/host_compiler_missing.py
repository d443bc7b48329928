"""An nvcc without a host compiler for C++."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.python import lasting
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.build_toolkit import is_taken
from gpudoctor.targets import nvidia_hardware
from gpudoctor.tasks import query

_CHOICES = ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
_NAMES = {"debian": ("g++", "g++-{}"), "fedora": ("gcc-c++", "gcc-c++"), "suse": ("gcc-c++", "gcc{}-c++")}


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    family, gcc = system.family_of(facts), facts.toolkits.c_alone
    verify = query("g++", "--version")
    if family is None:
        return (Fix("Install g++ with this distribution's package manager.", verify=verify),)
    names = packages.compiler_packages(family)
    if gcc and family in _NAMES:
        usual, of_version = _NAMES[family]
        version = re.match(r"gcc ([0-9]{1,9})", text) if (text := known_or(facts.toolkits.cxx_version, None)) else None
        # The package of this very gcc: the usual one may be of another version, and would not be used.
        names = (of_version.format(version[1]),) if version else (usual,)
    message = f"Install the C++ compiler (g++).{lasting(facts)}"
    return (Fix(message, install_system(facts, *names), "reinstall-package", root=True, verify=verify),)


@check(
    title="nvcc has no C++ compiler for host code",
    severity=Severity.WARNING,
    cause="nvcc compiles host code with the gcc on PATH, as C++, and distributions have gcc's part for C++ in another "
    "package: 'cannot execute cc1plus'. Installed wheels are not affected.",
    fixes=_fixes,
    references=(
        "https://github.com/ggml-org/llama.cpp/issues/6727",
        "https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#verify-the-system-has-gcc-installed",
    ),
    targets=nvidia_hardware,
    caused_by=("cuda.home-stale", "cuda.compiler-missing"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def host_compiler_missing(facts: Facts) -> Problem | None:
    """An nvcc that builds take, and a gcc without cc1plus; advice where there is no compiler at all."""
    found, env = facts.toolkits, facts.host.environment
    home = found.home
    if not is_taken(facts) or any(env.get(name) for name in _CHOICES):
        return None
    nvcc = known(home.nvcc)
    if nvcc is None or known(home.own_compiler) is not None or home.path == env.get("CONDA_PREFIX"):
        return None
    which = f"nvcc {nvcc}" + phrase(" ({})", home.path)
    if found.c_alone:
        return Problem(f"{which} compiles host code with {found.c_alone}, which has no C++ compiler (cc1plus).")
    if known(found.cxx) is None:
        return Problem(f"{which} compiles nothing: no gcc is on PATH.", severity=Severity.ADVICE)
    return None
