"""slurmd is to detect the GPUs by a library, and Slurm has no plugin for it."""

import msgspec
import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.cluster.gpu_plugin_missing import gpu_plugin_missing
from gpudoctor.facts import Cluster, DeviceNode, Facts
from gpudoctor.facts.cluster import SlurmNode
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.amd_machines import amd_host

WHY = Unknown("not to be seen")
RPM = "/usr/lib64/slurm"
DEB = "/usr/lib/x86_64-linux-gnu/slurm-wlm"


def of(facts: Facts, folder: str = RPM, **changes: object) -> Facts:
    """A node of Slurm."""
    plain: dict[str, object] = {
        "gres_conf": "/etc/slurm/gres.conf",
        "autodetect": "nvml",
        "plugin_folders": (folder,),
        "gpu_plugins": ("generic",),
    }
    node = SlurmNode(**(plain | changes))  # type: ignore[arg-type]
    return change(facts, "cluster", Cluster(slurm_node=node))


def missing(name: str, library: str) -> list[tuple[str, str]]:
    message = (
        f"gres.conf says AutoDetect={name}, and gpu_{name}.so is missing among Slurm's plugins: Slurm was built "
        f"without {library}, or its plugin is not installed. slurmd reports 0 GPUs."
    )
    return [("problem", message)]


NVML, RSMI, PASS = missing("nvml", "NVML"), missing("rsmi", "ROCm SMI"), [("pass", "")]
UNKNOWN = [("unknown", "not to be seen")]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (nvidia_host(), [("skipped", "")]),
        (of(nvidia_host(2)), NVML),
        (of(change(nvidia_host(2), "host.container", "kubernetes")), NVML),
        (of(nvidia_host(2), gpu_plugins=()), NVML),
        (of(nvidia_host(2), gpu_plugins=("generic", "nvidia")), NVML),
        (of(amd_host(), autodetect="rsmi"), RSMI),
        # a driver that does not answer is another problem, and explains nothing here
        (of(change(nvidia_host(2), "gpus", ())), NVML),
        (of(nvidia_host(2), gpu_plugins=("generic", "nvml")), PASS),
        (of(nvidia_host(2), lists_gpus=True), PASS),
        (of(nvidia_host(2), autodetect=None), PASS),
        (of(nvidia_host(2), autodetect="nvidia"), PASS),
        # one gres.conf for all nodes of the cluster
        (of(plain_host()), PASS),
        (of(nvidia_host(2), autodetect="rsmi"), PASS),
        (of(amd_host()), PASS),
        (of(nvidia_host(2), autodetect=WHY), UNKNOWN),
        (of(nvidia_host(2), gpu_plugins=WHY), UNKNOWN),
    ],
)
def test_the_plugin_is_missing(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(gpu_plugin_missing, facts) == verdict
    problems = [one for one in run(gpu_plugin_missing, facts) if one.problem]
    assert [one.severity for one in problems] == [Severity.ERROR] * (verdict[0][0] == "problem")


def commands(facts: Facts) -> list[tuple[str, ...]]:
    [verdict] = run(gpu_plugin_missing, facts)
    assert verdict.problem
    return [fix.commands for fix in gpu_plugin_missing.fixes_for(facts)]


AGAIN = ("sudo systemctl restart slurmd", "sudo scontrol update nodename=$(hostname -s) state=resume")


def line(text: str) -> tuple[str, ...]:
    return (f"NodeName=NODE {text}", *AGAIN)


def numbered(facts: Facts, *numbers: int) -> Facts:
    nodes = tuple(DeviceNode(path=f"/dev/nvidia{number}") for number in (*numbers, "ctl"))
    return change(facts, "nvidia.kernel.nodes", nodes)


FILE = "AutoDetect=off Name=gpu File=/dev/nvidia"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (of(nvidia_host(2)), [line(f"{FILE}[0-1]"), ()]),
        (of(nvidia_host(1)), [line(f"{FILE}0"), ()]),
        (of(numbered(nvidia_host(2), 0, 2, 10)), [line(f"{FILE}[0,2,10]"), ()]),
        (of(change(nvidia_host(1), "nvidia.kernel.nodes", WHY)), [()]),
        (of(nvidia_host(1), gpu_plugins=("generic", "nvidia")), [line("AutoDetect=nvidia"), line(f"{FILE}0"), ()]),
        # neither knows MIG's devices
        (of(change(nvidia_host(1), "gpus.0.mig", True), gpu_plugins=("generic", "nvidia")), [()]),
        (
            of(nvidia_host(1), DEB),
            [("sudo apt-get install slurm-wlm-nvml-plugin", *AGAIN), line(f"{FILE}0"), ()],
        ),
        (
            of(change(amd_host(), "gpus.0.render_node", "/dev/dri/renderD128"), DEB, autodetect="rsmi"),
            [
                ("sudo apt-get install slurm-wlm-rsmi-plugin", *AGAIN),
                line("AutoDetect=off Name=gpu File=/dev/dri/renderD128"),
                (),
            ],
        ),
    ],
)
def test_what_to_do(facts: Facts, expected: list[tuple[str, ...]]) -> None:
    assert commands(facts) == expected


def test_in_a_pod_the_configuration_and_the_image_are_the_clusters() -> None:
    facts = of(change(nvidia_host(4), "host.container", "kubernetes"), DEB)
    fixes = gpu_plugin_missing.fixes_for(facts)
    assert {fix.place for fix in fixes} == {"outside"}
    assert commands(facts) == [(f"NodeName=NODE {FILE}[0-3]", "scontrol update nodename=NODE state=resume"), ()]
    assert fixes[-1].message.startswith("Use another image, whose Slurm was built with NVML (--with-nvml), then")


def seen(facts: Facts) -> tuple[str, ...]:
    [verdict] = run(gpu_plugin_missing, facts)
    assert verdict.problem
    return verdict.problem.evidence


def test_what_was_seen() -> None:
    assert seen(of(nvidia_host(2), gpu_plugins=())) == ("/etc/slurm/gres.conf: AutoDetect=nvml", f"{RPM}: no gpu_*.so")
    facts = of(nvidia_host(2))
    node = msgspec.structs.replace(facts.cluster.slurm_node, plugin_folders=(RPM, "/opt/slurm/lib/slurm"))  # type: ignore[type-var]
    assert seen(change(facts, "cluster.slurm_node", node))[1] == f"{RPM}, /opt/slurm/lib/slurm: gpu_generic.so"
