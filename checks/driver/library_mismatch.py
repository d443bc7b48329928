"""Driver libraries of another version than the loaded kernel module, where the module on disk is right or unknown."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, system
from gpudoctor.fixes.hold import keep_driver
from gpudoctor.maybe import Unknown, known, known_or, phrase, present
from gpudoctor.queries.cause_groups import SURROUNDINGS
from gpudoctor.queries.driver import (
    CUDA_MISMATCH,
    NVML_MISMATCH,
    disk_version,
    from_initramfs,
    library_version,
    loaded_libcuda,
    not_wsl,
    of_booted_system,
)
from gpudoctor.queries.history import driver_lines
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import in_container
from gpudoctor.tasks import Tasks, as_root, query

_OLD_COPY = (
    "The initial RAM disk (initramfs) still contains module {loaded}: {why}. The module on disk is not "
    "reached, because the copy in the initramfs is loaded first."
)


def _versions(facts: Facts) -> tuple[str | None, str | None]:
    """Versions of the loaded module and of the libraries; the log's API mismatch names both where files do not."""
    loaded = known_or(facts.nvidia.kernel.loaded, None)
    user = None if isinstance(facts.nvidia.nvml.libraries, Unknown) else library_version(facts)
    logged = {e.kind: e.what.get("driver") for e in events(facts, "api-mismatch", "api-mismatch-module")}
    return loaded or logged.get("api-mismatch-module"), user or logged.get("api-mismatch")


def _refused(facts: Facts) -> bool:
    """Whether NVML or libcuda itself reports that the versions differ."""
    libcuda = loaded_libcuda(facts)
    cuda = facts.nvidia.cuda.code == CUDA_MISMATCH and (libcuda is None or libcuda.kind == "driver")
    return facts.nvidia.nvml.code == NVML_MISMATCH or cuda


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    loaded, user = _versions(facts)
    if in_container(facts):
        return _inside(facts, loaded or "the host's version", user or "the libraries' version")
    disk = known_or(disk_version(facts), None)
    if user and user != disk and of_booted_system(facts):
        return (system.reboot(f"Reboot: this loads module {user} of the system that was built last."),)
    if disk is None and not isinstance(facts.nvidia.kernel.on_disk, Unknown):
        message = "Reboot into the kernel whose new module is installed, so that it is loaded."
        by_reboot = facts.nvidia.kernel.other_kernels or module.kernel_gone(facts)
        return (system.reboot(message), *(() if by_reboot else module.rebuild(facts, user)[:1]))
    if from_initramfs(facts) and (rebuild := system.initramfs(facts)):
        return (_new_initramfs(facts, rebuild, present(disk or user)), *keep_driver(facts, user))
    return (
        system.reboot(f"Reboot: this loads module {present(disk or user)}."),
        module.reload_module(facts),
        *keep_driver(facts, user),
    )


def _new_initramfs(facts: Facts, rebuild: Tasks, version: str) -> Fix:
    release = system.kernel_of(facts)
    if system.family_of(facts) == "debian" and facts.host.kernel.by_dracut is not True:
        rebuild = (as_root("update-initramfs", "-u", "-k", release),)
    return Fix(
        f"Rebuild the initial RAM disk (initramfs) of kernel {release} with module {version}, then reboot: a reboot "
        "alone loads the old copy again.",
        (*rebuild, as_root("reboot")),
        "reboot",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    )


def _inside(facts: Facts, loaded: str, user: str) -> tuple[Fix, ...]:
    exact = Fix(
        f"If the container has its own driver libraries: install exactly {loaded}, the same version as the host's "
        "module (a vGPU guest driver does not fit a vGPU host's module), or let the host mount its own.",
        (),
        "reinstall-package",
        needs="restart of the container",
        verify=query("nvidia-smi"),
    )
    if facts.host.container == "lxc":
        return (exact,)
    node = module.node_reload(
        f"On the host (node): reboot it, or reload its module, so that it runs {user} too; then start the container "
        "or pod again. Nothing inside the container changes the host's module.",
    )
    return (node, exact)


@check(
    title="Driver/library version mismatch: module and libraries differ",
    severity=Severity.ERROR,
    cause="NVIDIA's libraries work only with a kernel module of exactly their own version. An upgrade replaced the "
    "files, but the kernel runs the old module until it is reloaded (Driver/library version mismatch).",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html",
        "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/commonproblems.html",
    ),
    targets=not_wsl,
    caused_by=("driver.mixed-installation", "driver.compat-mismatch", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def library_mismatch(facts: Facts) -> Problem | None:
    """Compare the loaded module, the module on disk and the libraries."""
    if facts.nvidia.nvml.code == 0 and facts.nvidia.cuda.code == 0:
        return None
    loaded, user = _versions(facts)
    if loaded is None and facts.nvidia.kernel.loaded is None and not in_container(facts):
        return None  # NVML reports the same of a module that is not loaded at all
    refused = _refused(facts)
    if not refused:
        known(facts.nvidia.kernel.loaded)
        library_version(facts)
    if (loaded is None or user is None or loaded == user) and not refused:
        return None
    disk = known_or(disk_version(facts), None)
    other = disk is not None and user is not None and disk != user
    if other and not in_container(facts) and not of_booted_system(facts):
        return None  # a reboot would not help: driver.half-upgraded reports it
    why = None if in_container(facts) or disk != user else from_initramfs(facts)
    cause = _OLD_COPY.format(loaded=loaded, why=why) if loaded and why else None
    return Problem(_message(loaded, disk, user, inside=in_container(facts)), _evidence(facts, user), cause)


def _message(loaded: str | None, disk: str | None, user: str | None, *, inside: bool) -> str:
    if loaded is None or user is None or loaded == user:
        return "NVML or libcuda reports that the driver's libraries and the loaded kernel module differ in version."
    where = "The host's loaded kernel module is" if inside else "The loaded kernel module is"
    waits = f" Module {disk} is installed on disk but not loaded yet." if disk == user and not inside else ""
    return f"{where} {loaded}, the driver's libraries are {user}: the versions do not match.{waits}"


def _evidence(facts: Facts, user: str | None) -> tuple[str, ...]:
    nvml, cuda = facts.nvidia.nvml, facts.nvidia.cuda
    lines = ["NVML: " + phrase("{} ", nvml.text) + f"({NVML_MISMATCH})"] if nvml.code == NVML_MISMATCH else []
    lines += ["cuInit: " + phrase("{} ", cuda.name) + f"({CUDA_MISMATCH})"] if cuda.code == CUDA_MISMATCH else []
    return (*driver_lines(facts, user), *lines, *texts(events(facts, "api-mismatch", "api-mismatch-module")))
