"""Whether a log is of this machine: what it names, held against the facts."""

import pytest

from gpudoctor.facts import Facts, PciDevice
from gpudoctor.symptoms import scan
from gpudoctor.symptoms.origin import origin
from tests.builders import change, nvidia_host

BOOT = "[    0.000000] Linux version {} (builder@x) #1 SMP\n"
SYSLOG = "Nov 20 12:00:01 {} kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {}  Mon\n"
SMI = "| NVIDIA-SMI {0}    Driver Version: {0}    CUDA Version: 12.4 |\n"


def machine() -> Facts:
    facts = change(nvidia_host(), "host.kernel.release", "6.8.0-60-generic")
    facts = change(change(facts, "host.hostname", "node7"), "host.wsl", None)
    return change(facts, "nvidia.kernel.loaded", "570.133.20")


@pytest.mark.parametrize(
    ("log", "where"),
    [
        ("RuntimeError: No CUDA GPUs are available\n", "unknown"),
        (BOOT.format("6.8.0-60-generic"), "here"),
        (BOOT.format("5.15.0-91-generic"), "elsewhere"),
        (SYSLOG.format("node7", "570.133.20"), "here"),
        (SYSLOG.format("node7", "535.54.03"), "here"),  # the same host, before an upgrade
        (SYSLOG.format("node8", "570.133.20"), "elsewhere"),
        (SYSLOG.format("3f2a9c1b7d0e", "570.133.20"), "here"),  # a container's name
        (SMI.format("570.133.20"), "here"),
        (SMI.format("535.104.05"), "elsewhere"),
        (BOOT.format("6.8.0-60-generic") + SMI.format("535.104.05"), "unknown"),  # upgraded since, or a twin
        ("Using device NVIDIA A100-SXM4-80GB\n", "elsewhere"),
        ("DKMS make.log for nvidia-570.133.20 for kernel 6.8.0-60-generic (x86_64)\n", "here"),
        ('  File "C:\\Users\\me\\train.py", line 3\n', "elsewhere"),
        ('  File "/usr/lib/python3/dist-packages/torch/cuda.py", line 3\n', "unknown"),
    ],
)
def test_where_a_log_is_from(log: str, where: str) -> None:
    assert origin(scan([log.encode()]).marks, machine()).where == where


def test_what_is_unknown_here_decides_nothing() -> None:
    log = BOOT.format("5.15.0-91-generic") + SYSLOG.format("node8", "570.133.20")
    assert origin(scan([log.encode()]).marks, Facts()).where == "unknown"


def test_a_card_without_a_driver_is_known_by_its_name_on_the_bus() -> None:
    card = PciDevice(
        address="0000:01:00.0", vendor="10de", device="2684", class_code="030000", name="AD102 [GeForce RTX 4090]"
    )
    facts = change(change(machine(), "gpus", ()), "pci", (card,))
    assert origin(scan([b"NVIDIA GeForce RTX 4090, 24564 MiB"]).marks, facts).where == "here"
    assert origin(scan([b"NVIDIA GeForce RTX 3090, 24576 MiB"]).marks, facts).where == "elsewhere"


def test_a_log_of_many_hosts_keeps_few_of_them() -> None:
    log = "".join(SYSLOG.format(f"n{number}", "570.133.20") for number in range(1000))
    assert len(scan([log.encode()]).marks.found["host"]) <= 16
