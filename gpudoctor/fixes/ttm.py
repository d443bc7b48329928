"""The limit of the RAM that an integrated AMD GPU may take: pages_limit of the kernel's TTM, or of AMD's own."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import nixos, system
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.fixes.module_option import option_file
from gpudoctor.maybe import known_or
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, query

PAGE = 4096  # bytes; AMD's GPUs that share the RAM are in x86 CPUs
_REST = 4 << 30  # what the system keeps at least: the limit is of pages that cannot be swapped out while in use


def module_of(facts: Facts) -> str:
    """The TTM that amdgpu uses: AMD's driver package has its own; the kernel's driver shows no version."""
    return "amdttm" if isinstance(facts.amd.version, str) else "ttm"


def parameter_path(facts: Facts) -> str:
    """The file that shows the limit in effect."""
    return f"/sys/module/{module_of(facts)}/parameters/pages_limit"


def without_file(facts: Facts) -> bool:
    """Whether no command takes a file of modprobe.d into the initial RAM disk here: an image's, or NixOS's."""
    return system.is_image(facts) or nixos.is_nixos(facts)


def raise_limit(facts: Facts, message: str, asked: int, by_file: bool = False) -> Fix:
    """Set the limit for the module that amdgpu uses, and reboot.

    Args:
        facts: the machine.
        message: what it does, a sentence.
        asked: bytes; the system keeps some of the RAM, where there is more than the limit now.
        by_file: in modprobe.d instead of the kernel command line.
    """
    most = known_or(facts.host.memory, 0) - _REST
    wanted = min(asked, most) if most > (known_or(facts.amd.ttm_limit, None) or 0) else asked
    name, pages = module_of(facts), wanted // PAGE
    verify = query("cat", parameter_path(facts))
    if not by_file or in_container(facts) or without_file(facts):
        return kernel_parameter(facts, message, f"{name}.pages_limit={pages}", verify)
    write, remove = option_file("ttm", f"pages_limit={pages}", name)
    return Fix(
        f"{message} Write the option for {name}, also into the initial RAM disk, and reboot."
        f"{system.initramfs_hint(facts)}",
        (write, *system.initramfs(facts), as_root("reboot")),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(remove,),
        verify=verify,
    )
