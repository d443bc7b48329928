"""ROCm in WSL 2, through /dev/dxg."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.rocm.wsl_runtime import wsl_runtime
from gpudoctor.facts import Facts, Package, Rocminfo, RocrAgent
from gpudoctor.facts.host import Distribution
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, framework, library, live, nvidia_host, plain_host, python
from tests.checks.rocm.test_rocm import commands

WHY = Unknown("not to be seen")


def windows(env: dict[str, str] | None = None, hip: str = "7.2.1", **changes: Any) -> Facts:
    """WSL 2 with a PyTorch for ROCm that finds no GPU."""
    torch = framework(
        "torch",
        "2.9.0+rocm7.2",
        cuda=None,
        hip=hip,
        variant="rocm",
        live=live(0, error="No HIP GPUs are available"),
    )
    facts = change(plain_host(pythons=(python(torch),)), "host.wsl", 2)
    facts = change(change(facts, "host.environment", env or {}), "amd.dxg", True)
    for name, value in changes.items():
        facts = change(facts, f"amd.{name}", value)
    return facts


SEES = "PyTorch 2.9.0+rocm7.2 sees no GPU through /dev/dxg: "
PATH = "/opt/rocm/bin/rocminfo"
NONE = (Rocminfo(path=PATH),)
FAILED = Rocminfo(path=PATH, status="HSA_STATUS_ERROR_OUT_OF_RESOURCES", lines=("ROCR: unsupported GPU",))
CLOSED = Rocminfo(path=PATH, lines=("Unable to open /dev/kfd read-write: No such file or directory",))
ITSELF = "itself lists none (rocminfo), so this release for WSL or the Windows driver does not support the card."
ON, OFF = {"HSA_ENABLE_DXG_DETECTION": "1"}, {"HSA_ENABLE_DXG_DETECTION": "0"}
OFF_PATH: dict[str, Any] = {"rocdxg": True, "rocdxg_off_path": "/opt/rocm/lib"}
ELSEWHERE = "librocdxg.so is in /opt/rocm/lib, where the loader does not look."


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (windows(rocdxg=False), ("problem", f"{SEES}librocdxg.so is not installed.")),
        (windows(rocdxg=True), ("problem", f"{SEES}HSA_ENABLE_DXG_DETECTION is not set to 1.")),
        (windows(ON, rocdxg=True), ("problem", f"{SEES}the HSA runtime that it loads does not find it.")),
        (windows(ON, **OFF_PATH), ("problem", f"{SEES}{ELSEWHERE}")),
        (windows(**OFF_PATH), ("problem", f"{SEES}{ELSEWHERE}")),
        (windows(hip="7.13.99004", **OFF_PATH), ("problem", f"{SEES}{ELSEWHERE}")),
        (windows(rocdxg=True, rocdxg_off_path=None), ("problem", f"{SEES}HSA_ENABLE_DXG_DETECTION is not set to 1.")),
        (windows(rocdxg=True, rocdxg_off_path=WHY), ("problem", f"{SEES}HSA_ENABLE_DXG_DETECTION is not set to 1.")),
        # From 7.13 on the runtime looks for the device by itself.
        (
            windows(hip="7.13.99004", rocdxg=True, rocdxg_off_path=None),
            ("problem", f"{SEES}the HSA runtime that it loads does not find it."),
        ),
        (
            windows(OFF, hip="7.13.99004", rocdxg=True, rocdxg_off_path=None),
            ("problem", f"{SEES}HSA_ENABLE_DXG_DETECTION is not set to 1."),
        ),
        # A runtime of before librocdxg does not look for it.
        (windows(rocm="6.3.4", rocminfo=NONE, **OFF_PATH), ("problem", f"{SEES}ROCm 6.3.4 {ITSELF}")),
        (change(windows(**OFF_PATH), "pythons.0.frameworks.0.live.available", True), ("pass", "")),
        (
            windows(rocdxg=False, rocm="6.4.2"),
            ("problem", f"{SEES}the HSA runtime that it loads does not find it."),
        ),
        (windows(rocdxg=False, rocm="7.2.1"), ("problem", f"{SEES}librocdxg.so is not installed.")),
        (windows(rocdxg=False, rocm="6.3.4", rocminfo=NONE), ("problem", f"{SEES}ROCm 6.3.4 {ITSELF}")),
        (windows(ON, rocdxg=True, rocm="7.2.1", rocminfo=NONE), ("problem", f"{SEES}ROCm 7.2.1 {ITSELF}")),
        (
            windows(rocdxg=False, rocm="5.2.3"),
            ("problem", f"{SEES}ROCm 5.2.3 does not support WSL; 6.1.3 is the first that does."),
        ),
        (windows(rocm="6.1"), ("problem", f"{SEES}the HSA runtime that it loads does not find it.")),
        # Without the way to the device rocminfo finds nothing either.
        (windows(rocdxg=False, rocm="7.2.1", rocminfo=NONE), ("problem", f"{SEES}librocdxg.so is not installed.")),
        (windows(rocdxg=False, rocm="6.3.4", rocminfo=(FAILED,)), ("problem", f"{SEES}ROCm 6.3.4 {ITSELF}")),
        # what ROCm for WSL never looks for
        (
            windows(rocdxg=False, rocm="6.3.4", rocminfo=(CLOSED,)),
            ("problem", f"{SEES}ROCm 6.3.4 is the one for native Linux: rocminfo asks for /dev/kfd."),
        ),
        *(
            (windows(env, rocdxg=False, rocm="6.3.4", rocminfo=NONE), ("problem", f"{SEES}{reason}."))
            for env, reason in (
                ({"ROCR_VISIBLE_DEVICES": "-1"}, "ROCR_VISIBLE_DEVICES=-1 may hide it"),
                ({"ROCR_VISIBLE_DEVICES": ""}, "ROCR_VISIBLE_DEVICES= may hide it"),
                ({"HIP_VISIBLE_DEVICES": "1"}, "HIP_VISIBLE_DEVICES=1 may hide it"),
                ({"CUDA_VISIBLE_DEVICES": "-1"}, "CUDA_VISIBLE_DEVICES=-1 may hide it"),
                ({"ROCR_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": ""}, f"ROCm 6.3.4 {ITSELF}"[:-1]),
            )
        ),
        # the mask comes after what no GPU is reached without
        (
            windows({"ROCR_VISIBLE_DEVICES": "-1"}, rocdxg=False, rocm="7.2.1"),
            ("problem", f"{SEES}librocdxg.so is not installed."),
        ),
        *(
            (
                windows(rocdxg=False, rocm="6.3.4", rocminfo=found),
                ("problem", f"{SEES}the HSA runtime that it loads does not find it."),
            )
            for found in (WHY, (), (Rocminfo(path=PATH, agents=(RocrAgent(gfx="gfx1100"),)),))
        ),
        (change(windows(rocdxg=False), "pythons.0.frameworks.0.live.available", True), ("pass", "")),
        (windows(dxg=False), ("pass", "")),  # wsl.no-dxg
        (windows(dxg=WHY), ("unknown", "not to be seen")),
        (change(windows(), "pythons.0.frameworks.0.live.available", WHY), ("unknown", "not to be seen")),
    ],
)
def test_wsl_runtime(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(wsl_runtime, facts) == [verdict]


def test_wsl_with_nvidia_or_without_wsl_is_no_matter_of_rocm() -> None:
    geforce = change(windows(), "nvidia.cuda.libraries", (library("libcuda.so.1"),))
    for facts in (geforce, change(windows(), "host.wsl", None), nvidia_host()):
        assert ask(wsl_runtime, facts) == [("skipped", "")]


def test_wsl_asks_frameworks_for_rocm_alone() -> None:
    cuda = change(windows(rocdxg=False), "pythons.0.frameworks.0.hip", None)
    assert ask(wsl_runtime, cuda) == [("skipped", "")]
    (verdict,) = run(wsl_runtime, windows(rocdxg=False))
    assert verdict.problem is not None
    assert verdict.problem.evidence == ("No HIP GPUs are available",)


def test_wsl_fixes_begin_with_what_is_missing() -> None:
    assert commands(wsl_runtime, windows(rocdxg=True))[0] == "export HSA_ENABLE_DXG_DETECTION=1"
    assert "libhsa-runtime64.so.off" in commands(wsl_runtime, windows(ON, rocdxg=True))[0]
    assert commands(wsl_runtime, windows(rocdxg=False))[0] == "sudo ldconfig"


def test_the_loader_is_shown_where_the_library_is() -> None:
    conf = "echo /opt/rocm/lib | sudo tee /etc/ld.so.conf.d/librocdxg.conf"
    shell = "export LD_LIBRARY_PATH=/opt/rocm/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    asks = "export HSA_ENABLE_DXG_DETECTION=1"
    found = commands(wsl_runtime, windows(hip="7.13.99004", **OFF_PATH))
    assert found == [conf, "sudo ldconfig", shell]
    assert commands(wsl_runtime, windows(**OFF_PATH)) == [conf, "sudo ldconfig", asks, shell, asks]
    nixos = change(windows(ON, **OFF_PATH), "host.distribution", Distribution(id="nixos"))
    assert commands(wsl_runtime, nixos) == [shell]


def test_no_file_is_moved_that_the_wheel_does_not_have() -> None:
    assert commands(wsl_runtime, windows(hip="7.13.99004", rocdxg=True)) == ["sudo ldconfig"]
    sdk = Package(name="rocm-sdk-core", version="7.10.0", directory="/opt/env/lib")
    older = change(windows(ON, hip="7.10.0", rocdxg=True), "pythons.0.packages", (sdk,))
    assert commands(wsl_runtime, older) == ["sudo ldconfig"]


def test_a_mask_is_unset_and_nothing_is_uninstalled() -> None:
    masked = windows({"ROCR_VISIBLE_DEVICES": "-1"}, rocm="6.3.4", rocminfo=NONE)
    assert commands(wsl_runtime, masked) == ["unset ROCR_VISIBLE_DEVICES"]


def test_a_release_without_support_for_the_card_is_replaced() -> None:
    old = windows(rocm="6.3.4", rocminfo=NONE)
    ubuntu = change(old, "host.distribution", Distribution(id="ubuntu", like=("debian",), version="22.04"))
    assert commands(wsl_runtime, ubuntu)[:4] == [
        "sudo amdgpu-install -y --uninstall",
        "wget https://repo.radeon.com/amdgpu-install/6.4.2.1/ubuntu/jammy/amdgpu-install_6.4.60402-1_all.deb",
        "sudo apt-get install -y ./amdgpu-install_6.4.60402-1_all.deb",
        "sudo amdgpu-install -y --usecase=wsl,rocm --no-dkms",
    ]
    other = change(old, "host.distribution", Distribution(id="debian", like=(), version="12"))
    assert commands(wsl_runtime, other) == ["wsl.exe --shutdown"]
    (verdict,) = run(wsl_runtime, other)
    assert "RX 9060, RX 7800 XT and RX 7700 XT from ROCm 6.4.1 and Adrenalin 25.6.1 on" in verdict.fixes[0].message
    assert commands(wsl_runtime, windows(rocm="6.4.1", rocminfo=NONE)) == ["wsl.exe --shutdown"]
    (verdict,) = run(wsl_runtime, windows(rocm="5.2.3"))
    assert verdict.fixes[0].message.startswith("Update ROCm for WSL to ")
