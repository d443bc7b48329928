"""A container with its own driver libraries, of another version than the host's module."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes import runfile
from gpudoctor.fixes.container import again, engine, pass_gpus
from gpudoctor.maybe import known, phrase, present, text_of
from gpudoctor.queries.containers import nvidia_container
from gpudoctor.targets import on_wsl
from gpudoctor.tasks import as_root, cmd, query
from gpudoctor.tasks.placeholders import REST

# System containers contain a whole distribution with its own packages; no libraries are injected there. So do boxes,
# which get the host's libraries where they were created that way; Flatpak has its own copy of the driver.
OWN = ("lxc", "systemd-nspawn", "distrobox", "toolbox", "flatpak")


def _copies(facts: Facts) -> tuple[DriverLibrary, ...]:
    both = (*known(facts.nvidia.nvml.libraries), *known(facts.nvidia.cuda.libraries))
    return tuple(one for one in both if one.kind in ("driver", "other") and isinstance(one.version, str))


def _strangers(facts: Facts) -> tuple[DriverLibrary, ...]:
    """Libraries of another version than the host's module that no runtime injected."""
    loaded = known(facts.nvidia.kernel.loaded)
    wrong = tuple(one for one in _copies(facts) if one.version != loaded)
    mixed = len({one.version for one in _copies(facts)}) > 1
    # A single version, in an ordinary container, was injected by the host: then the host's halves differ.
    return wrong if loaded and (engine(facts) in OWN or mixed or any(one.size == 0 for one in wrong)) else ()


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    version = present(facts.nvidia.kernel.loaded)
    # Debian's libraries depend on it, and it ends NVIDIA's installer as long as they are there.
    packaged = any("/nvidia/current/" in one.real for one in _strangers(facts))
    gone = (as_root("apt-get", "purge", "nvidia-installer-cleanup"),) if packaged else ()
    before = ", in place of its packages," if gone else ","
    exact = Fix(
        f"Install the driver's libraries in the container in exactly the host's version, {version}{before} without the "
        "kernel module (packages of that version work too; a vGPU host's version is in NVIDIA's licensing portal).",
        (
            *runfile.download(facts, version),
            *gone,
            as_root("sh", runfile.file_name(facts, version), "--no-kernel-module"),
        ),
        "reinstall-package",
        root=True,
        needs="restart of the container",
        verify=query("nvidia-smi"),
    )
    if engine(facts) in ("distrobox", "toolbox"):
        return (*pass_gpus(facts), exact)
    if engine(facts) == "flatpak":
        return pass_gpus(facts)
    if engine(facts) in OWN:
        return (exact,)
    paths = ", ".join(sorted({one.real for one in _strangers(facts)}))
    message = (
        f"Remove the driver's libraries from the image ({paths}): remove packages such as libnvidia-compute and "
        "nvidia-utils from the Dockerfile, rebuild it, and let the runtime inject the host's."
    )
    return (again(message, cmd("docker", "build", "--no-cache", REST)),)


@check(
    title="Driver libraries in the container do not match the host's kernel module",
    severity=Severity.ERROR,
    cause="A container shares its host's kernel module, and NVIDIA's libraries work only with a module of exactly the "
    "same version. Libraries installed in the container do not follow when the host's driver changes.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/289",
    ),
    targets=nvidia_container,
    caused_by=("container.no-gpus-passed", "container.device-access-lost", "container.selinux-denied"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def driver_version_inside(facts: Facts) -> Problem | None:
    """The driver does not work, and the container's own libraries have another version than the module."""
    if on_wsl(facts) or (known(facts.nvidia.nvml.code) == 0 and known(facts.nvidia.cuda.code) == 0):
        return None
    found = _strangers(facts)
    if not found:
        return None
    loaded, versions = present(facts.nvidia.kernel.loaded), sorted({text_of(one.version) for one in found} - {""})
    message = (
        f"The versions do not match: the host's kernel module is {loaded}, the container's own libraries are "
        f"{' and '.join(versions)}."
    )
    return Problem(message, tuple(f"{one.real}{phrase(' ({})', one.version)}" for one in found[:4]))
