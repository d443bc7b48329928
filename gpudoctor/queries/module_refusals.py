"""Why the kernel refused a module that is installed for it, as its log shows."""

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.knowledge.kernel_log import provider_of
from gpudoctor.maybe import known_or
from gpudoctor.queries.kernel_log import events

# The kernel's own modules and the driver's do not belong together: type information (BTF) of another build, versions
# of symbols (modversions) of another build, symbols of modules that Ubuntu has in a package of their own.
KERNEL_BTF, DRIVER_BTF, SYMBOL_VERSIONS, MODULES_MISSING = "kernel btf", "driver btf", "symbol versions", "missing"
# What the drivers' modules depend on (modinfo -F depends nvidia, nvidia-drm, amdgpu).
_NEEDED = {
    "drm", "drm_buddy", "drm_display_helper", "drm_exec", "drm_kms_helper", "drm_suballoc_helper", "drm_ttm_helper",
    "ecc", "gpu_sched", "i2c_algo_bit", "ttm", "video",
}  # fmt: skip
_SEVERAL = 3  # modules of the kernel's own that are refused: then no single one is to blame
_NOT_FOUND = -2  # ENOENT: no loaded module exports the symbol
_OPTIONAL = ("nvidia_peermem", "nvidia_fs")  # RDMA's and storage's: the driver is loaded without them
_OWN = {"nvidia": ("nvidia",), "amdgpu": ("amd",), "i915": ("i915", "xe")}
_INTEL = ("i915", "i915_compat", "xe")  # i915_compat: of older releases of i915-sriov-dkms


class Unprovided(msgspec.Struct, frozen=True):
    """A driver's module that the kernel refused, and the module of the kernel's own that it needs loaded before."""

    module: str
    symbol: str
    provider: str


def refusal(facts: Facts, module: str) -> str | None:
    """Return why the kernel refused a driver's module; None where its log does not show it.

    https://github.com/oracle/bpftune/issues/68 has what BTF has to do with builds.

    Args:
        facts: the machine.
        module: "nvidia", "amdgpu", or "i915" for both drivers of Intel GPUs.
    """
    own = _OWN[module]
    logged = events(facts, "btf-refused", "symbol-mismatch", "unknown-symbol")
    if module == "i915" and not any(_is_of(e.what.get("module"), module) for e in logged):
        return None  # another vendor's driver was refused, and Intel's GPU may be left without one on purpose
    untyped = {e.what.get("module", "") for e in events(facts, "btf-refused")}
    foreign = {name for name in untyped if name and not name.startswith(own)}
    if len(foreign) >= _SEVERAL or foreign & _NEEDED:
        return KERNEL_BTF
    if untyped - foreign:
        return DRIVER_BTF
    if any(_is_of(e.what.get("module"), module) for e in events(facts, "symbol-mismatch")):
        return SYMBOL_VERSIONS
    missing = (e for e in events(facts, "unknown-symbol") if e.code == _NOT_FOUND)
    split = lacks_extra_modules(facts) and any(_is_of(e.what.get("module"), module) for e in missing)
    return MODULES_MISSING if split else None


def unprovided(facts: Facts, module: str) -> Unprovided | None:
    """Return which of a driver's modules needs a symbol that no loaded module exported, and which module has it.

    modprobe loads what a module depends on only where its modules.dep shows it: not from a directory of its own, as
    driver containers have, and not with insmod. Of several modules of a driver that one modprobe loads, one refused
    module takes the others with it.

    Args:
        facts: the machine.
        module: "nvidia", "amdgpu", or "i915" for both drivers of Intel GPUs.
    """
    for event in events(facts, "unknown-symbol"):
        name, symbol = event.what.get("module", ""), event.what.get("text", "")
        provider = provider_of(symbol) if event.code == _NOT_FOUND and name not in _OPTIONAL else None
        if provider and (name.startswith("nvidia") if module == "nvidia" else _is_of(name, module)):
            return Unprovided(name, symbol, provider)
    return None


def lacks_extra_modules(facts: Facts) -> bool:
    """Whether Ubuntu's package with the kernel's other modules (linux-modules-extra-...) is known to be missing."""
    return known_or(facts.host.kernel.extra_modules, None) is False


def _is_of(name: str | None, module: str) -> bool:
    """Whether a log's line is about the driver's module, or AMD's modules below it; others fail by themselves."""
    if module == "i915":
        return name in _INTEL
    return name == module or (module == "amdgpu" and (name or "").startswith("amd") and name != "amdxdna")
