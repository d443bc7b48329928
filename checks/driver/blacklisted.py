"""modprobe.d or the kernel command line blacklists NVIDIA's module."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import blacklist, laptop
from gpudoctor.maybe import known, present
from gpudoctor.queries.cause_groups import BUILD, DEAD, OTHER_DRIVERS
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.wanted import chosen
from gpudoctor.targets import cards_of
from gpudoctor.tasks import as_root, query


def _by_tool(facts: Facts) -> bool:
    """Whether a laptop's tool did it; the firmware blacklists no module."""
    return isinstance(facts.nvidia.kernel.switch, str) and facts.nvidia.kernel.switch != "asus-firmware"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    kernel = facts.nvidia.kernel
    if kernel.prime == "intel":
        return (
            Fix(
                "Let prime-select enable the NVIDIA GPU again, then reboot.",
                (as_root("prime-select", "on-demand"), as_root("reboot")),
                "reboot",
                root=True,
                needs="reboot",
                undo=(as_root("prime-select", "intel"),),
                verify=query("nvidia-smi"),
            ),
        )
    if _by_tool(facts):
        return laptop.switch_on(facts, present(kernel.switch), kernel.switch_files, kernel.switch_lost)
    return blacklist.lift(facts, "nvidia", kernel.blacklist_lines, query("nvidia-smi"))


@check(
    title="NVIDIA's kernel module is blacklisted",
    severity=Severity.ERROR,
    cause="A line in modprobe.d, or a switch such as prime-select, blacklists the module nvidia, so nothing loads it "
    "at boot.",
    fixes=_fixes,
    references=("https://man7.org/linux/man-pages/man5/modprobe.d.5.html",),
    targets=own_kernel,
    caused_by=(
        *DEAD,
        *(id_ for id_ in BUILD if id_ != "driver.no-module-for-kernel"),
        *OTHER_DRIVERS,
        "driver.refused-by-secure-boot",
        "driver.refused-by-lockdown",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def blacklisted(facts: Facts) -> Problem | None:
    """The module is installed, not loaded, and blacklisted."""
    kernel = facts.nvidia.kernel
    if not cards_of(facts, "nvidia") or known(kernel.loaded) is not None or not known(kernel.on_disk):
        return None
    if "nvidia" not in kernel.blacklists and kernel.prime != "intel":
        return None
    if kernel.prime == "intel":
        return chosen(facts, "prime-select is set to the Intel GPU, which blacklists the module nvidia.")
    if _by_tool(facts):
        files = " and ".join(kernel.switch_files) or "its configuration"
        tool = present(kernel.switch)
        return chosen(facts, f"{tool} is in integrated mode: {files} blacklists the module nvidia.")
    lines = kernel.blacklist_lines
    where = " and ".join(dict.fromkeys(line.path for line in lines)) or "modprobe.d or on the kernel command line"
    seen = tuple(f"{line.path}: {line.text}" for line in lines)
    return Problem(f"The module nvidia is blacklisted in {where}, so it is not loaded.", seen)
