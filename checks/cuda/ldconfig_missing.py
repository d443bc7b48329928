"""No /sbin/ldconfig, which Triton asks for the driver's libcuda: NixOS has none."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes import nixos
from gpudoctor.fixes.variables import assign
from gpudoctor.knowledge.python_rules import python_rules
from gpudoctor.maybe import known
from gpudoctor.queries.driver import loaded_libcuda
from gpudoctor.queries.frameworks import compiles_kernels
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, pythons
from gpudoctor.tasks import query

_NAME = "TRITON_LIBCUDA_PATH"
_DRIVER = "/run/opengl-driver/lib"  # where NixOS links the driver's libraries
_STORE = "/nix/store/"  # packages of nixpkgs, whose Triton is changed for NixOS


def _triton(on: OnPython) -> str | None:
    """The release of a Triton that is not nixpkgs' own, and that asks ldconfig."""
    first, end = python_rules().triton.asks_ldconfig
    theirs = (p for p in packages_of(on.python) if p.name in ("triton", "pytorch-triton"))
    own = (p.version for p in theirs if not p.directory.startswith(_STORE))
    return next((v for v in own if numbers(first) <= numbers(v) < numbers(end)), None)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    library = loaded_libcuda(on.facts)
    directory = library.path.rpartition("/")[0] if library else _DRIVER
    proof = query("ls", f"{directory}/libcuda.so.1")
    setting = f'environment.sessionVariables.{_NAME} = "{directory}";'
    return (
        assign(_NAME, directory, "Tell Triton where the driver's libcuda is.", proof),
        nixos.rebuild("Set it for every session, in the configuration.", setting, "change-environment", proof),
    )


@check(
    title="Triton and torch.compile do not find /sbin/ldconfig",
    severity=Severity.WARNING,
    cause="Triton runs /sbin/ldconfig to learn where libcuda is, before it compiles its first kernel. NixOS has no "
    "such program: the Triton of nixpkgs is changed accordingly, that of PyPI and conda is not, and raises "
    "FileNotFoundError. Eager mode works.",
    fixes=_fixes,
    references=(
        "https://github.com/NixOS/nixpkgs/issues/426296",
        "https://github.com/utensils/comfyui-nix/pull/72",
        "https://github.com/huggingface/kernels/pull/670",
    ),
    targets=pythons,
    only_with=(ANY_GPU, "host.distribution.id=nixos", "pythons.packages.name=triton,pytorch-triton"),
    caused_by=("driver.*", "cuda.compiler-missing"),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def ldconfig_missing(on: OnPython) -> str | None:
    """A Triton that asks ldconfig, on NixOS, without that program and without the variable that answers for it."""
    if not nixos.is_nixos(on.facts) or on.facts.host.environment.get(_NAME):
        return None
    triton = _triton(on)
    if triton is None or not compiles_kernels(on.facts, on.python) or known(on.facts.toolkits.ldconfig):
        return None
    return (
        f"Triton {triton} runs /sbin/ldconfig to find libcuda, and NixOS has no such program: torch.compile and Triton "
        "kernels fail (No such file or directory: '/sbin/ldconfig')."
    )
