"""No check is lost because its file is not read: where an area's gate is closed, all of its checks would be skipped."""

import itertools

import msgspec
import pytest

from gpudoctor import catalogue, checks
from gpudoctor.areas import GATES, concerning
from gpudoctor.check_engine import Outcome, run
from gpudoctor.facts import Cloud, Cluster, Facts, Framework, Host, IntelFacts, Python, Smoke, SmokeRun
from gpudoctor.facts.cluster import SlurmNode
from tests.builders import change, framework, nvidia_host, plain_host, with_framework
from tests.checks.amd_machines import amd_host
from tests.checks.intel_machines import ARC, UHD

CHECKS = catalogue.load(checks.ids())
NAMES = ("torch", "tensorflow", "cupy", "jax", "onnxruntime")


def with_name(name: str, facts: Facts) -> Facts:
    return with_framework(msgspec.structs.replace(framework(), name=name), facts)


PLACES = {
    "nothing is known": Facts(),
    "nothing is there": plain_host(),
    "NVIDIA": nvidia_host(2),
    "AMD": amd_host(),
    "AMD's driver alone": change(
        amd_host(rocm=None, rocm_path=None, packages=(("amdgpu-dkms", "1:6.16.13", "iF"),)), "pythons", ()
    ),
    "WSL 2": change(nvidia_host(), "host.wsl", 2),
    "WSL 1": change(plain_host(), "host.wsl", 1),
    "a container": change(nvidia_host(), "host.container", "docker"),
    "NVIDIA is asked for": change(plain_host(), "host.environment", {"NVIDIA_VISIBLE_DEVICES": "all"}),
    **{f"{name} without a GPU": with_name(name, plain_host()) for name in NAMES},
    **{f"{name} with AMD": with_name(name, amd_host()) for name in NAMES},
    "an interpreter without an answer": msgspec.structs.replace(
        plain_host(), pythons=(Python(path="/x", frameworks=(Framework(name="jax"),)),)
    ),
    "a smoke test of which nothing is known": change(
        nvidia_host(), "smoke", Smoke(runs=(SmokeRun(backend="pytorch", kind="cuda"),))
    ),
    "a batch job": change(nvidia_host(), "cluster", Cluster(scheduler="slurm")),
    "a login node": change(plain_host(), "cluster", Cluster(client="/usr/bin/sbatch")),
    "a node of Slurm": change(nvidia_host(), "cluster", Cluster(slurm_node=SlurmNode())),
    "a node of Kubernetes": change(nvidia_host(), "cluster", Cluster(kubelet=True)),
    "an instance of a cloud": change(nvidia_host(), "cloud", Cloud(provider="aws", instance="p4d.24xlarge")),
    "a hosted notebook": change(plain_host(), "cloud", Cloud(notebook="colab")),
    "Intel's card": change(plain_host(), "pci", (ARC,)),
    "Intel's card without Level Zero": change(
        change(plain_host(), "pci", (ARC,)), "intel", IntelFacts(render=(), loader=None, level_zero=None)
    ),
    "an Intel laptop with Level Zero": change(
        change(plain_host(), "pci", (UHD,)), "intel", IntelFacts(render=(), loader=None, level_zero="/usr/lib64/x.so")
    ),
    "PyTorch for XPU": with_framework(
        msgspec.structs.replace(framework(), variant="xpu", cuda=None), change(plain_host(), "pci", (UHD,))
    ),
    "Ollama": change(nvidia_host(), "ollama.program", "/usr/bin/ollama"),
    "llama.cpp": change(nvidia_host(), "llama_cpp.program", "/usr/bin/llama-server"),
    "a Mac": msgspec.structs.replace(plain_host(), host=Host(system="Darwin")),
    "Windows": msgspec.structs.replace(plain_host(), host=Host(system="Windows")),
    "an unknown host": msgspec.structs.replace(nvidia_host(), host=Host()),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_closed_gate_loses_no_check(place: str) -> None:
    facts = PLACES[place]
    concerned = concerning(facts)
    closed = [one for one in CHECKS if not concerned(one.id)]
    outcomes = {(one.id, verdict.outcome) for one in closed for verdict in run(one, facts)}
    assert {(id_, outcome) for id_, outcome in outcomes if outcome is not Outcome.SKIPPED} == set()


def test_every_gate_is_open_somewhere_and_closed_somewhere() -> None:
    for area in GATES:
        seen = {concerning(facts)(f"{area}.x") for facts in PLACES.values()}
        assert seen == {True, False}, area


def test_the_subjects_behind_a_gate_are_those_that_it_was_made_for() -> None:
    """A new kind of subject in one of these areas has to be held against its gate; then it is added here."""
    nvidia = {"own_kernel", "not_wsl", "nvidia_machine", "nvidia_hardware", "nvidia_host", "alike_cards"}
    nvidia |= {"nvidia_gpus", "nvidia_cards", "several_gpus"}
    made_for = {
        **dict.fromkeys(("advice", "driver", "fabric", "health", "link", "mig"), nvidia),
        "wsl": {"windows_gpu", "wsl_machine", "_distributions", "_builds"},
        "cluster": {"jobs", "members", "kubernetes_nodes", "nodes_to_be", "slurm_nodes", "importing_newer"},
        "cloud": {"gpu_instances", "cpu_instances", "notebooks", "virtual_gpus"},
        "intel": {
            "cards_to_drive",
            "intel_cards",
            "intel_computers",
            "sycl_machines",
            "computing_cards",
            "_legacy_computers",
            "_intel_hosts",
            "xpu_torches",
            "plain_torches",
            "extended_torches",
            "openvinos",
        },
        "apple": {"macs", "mac_pythons", "mac_torches", "mac_tensorflows", "mac_jaxes"},
        "windows": {"windows_adapters", "windows_pythons", "windows_torches", "windows_frameworks"},
        "smoke": {"smoke_runs", "gpu_runs", "smoke_gpus", "smoke_tests", "gpu_tests", "cuda_tests", "runs_with_peers"},
        "ollama": {"installed", "on_amd", "on_intel"},
        "llamacpp": {"installed", "with_vulkan"},
        "pytorch": {"torches", "lives torch", "frameworks torch", "pairs torch"},
        "tensorflow": {"tensorflows", "lives tensorflow", "frameworks tensorflow", "pairs tensorflow"},
        "cupy": {"cupys", "lives cupy", "frameworks cupy", "pairs cupy"},
        "jax": {"jaxes", "lives jax", "frameworks jax", "pairs jax"},
        "onnxruntime": {"onnxruntimes", "lives onnxruntime", "frameworks onnxruntime", "pairs onnxruntime"},
    }
    assert set(made_for) == set(GATES)
    for one in CHECKS:
        names = (
            {subject(one.targets), subject(one.targets).split()[0]} if one.area == "smoke" else {subject(one.targets)}
        )
        assert one.area not in GATES or names & made_for[one.area], one.id


def subject(each: object) -> str:
    """The name of a check's subjects, with the framework where it is given."""
    function, given = getattr(each, "func", each), getattr(each, "keywords", {})
    return " ".join([getattr(function, "__name__", "?"), *given.values()])


def test_the_counts_of_a_report_are_the_same_as_if_all_had_been_read() -> None:
    for facts in PLACES.values():
        chosen = catalogue.load_for(facts, checks.ids())
        assert [one.id for one in chosen] == checks.ids()
        every, some = (
            [(one.id, v.about, v.outcome) for one in ones for v in run(one, facts)] for ones in (CHECKS, chosen)
        )
        assert [pair for pair in itertools.zip_longest(every, some) if pair[0] != pair[1]] == []
