"""Fixes for a machine of which only a message is known: the GPU, the driver or the library that it names."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.system import family_of, host_family
from gpudoctor.fixes.toolkit import new_toolkit
from gpudoctor.knowledge import drivers, torch
from gpudoctor.knowledge.generations import toolkits_of
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.sonames import WheelLibrary, library_of, majors_of, wheel_of
from gpudoctor.tasks import Command, Shell, as_root, cmd, export, query, unset

PYTHON = "python"
_PTXAS = "\"$(python -c 'import nvidia.{0} as m; print(list(m.__path__)[0])')/bin/ptxas\""


def assumed_cuda() -> str:
    """The CUDA release that is assumed of a driver or a build that nothing names."""
    return torch.torch().unnamed.driver_cuda


def pip(*words: str) -> Command:
    """The command that installs into the environment whose Python is run."""
    return cmd(PYTHON, "-m", "pip", "install", *words)


def without_library_path(reason: str) -> Fix:
    """Unset LD_LIBRARY_PATH, so that the wheels' own libraries are loaded."""
    return Fix(f"Unset LD_LIBRARY_PATH: {reason}.", (unset("LD_LIBRARY_PATH"),), "change-environment")


def torch_for_gpu(capability: str, driver_cuda: str | None = None) -> tuple[Fix, ...]:
    """Install the PyTorch build with code for a GPU; empty where no build has it.

    Args:
        capability: the GPU's compute capability, "12.0".
        driver_cuda: the CUDA release that its driver runs; None: nobody named it.
    """
    choice = torch.wheel_for(capability, driver_cuda or assumed_cuda()) or torch.wheel_for(capability)
    if choice is None:
        return ()
    return (_torch(choice, f"which has code for compute capability {capability}"),)


def torch_for_driver(driver_cuda: str) -> tuple[Fix, ...]:
    """Install the PyTorch build that a driver runs; empty where none does.

    Args:
        driver_cuda: the newest CUDA release that the driver runs, "11.4".
    """
    rule = torch.torch().unnamed
    gpus = rule.older if version(driver_cuda) < version(rule.driver_cuda) else rule.newer
    found = torch.wheels_for(gpus, driver_cuda)
    return (_torch(found[0], f"which runs on a driver for CUDA {driver_cuda}"),) if found else ()


def _torch(choice: torch.TorchChoice, why: str) -> Fix:
    newest = max((r.version for r in torch.torch().release if choice.variant in r.wheels), key=version)
    spec = "torch" if newest == choice.version or choice.variant in _moving() else f"torch=={choice.version}.*"
    message = (
        f"Install PyTorch's {choice.variant} build, {why}. Name torchvision and torchaudio in the same command if they "
        "are installed."
    )
    command = pip("--force-reinstall", spec, "--index-url", choice.index)
    return Fix(message, (command,), "reinstall-package")


def _moving() -> set[str]:
    """The variants that the newest release still has: their index always has a newer wheel."""
    return set(torch.torch().release[-1].wheels)


def driver_for(cuda: str, facts: Facts | None = None) -> tuple[Fix, ...]:
    """Install a driver that runs a CUDA release; empty where no branch is known to.

    Args:
        cuda: the release, "12.8".
        facts: the machine; None: it is not known.
    """
    branch, oldest = drivers.branch_for(cuda), drivers.minimum_driver(cuda)
    runs = drivers.cuda_of_branch(branch) if branch else None
    if branch is None or runs is None:
        return ()
    least = f" ({oldest} is the oldest that runs CUDA {cuda.partition('.')[0]})" if oldest else ""
    family = host_family(facts)
    of_ubuntu = " (Ubuntu; elsewhere the distribution's package; for a container on its host, for WSL on Windows)"
    where = "" if family else of_ubuntu
    message = f"Install driver branch {branch}, which runs CUDA up to {runs}{least}, then reboot{where}."
    tasks = (as_root("apt-get", "install", f"nvidia-driver-{branch}"),) if family in (None, "debian") else ()
    return (Fix(message, tasks, "reinstall-package", root=True, needs="reboot"),)


def nvcc_for(capability: str, facts: Facts | None = None) -> tuple[Fix, ...]:
    """Compile with a toolkit that knows a GPU; empty where none is known.

    Args:
        capability: what the compiler did not know, "12.0".
        facts: the machine; None: it is not known.
    """
    found = toolkits_of(capability)
    if found is None:
        return ()
    return nvcc_of(found[1] or found[0], facts)


def nvcc_of(release: str, facts: Facts | None = None) -> tuple[Fix, ...]:
    """Compile with the toolkit of a CUDA release ("12.8"): NVIDIA's package, or conda's.

    Args:
        release: of CUDA.
        facts: the machine, to which NVIDIA's repository is added where it lacks it; None: it is not known.
    """
    path = f"/usr/local/cuda-{release}"
    variables = (export("CUDA_HOME", path), export("PATH", f"{path}/bin", "before"))
    repository = as_root("apt-get", "install", f"cuda-toolkit-{release.replace('.', '-')}")
    own = Fix(
        f"Build with the toolkit of CUDA {release}, from NVIDIA's repository; how to add that: "
        "https://developer.nvidia.com/cuda-downloads.",
        (repository, *variables),
    )
    if facts and family_of(facts):
        own = new_toolkit(facts, None, release)
    conda = cmd("conda", "install", "-c", "nvidia", f"cuda-nvcc={release}", f"cuda-cudart-dev={release}")
    return (
        own,
        Fix(f"Install nvcc {release} with conda, into the environment in which it is built.", (conda,)),
    )


def ptxas_for(capability: str) -> tuple[Fix, ...]:
    """Let Triton use a ptxas that knows a GPU, from NVIDIA's wheel; empty where none is known."""
    found = toolkits_of(capability)
    if found is None or found[1]:
        return ()
    major = found[0].partition(".")[0]
    wheel, place = ("nvidia-cuda-nvcc-cu12", "cuda_nvcc") if major == "12" else ("nvidia-cuda-nvcc", "cu13")
    message = (
        f"Let Triton use a ptxas of CUDA {found[0]} or newer, the first that knows compute capability {capability}."
    )
    line = f"export TRITON_PTXAS_PATH={_PTXAS.format(place)}"
    return (Fix(message, (pip(f"{wheel}>={found[0]}"), Shell(line))),)


def library(soname: str) -> tuple[Fix, ...]:
    """Install the wheel with a CUDA library; empty where no wheel is known to have it."""
    row, major = library_of(soname), soname.partition(".so.")[2].partition(".")[0]
    if row is None:
        return ()
    if row.wheel.endswith("cudnn") and major.isdigit():
        message = f"Install cuDNN {major} (nvidia-cudnn-cu13 or -cu11 for a framework of CUDA 13 or 11)."
        return (Fix(message, (pip(f"nvidia-cudnn-cu12=={major}.*"),), "reinstall-package"),)
    found, majors = wheel_of(soname), majors_of(soname) or _majors_near(row, major)
    if found is None and not majors:
        return ()
    wheel = found[0] if found else f"{row.wheel}-cu{'12' if '12' in majors else majors[0]}"
    return (Fix(f"Install the wheel with {soname}, into the same Python.", (pip(wheel),), "reinstall-package"),)


def _majors_near(row: WheelLibrary, number: str) -> tuple[str, ...]:
    """CUDA's majors whose library has the same first number: libnvrtc.so.11.1 is CUDA 11's."""
    return tuple(cuda for cuda, name in row.soname.items() if name.partition(".so.")[2].partition(".")[0] == number)


def on_the_path(*packages: str) -> Shell:
    """Let the loader find the libraries of NVIDIA's wheels, for programs that do not look there: cublas, cudnn."""
    names = ", ".join(f"nvidia.{name}.lib" for name in packages)
    places = " + ':' + ".join(f"nvidia.{name}.lib.__path__[0]" for name in packages)
    return Shell(f'export LD_LIBRARY_PATH=$(python -c "import {names}; print({places})")')


def who_holds_memory(vendor: str = "nvidia") -> Fix:
    """List the processes on the GPUs, with the memory of each."""
    look = query("nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv")
    if vendor == "amd":
        look = query("amd-smi", "process")
    return Fix("Stop the processes that hold the rest of the memory: `kill PID`.", (look,))
