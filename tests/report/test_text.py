"""What a person reads, at the width of a terminal and in a log."""

from io import StringIO
from typing import Any

import msgspec
import pytest

from gpudoctor.report.model import (
    Consequence,
    FindingEntry,
    FixEntry,
    FrameworkEntry,
    GpuEntry,
    MachineEntry,
    PythonEntry,
    Report,
    Summary,
    UnknownEntry,
)
from gpudoctor.report.renderers.text import render

FINDING = FindingEntry(
    check="driver.library-mismatch",
    status="fail",
    subject="this machine",
    title="The loaded NVIDIA module and the NVIDIA libraries are of different versions",
    message="The kernel runs module 550.90.07, the libraries are 550.107.02.",
    cause="The driver was updated while its kernel module was loaded.",
    evidence=("/proc/driver/nvidia/version: 550.90.07",),
    fixes=(
        FixEntry(
            "Reboot.",
            ("sudo reboot",),
            action="reboot",
            root=True,
            needs="reboot",
            verify="nvidia-smi",
        ),
    ),
    run="gpudoctor fix driver.library-mismatch --with-root",
    consequences=(
        Consequence(check="pytorch.no-gpu", message="PyTorch 2.5.1 sees no GPU."),
        Consequence(check="a.b", message="The same."),
        Consequence(check="a.c", message="The same."),
    ),
    ruled_out=("driver.not-loaded",),
    references=("https://docs.nvidia.com/deploy/nvml-api/",),
)
PYTHON = PythonEntry(path="/opt/env/bin/python", version="3.11.7", kind="venv", manager="uv")
REPORT = Report(
    version="0.1.0",
    status="fail",
    seconds=1.26,
    summary=Summary(fail=1, warn=1, consequences=3, passed=64, skipped=40),
    machine=MachineEntry(
        system="Linux",
        distribution="Ubuntu 24.04.3 LTS",
        kernel="6.8.0-60-generic",
        architecture="x86_64",
        platform="bare",
        driver="550.90.07",
        driver_flavor="proprietary",
        driver_cuda="12.4",
    ),
    python=PYTHON,
    pythons=(PYTHON,),
    gpus=tuple(
        GpuEntry(index=i, vendor="nvidia", name="NVIDIA A100", capability="8.0", memory=80 << 30) for i in range(8)
    ),
    frameworks=(
        FrameworkEntry(
            name="torch", python=PYTHON.path, version="2.5.1", variant="cuda", built_for="12.4", sees=0, error="no"
        ),
        FrameworkEntry(name="jax", python=PYTHON.path, version="0.6.2", error="ImportError: x"),
        FrameworkEntry(name="cupy", python=PYTHON.path, version="13.4.1", variant="cuda", built_for="12", sees=8),
    ),
    findings=(FINDING,),
    unknown=(UnknownEntry(check="health.memory-held", subject="GPU 3", reason="NVML: Not Supported"),),
    next=("After the first fix, run `gpudoctor check` again.",),
)


def changed(**changes: Any) -> Report:
    return msgspec.structs.replace(REPORT, **changes)


def test_the_whole_text() -> None:
    assert (
        render(REPORT, width=80)
        == """\
gpudoctor 0.1.0
machine   Ubuntu 24.04.3 LTS, kernel 6.8.0-60-generic, x86_64
driver    NVIDIA 550.90.07 (proprietary), CUDA up to 12.4
GPUs      0-7  NVIDIA A100, 80 GiB, compute capability 8.0
Python    /opt/env/bin/python (3.11.7, venv, managed by uv)
          PyTorch 2.5.1           CUDA 12.4     sees no GPU
          JAX 0.6.2                             not importable
          CuPy 13.4.1             CUDA 12       sees 8 GPUs

FAIL      The loaded NVIDIA module and the NVIDIA libraries are of different
          versions
          The kernel runs module 550.90.07, the libraries are 550.107.02.
fix       Reboot.
            sudo reboot
          (needs root)
verify      nvidia-smi
cause     The driver was updated while its kernel module was loaded.
evidence  /proc/driver/nvidia/version: 550.90.07
effects   - PyTorch 2.5.1 sees no GPU.
          - The same. (2 times)
id        driver.library-mismatch
run       gpudoctor fix driver.library-mismatch --with-root

FAIL  1 failed, 1 warning, 3 consequences, 64 passed (1.3 s)
After the first fix, run `gpudoctor check` again.
"""
    )


def test_a_command_that_mends_and_shows_whether_it_helped_is_shown_once() -> None:
    fix = FixEntry("Run it again.", ("gpudoctor smoke matmul",), verify="gpudoctor smoke matmul")
    text = render(msgspec.structs.replace(REPORT, findings=(msgspec.structs.replace(FINDING, fixes=(fix,)),)))
    assert text.count("gpudoctor smoke matmul") == 1
    assert "verify" not in text


def test_what_verifies_every_way_is_shown_after_the_last_of_them() -> None:
    ways = (FixEntry("Reboot.", ("reboot",), verify="a"), FixEntry("Reload.", ("modprobe nvidia",), verify="a"))
    later = FixEntry("Hold.", ("apt-mark hold x",), verify="b", later=True)
    text = render(changed(findings=(msgspec.structs.replace(FINDING, fixes=(*ways, later)),)))
    assert text.count("verify      a\n") == 1
    assert (
        text.index("modprobe nvidia") < text.index("verify      a") < text.index("later") < text.index("verify      b")
    )


def test_evidence_that_the_message_quotes_is_not_shown_again() -> None:
    seen = ("libraries are 550.107.02.", "NVML: 18")
    text = render(changed(findings=(msgspec.structs.replace(FINDING, evidence=seen),)))
    assert [line for line in text.splitlines() if line.startswith("evidence")] == ["evidence  NVML: 18"]


def test_verbose_adds_the_unknown_the_ruled_out_and_the_sources() -> None:
    text = render(REPORT, verbose=True)
    assert "64 passed, 40 not applicable" in text
    assert "ruled out driver.not-loaded" in text
    assert "see       https://docs.nvidia.com/deploy/nvml-api/" in text
    assert "health.memory-held (GPU 3): NVML: Not Supported" in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_prose_fits_the_width_and_commands_are_never_broken(width: int) -> None:
    command = "sudo apt-get install " + " ".join(f"package-{i}" for i in range(12))
    finding = msgspec.structs.replace(FINDING, fixes=(FixEntry("Install.", (command,)),))
    text = render(changed(findings=(finding,)), width=width)
    assert f"            {command}\n" in text
    assert max(len(line) for line in text.splitlines() if "apt-get" not in line) <= min(width, 100)


def test_colours_only_where_they_are_wanted() -> None:
    assert "\x1b" not in render(REPORT)
    assert "\x1b[1;31mFAIL" in render(REPORT, colour=True)


def test_markup_and_control_characters_from_facts_are_shown_as_they_are() -> None:
    nasty = "[bold]x[/bold] \x1b[31mred\x1b[0m \x9b1m \u202egnp.exe"
    text = render(changed(findings=(msgspec.structs.replace(FINDING, message=nasty),)), width=200)
    assert "[bold]x[/bold] \\x1b[31mred\\x1b[0m \\x9b1m \\u202egnp.exe" in text


def test_a_machine_about_which_nothing_is_known() -> None:
    text = render(Report(version="0.1.0"))
    assert "machine   Linux" in text or "machine   unknown system" in text
    assert "GPUs      none found" in text
    assert "INCOMPLETE  0 failed, 0 passed" in text
    assert isinstance(StringIO(text).read(), str)
