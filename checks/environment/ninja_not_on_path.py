"""ninja is installed in the environment, but not on PATH, where JIT builds look for it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or, text_of
from gpudoctor.queries.frameworks import one_of, uses_gpu
from gpudoctor.queries.packages import compiling, package
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import export, query


def _building(on: OnPython) -> str | None:
    """The installed package that runs ninja by its bare name, as torch/utils/cpp_extension.py does."""
    return next((name for name in compiling(on.facts, on.python)[0] if name != "pycuda"), None)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    folder = text_of(on.python.own_ninja).rpartition("/")[0]
    message = (
        "Activate the environment, or put its directory of programs on PATH, before the program starts; in a systemd "
        f"unit by Environment=PATH={folder}:..., in a Dockerfile by ENV PATH={folder}:$PATH."
    )
    task = export("PATH", folder, "before")
    return (
        Fix(message, (task,), "change-environment", needs="restart of the program", verify=query("ninja", "--version")),
    )


@check(
    title="ninja of the environment is not on PATH: FileNotFoundError: 'ninja' in JIT builds",
    severity=Severity.ADVICE,
    cause="FlashInfer and PyTorch's cpp_extension compile kernels when they are first used and run ninja by its bare "
    "name, which is looked for on PATH alone. A program of a virtual environment that is started by its path "
    "(env/bin/vllm, a systemd unit) has the PATH of its caller, without the environment's own programs.",
    fixes=_fixes,
    references=(
        "https://github.com/flashinfer-ai/flashinfer/pull/3386",
        "https://github.com/LMCache/LMCache/pull/1925",
    ),
    targets=pythons,
    only_with=("pythons.own_ninja gpus pythons.packages?",),
    caused_by=("python.*", "cuda.nvcc-missing"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def ninja_not_on_path(on: OnPython) -> Problem | None:
    """Something compiles at run time for PyTorch on a GPU, and only the environment itself has ninja.

    It is certain where a unit of systemd starts a program of the environment; a shell may only be another one.
    """
    known(on.python.packages)
    name = _building(on)
    own, units = known_or(on.python.own_ninja, None), on.python.units_without_ninja
    found = package(on.python, name) if name and own and uses_gpu(one_of(on.python, "torch")) else None
    if found is None or (not units and known(on.python.ninja) is not None):
        return None
    message = (
        f"{found.name} {found.version} compiles kernels with ninja when they are first used, and the environment's own "
        f"{text_of(own)} is not on PATH"
    )
    if units:
        listed = f"{message} of {', '.join(units[:3])}: its builds fail with FileNotFoundError: 'ninja'."
        return Problem(listed, severity=Severity.WARNING)
    return Problem(f"{message}: a program that is started like this fails with FileNotFoundError: 'ninja'.")
