"""Native Windows: adapters, drivers, libraries, and what frameworks have no build for."""

# ruff: noqa: E501 - a sentence that is compared stays on one line.

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, judge, run
from gpudoctor.facts import (
    Adapter,
    Distribution,
    Facts,
    Framework,
    Kernel,
    LiveFramework,
    Nvidia,
    Nvml,
    Package,
    Windows,
)
from gpudoctor.knowledge import windows as nt
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import ask, card, change, framework, gpu, host, live, plain_host, python

CHECKS = {one.id: one for one in catalogue.load()}
WINDOWS = Distribution(id="windows", version=None, codename=None, name="Windows 11 Pro")
UNREADABLE = Unknown("not to be read")
PATH = "C:/env/Scripts/python.exe"
RTX = Adapter(name="NVIDIA GeForce RTX 4090", vendor="10de", device="2684", driver="32.0.15.5222", problem=0)
UHD = Adapter(name="Intel(R) UHD Graphics 770", vendor="8086", device="4680", driver="31.0", problem=0)
RADEON = Adapter(name="AMD Radeon RX 7900 XTX", vendor="1002", device="744c", driver="32.0", problem=0)
REMOTE = Adapter(name="Microsoft Remote Display Adapter", problem=0)
UHD_CARD = card(
    name="Intel(R) UHD Graphics 770",
    vendor="8086",
    device="4680",
    address="adapter 1",
    integrated=True,
    driver="31.0",
    capability=None,
)
RADEON_CARD = card(
    vendor="1002", device="744c", address="adapter 0", name="AMD Radeon RX 7900 XTX", gfx="gfx1100", capability=None
)


def windows(*frameworks: Framework, packages: tuple[str, ...] = (), **changes: Any) -> Facts:
    """A healthy PC with an RTX 4090, Intel's graphics, and an environment."""
    found = tuple(Package(name=n, version=v, directory="/x") for n, v in (p.split("==") for p in packages))
    site = "C:/env/Lib/site-packages"
    own = python(
        *frameworks, path=PATH, prefix="C:/env", base_prefix="C:/Python312", packages=found, site_packages=site
    )
    facts = plain_host(
        host=host(system="Windows", distribution=WINDOWS, kernel=Kernel(release="10.0.26100")), pci=(card(), UHD_CARD), gpus=(gpu(),), pythons=(own,),
        nvidia=Nvidia(nvml=Nvml(code=0, driver_version="552.22", cuda_version="12.4", count=1)),
        windows=Windows(adapters=(RTX, UHD, REMOTE), long_paths=False, vc_runtime="14.44.35211"),
    )  # fmt: skip
    for path, value in changes.items():
        facts = change(facts, path.replace("__", "."), value)
    return facts


def plain_pc(*frameworks: Framework, **changes: Any) -> Facts:
    """A PC with Intel's graphics alone."""
    nothing: dict[str, Any] = {"pci": (UHD_CARD,), "gpus": (), "nvidia": Nvidia(), "windows__adapters": (UHD,)}
    return windows(*frameworks, **(nothing | changes))


def radeon_pc(*frameworks: Framework, **changes: Any) -> Facts:
    return plain_pc(*frameworks, **({"pci": (RADEON_CARD,), "windows__adapters": (RADEON,)} | changes))


def verdicts(name: str, facts: Facts) -> list[tuple[str, str]]:
    return ask(CHECKS[name], facts)


def problems(facts: Facts) -> list[tuple[str, str]]:
    return [(v.check.id, v.severity.value) for v in judge(facts, CHECKS.values()) if v.outcome is Outcome.PROBLEM]


CPU = framework(version="2.9.1+cpu", variant="cpu", cuda=None, archs=(), live=live(0))
CUDA = framework(version="2.9.1+cu126", archs=("sm_80", "sm_86", "sm_90"))
TENSORFLOW = framework("tensorflow", "2.19.0", variant="cpu", cuda=None, archs=(), live=live(0))
JAX = framework("jax", "0.7.0", variant="cpu", cuda=None, plugin=None, archs=(), live=live(0))


@pytest.mark.parametrize(
    "facts",
    [windows(CUDA), windows(), plain_pc(CPU), plain_pc(TENSORFLOW), plain_pc(JAX), plain_pc(), radeon_pc(),
     windows(CUDA, TENSORFLOW), windows(windows=Windows())],
)  # fmt: skip
def test_a_healthy_pc_hears_nothing(facts: Facts) -> None:
    assert problems(facts) == []
    assert [v for v in judge(facts, CHECKS.values()) if v.outcome is Outcome.BROKEN] == []


def test_what_has_no_build_for_windows_is_sent_to_wsl() -> None:
    (found,) = [v for v in judge(windows(TENSORFLOW), CHECKS.values()) if v.problem]
    assert found.check.id == "tensorflow.cpu-build"
    assert "WSL 2" in found.fixes[0].message
    (found,) = [v for v in judge(windows(JAX), CHECKS.values()) if v.problem]
    assert (found.check.id, found.severity.value) == ("jax.cpu-only", "warn")
    assert "WSL 2" in found.fixes[0].message


def test_a_driver_that_is_too_old_is_told_with_the_number_of_windows() -> None:
    facts = windows(framework(version="2.9.1+cu130", cuda="13.0", archs=("sm_89",), live=live(0)))
    (found,) = [v for v in judge(facts, CHECKS.values()) if v.check.id == "pytorch.driver-too-old"]
    assert any("https://www.nvidia.com/en-us/drivers/" in fix.message for fix in found.fixes)
    assert not any("apt" in command for fix in found.fixes for command in fix.commands)


@pytest.mark.parametrize(
    ("adapter", "message", "severity"),
    [
        ({"problem": 0}, "", ""),
        ({"problem": None}, "", ""),
        ({"problem": 43}, "NVIDIA GeForce RTX 4090 has error code 43: it reported problems, and Windows stopped it.",
         "fail"),
        ({"problem": 22}, "NVIDIA GeForce RTX 4090 has error code 22: it is disabled.", "warn"),
        ({"problem": 45}, "", ""),
        ({"problem": 28}, "", ""),
    ],
)  # fmt: skip
def test_adapter_stopped(adapter: dict[str, Any], message: str, severity: str) -> None:
    facts = windows(windows__adapters=(Adapter(**({"name": RTX.name, "vendor": "10de"} | adapter)), UHD, REMOTE))
    (one, other) = run(CHECKS["windows.adapter-stopped"], facts)
    assert (one.message, one.severity.value if one.problem else "") == (message, severity)
    assert other.outcome is Outcome.PASS
    assert not one.problem or one.fixes


def test_graphics_of_the_processor_may_be_disabled() -> None:
    facts = windows(windows__adapters=(Adapter(name="UHD", vendor="8086", problem=22),))
    assert verdicts("windows.adapter-stopped", facts) == [("pass", "")]
    assert verdicts("windows.adapter-stopped", windows(windows__adapters=UNREADABLE)) == [("unknown", "not to be read")]


@pytest.mark.parametrize("code", [12, 14, 22, 43])
def test_each_code_has_its_own_fix(code: int) -> None:
    fixes = {c: CHECKS["windows.adapter-stopped"].fixes_for(_on(c))[0].message for c in (12, 14, 22, 43)}
    assert len(set(fixes.values())) == 4
    assert nt.meaning(code)


def _on(code: int) -> Any:
    facts = windows(windows__adapters=(Adapter(name="X", vendor="10de", problem=code),))
    return next(iter(CHECKS["windows.adapter-stopped"].targets(facts)))[1]


BASIC = Adapter(name="Microsoft Basic Display Adapter", vendor="10de", device="2684", problem=0)


@pytest.mark.parametrize(
    ("adapter", "verdict"),
    [
        (RTX, ("pass", "")),
        (BASIC, ("problem", "A GPU from NVIDIA (10de:2684) runs without NVIDIA's driver.")),
        (Adapter(name="3D Video Controller", vendor="10de", device="2684", problem=28),
         ("problem", "A GPU from NVIDIA (10de:2684) runs without NVIDIA's driver.")),
    ],
)  # fmt: skip
def test_driver_missing(adapter: Adapter, verdict: tuple[str, str]) -> None:
    assert verdicts("windows.driver-missing", windows(windows__adapters=(adapter,))) == [verdict]
    assert verdicts("windows.driver-missing", windows(windows__adapters=UNREADABLE)) == [("unknown", "not to be read")]


DLL = "PyTorch 2.9.1+cpu does not import (DLL load failed); the Visual C++ runtime"
ERROR = 'OSError: [WinError 126] The specified module could not be found. Error loading "C:\\torch\\lib\\{}" or one of'


def failed(dll: str, version: str = "2.9.1+cpu", error: str = ERROR) -> Framework:
    return framework(version=version, variant="cpu", cuda=None, archs=(),
                     live=LiveFramework(stage="import", import_error=error.format(dll)))  # fmt: skip


@pytest.mark.parametrize(
    ("found", "runtime", "message"),
    [
        (failed("c10.dll"), None, f"{DLL} is not installed."),
        (failed("c10.dll"), "14.28.29914", f"{DLL} is 14.28.29914, which is older than current frameworks are compiled "
         "with."),
        (failed("c10.dll"), "14.44.35211", f"{DLL} is 14.44.35211."),
        (failed("c10.dll"), UNREADABLE, f"{DLL} is of an unknown version."),
        (failed("fbgemm.dll", "2.4.0+cu124"), "14.44.35211", f"{DLL.replace('2.9.1+cpu', '2.4.0+cu124')} is "
         "14.44.35211, and PyTorch 2.4.0 also needs a Visual Studio library (libomp140)."),
        (failed("", error="ImportError: cannot import name 'x'"), None, ""),
        (CPU, None, ""),
    ],
)  # fmt: skip
def test_dll_not_loaded(found: Framework, runtime: Any, message: str) -> None:
    expected = [("problem", message) if message else ("pass", "")]
    assert verdicts("windows.dll-not-loaded", plain_pc(found, windows__vc_runtime=runtime)) == expected


def test_the_frameworks_own_failure_follows_from_it() -> None:
    facts = plain_pc(failed("c10.dll"), windows__vc_runtime=None)
    report = build(facts, list(judge(facts, CHECKS.values())))
    (found,) = report.findings
    assert found.check == "windows.dll-not-loaded"
    assert [one.check for one in found.consequences] == ["pytorch.import-fails"]
    assert "winget install" in found.fixes[0].commands[0]


DEEP = (
    "C:/Users/ada/AppData/Local/Packages/PythonSoftwareFoundation.Python.3.12_qbz5n2kfra8p0/LocalCache/local-packages/"
    "Python312/site-packages"
)


@pytest.mark.parametrize(
    ("long_paths", "folder", "verdict"),
    [
        (True, DEEP, ("pass", "")),
        (False, "C:/env/Lib/site-packages", ("pass", "")),
        (False, DEEP, ("problem", f"The site-packages path of {PATH} (Python from the Microsoft Store) has {len(DEEP)} "
                       f"characters: {DEEP}.")),
        (UNREADABLE, DEEP, ("unknown", "not to be read")),
        (False, UNREADABLE, ("unknown", "not to be read")),
    ],
)  # fmt: skip
def test_long_paths_off(long_paths: Any, folder: Any, verdict: tuple[str, str]) -> None:
    facts = windows(windows__long_paths=long_paths, pythons__0__site_packages=folder)
    assert verdicts("windows.long-paths-off", facts) == [verdict]
    installed = windows(CPU, windows__long_paths=long_paths, pythons__0__site_packages=folder)
    assert verdicts("windows.long-paths-off", installed) == [("pass", "")]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (radeon_pc(CPU), ("problem", "PyTorch 2.9.1+cpu is a CPU-only build, so AMD Radeon RX 7900 XTX is not used.")),
        (radeon_pc(CPU, pci__0__gfx="gfx1030"), ("pass", "")),
        (radeon_pc(CPU, packages=("torch-directml==0.2.5",)), ("pass", "")),
        (radeon_pc(framework(variant="rocm", cuda=None, hip="7.2")), ("pass", "")),
        (plain_pc(CPU), ("pass", "")),
        (windows(CPU), ("pass", "")),
        (radeon_pc(CPU, pci=UNREADABLE), ("unknown", "not to be read")),
        (radeon_pc(framework(variant=UNREADABLE)), ("unknown", "not to be read")),
    ],
)  # fmt: skip
def test_torch_not_for_amd(facts: Facts, verdict: tuple[str, str]) -> None:
    assert verdicts("windows.torch-not-for-amd", facts) == [verdict]
    assert not [one for one in problems(facts) if one[0].startswith(("rocm", "pytorch.wrong"))]


def test_elsewhere_nobody_is_asked() -> None:
    facts = windows(CPU, host__system="Linux")
    asked = [v.check.id for v in judge(facts, CHECKS.values()) if v.outcome is not Outcome.SKIPPED]
    assert [id_ for id_ in asked if id_.startswith("windows.")] == []
