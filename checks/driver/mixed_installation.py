"""Files of two driver installations are mixed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes import module, runfile, system
from gpudoctor.maybe import known, known_or, present
from gpudoctor.queries.cause_groups import SURROUNDINGS
from gpudoctor.queries.driver import OFF_PATH, installed_over_packages, libraries_beside, not_wsl
from gpudoctor.targets import in_container
from gpudoctor.tasks import Tasks, as_root, cmd, filtered, query
from gpudoctor.tasks.placeholders import CLUSTER, GROUP, NODE_GROUP

_PLACES = ("/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    beside = libraries_beside(facts)
    if beside is not None and not in_container(facts):
        return _keep_the_modules(facts, *beside)
    if in_container(facts):
        message = (
            "Remove the driver's libraries (libcuda, libnvidia-*) from the image; the NVIDIA Container Toolkit mounts "
            "the host's own when the container starts."
        )
        return (Fix(message, (), "reinstall-package", needs="restart of the container", verify=query("nvidia-smi")),)
    if runfile.uses_runfile(facts):
        return (runfile.back_to_packages(facts),)
    found: Tasks = (filtered(query("ldconfig", "-p"), query("grep", "-E", "libcuda|libnvidia-ml")), *_reinstall(facts))
    message = "Remove the leftover libraries of the other version, reinstall the driver's packages, and reboot."
    return (Fix(message, found, "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi")),)


def _keep_the_modules(facts: Facts, found: DriverLibrary, own: DriverLibrary) -> tuple[Fix, ...]:
    user, folder = present(found.version), found.real.rpartition("/")[0]
    away = f"/var/backups/nvidia-{user}"
    aside = Fix(
        f"Move the libraries of {user}, which no package owns, out of the loader's way; ldconfig then links those of "
        f"{present(own.version)} again. Find what installs {user}: it does so again.",
        (
            as_root("mkdir", "-p", away),
            as_root("find", folder, "-maxdepth", 1, "-name", f"lib*.so.{user}", "-exec", "mv", "-t", away, "{}", "+"),
            as_root("ldconfig"),
        ),
        "change-environment",
        root=True,
        undo=(as_root("find", away, "-name", "lib*", "-exec", "mv", "-t", folder, "{}", "+"), as_root("ldconfig")),
        verify=query("nvidia-smi"),
    )
    if facts.cloud.provider != "azure" or facts.cluster.kubelet is not True:
        return (aside,)
    upgrade = ("aks", "nodepool", "upgrade", "--node-image-only", "--resource-group", GROUP)
    image = Fix(
        "A node of AKS: upgrade the image of its node pool; nodes of the same image come up with the same mixture "
        "(Azure/AKS#5875).",
        (cmd("az", *upgrade, "--cluster-name", CLUSTER, "--name", NODE_GROUP),),
        "reinstall-package",
        needs="other nodes",
        verify=query("nvidia-smi"),
        place="outside",
    )
    return (aside, image)


def _reinstall(facts: Facts) -> Tasks:
    names = [n for n in module.driver_packages(facts) if "nvidia" in n or "cuda" in n]
    return system.reinstall(facts, *names[:12]) if names else ()


@check(
    title="Driver files of different versions are mixed",
    severity=Severity.ERROR,
    cause="All driver libraries and the kernel module must be of exactly the same version. A .run installation over "
    "packages, an interrupted upgrade or copied files leave a mixture.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
        "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/commonproblems.html",
    ),
    targets=not_wsl,
    caused_by=("driver.half-upgraded", "driver.compat-unsupported", "container.driver-version-inside", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def mixed_installation(facts: Facts) -> Problem | None:
    """Something fails, and libcuda and libnvidia-ml are of two versions, or one is an empty file."""
    nvidia = facts.nvidia
    if nvidia.nvml.code == 0 and nvidia.cuda.code in (0, None):
        return None
    cuda, nvml = _first(known(nvidia.cuda.libraries)), _first(known(nvidia.nvml.libraries))
    empty = [one for one in (cuda, nvml) if one is not None and one.size == 0]
    if empty:
        return Problem(f"The driver's library {empty[0].path} is an empty file.", _lines(facts))
    if cuda is None or nvml is None or not _system(cuda) or not _system(nvml):
        return None
    first, second = known_or(cuda.version, None), known_or(nvml.version, None)
    beside = libraries_beside(facts)
    if beside is not None:
        message = (
            f"The driver's libraries are there in two releases: programs load {present(first)} ({cuda.real}), and the "
            f"loaded module is {present(beside[1].version)}, like {beside[1].real}."
        )
        return Problem(message, _lines(facts))
    if installed_over_packages(facts):
        message = (
            f"The driver's libraries are {present(first)}, from NVIDIA's .run installer ({cuda.real}), and the loaded "
            f"module is {present(nvidia.kernel.loaded)}, of the distribution's packages."
        )
        return Problem(message, _lines(facts))
    if first is None or second is None or first == second:
        return None
    return Problem(f"libcuda is {first} ({cuda.real}), libnvidia-ml is {second} ({nvml.real}).", _lines(facts))


def _first(found: tuple[DriverLibrary, ...]) -> DriverLibrary | None:
    return next((one for one in found if one.found_by != OFF_PATH), None)


def _system(one: DriverLibrary) -> bool:
    return one.real.startswith(_PLACES) and "compat/" not in one.real and one.found_by != "LD_LIBRARY_PATH"


def _lines(facts: Facts) -> tuple[str, ...]:
    nvidia = facts.nvidia
    both = (*known_or(nvidia.cuda.libraries, ()), *known_or(nvidia.nvml.libraries, ()))
    return tuple(f"{one.path} -> {one.real} ({one.found_by})" for one in both if one.found_by != OFF_PATH)[:8]
