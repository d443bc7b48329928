"""Checks of GPUs in containers, from the inside and on the host."""

import re
from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import Check, Severity, run
from gpudoctor.checks.container.cdi_stale import cdi_stale
from gpudoctor.checks.container.device_access_lost import device_access_lost
from gpudoctor.checks.container.docker_config_broken import docker_config_broken
from gpudoctor.checks.container.docker_snap import docker_snap
from gpudoctor.checks.container.driver_version_inside import driver_version_inside
from gpudoctor.checks.container.no_cgroups import no_cgroups
from gpudoctor.checks.container.no_compute_capability import no_compute_capability
from gpudoctor.checks.container.no_gpus_passed import no_gpus_passed
from gpudoctor.checks.container.rootless_needs_no_cgroups import rootless_needs_no_cgroups
from gpudoctor.checks.container.runtime_not_configured import runtime_not_configured
from gpudoctor.checks.container.selinux_denied import selinux_denied
from gpudoctor.checks.container.shm_small import shm_small
from gpudoctor.checks.container.toolkit_missing import toolkit_missing
from gpudoctor.facts import ContainerHost, DeviceNode, Facts, LogEvent
from gpudoctor.facts.host import Shm
from gpudoctor.fixes.container import lost_access
from gpudoctor.maybe import Unknown
from tests.builders import (
    VERSION,
    ask,
    card,
    change,
    framework,
    library,
    nvidia_host,
    plain_host,
    with_framework,
)

ALL: tuple[Check[Any], ...] = (
    cdi_stale,
    device_access_lost,
    docker_config_broken,
    docker_snap,
    driver_version_inside,
    no_cgroups,
    no_compute_capability,
    no_gpus_passed,
    rootless_needs_no_cgroups,
    runtime_not_configured,
    selinux_denied,
    shm_small,
    toolkit_missing,
)
WHY = Unknown("not to be seen")
AVC = LogEvent(kind="selinux-denied", text="avc: denied { read write } for nvidiactl", what={"device": "nvidiactl"})


def said(facts: Facts) -> dict[str, str]:
    """The problems that the checks see: id and sentence."""
    return {
        c.id.removeprefix("container."): message
        for c in ALL
        for outcome, message in ask(c, facts)
        if outcome == "problem"
    }


def commands(check: Check[Any], facts: Facts) -> list[str]:
    """The commands of the fixes."""
    return [command for verdict in run(check, facts) for fix in verdict.fixes for command in fix.commands]


# -- inside --------------------------------------------------------------------------------------------------


def inside(facts: Facts, engine: str = "docker", **env: str) -> Facts:
    """The same in a container of an engine, with 8 GiB of shared memory."""
    facts = change(facts, "host.container", "containerd" if engine == "kubernetes" else engine)
    facts = change(facts, "host.kubernetes", engine == "kubernetes")
    facts = change(facts, "host.shm", Shm(size=8 << 30, free=8 << 30, mode="1777", writable=True))
    return change(facts, "host.environment", env)


def bare(facts: Facts) -> Facts:
    """The same without anything of the driver inside."""
    facts = change(facts, "nvidia.kernel.nodes", ())
    facts = change(facts, "nvidia.cuda", msgspec.structs.replace(facts.nvidia.cuda, libraries=(), code=None))
    return change(facts, "nvidia.nvml", msgspec.structs.replace(facts.nvidia.nvml, libraries=(), code=None))


def closed(facts: Facts, error: str, *names: str) -> Facts:
    """The same with nodes that answer an errno; without names all of them."""
    nodes: tuple[DeviceNode, ...] = facts.nvidia.kernel.nodes  # type: ignore[assignment]
    shut = tuple(
        msgspec.structs.replace(n, error=error) if not names or n.path.removeprefix("/dev/") in names else n
        for n in nodes
    )
    facts = change(facts, "nvidia.kernel.nodes", shut)
    return change(facts, "nvidia.nvml.code", 999)


TORCH = with_framework(framework())
LXC = change(change(inside(nvidia_host(), "lxc"), "nvidia.nvml.code", 18), "nvidia.kernel.loaded", "570.148.06")
OLDER = (library("libnvidia-ml.so.1", "550.54.14"), library("libnvidia-ml.so.1", VERSION))


@pytest.mark.parametrize(
    "facts",
    [
        nvidia_host(),
        plain_host(),
        inside(plain_host()),
        inside(TORCH),
        inside(closed(nvidia_host(2), "EPERM", "nvidia1")),  # one GPU of two, granted by a cgroup
        inside(bare(nvidia_host(pci=(card(driver=None),), nvidia=plain_host().nvidia))),  # the host has no driver
        inside(closed(nvidia_host(), "EACCES")),  # without SELinux another check speaks
        change(inside(change(nvidia_host(), "nvidia.nvml.code", 18)), "nvidia.kernel.loaded", "550.1"),  # injected
        inside(bare(with_framework(framework(), plain_host()))),  # PyPI's torch on a server without GPU
        inside(bare(plain_host()), NVIDIA_VISIBLE_DEVICES="all"),  # there is none to pass: device.no-gpu says so
    ],
)
def test_healthy(facts: Facts) -> None:
    assert said(facts) == {}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            inside(bare(TORCH)),
            {
                "no-gpus-passed": "This container (docker) has no GPU: a device node such as /dev/nvidia0 was not "
                "passed in and no driver library (libcuda.so.1) was injected."
            },
        ),
        (
            inside(bare(nvidia_host()), "kubernetes", NVIDIA_VISIBLE_DEVICES="all"),
            {
                "no-gpus-passed": "This pod (kubernetes) has no GPU: a device node such as /dev/nvidia0 was not passed "
                "in and no driver library (libcuda.so.1) was injected."
            },
        ),
        (
            inside(change(change(TORCH, "nvidia.cuda.libraries", ()), "nvidia.cuda.code", None)),
            {
                "no-compute-capability": "libnvidia-ml.so.1 is in the container, but libcuda.so.1 was not injected: "
                "the driver capability compute was not requested (NVIDIA_DRIVER_CAPABILITIES is not set)."
            },
        ),
        (
            inside(closed(nvidia_host(), "EPERM", "nvidiactl", "nvidia0", "nvidia-uvm")),
            {
                "device-access-lost": "The container's cgroup denies access to /dev/nvidiactl, /dev/nvidia-uvm, "
                "/dev/nvidia0: they exist, but open() gives EPERM. NVML returns 999."
            },
        ),
        (
            change(inside(closed(nvidia_host(), "EACCES"), "podman"), "host.selinux", "enforcing"),
            {
                "selinux-denied": "/dev/nvidiactl has mode 666, but open() returns EACCES: SELinux is enforcing and "
                "denies the container."
            },
        ),
        (
            change(inside(closed(nvidia_host(), "EACCES"), "podman"), "log.events", (AVC,)),
            {
                "selinux-denied": "/dev/nvidiactl has mode 666, but open() returns EACCES: this process carries an "
                "SELinux label and denies the container."
            },
        ),
        (
            LXC,
            {
                "driver-version-inside": "The versions do not match: the host's kernel module is 570.148.06, the "
                "container's own libraries are 570.169."
            },
        ),
        (
            change(inside(change(nvidia_host(), "nvidia.nvml.libraries", OLDER)), "nvidia.nvml.code", 18),
            {
                "driver-version-inside": "The versions do not match: the host's kernel module is 570.169, the "
                "container's own libraries are 550.54.14."
            },
        ),
        (
            change(inside(TORCH), "host.shm.size", 64 << 20),
            {
                "shm-small": "The container's /dev/shm (shared memory) has 64 MiB, the engine's default: too small "
                "for PyTorch DataLoaders with num_workers."
            },
        ),
        (
            change(inside(nvidia_host(8)), "host.shm.size", 64 << 20),
            {
                "shm-small": "The container's /dev/shm (shared memory) has 64 MiB, the engine's default: too small "
                "for 8 GPUs that communicate through it."
            },
        ),
    ],
)
def test_inside(facts: Facts, message: dict[str, str]) -> None:
    assert said(facts) == message


@pytest.mark.parametrize("facts", [TORCH, nvidia_host(8)])
def test_little_shared_memory_is_a_warning_to_loaders_and_nccl(facts: Facts) -> None:
    (verdict,) = run(shm_small, change(inside(facts), "host.shm.size", 64 << 20))
    assert verdict.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("engine", "command"),
    [
        ("docker", "docker run --gpus all ..."),
        ("podman", "podman run --device nvidia.com/gpu=all ..."),
        ("apptainer", "apptainer exec --nv ..."),
        ("lxc", "lxc config device add CONTAINER gpu gpu"),
        ("kubernetes", "kubectl get runtimeclass"),
    ],
)
def test_nobody_installs_a_driver_inside(engine: str, command: str) -> None:
    found = commands(no_gpus_passed, inside(bare(TORCH), engine))
    assert command in found
    assert not any("install" in c for c in found)


def test_an_lxc_container_gets_a_rule_for_each_major_of_its_nodes() -> None:
    inner = change(inside(TORCH), "host.container", "lxc")
    nodes = (DeviceNode(path="/dev/nvidia0", major=195), DeviceNode(path="/dev/nvidia-uvm", major=511))
    for there, expected in ((nodes, (195, 511)), (WHY, (195,))):
        fix, *more = lost_access(change(inner, "nvidia.kernel.nodes", there))
        assert more == []
        assert re.findall(r"c (\d+):\* rwm", fix.message) == list(map(str, expected))
        assert (fix.place, fix.needs) == ("outside", "restart of the container")


@pytest.mark.parametrize(
    ("check", "path"),
    [
        (no_gpus_passed, "nvidia.kernel.nodes"),
        (device_access_lost, "nvidia.kernel.nodes"),
        (selinux_denied, "nvidia.kernel.nodes"),
        (no_compute_capability, "nvidia.cuda.libraries"),
        (driver_version_inside, "nvidia.nvml.code"),
        (shm_small, "host.shm.size"),
    ],
)
def test_unknown_inside(check: Check[Any], path: str) -> None:
    assert ask(check, change(inside(TORCH), path, WHY)) == [("unknown", "not to be seen")]


def test_the_file_that_is_there_is_corrected_or_written_again() -> None:
    broken = change(nvidia_host(), "containers.docker_config_error", "/etc/docker/daemon.json: Expecting ','")
    correct = docker_config_broken.fixes_for(broken)[0]
    assert correct.message.startswith("Correct /etc/docker/daemon.json (")
    assert "sudo nano /etc/docker/daemon.json" in correct.commands
    for there, path in (
        (("/etc/cdi/amd.yaml", "/run/cdi/nvidia.yaml"), "/run/cdi/nvidia.yaml"),
        ((), "/etc/cdi/nvidia.yaml"),
    ):
        again = cdi_stale.fixes_for(change(nvidia_host(), "containers.cdi", there))[0]
        assert again.commands == (f"sudo nvidia-ctk cdi generate --output={path}",)


# -- on the host ---------------------------------------------------------------------------------------------


def engines(facts: Facts | None = None, **changes: Any) -> Facts:
    """A GPU host with Docker and the toolkit, well configured."""
    plain: dict[str, Any] = {
        "docker": "/usr/bin/docker",
        "docker_version": "28.1.1",
        "docker_runtimes": ("io.containerd.runc.v2", "nvidia", "runc"),
        "docker_default_runtime": "runc",
        "docker_snap": False,
        "docker_rootless": False,
        "docker_desktop": False,
        "docker_cgroup_driver": "systemd",
        "docker_config_runtimes": ("nvidia",),
        "podman": None,
        "toolkit": "1.17.8",
        "no_cgroups": False,
        "cdi": ("/etc/cdi/nvidia.yaml",),
        "cdi_driver": VERSION,
    }
    return change(facts or nvidia_host(), "containers", ContainerHost(**(plain | changes)))


PLAIN = ("io.containerd.runc.v2", "runc")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (engines(), {}),
        (engines(docker=None, toolkit=None), {}),
        (engines(plain_host(), toolkit=None, docker_runtimes=PLAIN), {}),
        (engines(docker_desktop=True, toolkit=None), {}),
        (engines(no_cgroups=True, docker_rootless=True), {}),
        (engines(docker_rootless=True), {}),  # CDI does
        (engines(docker_snap=True), {}),  # newer snaps have the runtime
        (engines(docker_runtimes=PLAIN, docker_config_runtimes=None), {}),  # CDI does
        (
            engines(toolkit=None, docker_runtimes=PLAIN, docker_config_runtimes=None),
            {
                "toolkit-missing": "Docker 28.1.1 is installed, the NVIDIA Container Toolkit is not: containers cannot "
                "get the GPU."
            },
        ),
        (
            engines(toolkit=None, docker_runtimes=PLAIN),
            {
                "toolkit-missing": "Docker 28.1.1 is installed, the NVIDIA Container Toolkit is not: containers "
                "cannot get the GPU. /etc/docker/daemon.json names the runtime nvidia, but its program is missing."
            },
        ),
        (
            engines(docker_runtimes=PLAIN, docker_config_runtimes=None, cdi=()),
            {
                "runtime-not-configured": "The Docker daemon lists the runtimes io.containerd.runc.v2, runc but not "
                "nvidia; the runtime is in no daemon.json."
            },
        ),
        (
            engines(docker_runtimes=PLAIN, cdi=()),
            {
                "runtime-not-configured": "The Docker daemon lists the runtimes io.containerd.runc.v2, runc but not "
                "nvidia; the runtime is in daemon.json, but the daemon was not restarted since."
            },
        ),
        (
            engines(docker="/snap/bin/docker", docker_snap=True, docker_runtimes=PLAIN),
            {
                "docker-snap": "Docker (/snap/bin/docker) is the snap: containers cannot get the GPU through the "
                "host's toolkit."
            },
        ),
        (
            engines(
                docker_config_error="/etc/docker/daemon.json: Expecting ',' delimiter: line 3", docker_runtimes=WHY
            ),
            {
                "docker-config-broken": "Docker's configuration is not valid JSON: /etc/docker/daemon.json: Expecting "
                "',' delimiter: line 3. The Docker daemon does not respond."
            },
        ),
        (
            engines(no_cgroups=True),
            {"no-cgroups": "no-cgroups is true in the toolkit's configuration, and Docker runs as root."},
        ),
        (
            engines(docker_rootless=True, cdi=()),
            {
                "rootless-needs-no-cgroups": "Docker is rootless, but the toolkit's no-cgroups is false, and its hook "
                "cannot set the cgroup's device rules."
            },
        ),
        (
            engines(cdi_driver="550.54.14"),
            {"cdi-stale": "The CDI specification is for driver 550.54.14, the installed driver is 570.169."},
        ),
    ],
)
def test_host(facts: Facts, message: dict[str, str]) -> None:
    assert said(facts) == message


@pytest.mark.parametrize(
    ("check", "facts", "path"),
    [
        (toolkit_missing, engines(), "containers.toolkit"),
        (runtime_not_configured, engines(cdi=()), "containers.docker_runtimes"),
        (docker_snap, engines(), "containers.docker_snap"),
        (no_cgroups, engines(), "containers.no_cgroups"),
        (rootless_needs_no_cgroups, engines(), "containers.docker_rootless"),
        (rootless_needs_no_cgroups, engines(docker_rootless=True), "containers.cdi"),
        (cdi_stale, engines(), "containers.cdi_driver"),
    ],
)
def test_unknown_on_the_host(check: Check[Any], facts: Facts, path: str) -> None:
    assert ask(check, change(facts, path, WHY)) == [("unknown", "not to be seen")]
