"""Fixes between a framework's CUDA and the driver: which side has to move, and who can move it."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import driver, system
from gpudoctor.queries.driver_floor import floor
from gpudoctor.queries.gpus import is_data_center, nvidia_gpus
from gpudoctor.targets import in_container, on_wsl
from gpudoctor.tasks import Tasks, export, query

DOWNLOAD = "https://www.nvidia.com/en-us/drivers/"
FORWARD = "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html"


def newer_driver(facts: Facts, cuda: str) -> tuple[Fix, ...]:
    """Bring a driver that runs programs of this CUDA release ("13.0"); empty where no driver does for these GPUs.

    The toolkit is never part of it: wheels bring their own CUDA libraries.
    """
    windows = facts.host.system == "Windows"
    oldest = floor(facts, cuda)
    branch = driver.best_branch(facts, at_least=driver.branch_of(oldest) or 0)
    if oldest is None or branch is None:
        return ()
    verify = query("nvidia-smi", note='"CUDA Version" in its head')
    if windows:
        message = f"Install NVIDIA's current driver from {DOWNLOAD}: it has to be {oldest} or newer. Then restart."
        return (Fix(message, action="reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi")),)
    if on_wsl(facts):
        message = (
            f"Install a driver of version {oldest} or newer in Windows, never inside WSL, then run `wsl --shutdown`."
        )
        return (Fix(message, action="reinstall-package", needs="a restart of WSL", verify=verify),)
    if in_container(facts):
        message = (
            f"Let the host's administrator install a driver of version {oldest} or newer (branch {branch}) on the "
            "host; a container takes its driver from there, so nothing is to be installed inside."
        )
        return (
            Fix(message, action="reinstall-package", needs="a restart of the container", verify=verify),
            *compat(facts, cuda),
        )
    message = f"Install a driver of version {oldest} or newer: branch {branch} runs CUDA {cuda}. Then restart."
    return (driver.install_driver(facts, branch, message=message), *compat(facts, cuda))


def compat(facts: Facts, cuda: str) -> tuple[Fix, ...]:
    """CUDA's forward compatibility package, which serves data-centre GPUs alone; an option, and the last one."""
    gpus = nvidia_gpus(facts)
    if not gpus or not all(is_data_center(g) for g in gpus):
        return ()
    major, _, minor = cuda.partition(".")
    package = f"cuda-compat-{major}-{minor.partition('.')[0] or '0'}"
    folder = f"/usr/local/cuda-{major}.{minor.partition('.')[0] or '0'}/compat"
    commands: Tasks = (*system.install(facts, package), export("LD_LIBRARY_PATH", folder, "before"))
    message = (
        "As these are data-centre GPUs: use an image that carries the CUDA forward compatibility package "
        f"(cuda-compat), where the driver cannot change, or install it from NVIDIA's repository: {FORWARD}"
    )
    return (Fix(message, () if in_container(facts) else commands, "change-environment", root=True),)
