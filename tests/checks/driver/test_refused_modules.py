"""NVIDIA's module is on disk and the kernel refuses it: by type information, symbol versions, missing modules."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import Distribution, Facts, LogEvent
from gpudoctor.knowledge.kernel_log import provider_of
from tests.builders import ask
from tests.checks.nvidia_machines import KERNEL, OTHER, disk, event, having, unloaded
from tests.checks.nvidia_machines import logged as log

MISMATCH = log(event("symbol-mismatch", module="nvidia"), facts=unloaded())
ELSEWHERE = unloaded(nvidia__kernel__on_disk=(), nvidia__kernel__other_kernels=(disk(kernel=OTHER),))

NOT_LOADED = "The kernel module nvidia is not loaded (module 570.169 is installed on disk). "


def symbol(module: str, name: str, code: int = -2) -> LogEvent:
    """The kernel refuses a module for a symbol."""
    line = f"{module}: Unknown symbol {name} (err {code})"
    return LogEvent(kind="unknown-symbol", text=line, code=code, what={"module": module, "text": name})


def logged(*events: LogEvent, facts: Facts | None = None) -> Facts:
    """A machine whose driver is not loaded, with a log."""
    return log(*events, facts=facts or unloaded())


ILL = [
    (
        "driver.not-loaded",
        logged(event("btf-refused", module="video", code=-22), facts=unloaded()),
        "The kernel module nvidia is not loaded (module 570.169 is installed on disk). The kernel refuses modules of "
        "its own (BTF validation fails): they are of another build of this kernel.",
    ),
    (
        "driver.not-loaded",
        logged(event("btf-refused", module="nvidia", code=-22), facts=unloaded()),
        "The kernel module nvidia is not loaded (module 570.169 is installed on disk). The kernel refuses it (BTF "
        "validation fails): it was compiled for another build of this kernel.",
    ),
    (
        "driver.not-loaded",
        logged(event("unknown-symbol", code=-2, module="nvidia"), facts=unloaded(host__kernel__extra_modules=False)),
        "The kernel module nvidia is not loaded (module 570.169 is installed on disk). It needs symbols of modules "
        "that are in the package linux-modules-extra of this kernel, which is not installed.",
    ),
    (
        "driver.not-loaded",
        logged(symbol("nvidia_drm", "nvKmsKapiGetFunctionsTable"), symbol("nvidia", "drm_kms_helper_poll_init")),
        NOT_LOADED + "The kernel refused nvidia: its symbol drm_kms_helper_poll_init is in the kernel's module "
        "drm_kms_helper, which was not loaded.",
    ),
    (
        "driver.not-loaded",
        logged(symbol("nvidia_modeset", "backlight_device_register")),
        NOT_LOADED + "The kernel refused nvidia_modeset: its symbol backlight_device_register is in the kernel's "
        "module backlight, which was not loaded.",
    ),
    # NVIDIA's own symbols, RDMA's module and another error than "no such symbol" do not show what to load.
    ("driver.not-loaded", logged(symbol("nvidia_drm", "nvKmsKapiGetFunctionsTable")), NOT_LOADED.rstrip()),
    ("driver.not-loaded", logged(symbol("nvidia_peermem", "ib_register_peer_memory_client")), NOT_LOADED.rstrip()),
    ("driver.not-loaded", logged(symbol("nvidia", "drm_dev_put", code=-22)), NOT_LOADED.rstrip()),
    (
        "driver.built-for-another-kernel",
        MISMATCH,
        f"The module /lib/modules/{KERNEL}/updates/dkms/nvidia.ko was compiled for another build of the running kernel "
        f"{KERNEL}: the versions of its symbols (modversions) differ, and the kernel refuses it.",
    ),
    (
        "driver.built-for-another-kernel",
        having(MISMATCH, pci=(), host__platform="jetson"),
        f"The module /lib/modules/{KERNEL}/updates/dkms/nvidia.ko was compiled for another build of the running kernel "
        f"{KERNEL}: the versions of its symbols (modversions) differ, and the kernel refuses it.",
    ),
]

WELL = [
    ("driver.built-for-another-kernel", unloaded(nvidia__kernel__on_disk=(), pci=(), host__platform="jetson")),
    ("driver.built-for-another-kernel", having(ELSEWHERE, pci=(), host__platform="jetson")),
    (
        "driver.built-for-another-kernel",  # RDMA's module is another check's
        logged(event("symbol-mismatch", module="nvidia_peermem"), facts=unloaded()),
    ),
]


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_what_the_kernel_refuses(check: str, facts: Facts, message: str) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("problem", message)]


@pytest.mark.parametrize(("check", "facts"), WELL)
def test_what_is_another_checks(check: str, facts: Facts) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("pass", "")]


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("acpi_video_get_edid", "video"),
        ("__acpi_video_get_backlight_type", "video"),
        ("drm_gem_object_free", "drm"),
        ("drm_gem_ttm_vmap", "drm_ttm_helper"),
        ("drm_sched_init", "gpu_sched"),
        ("ttm_bo_put", "ttm"),
        ("nvKmsKapiGetFunctionsTable", None),
        ("ktime_get", None),
    ],
)
def test_which_module_of_the_kernel_has_a_symbol(name: str, provider: str | None) -> None:
    assert provider_of(name) == provider


@pytest.mark.parametrize(
    ("distribution", "package"),
    [
        (Distribution(id="rhel", like=("fedora",)), f"kernel-modules-{KERNEL}"),
        (Distribution(id="ubuntu", like=("debian",)), f"linux-modules-extra-{KERNEL}"),
        (Distribution(id="debian"), None),
        (Distribution(id="talos"), None),
    ],
)
def test_the_module_with_the_symbol_is_loaded_before_the_drivers(
    distribution: Distribution, package: str | None
) -> None:
    facts = logged(symbol("nvidia_modeset", "acpi_video_unregister"), facts=unloaded(host__distribution=distribution))
    (verdict,) = run(catalogue.load(["driver.not-loaded"])[0], facts)
    first, *others = verdict.fixes
    assert [command.removeprefix("sudo ") for command in first.commands][::2] == [
        "modprobe video",
        "modprobe -a nvidia nvidia_uvm nvidia_modeset",
    ]
    installed = [command for fix in others for command in fix.commands]
    assert [command.split()[-1] for command in installed if package and package in command] == [package] * bool(package)
    assert package or not others
