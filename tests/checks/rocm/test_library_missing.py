"""Frameworks that need a library of another ROCm release than the installed one."""

from typing import Any

import pytest

from gpudoctor.checks.rocm.library_missing import library_missing
from gpudoctor.facts import Facts, Need
from gpudoctor.knowledge.sonames import rocm_link_for, rocm_releases_of, rocm_soname_in, vendor_of
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, live
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, environment, one, severity

SMI, HIP = "librocm_smi64.so.6", "libamdhip64.so.6"


def need(soname: str, path: str | None = None) -> Need:
    return Need(soname=soname, needed_by="jax_plugins/xla_rocm60/xla_rocm_plugin.so", path=path)


def jax(*needs: Need, rocm: Any = "6.3.1", **changes: Any) -> Facts:
    plain = {"cuda": None, "hip": "6.0", "variant": "rocm", "needs": needs, "live": live(0)}
    made = framework("jax", "0.5.0", **(plain | changes))
    return environment(made, facts=change(amd_host(), "amd.rocm", rocm))


SAID = "JAX 0.5.0: xla_rocm_plugin.so needs librocm_smi64.so.6 (ROCm >= 6.0, < 6.2), which is not found; "
THERE = need(HIP, "/opt/rocm/lib/libamdhip64.so.6")
OTHER = live(0, import_error="ModuleNotFoundError: No module named 'ml_dtypes'")


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (jax(THERE), ("pass", "")),
        (jax(need(SMI), live=live(1)), ("pass", "")),
        (jax(need(SMI), live=OTHER), ("pass", "")),
        (jax(need("libcudart.so.12")), ("pass", "")),
        (change(change(jax(need(SMI)), "gpus", ()), "pci", ()), ("pass", "")),
        (jax(need(SMI), THERE), ("problem", f"{SAID}ROCm 6.3.1 is installed, which has librocm_smi64.so.7.")),
        (jax(need(SMI), rocm=None), ("problem", f"{SAID}the ROCm here has another one.")),
        (jax(need(SMI), needs=Unknown("closed")), ("unknown", "closed")),
    ],
)
def test_library_missing(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(library_missing, facts) == verdict


def test_a_pytorch_that_imports_has_found_what_it_links_to() -> None:
    facts = amd_host()
    lacking = change(facts, "pythons.0.frameworks.0.needs", (need(HIP),))
    assert one(library_missing, change(lacking, "pythons.0.frameworks.0.live", live(0))) == ("pass", "")
    error = f"ImportError: {HIP}: cannot open shared object file: No such file or directory"
    failing = change(lacking, "pythons.0.frameworks.0.live", live(0, import_error=error))
    assert severity(library_missing, failing) == "fail"
    assert severity(library_missing, change(lacking, "pythons.0.frameworks.0.live", None)) == "warn"


def test_a_link_is_offered_only_where_the_vendor_advises_it() -> None:
    assert "ln -s librocm_smi64.so.7 /opt/rocm/lib/librocm_smi64.so.6" in commands(library_missing, jax(need(SMI)))
    both = commands(library_missing, jax(need(SMI), need("libamdhip64.so.5")))
    assert "ln -s" not in both
    assert "jax[rocm7-local]" in both


def test_names_and_releases() -> None:
    assert rocm_releases_of(SMI) == ("6.0", "6.2")
    assert rocm_releases_of("libamdhip64.so.7") == ("7.0", None)
    assert rocm_releases_of("librccl.so.1") is None
    assert [rocm_soname_in(SMI, release) for release in ("5.7", "6.1", "6.3.1", "7.2")] == [
        "librocm_smi64.so.5",
        "librocm_smi64.so.6",
        "librocm_smi64.so.7",
        "librocm_smi64.so.7",
    ]
    assert rocm_link_for(SMI, "6.3") == "librocm_smi64.so.7"
    assert rocm_link_for("libamdhip64.so.5", "6.3") is None
    names = (SMI, "libMIOpen.so.1", "librocky.so.1", "libze_loader.so.1", "libcudart.so.12", "libc.so.6")
    assert [vendor_of(name) for name in names] == ["amd", "amd", None, "intel", "nvidia", None]
