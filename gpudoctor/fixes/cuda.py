"""Fixes for a mismatch of a framework's CUDA and the driver: which one to change, and who can."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import driver, system
from gpudoctor.knowledge.drivers import native_driver
from gpudoctor.queries.driver_floor import floor
from gpudoctor.queries.gpus import is_data_center, nvidia_gpus
from gpudoctor.targets import in_container, on_wsl
from gpudoctor.tasks import Tasks, export, query

DOWNLOAD = "https://www.nvidia.com/en-us/drivers/"
FORWARD = "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html"


def newer_driver(facts: Facts, cuda: str, *, native: bool = False) -> tuple[Fix, ...]:
    """Install a driver for this CUDA release ("13.0"); empty where none exists for these GPUs.

    The toolkit is never part of it: wheels bring their own CUDA libraries.

    Args:
        facts: the machine.
        cuda: the release.
        native: with all of that release's functions, not only those of its major.
    """
    windows = facts.host.system == "Windows"
    oldest = native_driver(cuda, windows=windows or on_wsl(facts)) if native else floor(facts, cuda)
    branch = driver.best_branch(facts, at_least=driver.branch_of(oldest) or 0)
    if oldest is None or branch is None:
        return ()
    verify = query("nvidia-smi", note='Then "CUDA Version" in the head of nvidia-smi is newer.')
    if windows:
        message = f"Install NVIDIA's current driver from {DOWNLOAD}: it has to be {oldest} or newer. Then reboot."
        return (Fix(message, action="reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi")),)
    if on_wsl(facts):
        message = f"Install driver {oldest} or newer on Windows, never inside WSL, then run `wsl --shutdown`."
        return (Fix(message, action="reinstall-package", needs="a restart of WSL", verify=verify),)
    if in_container(facts):
        message = (
            f"Ask the host's administrator to install driver {oldest} or newer (branch {branch}) on the host; a "
            "container takes its driver from there, so nothing is to be installed inside."
        )
        return (
            Fix(message, action="reinstall-package", needs="a restart of the container", verify=verify),
            *compat(facts, cuda),
        )
    message = f"Install driver {oldest} or newer: branch {branch} supports CUDA {cuda}. Then reboot."
    return (driver.install_driver(facts, branch, message=message), *compat(facts, cuda))


def compat(facts: Facts, cuda: str) -> tuple[Fix, ...]:
    """CUDA's forward compatibility package, only for data center GPUs; the last resort."""
    gpus = nvidia_gpus(facts)
    if not gpus or not all(is_data_center(g) for g in gpus):
        return ()
    major, _, minor = cuda.partition(".")
    package = f"cuda-compat-{major}-{minor.partition('.')[0] or '0'}"
    directory = f"/usr/local/cuda-{major}.{minor.partition('.')[0] or '0'}/compat"
    commands: Tasks = (*system.install(facts, package), export("LD_LIBRARY_PATH", directory, "before"))
    message = (
        "If the driver cannot change: use an image with the CUDA forward compatibility package (cuda-compat), which "
        f"works on data center GPUs like these, or install it from NVIDIA's repository: {FORWARD}"
    )
    if in_container(facts):
        return (Fix(message, (), "change-environment", root=True),)
    return (Fix(message, commands, "reinstall-package", root=True),)
