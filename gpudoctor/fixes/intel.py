"""Fixes of Intel's compute stack: Level Zero, the render group, PyTorch's builds for XPU."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import DeviceNode, Facts, PciDevice, Python
from gpudoctor.fixes import amd, system
from gpudoctor.fixes.container import engine
from gpudoctor.fixes.container_groups import KEEPS, into_container, with_own_groups
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.python import another_build, install, lasting
from gpudoctor.fixes.system_container import open_node
from gpudoctor.fixes.torch_build import torch_family
from gpudoctor.knowledge import intel
from gpudoctor.knowledge.regressions import Regression
from gpudoctor.maybe import known_or
from gpudoctor.queries.intel import VERIFY, guc_file, xpu_builds
from gpudoctor.targets import in_container, in_system_container
from gpudoctor.tasks import Command, Shell, Task, Tasks, as_root, cmd, export, filtered, lines, query
from gpudoctor.tasks.placeholders import REST

START = "https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html"
DRIVERS = "https://dgpu-docs.intel.com/driver/client/overview.html"
RUNTIMES = "https://github.com/intel/compute-runtime/releases"
KERNELS = "https://dgpu-docs.intel.com/driver/kernel-driver-types.html"
INDEX = "https://download.pytorch.org/whl/xpu"
_SPLIT = ("26.04", "26.10")  # releases of Ubuntu whose linux-firmware is split by vendor
FIRMWARE = "https://git.kernel.org/pub/scm/linux/kernel/git/firmware/linux-firmware.git/plain/"
GUC = filtered(query("dmesg", root=True), query("grep", "-i", "guc firmware"))
_START = 'docker run --device /dev/dri --group-add "$(stat -c %g /dev/dri/renderD128)" ...'
# Patterns for what is installed, apt-patterns(7): apt does nothing where its sources lack one of the names.
_LOADER_DEBS = ("~i~n^libze1$", "~i~n^level-zero$")
_RUNTIME_DEBS = ("~i~n^libze-intel-gpu", "~i~n^intel-level-zero-gpu", "~i~n^intel-opencl-icd")
_RUNTIME_RPMS = ("intel-compute-runtime*", "intel-level-zero*", "intel-opencl*", "intel-igc*")
LISTS = Shell("sycl-ls; clinfo -l", lookup=True)


def verify(python: Python) -> Command:
    """The command that asks PyTorch for Intel's GPUs."""
    return query(python.path, "-c", VERIFY)


def proof(facts: Facts) -> Task:
    """The command that shows whether programs reach the GPU: PyTorch's own report where it is built for it."""
    return next((verify(python) for python, _ in xpu_builds(facts)), LISTS)


def xpu_build(python: Python) -> Fix:
    """Replace PyTorch by its build for Intel's GPUs, which includes the SYCL runtime."""
    names = torch_family(python)
    message = "Install PyTorch's XPU build from its own index; use the device xpu instead of cuda in your code."
    commands = another_build(python, *names, index=INDEX)
    undo = (install(python, *names),)
    return Fix(message, commands, "reinstall-package", undo=undo, verify=verify(python))


def level_zero(facts: Facts) -> tuple[Fix, ...]:
    """Install Level Zero's loader and Intel's driver for it."""
    names = intel.packages(system.family_of(facts) or "")
    commands = install_system(facts, *names) if names else ()
    message = f"Install Level Zero's loader and Intel's driver for it ({DRIVERS} has newer ones for some releases)."
    message += lasting(facts)
    return (Fix(message, commands, "reinstall-package", root=True, verify=proof(facts)),)


def opencl(facts: Facts) -> Fix:
    """Install Intel's driver for OpenCL."""
    names = intel.opencl_packages(system.family_of(facts) or "")
    message = f"Install Intel's driver for OpenCL.{lasting(facts)}"
    undo = system.remove(facts, *names) if names else ()
    commands = install_system(facts, *names) if names else ()
    return Fix(message, commands, "reinstall-package", root=True, undo=undo, verify=query("clinfo", "-l"))


def other_runtime(facts: Facts, bug: Regression, verify: Task) -> Fix:
    """Install a release of Intel's compute runtime without a known bug: a newer one, or the last one before it."""
    message = f"Install a newer release of Intel's compute runtime ({RUNTIMES})"
    if bug.fixed:
        message = f"Install release {bug.fixed} or newer of Intel's compute runtime ({RUNTIMES})"
    elif bug.better:
        message += f"; if the newest has the bug, too, downgrade to {bug.better}"
    older: dict[str, Tasks] = {"arch": (Shell("ls /var/cache/pacman/pkg/intel-compute-runtime-*", lookup=True),)}
    return newer_runtime(facts, message, verify, older.get(system.family_of(facts) or "", ()))


def newer_runtime(facts: Facts, which: str, verify: Task, more: Tasks = (), note: str = "") -> Fix:
    """Install a newer release of Intel's compute runtime, with the compiler that belongs to it.

    Args:
        facts: the machine.
        which: the beginning of a sentence: "Install a newer release of it".
        verify: the command that verifies the fix.
        more: what to look at after the upgrade.
        note: a sentence to add.
    """
    family = system.family_of(facts)
    names = [name for name in intel.packages(family or "") if "loader" not in name and name != "libze1"]
    shown = (query("apt-cache", "policy", *names),) if family == "debian" else ()
    newer = (*system.upgrade(facts, debian=_RUNTIME_DEBS, fedora=_RUNTIME_RPMS), *shown, *more)
    message = f"{which}, with the graphics compiler (IGC) of that release.{note and ' ' + note}"
    return Fix(message, newer, "reinstall-package", root=True, verify=verify)


def address_space(verify: Task) -> Fix:
    """Tell an old compute runtime the size of the GPU's addresses, which it does not read from i915 of kernel 6.8.

    https://github.com/intel/compute-runtime/issues/710
    """
    variables = (("NEOReadDebugKeys", "1"), ("OverrideGpuAddressSpace", "48"))
    message = "Until then, set two variables with which the old release finds the GPU (for a container: with -e)."
    tasks = tuple(export(name, value) for name, value in variables)
    return Fix(message, tasks, "change-environment", needs="a restart of the program", impact="none", verify=verify)


def matching_level_zero(facts: Facts, verify: Task) -> Fix:
    """Bring Level Zero's loader and Intel's driver for it up to date together, from one repository."""
    family = system.family_of(facts)
    names = intel.packages(family or "")
    debs, rpms = (*_LOADER_DEBS, *_RUNTIME_DEBS), ("oneapi-level-zero*", *_RUNTIME_RPMS)
    shown = (query("apt-cache", "policy", *names),) if family == "debian" else ()
    tasks = (*system.upgrade(facts, debian=debs, fedora=rpms), *shown)
    both = " and ".join(names) or "Level Zero's loader and Intel's compute runtime"
    message = (
        f"Upgrade {both} together, from one repository. Where it has no newer release of the older one, install the "
        f"packages of one release of Intel's compute runtime ({RUNTIMES}), whose notes name the loader."
    )
    more = " In a container, do this in the image." if in_container(facts) else ""
    return Fix(f"{message}{more}", tasks, "reinstall-package", root=True, verify=verify)


def newer_guc(facts: Facts, card: PciDevice, bug: Regression) -> tuple[Fix, ...]:
    """Install GuC firmware without a known bug: the distribution's package, or the file where that is older."""
    family, path = system.family_of(facts), guc_file(facts, card)
    own = known_or(facts.host.distribution.id, "")
    split = own == "ubuntu" and known_or(facts.host.distribution.version, None) in _SPLIT
    name = "linux-firmware-intel-graphics" if split else "linux-firmware"
    name = "firmware-intel-graphics" if own == "debian" else name
    newer = system.upgrade(facts, fedora=("linux-firmware", "intel-gpu-firmware"), suse=("kernel-firmware*",))
    if family == "debian":  # where the package may be missing
        newer = (as_root("apt-get", "update"), *system.install(facts, name))
    rebuild = "" if system.is_image(facts) else " rebuild the initramfs,"
    newest = f"the newest linux-firmware, with GuC {bug.fixed} or newer,{rebuild} and reboot."
    if in_container(facts):  # whose distribution is not the host's
        message = f"On the host: install {newest}"
        return (Fix(message, (), "reinstall-package", root=True, needs="reboot", verify=GUC, place="outside"),)
    package = Fix(
        f"Install {newest}{system.initramfs_hint(facts)}",
        (*newer, *system.initramfs(facts), as_root("reboot")) if newer else (),
        "reinstall-package",
        root=True,
        needs="reboot",
        verify=GUC,
    )
    if path is None or system.is_image(facts):  # whose /usr cannot be written
        return (package,)
    file, there = path.rpartition("/")[2], f"/lib/firmware/updates/{path}"
    direct = Fix(
        f"If the distribution's package is still older: put upstream's {file} into /lib/firmware/updates, which the "
        "kernel searches first, rebuild the initramfs, and reboot. Remove it once the package is newer.",
        (
            cmd("curl", "-fLO", f"{FIRMWARE}{path}"),
            as_root("install", "-D", "-m", "644", file, there),
            *system.initramfs(facts),
            as_root("reboot"),
        ),
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(as_root("rm", there), *system.initramfs(facts)),
        verify=GUC,
        place="outside" if in_container(facts) else "here",
    )
    return package, direct


def join_group(facts: Facts, node: DeviceNode) -> tuple[Fix, ...]:
    """Let the user open a render node."""
    name = amd.group_of(facts, node)
    if in_system_container(facts):
        return open_node(facts, node, proof(facts))
    if in_container(facts):
        return (into_container(facts, node, ("--device", "/dev/dri"), proof(facts)),)
    if name in ("root", "0"):
        name = "render"
    message = f"Add yourself to the group {name}, to which render nodes belong, then log out and in again."
    return (
        system.relogin(
            message,
            (system.join_groups(facts, name),),
            (system.leave_group(facts, name),),
            proof(facts),
        ),
    )


def pass_devices(facts: Facts) -> tuple[Fix, ...]:
    """Start the container with the render nodes."""
    name = engine(facts)
    if name == "kubernetes":
        limit = (
            "spec:\n  containers:\n    - name: ...\n      resources:\n        limits:\n          gpu.intel.com/i915: 1"
        )
        message = "Request the GPU in the pod spec; the node needs Intel's device plugin (or gpu.intel.com/xe)."
        return (
            Fix(
                message,
                (lines(limit),),
                "restart-process",
                needs="a new container",
                verify=proof(facts),
                place="outside",
            ),
        )
    ways: dict[str, Tasks] = {
        "apptainer": (cmd("apptainer", "exec", "--bind", "/dev/dri", REST),),
        "podman": (with_own_groups("--device", "/dev/dri"),),
    }
    commands = ways.get(name, (Shell(_START, placeholders=(REST,)),))
    message = "Start the container with the GPU's render nodes, and with the group that can open them."
    if name == "podman":
        message += f" {KEEPS}"
    return (Fix(message, commands, "restart-process", needs="a new container", verify=proof(facts), place="outside"),)
