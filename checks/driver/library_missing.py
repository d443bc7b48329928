"""The kernel module is loaded and a library of the driver is missing."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes import nixos, system
from gpudoctor.fixes.driver import flavor_for, install_driver, library_packages
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import SURROUNDINGS
from gpudoctor.queries.clusters import is_for_pods
from gpudoctor.queries.driver import OFF_PATH, branch, own_kernel
from gpudoctor.tasks import Edit, as_root, export, filtered, query, unset

_MANAGER = "nvidia_vgpu_vfio"
_IN_GUESTS = Fix(
    "Compute in a virtual machine: give it a vGPU, or a whole GPU by passthrough, and install the driver of the guest "
    "there (the vGPU guest driver for a vGPU).",
    verify=query("nvidia-smi", "vgpu"),
)
_DATA_CENTER = Fix(
    "To compute on this host instead of in virtual machines: remove the vGPU manager, which ends all vGPUs, and "
    "install NVIDIA's data center driver, which contains CUDA.",
    needs="reboot",
    verify=query("nvidia-smi"),
)
_WHAT = {"libcuda.so.1": "without it no program can use CUDA", "libnvidia-ml.so.1": "without it nvidia-smi fails"}


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if _is_vgpu_manager(facts):
        return (_IN_GUESTS, _DATA_CENTER)
    off = [one for one in _copies(facts) if one.found_by == OFF_PATH]
    if off:
        directory = off[0].path.rpartition("/")[0]
        if nixos.is_nixos(facts):
            return (_by_variable(directory),)
        tell = (Edit("/etc/ld.so.conf.d/nvidia.conf", text=f"{directory}\n", root=True), as_root("ldconfig"))
        message = f"Add the directory {directory}, which contains the library, to the loader's configuration."
        return (
            Fix(
                message,
                tell,
                "change-environment",
                root=True,
                verify=filtered(query("ldconfig", "-p"), query("grep", "libcuda")),
            ),
        )
    version = known_or(facts.nvidia.kernel.loaded, None) or ""
    names = library_packages(facts)
    if not names:
        return (install_driver(facts, branch(version), flavor_for(facts, branch(version))),)
    message = f"Install the driver's libraries in exactly the module's version, {version}."
    there = set(names) <= set(system.driver_packages(facts))  # then their files were deleted manually
    commands = system.reinstall(facts, *names) if there else system.install(facts, *names)
    return (Fix(message, commands, "reinstall-package", root=True, verify=query("nvidia-smi")),)


def _by_variable(directory: str) -> Fix:
    """NixOS's loader reads no configuration; Nix programs find the directory themselves, others by the variable."""
    message = "Run non-Nix programs with the driver's directory in LD_LIBRARY_PATH (NixOS reads no ld.so.conf)."
    command = export("LD_LIBRARY_PATH", directory, "before")
    return Fix(
        message,
        (command,),
        "change-environment",
        undo=(unset("LD_LIBRARY_PATH"),),
        verify=query("gpudoctor", "check", "driver"),
    )


@check(
    title="NVIDIA driver library is missing (libcuda, libnvidia-ml)",
    severity=Severity.ERROR,
    cause="The driver's libraries come in separate packages; headless or minimal installations omit them. The CUDA "
    "toolkit and Python wheels do not contain them.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
        "https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/index.html",
        "https://github.com/bigstack-oss/cubecos/issues/312",
    ),
    targets=own_kernel,
    caused_by=("driver.mixed-installation", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def library_missing(facts: Facts) -> Problem | None:
    """A loaded module, and libcuda or libnvidia-ml nowhere on the loader's path."""
    loaded = known(facts.nvidia.kernel.loaded)
    if loaded is None:
        return None
    found = {
        "libcuda.so.1": known(facts.nvidia.cuda.libraries),
        "libnvidia-ml.so.1": known(facts.nvidia.nvml.libraries),
    }
    missing = [name for name, copies in found.items() if not any(_counts(one) for one in copies)]
    if not missing or (missing == ["libnvidia-ml.so.1"] and facts.nvidia.nvml.code == 0):
        return None
    if nixos.is_nixos(facts) and _copies(facts):
        return _on_nixos(facts, missing[0])
    if facts.nvidia.cuda.code == 0 and "libcuda.so.1" in missing:
        return None
    if "libcuda.so.1" in missing and _is_vgpu_manager(facts):
        return _on_vgpu_manager(facts, loaded)
    if any(is_for_pods(one) for one in _copies(facts)):
        return None  # a node whose driver serves Kubernetes pods only
    message = f"The kernel module {loaded} is loaded, but {missing[0]} is not found: {_WHAT[missing[0]]}."
    return Problem(message, tuple(f"{one.path} ({one.found_by})" for one in _copies(facts)))


def _is_vgpu_manager(facts: Facts) -> bool:
    """Whether the loaded driver is the one that divides GPUs among virtual machines: it has a module of its own."""
    return _MANAGER in (known_or(facts.nvidia.kernel.modules, None) or ())


def _on_vgpu_manager(facts: Facts, loaded: str) -> Problem:
    """It has no libcuda, and needs none, unless somebody wants to compute on the host itself."""
    frameworks = [one for python in facts.pythons for one in python.frameworks]
    runtimes = known_or(facts.containers.docker_runtimes, None) or known_or(facts.containers.docker_config_runtimes, ())
    wanted = "nvidia" in (runtimes or ()) or any(one.variant == "cuda" for one in frameworks)
    return Problem(
        f"The driver {loaded} is the vGPU manager's ({_MANAGER} is loaded), which contains no CUDA (libcuda.so.1): "
        "neither this host nor its containers can compute on its GPUs.",
        cause="NVIDIA's vGPU manager (vgpu-kvm) is the driver of a hypervisor host: it divides GPUs among virtual "
        "machines. nvidia-smi lists the GPUs, and CUDA works in the guests alone, with the guest driver.",
        severity=None if wanted else Severity.ADVICE,
    )


def _on_nixos(facts: Facts, soname: str) -> Problem | None:
    """The driver is always off the loader's path there; only programs that are not of nixpkgs do not find it."""
    frameworks = [one for python in facts.pythons for one in python.frameworks]
    if all((one.location or "").startswith("/nix/store/") or one.variant == "cpu" for one in frameworks):
        return None
    directory = _copies(facts)[0].path.rpartition("/")[0]
    return Problem(
        f"{soname} is in {directory}, where NixOS's loader does not look: frameworks from PyPI do not find it.",
        tuple(f"{one.path} ({one.found_by})" for one in _copies(facts)),
        "Programs of nixpkgs, such as nvidia-smi, find the driver by their run path; wheels of PyPI have no such path.",
    )


def _counts(one: DriverLibrary) -> bool:
    return one.kind != "stub" and one.found_by != OFF_PATH and one.size != 0


def _copies(facts: Facts) -> tuple[DriverLibrary, ...]:
    both = (*known_or(facts.nvidia.cuda.libraries, ()), *known_or(facts.nvidia.nvml.libraries, ()))
    return tuple(one for one in both if one.kind != "stub")
