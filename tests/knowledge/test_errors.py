"""What error numbers mean."""

import pytest

from gpudoctor.knowledge import errors


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (0, "CUDA_SUCCESS"),
        (34, "CUDA_ERROR_STUB_LIBRARY"),
        (100, "CUDA_ERROR_NO_DEVICE"),
        (209, "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        (802, "CUDA_ERROR_SYSTEM_NOT_READY"),
        (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        (804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
        (999, "CUDA_ERROR_UNKNOWN"),
    ],
)
def test_cuda_error(code: int, name: str) -> None:
    found = errors.cuda_error(code)
    assert found is not None
    assert found.name == name
    assert found.meaning


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (3, "NVML_ERROR_NOT_SUPPORTED"),
        (9, "NVML_ERROR_DRIVER_NOT_LOADED"),
        (15, "NVML_ERROR_GPU_IS_LOST"),
        (18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH"),
        (999, "NVML_ERROR_UNKNOWN"),
    ],
)
def test_nvml_error(code: int, name: str) -> None:
    found = errors.nvml_error(code)
    assert found is not None
    assert found.name == name


def test_nvml_codes_are_those_of_the_binding() -> None:
    pynvml = pytest.importorskip("pynvml")
    for code, found in errors._errors("nvml_errors").items():
        assert getattr(pynvml, found.name, code) == code


@pytest.mark.parametrize(
    ("code", "fault", "nvidia_action"),
    [
        (13, "application", "RESTART_APP"),
        (31, "application", "RESTART_APP"),
        (43, "application", "IGNORE"),
        (48, "hardware", "WORKFLOW_XID_48"),
        (79, "hardware", "RESTART_BM"),
        (95, "hardware", "RESET_GPU"),
        (119, "driver", "RESET_GPU"),
        (154, "informational", "XID_154"),
        (155, "informational", "RESET_GPU"),
        (125, "informational", None),
        (172, "hardware", None),
    ],
)
def test_xid(code: int, fault: str, nvidia_action: str | None) -> None:
    found = errors.xid(code)
    assert found is not None
    assert (found.fault, found.nvidia_action) == (fault, nvidia_action)
    assert found.meaning
    assert found.action


@pytest.mark.parametrize(("code", "severity"), [(20034, "fatal"), (10003, "always_fatal"), (19059, "non_fatal")])
def test_sxid(code: int, severity: str) -> None:
    found = errors.sxid(code)
    assert found is not None
    assert found.severity == severity


def test_nvlink5_error() -> None:
    text = "NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x025001c6 0x00000000 0x00000000 0x00000000)"
    found = errors.nvlink5_error_of(149, text)
    assert found == errors.NvlinkError("NETIR_LINK_EVT/NETIR_LINK_DOWN", "RESET_GPU", "Link Fatal")
    assert errors.nvlink5_error(144, 0b0000100001, 2) == errors.NvlinkError("SAW_MVB", "RESET_GPU", "Fatal")
    assert errors.nvlink5_error(144, 0b0000100001, 0x40000) is None
    assert errors.nvlink5_error_of(149, "no numbers") is None


def test_what_is_not_documented_is_none() -> None:
    assert errors.cuda_error(12345) is None
    assert errors.nvml_error(500) is None
    assert errors.xid(1) is None
    assert errors.sxid(1) is None
    assert errors.recovery_action(99) is None


def test_recovery() -> None:
    assert errors.recovery_action(0) == "NONE"
    assert errors.recovery_action(2) == "NODE_REBOOT"


def test_the_tables_are_whole() -> None:
    assert len(errors._errors("cuda_errors")) == 55
    assert len(errors._errors("nvml_errors")) == 32
    assert len(errors._xids()) == 132


def test_no_action_sends_the_reader_elsewhere() -> None:
    for found in errors._xids().values():
        assert "table" not in found.action
        assert not found.action.startswith("As ")
