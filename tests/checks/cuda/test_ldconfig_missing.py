"""Triton on NixOS, which has no /sbin/ldconfig."""

from typing import Any

import pytest

from gpudoctor.checks.cuda.ldconfig_missing import ldconfig_missing
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, library
from tests.checks.environments import change_toolkits, commands, environment, machine, one, package, torch

DRIVER = "/run/opengl-driver/lib"
SAYS = (
    "Triton {} runs /sbin/ldconfig to find libcuda, and NixOS has no such program: torch.compile and Triton kernels "
    "fail (No such file or directory: '/sbin/ldconfig')."
)


def nixos(triton: str = "3.6.0", ldconfig: Any = False, system: str = "nixos", **more: Any) -> Facts:
    """NixOS with its driver, and an environment of PyPI's wheels."""
    changed = change(machine(toolkits=change_toolkits(ldconfig=ldconfig)), "host.distribution.id", system)
    driver = library("libcuda.so.1", path=f"{DRIVER}/libcuda.so.1", found_by="LD_LIBRARY_PATH")
    changed = change(change(changed, "nvidia.cuda.libraries", (driver,)), "nvidia.cuda.loaded", driver.path)
    return environment(torch("2.10.0"), packages=(package("triton", triton, **more),), facts=changed)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (nixos(), ("problem", SAYS.format("3.6.0"))),
        (nixos("3.1.0"), ("problem", SAYS.format("3.1.0"))),
        (nixos(ldconfig=True), ("pass", "")),  # an environment with the usual directories (buildFHSEnv)
        (nixos(system="ubuntu"), ("pass", "")),
        (nixos("2.1.0"), ("pass", "")),
        (nixos("4.0.0"), ("pass", "")),
        (nixos(directory="/nix/store/0abc-python3-3.13/lib/python3.13/site-packages"), ("pass", "")),  # nixpkgs' own
        (nixos(ldconfig=Unknown("not asked")), ("unknown", "not asked")),
        (change(nixos(), "host.environment", {"TRITON_LIBCUDA_PATH": DRIVER}), ("pass", "")),
        (change(nixos(), "pythons.0.frameworks.0.variant", "cpu"), ("pass", "")),
    ],
)
def test_ldconfig_missing(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(ldconfig_missing, facts) == verdict


def test_the_variable_names_the_drivers_directory() -> None:
    said = commands(ldconfig_missing, nixos())
    assert f"export TRITON_LIBCUDA_PATH={DRIVER}" in said
    assert f'environment.sessionVariables.TRITON_LIBCUDA_PATH = "{DRIVER}";' in said
