"""The firmware file that the driver loads onto the GPU is missing or of another version."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.fixes import module, runfile, system
from gpudoctor.fixes.driver import branch_of, install_driver
from gpudoctor.knowledge.rm_init import failure
from gpudoctor.maybe import known_or, text_of
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.kernel_log import texts
from gpudoctor.targets import in_container
from gpudoctor.tasks import Shell, Tasks, cmd, query

_FETCHING = "0x61:"


def _logged(on: OnAddress) -> tuple[LogEvent, ...]:
    if on.answers:
        return ()
    failed = tuple(e for e in on.events("rm-init-failed") if e.what.get("code", "").startswith(_FETCHING))
    # Facts of former versions have the kernel's message under the other kind.
    refused = tuple(e for e in on.events("gsp-failed") if "Direct firmware load" in e.text)
    return (*on.events("gsp-firmware"), *refused, *failed)


_NO_LOADER = (
    "Since Turing the driver loads firmware onto the GPU System Processor (GSP) through the kernel's firmware loader. "
    "This kernel was configured without it (CONFIG_FW_LOADER is not set), so request_firmware() fails at once and no "
    "file is read. The kernel's own drivers select the option; a module from outside, such as NVIDIA's, cannot."
)


def _without_loader(on: OnAddress) -> bool:
    return on.facts.host.kernel.firmware_loader is False


_KERNEL_WITH_LOADER = Fix(
    "Boot a kernel with CONFIG_FW_LOADER=y: the distribution's stock kernel, or rebuild this one (a Kata or "
    "Firecracker guest kernel: on its host) with the option, and build NVIDIA's module for it again. Reinstalling "
    "the firmware does not help.",
    (
        Shell("grep -E 'CONFIG_FW_LOADER\\b' /boot/config-$(uname -r)", lookup=True),
        cmd(
            "scripts/config",
            "--enable",
            "FW_LOADER",
            note="Run scripts/config in the kernel's source tree, before make.",
        ),
    ),
    "reboot",
    needs="reboot",
    verify=query("nvidia-smi"),
)


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    if _without_loader(on):
        return (_KERNEL_WITH_LOADER,)
    version = known_or(on.facts.nvidia.kernel.loaded, None) or "VERSION"
    look = query("ls", "-l", f"/lib/firmware/nvidia/{version}/")
    if in_container(on.facts):
        message = "On the host: install the driver's GSP firmware of the module's version, and reboot the host."
        return (module.on_the_host(message, look),)
    message = f"Install the driver's GSP firmware of exactly the module's version, {version}, and reboot."
    again = Fix(
        message,
        (look, *_commands(on.facts), *system.initramfs(on.facts)),
        "reinstall-package",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    )
    return (again,)


def _commands(facts: Facts) -> Tasks:
    if runfile.uses_runfile(facts):
        return runfile.run_installer(facts, known_or(facts.nvidia.kernel.loaded, None))
    # Only Debian has it in a separate package; elsewhere it comes with the driver.
    if known_or(facts.host.distribution.id, "") == "debian":
        return system.install(facts, "firmware-nvidia-gsp")
    names = system.driver_packages(facts)[:12]
    if names:
        return system.reinstall(facts, *names)
    version = text_of(facts.nvidia.kernel.loaded)
    branch = branch_of(version)
    if branch is None:
        return ()
    if known_or(facts.host.distribution.id, "") == "ubuntu":
        return system.reinstall(facts, f"nvidia-firmware-{branch}-{version}")
    return install_driver(facts, branch).tasks


@check(
    title="GSP firmware cannot be loaded",
    severity=Severity.ERROR,
    cause="Since Turing the driver loads firmware onto the GPU System Processor (GSP), from /lib/firmware/nvidia/ and "
    "the module's version. If that file is missing or of another version, the GPU does not start.",
    fixes=_fixes,
    references=(
        "https://download.nvidia.com/XFree86/Linux-x86_64/580.65.06/README/gsp.html",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/blob/main/src/nvidia/src/kernel/gpu/gsp/kernel_gsp.c",
        "https://github.com/torvalds/linux/blob/master/include/linux/firmware.h",
        "https://github.com/kata-containers/kata-containers/pull/11875",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=gsp-firmware,gsp-failed,rm-init-failed",),
    caused_by=("driver.half-upgraded", "driver.mixed-installation"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def gsp_firmware_missing(on: OnAddress) -> Problem | None:
    """The kernel's failure to load the file, or the driver's message, about a GPU that does not respond."""
    logged = _logged(on)
    if not logged:
        return None
    if _without_loader(on):
        message = (
            f"{on.name}: its GSP firmware cannot be loaded: this kernel has no firmware loader (CONFIG_FW_LOADER)."
        )
        return Problem(message, texts(logged), _NO_LOADER)
    file = next((e.what["device"] for e in logged if "device" in e.what), None)
    got = next((e.what["driver"] for e in logged if "driver" in e.what), None)
    if got:
        return Problem(f"{on.name}: its GSP firmware is version {got}, which the module rejects.", texts(logged))
    named = f", /lib/firmware/{file}," if file else ""
    stage = next((failure(e.what["code"]).stage for e in logged if "code" in e.what), None)
    where = f" (the driver failed {stage})" if stage and not file else ""
    return Problem(f"{on.name}: its GSP firmware{named} is missing{where}.", texts(logged))
