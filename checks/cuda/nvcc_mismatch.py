"""nvcc of another CUDA major than PyTorch's."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known
from gpudoctor.remedies import system
from gpudoctor.remedies.environment import sudo
from gpudoctor.remedies.python import conda_install, conda_of, install, torch_family
from gpudoctor.subjects import OnFramework, torches
from gpudoctor.views.gpus import nvidia_gpus
from gpudoctor.views.packages import major, release


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    wanted = str(on.framework.cuda)
    fixes = [_other(on, wanted) or _toolkit(on, wanted)]
    version, nvcc = on.framework.version, on.facts.toolkits.home.nvcc
    if isinstance(version, str) and isinstance(nvcc, str) and nvcc in ("11.8", "12.1", "12.4", "12.6", "12.8", "13.0"):
        variant = f"cu{nvcc.replace('.', '')}"
        command = install(
            on.python, *torch_family(on.python), index=f"https://download.pytorch.org/whl/{variant}", force=True
        )
        says = f"Take PyTorch's build for CUDA {nvcc} instead ({variant}), if there is one of {release(version)}."
        fixes.append(Fix(says, (command,), "reinstall-package"))
    return tuple(fixes)


def _other(on: OnFramework, wanted: str) -> Fix | None:
    """A toolkit of the right major that is already there."""
    for folder, version in known(on.facts.toolkits.installed):
        if version and major(version) == major(wanted):
            commands = (f"export CUDA_HOME={folder}", f"export PATH={folder}/bin:$PATH")
            says = f"Build with the toolkit {version} that is installed beside it."
            return Fix(says, commands, "change-environment", verify="nvcc --version")
    return None


def _toolkit(on: OnFramework, wanted: str) -> Fix:
    """A toolkit of PyTorch's CUDA; the package cuda-toolkit brings no driver."""
    if conda_of(on.python):
        command = conda_install(on.python, f"cuda-nvcc={wanted}", f"cuda-cudart-dev={wanted}", channel="nvidia")
        return Fix(f"Install nvcc {wanted} into this conda environment.", (command,), "reinstall-package")
    family, folder = system.family_of(on.facts), f"/usr/local/cuda-{wanted}"
    says = f"Install the toolkit {wanted} from NVIDIA's repository, which brings no driver, and build with it."
    commands = [f"export CUDA_HOME={folder}", f"export PATH={folder}/bin:$PATH"]
    if family:
        name = packages.cuda_toolkit_package(family, wanted)
        commands = [*sudo(on.facts, system.install(on.facts, name)), *commands]
    return Fix(says, tuple(commands), "reinstall-package", root=True, verify="nvcc --version")


@check(
    title="nvcc is of another CUDA major than PyTorch: extensions do not build",
    severity=Severity.WARNING,
    cause="torch.utils.cpp_extension compiles with the nvcc under CUDA_HOME, else the one on PATH, and refuses another "
    "major than PyTorch's own. Installed wheels are not affected; what nvidia-smi shows as CUDA version plays no part.",
    fixes=_fixes,
    references=(
        "https://docs.pytorch.org/docs/stable/cpp_extension.html",
        "https://github.com/vllm-project/vllm/issues/1453",
    ),
    each=torches,
    because=("python.*", "cuda.home-stale", "pytorch.arch-missing", "pytorch.driver-too-old"),
    affects=("extensions",),
    seen=("simulated 2026-11",),
)
def nvcc_mismatch(on: OnFramework) -> Problem | None:
    """The majors of nvcc and of PyTorch's CUDA differ."""
    cuda = known(on.framework.cuda)
    home = on.facts.toolkits.home
    if cuda is None or not nvidia_gpus(on.facts) or home.path is None:
        return None
    nvcc = known(home.nvcc)
    if nvcc is None or major(nvcc) == major(cuda):
        return None
    meant = home.why in ("CUDA_HOME", "CUDA_PATH", "nvcc on PATH")
    says = (
        f"nvcc is {nvcc} ({home.path}, by {home.why}), {on.name} is built for CUDA {cuda}: extensions refuse to build."
    )
    return Problem(says, severity=None if meant else Severity.ADVICE)
