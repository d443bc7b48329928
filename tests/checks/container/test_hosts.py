"""Checks of hosts whose engines cannot hand GPUs in."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.container.cdi_missing import cdi_missing
from gpudoctor.checks.container.docker_desktop_linux import docker_desktop_linux
from gpudoctor.checks.container.nested_needs_no_cgroups import nested_needs_no_cgroups
from gpudoctor.checks.container.requirement_unmet import requirement_unmet
from gpudoctor.checks.container.toolkit_missing import toolkit_missing
from gpudoctor.checks.container.toolkit_too_old import toolkit_too_old
from gpudoctor.facts import Cluster, ContainerHost, Facts, ServiceLine
from gpudoctor.facts.container_host import RefusedContainer
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.amd_machines import amd_host
from tests.checks.container.test_container import PLAIN, commands, engines
from tests.checks.environments import severity
from tests.checks.intel_machines import arc_host

WHY = Unknown("not to be seen")
SKIPPED, PASS, UNKNOWN = [("skipped", "")], [("pass", "")], [("unknown", "not to be seen")]


def host(facts: Facts | None = None, **changes: object) -> Facts:
    """A host with Docker and a recent toolkit."""
    plain: dict[str, object] = {
        "docker": "/usr/bin/docker",
        "docker_version": "28.3.0",
        "docker_runtimes": ("runc", "nvidia"),
        "docker_default_runtime": "runc",
        "docker_snap": False,
        "docker_rootless": False,
        "docker_desktop": False,
        "docker_config_runtimes": ("nvidia",),
        "podman": None,
        "toolkit": "1.17.8",
        "toolkit_error": None,
        "no_cgroups": False,
        "cdi": (),
        "cdi_driver": None,
        "hook": False,
        "user_namespace": False,
        "refused": (),
    }
    return change(facts or nvidia_host(), "containers", ContainerHost(**(plain | changes)))  # type: ignore[arg-type]


def podman(facts: Facts | None = None, **changes: object) -> Facts:
    """A host with Podman alone."""
    return host(facts, **({"docker": None, "docker_runtimes": None, "podman": "/usr/bin/podman"} | changes))


MODE = "NVIDIA's container runtime is in the mode cdi, but there is no CDI specification: containers fail."
POD = (
    "Pods run on this node, and the service nvidia-cdi-refresh is installed to generate the CDI specification, but "
    "there is none: `nvidia-ctk cdi generate` failed or never ran."
)


def node(**changes: object) -> Facts:
    """A node of Kubernetes whose toolkit has the service that writes the CDI specification at each boot."""
    plain: dict[str, object] = {"docker": None, "toolkit": "1.19.1", "runtime_mode": "auto", "cdi_service": True}
    return change(host(**(plain | changes)), "cluster", Cluster(kubelet=True, runtime_configured=True))  # type: ignore[arg-type]


FAILED = ServiceLine(
    service="nvidia-cdi-refresh.service",
    symptom="cdi-not-generated",
    text="failed to generate CDI spec: failed to save CDI spec: invalid device, empty device edits",
)
PREPARED = (
    "The runtime of pods is set up for NVIDIA's here, and the service nvidia-cdi-refresh is installed to generate the "
    "CDI specification, but there is none: `nvidia-ctk cdi generate` failed."
)


def refreshed(*lines: ServiceLine, **changes: object) -> Facts:
    """The same without a kubelet, and with what the service wrote."""
    return change(change(node(**changes), "cluster.kubelet", False), "services.lines", lines)


def lxc(**changes: object) -> Facts:
    """Docker in an unprivileged LXC container."""
    return change(host(None, **({"user_namespace": True} | changes)), "host.container", "lxc")


def logged(facts: Facts) -> Facts:
    """The same, whose Docker logged that the hook may not set device rules."""
    text = "bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted"
    line = ServiceLine(service="docker.service", symptom="ctk-cgroup", text=text)
    return change(facts, "services.lines", (line,))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), PASS),
        (host(plain_host(), docker_desktop=True), SKIPPED),
        (change(host(docker_desktop=True), "host.wsl", 2), SKIPPED),
        (change(host(docker_desktop=True), "host.container", "docker"), SKIPPED),
        (host(docker=None, docker_desktop=None), SKIPPED),
        (host(docker_desktop=WHY), UNKNOWN),
        (host(docker_desktop=True), PASS),  # a release that has it after all
        (
            host(docker_desktop=True, docker_runtimes=WHY),
            [
                (
                    "problem",
                    "The docker command uses Docker Desktop, whose virtual machine does not have this machine's GPU.",
                )
            ],
        ),
    ],
)
def test_docker_desktop_linux(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(docker_desktop_linux, facts) == verdict


@pytest.mark.parametrize(
    ("facts", "verdicts"),
    [
        (amd_host(), ["warn"]),
        (change(change(amd_host(), "amd.rocm", None), "amd.rocm_path", None), ["advice"]),  # a wheel alone
        (arc_host(), ["advice"]),
    ],
)
def test_docker_desktop_has_no_gpu_of_another_vendor_either(facts: Facts, verdicts: list[str]) -> None:
    found = run(docker_desktop_linux, host(facts, docker_desktop=True, docker_runtimes=("runc",)))
    assert [verdict.severity for verdict in found] == verdicts
    assert [fix.commands for verdict in found for fix in verdict.fixes] == [("docker context use default",)]


def test_docker_desktop_for_other_work_is_an_advice() -> None:
    (found,) = run(docker_desktop_linux, host(docker_desktop=True, docker_runtimes=("runc",)))
    (without,) = run(docker_desktop_linux, host(docker_desktop=True, docker_runtimes=("runc",), toolkit=None))
    assert (found.severity, without.severity) == ("warn", "advice")
    assert not any("install nvidia-container-toolkit" in command for fix in found.fixes for command in fix.commands)


OLD = [
    (
        "problem",
        "NVIDIA Container Toolkit 1.7.0 is installed, but this host has only cgroup version 2 (cgroup v2).",
    )
]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), PASS),
        (host(toolkit="1.8.0"), PASS),
        (host(toolkit="1.10.0"), PASS),
        (host(toolkit="installed"), PASS),
        (host(toolkit=None), PASS),
        (host(toolkit="1.7.0", no_cgroups=True), PASS),
        (change(host(toolkit="1.7.0"), "host.cgroup", 1), PASS),
        (host(docker=None, toolkit="1.7.0"), SKIPPED),
        (host(toolkit=WHY), UNKNOWN),
        (host(toolkit="1.7.0", no_cgroups=WHY), UNKNOWN),
        (change(host(toolkit="1.7.0"), "host.cgroup", WHY), UNKNOWN),
        (host(toolkit="1.7.0"), OLD),
    ],
)
def test_toolkit_too_old(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(toolkit_too_old, facts) == verdict


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (podman(cdi=("/etc/cdi/nvidia.yaml",)), PASS),
        (podman(hook=True), PASS),
        (podman(toolkit=None), PASS),
        (podman(plain_host()), PASS),
        (host(podman="/usr/bin/podman"), SKIPPED),
        (change(podman(), "host.wsl", 2), SKIPPED),
        (change(podman(), "host.container", "toolbox"), SKIPPED),
        # NVIDIA's runtime in the mode cdi, whose engine is no matter
        (host(runtime_mode="cdi"), [("problem", MODE)]),
        (host(runtime_mode="cdi", cdi=("/var/run/cdi/nvidia.yaml",)), PASS),
        (host(runtime_mode="auto", cdi_service=True), SKIPPED),
        # a node of Kubernetes with the service that writes it
        (node(), [("problem", POD)]),
        (node(runtime_mode=None), [("problem", POD)]),
        (node(cdi=("/var/run/cdi/nvidia.yaml",)), PASS),
        (node(cdi=("/var/run/cdi/management.nvidia.com-gpu.yaml",)), PASS),
        (node(runtime_mode="legacy"), SKIPPED),
        (node(cdi_service=False), SKIPPED),
        (node(toolkit=None), PASS),
        (change(node(), "cluster.runtime_configured", False), SKIPPED),  # another check's
        (change(node(), "gpus", ()), PASS),
        # no kubelet, and containerd is set up for NVIDIA's runtime, as its pods need
        (refreshed(), SKIPPED),
        (refreshed(FAILED), [("problem", PREPARED)]),
        (refreshed(FAILED, cdi=("/var/run/cdi/nvidia.yaml",)), PASS),
        (refreshed(FAILED, runtime_mode="legacy"), SKIPPED),
        (change(refreshed(FAILED), "cluster.runtime_configured", None), SKIPPED),
        (change(node(), "services.lines", (FAILED,)), [("problem", POD.replace(" or never ran", ""))]),
        (podman(toolkit=WHY), UNKNOWN),
        (podman(cdi=WHY), UNKNOWN),
        (podman(hook=WHY), UNKNOWN),
        (
            podman(),
            [
                (
                    "problem",
                    "Podman and the NVIDIA Container Toolkit 1.17.8 are installed, but there is no CDI specification.",
                )
            ],
        ),
    ],
)
def test_cdi_missing(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(cdi_missing, facts) == verdict


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(user_namespace=True), SKIPPED),
        (lxc(docker=None), SKIPPED),
        (lxc(user_namespace=False), PASS),  # a privileged one
        (lxc(no_cgroups=True), PASS),
        (lxc(no_cgroups=None), PASS),
        (lxc(toolkit=None), PASS),
        (lxc(toolkit="1.18.0"), PASS),
        (lxc(cdi=("/etc/cdi/nvidia.yaml",)), PASS),
        (lxc(user_namespace=WHY), UNKNOWN),
        # Docker logged the refusal, whatever the namespace is.
        (logged(lxc(user_namespace=False, no_cgroups=True)), PASS),
        *(
            (
                logged(lxc(user_namespace=mapped)),
                [
                    (
                        "problem",
                        "Docker with the NVIDIA Container Toolkit runs in this container, but the toolkit's "
                        "no-cgroups is false, and its hook cannot set the cgroup's device rules.",
                    )
                ],
            )
            for mapped in (False, WHY)
        ),
        (lxc(toolkit=WHY), UNKNOWN),
        (lxc(no_cgroups=WHY), UNKNOWN),
        (lxc(cdi=WHY), UNKNOWN),
        (
            lxc(),
            [
                (
                    "problem",
                    "Docker with the NVIDIA Container Toolkit runs in this unprivileged container, but the "
                    "toolkit's no-cgroups is false, and its hook cannot set the cgroup's device rules.",
                )
            ],
        ),
    ],
)
def test_nested_needs_no_cgroups(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(nested_needs_no_cgroups, facts) == verdict


def test_docker_desktop_is_left_for_the_engine() -> None:
    (found,) = run(docker_desktop_linux, host(docker_desktop=True, docker_runtimes=("runc",), toolkit=None))
    assert found.fixes[0].commands == ("docker context use default",)
    assert any("nvidia-container-toolkit" in command for command in found.fixes[1].commands)


def test_toolkit_by_distribution() -> None:
    ubuntu = engines(toolkit=None, docker_runtimes=PLAIN)
    assert commands(toolkit_missing, ubuntu)[-3:] == [
        "sudo apt-get install nvidia-container-toolkit",
        "sudo nvidia-ctk runtime configure --runtime=docker",
        "sudo systemctl restart docker",
    ]
    rocky = change(ubuntu, "host.distribution.id", "rocky")
    assert any("yum.repos.d" in c for c in commands(toolkit_missing, rocky))
    unheard = change(change(ubuntu, "host.distribution.id", "nixos"), "host.distribution.like", ())
    assert commands(toolkit_missing, unheard)[0] == "sudo nvidia-ctk runtime configure --runtime=docker"


def refused(*conditions: str, cuda: object = "12.4", **containers: Any) -> Facts:
    """A host whose driver does not meet what the images of some containers require."""
    found = tuple(RefusedContainer(name=f"web-{n}", condition=one) for n, one in enumerate(conditions))
    return change(host(**{"refused": found, **containers}), "nvidia.cuda.version", cuda)


def needs(number: int, cuda: str) -> list[tuple[str, str]]:
    message = f"Docker could not start the container web-{number}: its image requires cuda>={cuda}, but this machine's "
    return [("problem", f"{message}driver supports CUDA 12.4.")]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), PASS),
        (refused("cuda>=12.8"), needs(0, "12.8")),
        (refused("cuda>=13.0"), needs(0, "13.0")),
        (refused("cuda>=12.4"), PASS),  # of an older driver, and it would start now
        (refused("cuda>=12.8", cuda="12.8"), PASS),
        (refused("cuda>=12.4", "cuda>=12.9"), needs(1, "12.9")),
        (refused("driver>=570"), PASS),
        (refused("cuda>=12.8", cuda=None), PASS),
        (refused("cuda>=12.8", cuda=WHY), UNKNOWN),
        (refused(refused=WHY), UNKNOWN),
        (refused("cuda>=12.8", docker=None), SKIPPED),
    ],
)
def test_a_container_that_the_driver_is_too_old_for(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(requirement_unmet, facts) == verdict


def test_within_a_major_the_comparison_can_be_left_out() -> None:
    newer, older, without = run(requirement_unmet, refused("cuda>=12.8"))[0].fixes
    assert "580" in newer.message
    assert "for CUDA 12.4 or earlier" in older.message
    assert "NVIDIA_DISABLE_REQUIRE=1" in without.commands[0]
    assert len(run(requirement_unmet, refused("cuda>=13.0"))[0].fixes) == 2


def test_a_failed_specification_weighs_by_the_kubelet() -> None:
    assert severity(cdi_missing, node()) == "fail"
    assert severity(cdi_missing, refreshed(FAILED)) == "warn"
    typed = " ".join(commands(cdi_missing, refreshed(FAILED)))
    assert "nvidia-container-runtime.mode=legacy" in typed


@pytest.mark.parametrize(("facts", "is_node"), [(node(), True), (refreshed(FAILED), False)])
def test_only_a_node_is_asked_about_pods(facts: Facts, is_node: bool) -> None:
    fixes = run(cdi_missing, facts)[0].fixes
    assert ["kubectl" in str(fix.verify) for fix in fixes] == [is_node, is_node]
    assert ("pods" in " ".join(fix.message for fix in fixes)) is is_node
