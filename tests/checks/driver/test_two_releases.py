"""The driver's libraries in two releases next to each other, of which no package is the owner."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.queries.driver import OFF_PATH
from gpudoctor.root_causes import findings
from tests.builders import library
from tests.checks.nvidia_machines import having, versions

MODULE, USER = "570.211.01", "580.159.04"
OWN = library("libcuda.so.1", MODULE, path=f"/usr/lib/x86_64-linux-gnu/libcuda.so.{MODULE}", found_by=OFF_PATH)
ELSEWHERE = library("libcuda.so.1", MODULE, real=f"/opt/old/libcuda.so.{MODULE}", found_by=OFF_PATH)

DEBIAN = library("libcuda.so.1", MODULE, real=f"/usr/lib/nvidia/current/libcuda.so.{MODULE}", found_by=OFF_PATH)
DEBIANS = tuple((name, f"{MODULE}-1", "ii") for name in ("libcuda1", "libnvidia-ml1", "nvidia-kernel-dkms"))


def _node(*copies: Any, disk: str = MODULE, packages: Any = (), **changes: Any) -> Facts:
    libraries = (library("libcuda.so.1", USER), *copies)
    facts = versions(MODULE, disk, USER)
    return having(facts, nvidia__cuda__libraries=libraries, nvidia__kernel__packages=packages, **changes)


def _roots(facts: Facts) -> list[str]:
    found, _ = findings(judge(facts, catalogue.load(catalogue.select(catalogue.ids(), ("driver",), ()))))
    return [one.root.check.id for one in found]


@pytest.mark.parametrize(
    ("facts", "root"),
    [
        (_node(OWN), "driver.mixed-installation"),
        (_node(), "driver.half-upgraded"),
        (_node(OWN, packages=(("libnvidia-compute-580", f"{USER}-0ubuntu1", "ii"),)), "driver.compat-mismatch"),
        (_node(OWN, packages=Unknown("dpkg-query did not end in time")), "driver.compat-mismatch"),
        (_node(ELSEWHERE), "driver.compat-mismatch"),
        (_node(disk=USER), "driver.library-mismatch"),
        (_node(DEBIAN, packages=DEBIANS, nvidia__kernel__installer="runfile"), "driver.mixed-installation"),
        # Debian's tools have versions of their own, here by chance that of the .run's libraries.
        (
            _node(
                DEBIAN,
                packages=(*DEBIANS, ("nvidia-modprobe", f"{USER}-1", "ii")),
                nvidia__kernel__installer="runfile",
            ),
            "driver.mixed-installation",
        ),
    ],
)
def test_whose_libraries_are_too_many(facts: Facts, root: str) -> None:
    assert _roots(facts)[0] == root


def test_the_modules_libraries_stay() -> None:
    (check,) = catalogue.load(["driver.mixed-installation"])
    assert _roots(_node(OWN)) == ["driver.mixed-installation"]
    (aside,) = check.fixes_for(_node(OWN))
    assert aside.commands == (
        f"sudo mkdir -p /var/backups/nvidia-{USER}",
        f"sudo find /usr/lib/x86_64-linux-gnu -maxdepth 1 -name 'lib*.so.{USER}' -exec mv -t "
        f"/var/backups/nvidia-{USER} '{{}}' +",
        "sudo ldconfig",
    )
    _, image = check.fixes_for(_node(OWN, cloud__provider="azure", cluster__kubelet=True))
    assert "az aks nodepool upgrade --node-image-only" in image.commands[0]
    assert image.place == "outside"


def test_what_a_run_installer_replaced_comes_back_with_the_packages() -> None:
    (check,) = catalogue.load(["driver.mixed-installation"])
    (back,) = check.fixes_for(_node(DEBIAN, packages=DEBIANS, nvidia__kernel__installer="runfile"))
    assert back.commands[0] == "sudo nvidia-uninstall --silent"
    assert "libcuda1 libnvidia-ml1" in back.commands[-1]


def test_a_hold_is_named_and_released() -> None:
    (check,) = catalogue.load(["driver.half-upgraded"])
    packages = (("libcuda1", f"{USER}-1", "ii"), ("nvidia-kernel-dkms", f"{MODULE}-1", "hi"))
    facts = _node(packages=packages)
    (_, problem), *_ = [(one.check.id, one.message) for one in judge(facts, [check])]
    assert "Packages on hold (apt-mark hold), which upgrades pass over: nvidia-kernel-dkms." in problem
    assert check.fixes_for(facts)[0].commands[0] == "sudo apt-mark unhold nvidia-kernel-dkms"
