"""Triton's ptxas does not support the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.fixes.variables import assign, unset
from gpudoctor.knowledge.generations import toolkits_of
from gpudoctor.knowledge.variables import triton_ptxas
from gpudoctor.maybe import known, known_or, text_of
from gpudoctor.queries.capability import gpu_words, sm
from gpudoctor.queries.frameworks import compiles_kernels, one_of
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, pythons

VARIABLES = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")
_COMPILES = 'import torch; print(torch.compile(lambda x: x * 2)(torch.ones(8, device="cuda")))'


def _triton(on: OnPython) -> Package | None:
    names = ("triton", "pytorch-triton", "triton-nightly")
    return next((p for p in packages_of(on.python) if p.name in names), None)


def _first(capability: str | None) -> str | None:
    """The first CUDA release that compiles for a capability."""
    found = toolkits_of(capability) if capability else None
    return found[0] if found else None


def _variable(triton: str, capability: str) -> str | None:
    """Which variable selects the assembler for a GPU; None: it is not known of this release.

    Before 3.4 Triton had a second one for capability 10.0 and newer, as backends/nvidia/compiler.py of the wheels 3.3.0
    and 3.5.1 shows.
    """
    if numbers(capability) < (10,) or numbers(triton)[:2] == (3, 5):
        return VARIABLES[0]
    return VARIABLES[1] if (3, 2) <= numbers(triton)[:2] <= (3, 3) else None


def _selected(on: OnPython, variable: str | None) -> tuple[str, str] | None:
    """The file that a variable selects, and the CUDA release of its toolkit; None: that is not known."""
    named = next((one for one in on.facts.toolkits.named_paths if one.variable == variable and one.real), None)
    installed = known_or(on.facts.toolkits.installed, ())
    of = (release for folder, release in installed if named and named.real.startswith(f"{folder}/"))
    found = next((release for release in of if numbers(release)), None)
    return (named.path, found) if named and found else None


def _misled(on: OnPython, triton: str) -> tuple[str, str] | None:
    """The variable that selects an assembler from before a GPU, and what is wrong with it."""
    for gpu in visible_gpus(on.facts):
        capability = text_of(gpu.capability)
        variable, first = _variable(triton, capability) if capability else None, _first(capability)
        selected = _selected(on, variable)
        if variable and capability and first and selected and numbers(selected[1])[:2] < numbers(first)[:2]:
            message = (
                f"{variable} selects {selected[0]} of CUDA {selected[1]}, which does not support {sm(capability)} "
                f"({gpu_words(gpu)}); CUDA {first} is the first that does."
            )
            return variable, message
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    triton = _triton(on)
    if triton and (found := _misled(on, triton.version)):
        release = triton_ptxas(triton.version)
        why = f"Triton {triton.version} includes ptxas from CUDA {release}." if release else ""
        return (unset(on.facts, found[0], why=why, verify=verify(on.python, _COMPILES)),)
    needed = max((first for g in visible_gpus(on.facts) if (first := _first(text_of(g.capability)))), key=numbers)
    proof = verify(on.python, _COMPILES)
    directories = [
        n.path.rpartition("/")[0] for n in known_or(on.facts.toolkits.nvccs, ()) if _enough(n.version, needed)
    ]
    message = "Make Triton use the ptxas of the installed CUDA Toolkit."
    own = [assign(VARIABLES[0], f"{directories[0]}/ptxas", message, proof)] if directories else []
    return (*own, *reinstall_torch(on.facts, on.python, one_of(on.python, "torch")))


def _enough(version: object, needed: str) -> bool:
    return isinstance(version, str) and numbers(version)[:2] >= numbers(needed)[:2]


@check(
    title="Triton's ptxas does not support this GPU",
    severity=Severity.WARNING,
    cause="Triton includes NVIDIA's assembler, ptxas, from one CUDA release. If that is older than the GPU, it cannot "
    "generate code for it, so torch.compile and every Triton kernel fail with \"Value 'sm_...' is not defined for "
    "option 'gpu-name'\". Eager mode works.",
    fixes=_fixes,
    references=(
        "https://github.com/triton-lang/triton/issues/8539",
        "https://github.com/triton-lang/triton/issues/10331",
    ),
    targets=pythons,
    only_with=(ANY_GPU, "pythons.packages.name=triton,pytorch-triton,triton-nightly"),
    caused_by=("python.*", "pytorch.arch-missing", "pytorch.nvrtc-too-old", "packages.triton-mismatch"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def triton_ptxas_too_old(on: OnPython) -> Problem | None:
    """The ptxas that a variable selects, else the one that this Triton release includes, is from before the GPU."""
    triton = _triton(on)
    if triton is None or not compiles_kernels(on.facts, on.python):
        return None
    if numbers(triton.version) and (found := _misled(on, triton.version)):
        value = on.facts.host.environment.get(found[0], "")
        return Problem(found[1], (f"{found[0]}={value}",) if value else ())
    # Triton takes its own ptxas where the one that a variable names is not there.
    gone = {one.variable for one in on.facts.toolkits.named_paths if known(one.exists) is False}
    if any(name in on.facts.host.environment and name not in gone for name in VARIABLES):
        return None
    ptxas = triton_ptxas(triton.version) if numbers(triton.version) else None
    for gpu in visible_gpus(on.facts) if ptxas else ():
        first = _first(capability := known(gpu.capability))
        if ptxas and capability and first and numbers(ptxas) < numbers(first)[:2]:
            message = (
                f"Triton {triton.version} includes ptxas from CUDA {ptxas}, which does not support {sm(capability)} "
                f"({gpu_words(gpu)}); CUDA {first} is the first that does."
            )
            return Problem(message)
    return None
