"""What PyTorch is asked, on stand-ins for its builds."""

from types import SimpleNamespace
from typing import Any

import pytest

from gpudoctor.workers.ask_torch import ask
from tests.workers.standin import Kept, module, raises

H100 = SimpleNamespace(name="NVIDIA H100", major=9, minor=0, total_memory=85_000_000_000)
MI300 = SimpleNamespace(name="AMD Instinct MI300X", major=9, minor=4, gcnArchName="gfx942:sramecc+", total_memory=1)


def said(**attributes: Any) -> dict[str, Any]:
    teller = Kept()
    ask(teller, module(**attributes))
    return teller.said


def working(properties: Any, **attributes: Any) -> dict[str, Any]:
    return said(
        **{
            "cuda__is_available": lambda: True,
            "cuda__device_count": lambda: 1,
            "cuda__init": lambda: None,
            "cuda__get_device_properties": lambda _index: properties,
            "cuda__get_arch_list": lambda: ["sm_90"],
            "backends__cudnn__version": lambda: 92600,
            **attributes,
        }
    )


def test_lists_an_nvidia_gpu() -> None:
    facts = working(H100, version__cuda="12.8", version__hip=None)
    assert facts["built_for"] == "12.8"
    assert facts["devices"] == [
        {"index": 0, "name": "NVIDIA H100", "capability": "9.0", "gfx": None, "memory": 85_000_000_000}
    ]
    assert (facts["error"], facts["cudnn"], facts["archs"]) == (None, "9.26.0", ["sm_90"])


def test_gives_an_amd_gpu_its_target_and_no_capability_and_no_cudnn() -> None:
    facts = working(MI300, version__cuda=None, version__hip="6.4.43482")
    assert facts["built_for"] == "6.4.43482"
    assert (facts["devices"][0]["gfx"], facts["devices"][0]["capability"]) == ("gfx942", None)
    assert facts["cudnn"] is None


def test_asks_torch_xpu_in_a_build_for_intel() -> None:
    facts = said(
        version__cuda=None,
        version__xpu="20250101",
        xpu__is_available=lambda: False,
        xpu__device_count=lambda: 0,
        xpu__init=raises(RuntimeError("No XPU devices are available.")),
        cuda__get_arch_list=list,
    )
    assert facts["error"] == "No XPU devices are available."


def test_lists_devices_where_a_build_has_no_init() -> None:
    facts = said(
        version__cuda=None,
        version__xpu="20250302",
        xpu__is_available=lambda: True,
        xpu__device_count=lambda: 1,
        xpu__get_device_properties=lambda _index: SimpleNamespace(name="Intel Arc Pro B70", total_memory=1),
        cuda__get_arch_list=list,
    )
    assert (facts["error"], facts["devices"][0]["name"]) == (None, "Intel Arc Pro B70")


def test_keeps_the_exact_text_of_the_refusal() -> None:
    facts = working(H100, version__cuda="12.8", cuda__init=raises(RuntimeError("No CUDA GPUs are available")))
    assert (facts["error"], facts["devices"]) == ("No CUDA GPUs are available", [])


def test_takes_the_compiled_list_where_the_public_one_is_empty() -> None:
    facts = working(
        H100,
        version__cuda="11.8",
        cuda__get_arch_list=list,
        _C___cuda_getArchFlags=lambda: "sm_50 sm_90",
    )
    assert facts["archs"] == ["sm_50", "sm_90"]


@pytest.mark.parametrize(("number", "release"), [(8902, "8.9.2"), (8500, "8.5.0"), (90100, "9.1.0"), (92600, "9.26.0")])
def test_reads_cudnn_numbers(number: int, release: str) -> None:
    facts = working(H100, version__cuda="12.8", backends__cudnn__version=lambda: number)
    assert facts["cudnn"] == release


def test_tells_why_cudnn_does_not_load() -> None:
    facts = working(
        H100, version__cuda="11.8", backends__cudnn__version=raises(RuntimeError("cuDNN version incompatibility"))
    )
    assert facts["cudnn"] == {"unknown": "RuntimeError: cuDNN version incompatibility"}
    assert facts["cudnn_error"] == "cuDNN version incompatibility"


def test_goes_on_where_an_attribute_is_missing() -> None:
    facts = said(version__cuda="12.8", cuda__device_count=lambda: 1, cuda__init=lambda: None)
    assert "no attribute 'is_available'" in facts["available"]["unknown"]
    assert facts["count"] == 1
    assert "unknown" in facts["devices"]


@pytest.mark.parametrize("available", [True, False])
def test_asks_for_apples_gpu_on_macos(monkeypatch: pytest.MonkeyPatch, available: bool) -> None:
    monkeypatch.setattr("gpudoctor.workers.ask_torch.sys.platform", "darwin")
    facts = said(backends__mps__is_built=lambda: True, backends__mps__is_available=lambda: available)
    assert (facts["mps_built"], facts["available"], facts["count"]) == (True, available, int(available))
    assert [device["name"] for device in facts["devices"]] == ["mps"] * available
    assert (facts["error"], facts["archs"], facts["cudnn"]) == (None, [], None)


def test_a_pytorch_before_mps_is_asked_for_cuda_on_macos_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.workers.ask_torch.sys.platform", "darwin")
    facts = said(cuda__is_available=lambda: False, cuda__device_count=lambda: 0, cuda__get_arch_list=list)
    assert (facts["mps_built"], facts["available"]) == (None, False)


def test_an_error_of_mps_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.workers.ask_torch.sys.platform", "darwin")
    broken = raises(RuntimeError("Metal is gone"))
    facts = said(backends__mps__is_built=lambda: True, backends__mps__is_available=broken)
    assert facts["available"] == {"unknown": "RuntimeError: Metal is gone"}
    assert "count" not in facts


@pytest.mark.parametrize(
    ("version", "release"), [((2, 21, 5), "2.21.5"), ((2, 27, 5, "rc1"), "2.27.5"), (2708, "2.7.8"), (21003, "2.10.3")]
)
def test_reads_nccl_versions(version: object, release: str) -> None:
    found = {"_C___nccl_version": lambda: 0, "cuda__nccl__version": lambda: version}
    assert working(H100, version__cuda="12.8", **found)["nccl"] == release
    assert working(MI300, version__hip="6.4.43482", **found)["nccl"] == release


def test_a_build_without_nccl() -> None:
    assert working(H100, version__cuda="12.8")["nccl"] is None
