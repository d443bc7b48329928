"""Hardened BPF, which NVIDIA's hook does not read back."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.container.bpf_hardened import bpf_hardened
from gpudoctor.facts import Facts
from gpudoctor.probes import docker
from gpudoctor.recorded_machine import RecordedMachine
from tests.builders import ask, change
from tests.builders import host as machine_host
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY, host


def hardened(**changes: object) -> Facts:
    """A Docker host after a hardening profile."""
    plain: dict[str, object] = {
        "toolkit": "1.17.8", "bpf_jit_harden": 2, "kptr_restrict": 2, "no_cgroups": False, "docker_version": "28.3.2",
        "docker_cdi": True, "cdi": (), "podman": None, "runtime_mode": "auto",
    }  # fmt: skip
    return host(None, **(plain | changes))


MESSAGE = (
    "net.core.bpf_jit_harden and kernel.kptr_restrict are 2: NVIDIA's hook cannot read the device filters of "
    "containers, so those with --gpus do not start."
)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (hardened(), [("problem", MESSAGE)]),
        (hardened(bpf_jit_harden=1), PASS),
        (hardened(kptr_restrict=1), PASS),  # root reads the programs
        (hardened(toolkit=None), PASS),
        (hardened(no_cgroups=True), PASS),
        (hardened(docker_version="29.1.0", cdi=("/etc/cdi/nvidia.yaml",)), PASS),  # --gpus goes by CDI
        (hardened(docker_version="28.3.2", cdi=("/etc/cdi/nvidia.yaml",)), [("problem", MESSAGE)]),
        (change(hardened(), "host.cgroup", 1), PASS),
        (hardened(docker=None), SKIPPED),
        (hardened(bpf_jit_harden=WHY), UNKNOWN),
        (hardened(kptr_restrict=WHY), UNKNOWN),
        (hardened(toolkit=WHY), UNKNOWN),
        (hardened(no_cgroups=WHY), UNKNOWN),
    ],
)
def test_bpf_hardened(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(bpf_hardened, facts) == verdict


def test_what_is_typed() -> None:
    own, cdi = run(bpf_hardened, hardened())[0].fixes
    assert own.commands[-1] == "sudo sysctl --system"
    assert "/etc/sysctl.d/zz-nvidia-containers.conf" in own.commands[0]
    assert cdi.commands[-1] == "docker run --rm --device nvidia.com/gpu=all ubuntu nvidia-smi"


@pytest.mark.parametrize(
    ("files", "value"),
    [
        ({"/proc/sys/net/core/bpf_jit_harden": "2\n", "/etc/sysctl.d/99-x.conf": "net.core.bpf_jit_harden=0"}, 2),
        ({"/etc/sysctl.d/60-stig.conf": "# CCE\nnet.core.bpf_jit_harden = 2\n"}, 2),
        (
            {"/usr/lib/sysctl.d/60-a.conf": "net.core.bpf_jit_harden = 2", "/etc/sysctl.d/60-a.conf": ""},
            None,  # the file of /etc replaces that of /usr/lib
        ),
        (
            {"/etc/sysctl.d/6.conf": "net/core/bpf_jit_harden=2", "/etc/sysctl.d/9.conf": "net.core.bpf_jit_harden=1"},
            1,
        ),
        ({"/etc/sysctl.d/60-a.conf.off": "net.core.bpf_jit_harden = 2"}, None),
    ],
)  # fmt: skip
def test_what_root_alone_reads_is_taken_from_the_files_of_sysctl(files: dict[str, str], value: int | None) -> None:
    there = files | {"/usr/bin/docker": "\x7fELF", "/proc/sys/kernel/kptr_restrict": "2\n"}
    found = docker.probe(RecordedMachine(there), machine_host(), wanted=False)
    assert (found.bpf_jit_harden, found.kptr_restrict) == (value, 2)
