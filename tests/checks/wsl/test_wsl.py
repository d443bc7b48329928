"""Checks of GPUs under WSL and in Hyper-V guests."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Check, Severity, judge, run
from gpudoctor.checks.cuda.nvvm_missing import nvvm_missing
from gpudoctor.checks.packages.import_fails import import_fails
from gpudoctor.checks.wsl.access_blocked import access_blocked
from gpudoctor.checks.wsl.host_files_incomplete import host_files_incomplete
from gpudoctor.checks.wsl.library_too_old import library_too_old
from gpudoctor.checks.wsl.linux_driver_installed import linux_driver_installed
from gpudoctor.checks.wsl.no_cgroups import no_cgroups
from gpudoctor.checks.wsl.no_dxg import no_dxg
from gpudoctor.checks.wsl.no_gpu_listed import no_gpu_listed
from gpudoctor.checks.wsl.smi_not_on_path import smi_not_on_path
from gpudoctor.checks.wsl.version_1 import version_1
from gpudoctor.facts import ContainerHost, DeviceNode, Facts, Package, PackageImport, Toolkits, Wsl
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from gpudoctor.root_causes import findings
from tests.builders import ask, change, framework, library, nvidia_host, plain_host, python, with_framework

ALL: tuple[Check[Any], ...] = (
    access_blocked,
    host_files_incomplete,
    library_too_old,
    linux_driver_installed,
    no_cgroups,
    no_dxg,
    no_gpu_listed,
    smi_not_on_path,
    version_1,
)
WHY = Unknown("not to be seen")
LIB = "/usr/lib/wsl/lib"
STORE = ("nv_dispi.inf_amd64_0afec3f2050014a0",)


def wsl(**changes: Any) -> Facts:
    """A healthy WSL 2 with PyTorch; changes are paths with "__" for the dots."""
    facts = with_framework(framework(), nvidia_host(pci=()))
    plain: dict[str, Any] = {
        "host.wsl": 2,
        "host.platform": "wsl",
        "host.kernel.release": "5.15.167.4-microsoft-standard-WSL2",
        "host.environment": {"WSL_DISTRO_NAME": "Ubuntu", "PATH": f"/usr/bin:{LIB}"},
        "nvidia.kernel.loaded": None,
        "nvidia.kernel.nodes": (DeviceNode(path="/dev/dxg", mode="666", error=None),),
        "nvidia.kernel.packages": (),
        "nvidia.kernel.wsl_drivers": STORE,
        "nvidia.kernel.dxgdmal": True,
        "nvidia.cuda.libraries": (wsl_library("libcuda.so.1"),),
        "nvidia.nvml.libraries": (wsl_library("libnvidia-ml.so.1"),),
        "nvidia.nvml.smi": f"{LIB}/nvidia-smi",
        "containers": ContainerHost(docker=None, no_cgroups=None),
        "wsl": Wsl(gpu=True, ldconfig=True),
    }
    for path, value in (plain | {k.replace("__", "."): v for k, v in changes.items()}).items():
        facts = change(facts, path, value)
    return facts


def wsl_library(soname: str) -> Any:
    """A library of the Windows driver."""
    return library(soname, None, path=f"{LIB}/{soname}", real=f"{LIB}/{soname}", kind="wsl")


def said(facts: Facts) -> dict[str, str]:
    """The problems that the checks see: id and sentence."""
    return {
        c.id.removeprefix("wsl."): message for c in ALL for outcome, message in ask(c, facts) if outcome == "problem"
    }


# A card in the driver model TCC: nothing is broken for NVML but that there is no GPU.
TCC: dict[str, Any] = {"gpus": (), "nvidia__nvml__count": 0, "nvidia__cuda__code": 100}
DOCKER = ContainerHost(docker="/usr/bin/docker", docker_desktop=False, docker_rootless=False, no_cgroups=True)
UTILS = (("nvidia-utils-510", "510.60.02", "ii"), ("nvidia-container-toolkit", "1.17", "ii"))
BROKEN: dict[str, Any] = {"nvidia__nvml__code": 17, "nvidia__cuda__code": 100, "nvidia__nvml__text": "blocked"}
# A guest of Hyper-V with a share of the GPU: no WSL, but /dev/dxg.
GUEST: dict[str, Any] = {"host__wsl": None, "host__platform": "vm", "host__kernel__release": "6.8.0-52-generic"}


@pytest.mark.parametrize(
    "facts",
    [
        nvidia_host(),
        plain_host(),
        wsl(),
        wsl(nvidia__kernel__packages=(("libnvidia-container1", "1.17", "ii"), ("nvidia-utils-510", "510.60", "rc"))),
        wsl(containers=ContainerHost(docker="/usr/bin/docker", docker_desktop=True, no_cgroups=True)),
        wsl(host__container="docker", nvidia__kernel__wsl_drivers=None),
        wsl(nvidia__kernel__dxgdmal=False),  # drivers before 555 have none
        wsl(**GUEST),
        wsl(nvidia__kernel__wsl_drivers=()),  # NVML responds
        wsl(**TCC, host__container="docker"),  # that no GPU was passed is another matter
        wsl(**TCC, nvidia__cuda__unmasked_code=0),
        wsl(**TCC | {"nvidia__cuda__code": 0}),
        wsl(nvidia__cuda__code=100),  # NVML has its GPU
    ],
)
def test_healthy(facts: Facts) -> None:
    assert said(facts) == {}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            wsl(host__wsl=1, host__kernel__release="4.4.0-19041-Microsoft", nvidia__kernel__nodes=()),
            {
                "version-1": "This distribution runs under WSL 1 (kernel 4.4.0-19041-Microsoft), which has no access "
                "to the GPU."
            },
        ),
        *(  # the libraries, or a framework alone: each wants the device
            (
                wsl(nvidia__kernel__nodes=(), **others),
                {
                    "no-dxg": "WSL 2 runs kernel 5.15.167.4-microsoft-standard-WSL2 and has no /dev/dxg: no program "
                    "can reach the GPU."
                },
            )
            for others in ({"pythons": ()}, {"nvidia__cuda__libraries": (), "nvidia__nvml__libraries": ()})
        ),
        (
            wsl(nvidia__kernel__nodes=(), host__kernel__release="6.6.1-custom"),
            {
                "no-dxg": "WSL 2 runs kernel 6.6.1-custom (not Microsoft's) and has no /dev/dxg: no program can reach "
                "the GPU."
            },
        ),
        (
            wsl(nvidia__kernel__packages=UTILS, **(BROKEN | {"nvidia__nvml__code": 9})),
            {
                "linux-driver-installed": "A Linux driver is installed in this WSL distribution: nvidia-utils-510 "
                "510.60.02."
            },
        ),
        (
            wsl(**TCC),
            {
                "no-gpu-listed": "NVML starts in WSL and lists no GPU: Windows offers no NVIDIA GPU in the driver "
                "model WDDM."
            },
        ),
        (
            wsl(nvidia__cuda__code=100, gpus__0__status=WHY),
            {
                "no-gpu-listed": "NVML starts in WSL and can open none of its GPUs (1): Windows offers no NVIDIA GPU "
                "in the driver model WDDM."
            },
        ),
        (
            wsl(nvidia__kernel__wsl_drivers=(), **BROKEN, **GUEST),
            {
                "host-files-incomplete": "The host's driver files are incomplete in this guest: /usr/lib/wsl/drivers "
                "has no directory of NVIDIA's driver (nv_dispi.inf_amd64_*).",
                "access-blocked": "NVML cannot reach the GPU in WSL: GPU access blocked by the operating system (17).",
            },
        ),
        (
            wsl(**BROKEN),
            {"access-blocked": "NVML cannot reach the GPU in WSL: GPU access blocked by the operating system (17)."},
        ),
        (
            wsl(containers=DOCKER),
            {
                "no-cgroups": "no-cgroups is true in the NVIDIA Container Toolkit's configuration of this WSL "
                "distribution."
            },
        ),
        (
            wsl(nvidia__nvml__smi=None, nvidia__nvml__smi_elsewhere=f"{LIB}/nvidia-smi"),
            {"smi-not-on-path": "/usr/lib/wsl/lib/nvidia-smi exists, but /usr/lib/wsl/lib is not on PATH."},
        ),
        (
            wsl(host__container="docker", nvidia__cuda__code=500, nvidia__kernel__dxgdmal=False),
            {
                "library-too-old": "cuInit returns 500 (named symbol not found), and libnvdxgdmal.so.1 is not in this "
                "container."
            },
        ),
    ],
)
def test_problems(facts: Facts, message: dict[str, str]) -> None:
    assert said(facts) == message


@pytest.mark.parametrize(
    ("check", "facts"),
    [
        (access_blocked, wsl(nvidia__nvml__code=WHY)),
        (host_files_incomplete, wsl(nvidia__nvml__code=17, nvidia__kernel__wsl_drivers=WHY)),
        (library_too_old, wsl(nvidia__cuda__code=WHY)),
        (linux_driver_installed, wsl(nvidia__kernel__packages=UTILS, nvidia__cuda__code=WHY)),
        (no_cgroups, wsl(containers=ContainerHost(docker="/usr/bin/docker", no_cgroups=WHY))),
        (no_dxg, wsl(nvidia__kernel__nodes=WHY)),
        (no_gpu_listed, wsl(**TCC | {"nvidia__nvml__count": WHY})),
        (no_gpu_listed, wsl(**TCC | {"nvidia__cuda__code": WHY})),
        (no_gpu_listed, wsl(**TCC, nvidia__nvml__code=WHY)),
        (no_gpu_listed, wsl(nvidia__cuda__code=100, gpus__0__status=WHY, nvidia__cuda__unmasked_code=WHY)),
        (smi_not_on_path, wsl(nvidia__nvml__smi_elsewhere=WHY)),
    ],
)
def test_unknown(check: Check[Any], facts: Facts) -> None:
    assert ask(check, facts) == [("unknown", "not to be seen")]


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (wsl(**TCC), Severity.ERROR),  # PyTorch for CUDA is installed
        (wsl(**TCC, pythons=()), Severity.ADVICE),
        (wsl(**TCC, pythons=(python(framework(cuda=None, variant="cpu")),)), Severity.ADVICE),
        (wsl(nvidia__cuda__code=100, gpus__0__status=WHY, pythons=()), Severity.ERROR),  # a card is there
        (wsl(**TCC, nvidia__cuda__unmasked_code=WHY), Severity.ERROR),  # NVML reads no mask
    ],
)
def test_a_gpu_that_nobody_asks_for_may_be_off(facts: Facts, severity: Severity) -> None:
    assert [verdict.severity for verdict in run(no_gpu_listed, facts)] == [severity]


def test_a_card_in_tcc_explains_what_cuda_reports() -> None:
    (finding,) = build(wsl(**TCC), list(judge(wsl(**TCC), catalogue.load()))).findings
    assert finding.check == "wsl.no-gpu-listed"
    assert "nvidia-smi -g 0 -dm 0" in finding.fixes[0].commands


def test_a_linux_driver_that_does_no_harm_is_advice() -> None:
    facts = wsl(nvidia__kernel__packages=UTILS)
    assert [v.severity for v in run(linux_driver_installed, facts)] == [Severity.ADVICE]
    broken = wsl(nvidia__kernel__packages=UTILS, **BROKEN)
    fixes = [c for v in run(linux_driver_installed, broken) for fix in v.fixes for c in fix.commands]
    assert fixes[0] == "sudo apt-get purge nvidia-utils-510"


NO_DEVICE = "RuntimeError: Call to cuInit results in CUDA_ERROR_NO_DEVICE (100)"
UBUNTUS = library("libcuda.so", "560.35.05", kind="driver")


@pytest.mark.parametrize(
    ("packages", "error", "link", "severity"),
    [
        ("numba", NO_DEVICE, (UBUNTUS,), Severity.ERROR),
        ("numba-cuda", "ImportError: no module named x", (UBUNTUS,), Severity.WARNING),
        ("numba", None, (UBUNTUS, wsl_library("libcuda.so")), Severity.WARNING),
        ("numba", None, (wsl_library("libcuda.so"), UBUNTUS), Severity.ADVICE),
        ("numba", NO_DEVICE, (library("libcuda.so", found_by="not on the loader's path"),), Severity.ADVICE),
        ("numba", NO_DEVICE, (), Severity.ADVICE),
        ("numba", NO_DEVICE, WHY, Severity.ADVICE),
        ("torch", None, (UBUNTUS,), Severity.ADVICE),
    ],
)
def test_programs_that_open_libcuda_without_a_number(
    packages: str, error: str | None, link: Any, severity: Any
) -> None:
    one = PackageImport(package="cuml-cu12", version="24.12.0", module="cuml", error=error)
    own = python(packages=(Package(name=packages, version="0.60.0", directory="/v"),), imports=(one,))
    facts = wsl(nvidia__kernel__packages=UTILS, nvidia__link_libraries=link, pythons=(own,))
    (verdict,) = run(linux_driver_installed, facts)
    assert verdict.severity is severity
    assert (f"{packages} 0.60.0 open libcuda.so" in (verdict.message or "")) is (severity is not Severity.ADVICE)
    assert (NO_DEVICE in (verdict.problem.evidence if verdict.problem else ())) is (severity is Severity.ERROR)


def test_an_import_without_a_device_is_no_effect_of_missing_nvvm() -> None:
    names = (Package(name="numba-cuda", version="0.0.17", directory="/v"),)

    def under(error: str) -> set[str]:
        one = PackageImport(package="cuml-cu12", version="24.12.0", module="cuml", error=error)
        facts = wsl(pythons=(python(packages=names, imports=(one,)),), toolkits=Toolkits(installed=(), nvccs=()))
        verdicts = [v for check in (nvvm_missing, import_fails) for v in run(check, facts)]
        return {finding.root.check.id for finding in findings(verdicts)[0]}

    assert under(NO_DEVICE) == {"cuda.nvvm-missing", "packages.import-fails"}
    assert under("ImportError: libnvvm.so cannot be loaded") == {"cuda.nvvm-missing"}


@pytest.mark.parametrize("check", ALL)
def test_nobody_installs_a_linux_driver(check: Check[Any]) -> None:
    for facts in (wsl(**BROKEN), wsl(nvidia__kernel__nodes=()), wsl(nvidia__kernel__wsl_drivers=None, **BROKEN)):
        found = [c for v in run(check, facts) for fix in v.fixes for c in fix.commands]
        assert not any("install" in c and "nvidia-container-toolkit" not in c for c in found)


def test_wsl_1_has_no_pci_bus_to_speak_of() -> None:
    facts = wsl(host__wsl=1, nvidia__kernel__nodes=(), nvidia__nvml__code=9, nvidia__cuda__code=100, gpus=())
    found, _ = findings(
        judge(facts, catalogue.load(catalogue.select(catalogue.ids(), ("driver", "device", "wsl"), ())))
    )
    assert [f.root.check.id for f in found] == ["wsl.version-1"]
