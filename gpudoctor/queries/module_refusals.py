"""Why the kernel refused a module that is installed for it, as its log shows."""

from gpudoctor.facts import Facts
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
_OWN = {"nvidia": ("nvidia",), "amdgpu": ("amd",)}


def refusal(facts: Facts, module: str) -> str | None:
    """Return why the kernel refused a driver's module; None where its log does not show it.

    https://github.com/oracle/bpftune/issues/68 has what BTF has to do with builds.

    Args:
        facts: the machine.
        module: "nvidia" or "amdgpu".
    """
    own = _OWN[module]
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


def lacks_extra_modules(facts: Facts) -> bool:
    """Whether Ubuntu's package with the kernel's other modules (linux-modules-extra-...) is known to be missing."""
    return known_or(facts.host.kernel.extra_modules, None) is False


def _is_of(name: str | None, module: str) -> bool:
    """Whether a log's line is about the driver's module, or AMD's modules below it; others fail by themselves."""
    return name == module or (module == "amdgpu" and (name or "").startswith("amd") and name != "amdxdna")
