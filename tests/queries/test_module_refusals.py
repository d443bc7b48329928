"""Why the kernel refused a module: what its log shows, and what is somebody else's."""

from typing import Any

import pytest

from gpudoctor.queries.module_refusals import DRIVER_BTF, KERNEL_BTF, MODULES_MISSING, SYMBOL_VERSIONS, refusal
from tests.checks.nvidia_machines import WHY, event, logged, unloaded


def btf(*modules: str) -> list[Any]:
    """Modules whose type information the kernel refused."""
    return [event("btf-refused", f"failed to validate module [{m}] BTF: -22", code=-22, module=m) for m in modules]


def symbol(module: str, kind: str = "unknown-symbol", code: int | None = -2) -> Any:
    """A symbol that the kernel does not give a module."""
    return event(kind, f"{module}: a symbol", code=code, module=module)


@pytest.mark.parametrize(
    ("events", "module", "extra", "why"),
    [
        # files of the kernel that are of another build
        (btf("drm_ttm_helper", "video", "ecc", "nls_iso8859_1"), "nvidia", None, KERNEL_BTF),
        (btf("video"), "nvidia", None, KERNEL_BTF),
        (btf("gpu_sched", "amdgpu"), "amdgpu", False, KERNEL_BTF),
        (btf("exfat", "kvm_intel", "nft_tproxy"), "amdgpu", None, KERNEL_BTF),
        # only the driver is
        (btf("nvidia"), "nvidia", None, DRIVER_BTF),
        (btf("amdkcl"), "amdgpu", None, DRIVER_BTF),
        ([symbol("nvidia", "symbol-mismatch", None), symbol("nvidia", code=-22)], "nvidia", None, SYMBOL_VERSIONS),
        ([symbol("amdttm", "symbol-mismatch", None)], "amdgpu", True, SYMBOL_VERSIONS),
        # Ubuntu's second package
        ([symbol("amdgpu")], "amdgpu", False, MODULES_MISSING),
        ([symbol("nvidia")], "nvidia", False, MODULES_MISSING),
        ([symbol("amdgpu")], "amdgpu", True, None),
        ([symbol("amdgpu")], "amdgpu", None, None),  # not Ubuntu
        ([symbol("amdgpu")], "amdgpu", WHY, None),
        ([symbol("i915")], "i915", False, MODULES_MISSING),
        ([symbol("xe")], "i915", False, MODULES_MISSING),
        ([symbol("i915_compat")], "i915", False, MODULES_MISSING),
        (btf("i915"), "i915", None, DRIVER_BTF),
        (btf("video", "i915"), "i915", None, KERNEL_BTF),
        # somebody else's
        (btf("video", "nvidia", "nvidia_drm", "nvidia_modeset"), "i915", None, None),
        ([], "nvidia", False, None),
        (btf("vboxdrv"), "nvidia", None, None),
        (btf("nvidia"), "amdgpu", None, None),
        ([symbol("nvidia_peermem", "symbol-mismatch", None)], "nvidia", None, None),
        ([symbol("nvidia_peermem")], "nvidia", False, None),
        ([symbol("amdxdna")], "amdgpu", False, None),
    ],
)
def test_refusal(events: list[Any], module: str, extra: Any, why: str | None) -> None:
    facts = logged(*events, facts=unloaded(host__kernel__extra_modules=extra))
    assert refusal(facts, module) == why
