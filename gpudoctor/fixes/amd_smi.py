"""The Python module amdsmi, which opens the libamd_smi.so of a ROCm: which one fits, and how to be rid of it."""

from gpudoctor.check_engine import Fix
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known_or
from gpudoctor.queries.packages import packages_of
from gpudoctor.targets import OnPython
from gpudoctor.tasks import Task

NAME, SDK = "amdsmi", "rocm-sdk-core"
COUNT = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"
_RELEASE = pattern(r"\d+\.\d+\.\d+")


def of_wheels(on: OnPython) -> str | None:
    """The source of amdsmi in ROCm's wheels, as TheRock builds them; None: they are not installed."""
    core = next((package for package in packages_of(on.python) if package.name == SDK), None)
    return f"{core.directory}/_rocm_sdk_core/share/amd_smi" if core else None


def source(on: OnPython) -> str:
    """What pip installs: the source of the ROCm that PyTorch loads, the system's, or PyPI's package."""
    rocm = known_or(on.facts.amd.rocm_path, None)
    return of_wheels(on) or (f"{rocm}/share/amd_smi" if rocm else NAME)


def without(on: OnPython) -> tuple[Fix, ...]:
    """Remove a module that does not fit the ROCm that PyTorch loads, or install the one that does.

    vLLM finds AMD's GPUs through it, and cannot do without.
    """
    proof = verify(on.python, COUNT)
    message = f"Uninstall {NAME}: PyTorch counts the GPUs by HIP without it.{lasting(on.facts)}"
    gone = Fix(message, (uninstall(on.python, NAME),), "reinstall-package", verify=proof)
    needed = any(package.name == "vllm" for package in packages_of(on.python))
    fitting = _fitting(on, proof, needed)
    return (*fitting, gone) if needed else (gone, *fitting)


def _fitting(on: OnPython, proof: Task, needed: bool) -> tuple[Fix, ...]:
    """Install the module of the ROCm that PyTorch loads, or PyPI's release that is no newer than the system's."""
    why = "vLLM needs it" if needed else "For a program that imports it"
    own, release = of_wheels(on), known_or(on.facts.amd.rocm, None)
    if own:
        message = f"{why}: install the {NAME} of ROCm's own wheels, which opens their library."
        spec = own
    elif release and _RELEASE.fullmatch(release):
        message = f"{why}: install the {NAME} that is no newer than this machine's ROCm."
        spec = f"{NAME}<={release}"
    else:
        return ()
    command = install(on.python, spec, force=True, no_deps=True)
    return (Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package", verify=proof),)
