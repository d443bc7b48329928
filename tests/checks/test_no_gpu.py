"""No GPU at all is a failure where something asks for one, else advice: silence would be taken for health."""

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge, run
from gpudoctor.checks.device.no_gpu import no_gpu
from gpudoctor.facts import Cluster, Facts, Package
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import ask, change, framework, host, live, nvidia_host, plain_host, with_framework
from tests.checks.amd_machines import amd_host

NOBODY = "and nothing here shows that one is expected: frameworks run on the CPU"
SAYS = f"No GPU is found on this machine, {NOBODY}."


@pytest.mark.parametrize(
    ("facts", "outcome", "message"),
    [
        (plain_host(), "problem", SAYS),
        (
            plain_host(host=host(container="docker")),
            "problem",
            f"No GPU is passed to this container, {NOBODY}.",
        ),
        (nvidia_host(), "pass", ""),
        (amd_host(), "pass", ""),
        (change(nvidia_host(), "gpus", Unknown("NVML: 9")), "pass", ""),
        (change(plain_host(), "pci", Unknown("/sys is not mounted")), "unknown", "/sys is not mounted"),
        (change(plain_host(), "host.wsl", 2), "pass", ""),
    ],
)
def test_no_gpu(facts: Facts, outcome: str, message: str) -> None:
    assert ask(no_gpu, facts) == [(outcome, message)]


def test_what_frameworks_said_is_shown() -> None:
    facts = with_framework(framework(live=live(0, error="Found no NVIDIA driver on your system.")), plain_host())
    (verdict,) = run(no_gpu, facts)
    assert verdict.problem is not None
    assert verdict.problem.evidence == ("PyTorch 2.7.1: Found no NVIDIA driver on your system.",)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", True),
        ("cudaErrorInsufficientDriver: CUDA driver version is insufficient", True),
        ("libcuda.so.1: cannot open shared object file", True),
        ("No HIP GPUs are available", True),
        ("Failed to load libcublasLt.so.12: cannot open shared object file", False),
        ("Torch not compiled with CUDA enabled", False),
    ],
)
def test_only_what_speaks_of_driver_or_device_is_shown(error: str, shown: bool) -> None:
    facts = with_framework(framework(live=live(0, error=error)), plain_host())
    (verdict,) = run(no_gpu, facts)
    assert verdict.problem is not None
    assert bool(verdict.problem.evidence) is shown


def test_the_environment_is_named_where_there_are_several() -> None:
    facts = with_framework(framework(live=live(0, error="Found no NVIDIA driver.")), plain_host())
    other = msgspec.structs.replace(facts.pythons[0], path="/other/bin/python", frameworks=())
    (verdict,) = run(no_gpu, change(facts, "pythons", (*facts.pythons, other)))
    assert verdict.problem is not None
    assert verdict.problem.evidence == (f"PyTorch 2.7.1 in {facts.pythons[0].path}: Found no NVIDIA driver.",)


def test_cupy_does_not_run_on_the_cpu() -> None:
    facts = with_framework(framework("cupy", "13.6.0", distribution="cupy-cuda12x"), plain_host())
    expected = (
        "No GPU is found on this machine, but cupy-cuda12x 13.6.0 asks for one: frameworks run on the CPU, and CuPy, "
        "which needs a GPU, does not run."
    )
    assert ask(no_gpu, facts) == [("problem", expected)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [({}, "BIOS"), ({"virtual": "kvm"}, "virtual machine"), ({"container": "docker"}, "container")],
)
def test_the_fix_is_for_the_kind_of_machine(changes: dict[str, str], words: str) -> None:
    (verdict,) = run(no_gpu, plain_host(host=host(**changes)))
    assert words in verdict.fixes[0].message


@pytest.mark.parametrize(
    ("facts", "severities"),
    [
        (plain_host(), {"advice"}),
        (with_framework(framework(), plain_host()), {"advice"}),  # PyPI's torch, which everybody on Linux gets
        (with_framework(framework(version="2.9.1+cu128"), plain_host()), {"fail"}),
        (change(plain_host(), "host.environment", {"NVIDIA_VISIBLE_DEVICES": "all"}), {"fail"}),
    ],
)
def test_it_fails_where_something_asks(facts: Facts, severities: set[str]) -> None:
    assert {verdict.severity.value for verdict in run(no_gpu, facts)} == severities


def test_the_sentence_names_three_of_what_asks_and_the_evidence_all() -> None:
    facts = change(plain_host(), "host.environment", {"NVIDIA_VISIBLE_DEVICES": "all"})
    facts = with_framework(framework(version="2.9.1+cu128", live=None), facts)
    torch = facts.pythons[0].packages
    assert isinstance(torch, tuple)
    named = (("cupy-cuda12x", "13.6.0"), ("onnxruntime-gpu", "1.23.0"))
    more = [Package(name=name, version=version, directory="/s") for name, version in named]
    (verdict,) = run(no_gpu, change(facts, "pythons.0.packages", (*torch, *more)))
    assert (
        "NVIDIA_VISIBLE_DEVICES=all, torch 2.9.1+cu128, cupy-cuda12x 13.6.0 and 1 more ask for one" in verdict.message
    )
    assert verdict.problem is not None
    assert [line.split(":")[0].split(" ")[0] for line in verdict.problem.evidence] == [
        "NVIDIA_VISIBLE_DEVICES=all",
        "torch",
        "cupy-cuda12x",
        "onnxruntime-gpu",
    ]


AMD_IN_DOCKER = 'docker run --device /dev/kfd --device /dev/dri --group-add "$(stat -c %g /dev/kfd)" ...'


@pytest.mark.parametrize(
    ("engine", "environment", "first"),
    [
        ("docker", {}, "docker run --gpus all ..."),
        ("podman", {}, "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"),
        ("apptainer", {"NVIDIA_VISIBLE_DEVICES": "all"}, "apptainer exec --nv ..."),
        ("docker", {"AMD_VISIBLE_DEVICES": "all"}, AMD_IN_DOCKER),
    ],
)
def test_a_container_is_started_in_the_words_of_its_engine(
    engine: str, environment: dict[str, str], first: str
) -> None:
    (verdict,) = run(no_gpu, plain_host(host=host(container=engine, environment=environment)))
    assert verdict.fixes[0].commands[0] == first


def test_who_asks_for_a_gpu_is_told_how_to_do_without() -> None:
    asked = change(plain_host(), "host.environment", {"NVIDIA_VISIBLE_DEVICES": "all"})
    assert "--skip device.no-gpu" in run(no_gpu, asked)[0].fixes[-1].message
    assert not any("--skip" in fix.message for fix in run(no_gpu, plain_host())[0].fixes)


def test_a_job_with_gpus_on_a_node_without_is_a_matter_of_the_cluster() -> None:
    job = Cluster(scheduler="slurm", job="7", granted="SLURM_JOB_GPUS=0,1")
    facts = change(with_framework(framework(version="2.9.1+cu128", live=None), plain_host()), "cluster", job)
    report = build(facts, judge(facts, catalogue.load()))
    assert (report.status, [one.check for one in report.findings]) == ("no-gpu", ["device.no-gpu"])
    assert "but SLURM_JOB_GPUS=0,1 asks for one" in report.findings[0].message
    assert "--exclude" in report.findings[0].fixes[0].commands[1]


def test_an_environment_for_the_clusters_nodes_is_no_failure_on_its_login_node() -> None:
    login = Cluster(client="/usr/bin/sbatch", client_of="slurm", has_gpus=True)
    facts = change(with_framework(framework(version="2.9.1+cu128", live=None), plain_host()), "cluster", login)
    report = build(facts, judge(facts, catalogue.load()))
    assert (report.status, report.failed) == ("no-gpu", False)
    assert report.findings[0].check == "cluster.node-without-gpu"
