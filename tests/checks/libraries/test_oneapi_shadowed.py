"""LD_LIBRARY_PATH before the SYCL runtime in the wheels of PyTorch for Intel GPUs."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.intel.no_gpu import no_gpu
from gpudoctor.checks.intel.render_node_closed import render_node_closed
from gpudoctor.checks.libraries.oneapi_shadowed import oneapi_shadowed
from gpudoctor.checks.libraries.shadowed_by_path import shadowed_by_path
from gpudoctor.facts import Facts, Need
from gpudoctor.facts.python import CondaPackage
from gpudoctor.maybe import Unknown
from gpudoctor.root_causes import findings
from tests.builders import ask, change, live, nvidia_host
from tests.checks.intel_machines import CLOSED, arc_host, xpu

OWN, ROOT = "/opt/env/lib", "/opt/intel/oneapi"
FOLDER = f"{ROOT}/compiler/2025.3/lib"
ENV = {"LD_LIBRARY_PATH": f"{ROOT}/mkl/2025.3/lib:{FOLDER}:/usr/local/lib", "ONEAPI_ROOT": ROOT}
WHY = Unknown("not read")
UNDEFINED = "ImportError: /opt/env/lib/libsycl.so.9: undefined symbol: urDeviceWaitExp, version LIBUR_LOADER_0.12"
LOADS = (
    "PyTorch 2.9.1+xpu includes the SYCL runtime of oneAPI 2026.0.0 (/opt/env/lib), but LD_LIBRARY_PATH makes it load "
    "libur_loader.so.0 of oneAPI 2025.3 (/opt/intel/oneapi/compiler/2025.3/lib)"
)
GOES_ON = ("pass", "")
NONE = live(0)


def need(name: str = "libur_loader.so.0", **changes: Any) -> Need:
    """A library of the runtime that an activated oneAPI overrides."""
    found = {"path": f"{FOLDER}/{name}", "how": "LD_LIBRARY_PATH", "version": "2025.3"}
    wheel = {"wheel": f"{OWN}/{name}", "wheel_version": "2026.0.0"}
    return Need(soname=name, needed_by="libsycl.so.9", **(found | wheel | changes))


def host(*needs: Need, said: Any = NONE, **changes: Any) -> Facts:
    """An Arc card, PyTorch for it, and oneAPI 2025.3 on LD_LIBRARY_PATH."""
    return arc_host(xpu(live=said, needs=needs or (need(),)), host__environment=ENV, **changes)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), ("problem", f"{LOADS}, with which it finds no GPU.")),
        (host(said=live(0, import_error=UNDEFINED)), ("problem", f"{LOADS}, with which it does not import.")),
        (host(said=live(died="SIGSEGV", available=WHY)), ("problem", f"{LOADS}, with which it crashes.")),
        (host(said=None), ("problem", f"{LOADS}.")),
        (host(said=live(1)), GOES_ON),  # it works with them
        (host(said=live(0, import_error="ModuleNotFoundError: No module named 'sympy'")), GOES_ON),
        (host(need(version="2026.0")), GOES_ON),  # the same release
        (host(need(version="2026.0.1")), GOES_ON),
        (host(need(path=f"{OWN}/libur_loader.so.0", version="2026.0.0")), GOES_ON),  # the environment's lib is first
        (host(need(how="RPATH")), GOES_ON),
        (host(need(wheel=None, wheel_version=None)), GOES_ON),  # a build that wants the system's
        (host(need("libmkl_sycl_blas.so.5")), GOES_ON),  # lists no GPUs
        (host(pci=()), GOES_ON),  # nothing to find
        (host(need(version=None)), ("unknown", f"the release of {FOLDER}/libur_loader.so.0 is not known")),
        (host(need(version=None), said=live(1)), GOES_ON),
        (host(said=live(available=WHY)), ("unknown", "not read")),
        (host(pythons__0__frameworks__0__needs=WHY), ("unknown", "not read")),
        (nvidia_host(), ("skipped", "")),
    ],
)
def test_oneapi_shadowed(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(oneapi_shadowed, facts) == [verdict]


def test_only_what_fails_here_is_an_error() -> None:
    severities = [run(oneapi_shadowed, facts)[0].severity for facts in (host(), host(said=None))]
    assert severities == [Severity.ERROR, Severity.ADVICE]


def test_outside_a_container_oneapi_is_taken_off_the_path() -> None:
    without, shell = run(oneapi_shadowed, host())[0].fixes
    assert without.commands == ("export LD_LIBRARY_PATH=/usr/local/lib",)
    assert "setvars.sh" in shell.message


def test_in_a_container_the_environment_comes_first() -> None:
    facts = host(host__container="docker")
    first, without = run(oneapi_shadowed, facts)[0].fixes
    assert first.commands == ("export LD_LIBRARY_PATH=/opt/env/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",)
    assert "the image (ENV)" in first.message
    assert "Compose" in first.message
    assert without.commands == ("export LD_LIBRARY_PATH=/usr/local/lib",)


def test_conda_has_too_much_in_its_lib_for_other_programs() -> None:
    conda = (CondaPackage(name="python", version="3.11", build="h1_0"),)
    facts = change(host(host__container="docker"), "pythons.0.conda", conda)
    assert [fix.commands for fix in run(oneapi_shadowed, facts)[0].fixes] == [
        ("export LD_LIBRARY_PATH=/usr/local/lib",)
    ]


def test_it_explains_that_pytorch_finds_nothing() -> None:
    facts = host()
    (finding,) = findings([*run(oneapi_shadowed, facts), *run(no_gpu, facts), *run(shadowed_by_path, facts)])[0]
    assert (finding.root.check.id, len(finding.consequences)) == ("libraries.oneapi-shadowed", 1)


def test_what_no_library_could_open_comes_first() -> None:
    facts = host(intel__render=(CLOSED,))
    (finding,) = findings([*run(oneapi_shadowed, facts), *run(no_gpu, facts), *run(render_node_closed, facts)])[0]
    assert finding.root.check.id == "intel.render-node-closed"
