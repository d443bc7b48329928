"""Checks of batch jobs and of Kubernetes' nodes."""

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Severity, judge, run
from gpudoctor.checks.cluster.cri_disabled import cri_disabled
from gpudoctor.checks.cluster.envvar_refused import envvar_refused
from gpudoctor.checks.cluster.job_without_gpu import job_without_gpu
from gpudoctor.checks.cluster.node_without_gpu import node_without_gpu
from gpudoctor.checks.cluster.runtime_not_configured import runtime_not_configured
from gpudoctor.checks.visibility.cuda_out_of_range import cuda_out_of_range
from gpudoctor.facts import Cluster, ContainerHost, DeviceNode, Facts, ServiceLine
from gpudoctor.facts.cluster import IgnoredDropIn
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import ask, change, framework, library, live, nvidia_host, plain_host, with_framework

WHY = Unknown("not to be seen")
SKIPPED, PASS = [("skipped", "")], [("pass", "")]
UNKNOWN = [("unknown", "not to be seen")]
SLURM = {"scheduler": "slurm", "job": "4711", "granted": None}
LOGIN = {"client": "/usr/bin/sbatch", "client_of": "slurm", "has_gpus": True}


def of(facts: Facts, **changes: object) -> Facts:
    """The machine of a cluster, of which nothing else is there."""
    plain: dict[str, object] = {
        "scheduler": None,
        "job": None,
        "granted": None,
        "client": None,
        "client_of": None,
        "has_gpus": None,
        "kubelet": False,
        "runtime_configured": None,
    }
    return change(facts, "cluster", Cluster(**(plain | changes)))  # type: ignore[arg-type]


def closed(facts: Facts, *indices: int, error: object = "EPERM") -> Facts:
    """The same with some GPUs' nodes closed, as a job's control group does."""
    nodes: tuple[DeviceNode, ...] = facts.nvidia.kernel.nodes  # type: ignore[assignment]
    shut = {f"/dev/nvidia{index}" for index in indices}
    found = tuple(msgspec.structs.replace(n, error=error) if n.path in shut else n for n in nodes)
    return change(facts, "nvidia.kernel.nodes", found)


def roots(facts: Facts) -> dict[str, str]:
    """What a reader of the report sees first: id and status of the findings that nothing explains."""
    report = build(facts, list(judge(facts, catalogue.load())))
    return {finding.check: finding.status for finding in report.findings}


def without_devices(facts: Facts) -> Facts:
    """The same where NVML lists nothing and cuInit finds no device."""
    for path, value in {"gpus": (), "nvidia.nvml.count": 0, "nvidia.cuda.code": 100, "nvidia.cuda.devices": ()}.items():
        facts = change(facts, path, value)
    return facts


WITH_WHEEL = with_framework(framework(live=None), plain_host())


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (closed(nvidia_host(2), 0, 1), SKIPPED),
        (of(closed(nvidia_host(2), 0, 1)), SKIPPED),
        (of(nvidia_host(2), **SLURM), PASS),
        (of(closed(nvidia_host(8), 0, 1, 2, 3, 4, 5), **SLURM), PASS),  # two of eight are the job's
        (of(plain_host(), **SLURM), PASS),
        (of(closed(nvidia_host(1), 0, error="EACCES"), **SLURM), PASS),
        (of(closed(nvidia_host(1), 0, error=WHY), **SLURM), PASS),
        (of(change(nvidia_host(), "nvidia.kernel.nodes", WHY), **SLURM), UNKNOWN),
        (
            change(
                of(closed(nvidia_host(1), 0), **(SLURM | {"granted": "SLURM_JOB_GPUS=0"})), "host.container", "docker"
            ),
            PASS,
        ),
        (
            of(closed(nvidia_host(2), 0, 1), **SLURM),
            [
                (
                    "problem",
                    "This is Slurm's job 4711, which was given no GPU: all 2 of the node's GPUs are closed to it.",
                )
            ],
        ),
        (
            of(closed(nvidia_host(2), 0, 1), **(SLURM | {"granted": "SLURM_JOB_GPUS=0"})),
            [
                (
                    "problem",
                    "This is Slurm's job 4711, whose step was given none of its GPUs: all 2 of the node's GPUs are "
                    "closed to it.",
                )
            ],
        ),
        (
            of(closed(nvidia_host(), 0), scheduler="pbs", granted=WHY),
            [("problem", "This is PBS's job, which was given no GPU: the node's only GPU is closed to it.")],
        ),
    ],
)
def test_job_without_gpu(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(job_without_gpu, facts) == verdict


@pytest.mark.parametrize(
    ("scheduler", "granted", "first"),
    [
        ("slurm", None, "srun --gpus=1 --pty bash"),
        ("slurm", "SLURM_JOB_GPUS=0", "srun --gpus=1 ..."),
        ("pbs", WHY, "qsub -I -l select=1:ncpus=4:ngpus=1"),
        ("lsf", WHY, "bsub -gpu num=1 -Is bash"),
    ],
)
def test_each_system_is_asked_in_its_own_words(scheduler: str, granted: object, first: str) -> None:
    facts = of(closed(nvidia_host(), 0), scheduler=scheduler, granted=granted)
    assert run(job_without_gpu, facts)[0].fixes[0].commands[0] == first


def test_a_job_for_the_processor_is_no_failure() -> None:
    job = of(closed(nvidia_host(2), 0, 1), **SLURM)
    cpu = with_framework(framework(cuda=None, variant="cpu", archs=()), job)
    assert run(job_without_gpu, cpu)[0].severity == "warn"
    assert run(job_without_gpu, with_framework(framework(), job))[0].severity == "fail"
    assert run(job_without_gpu, change(cpu, "cluster.granted", "SLURM_JOB_GPUS=0"))[0].severity == "fail"


@pytest.mark.parametrize("container", [None, "apptainer"])
def test_a_job_without_gpu_explains_what_the_driver_says(container: str | None) -> None:
    facts = without_devices(of(closed(nvidia_host(2), 0, 1), **SLURM))
    assert roots(change(facts, "host.container", container)) == {"cluster.job-without-gpu": "fail"}


def test_a_job_with_two_of_eight_is_well() -> None:
    job = of(closed(nvidia_host(8), 2, 3, 4, 5, 6, 7), **(SLURM | {"granted": "SLURM_JOB_GPUS=0,1"}))
    job = change(change(job, "gpus", nvidia_host(2).gpus), "nvidia.nvml.count", 2)
    job = change(job, "nvidia.cuda.devices", nvidia_host(2).nvidia.cuda.devices)
    assert roots(with_framework(framework(live=live(2)), job)) == {}


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (of(WITH_WHEEL), SKIPPED),
        (of(plain_host(), **LOGIN), PASS),
        (of(WITH_WHEEL, **(LOGIN | {"has_gpus": False})), PASS),
        (of(with_framework(framework()), **LOGIN), PASS),
        (of(change(WITH_WHEEL, "pci", WHY), **LOGIN), UNKNOWN),
        (
            of(WITH_WHEEL, **LOGIN),
            [
                (
                    "problem",
                    "This node, which has Slurm's commands, has no GPU, so frameworks run on the CPU. "
                    "The cluster's GPUs are reached in a job.",
                )
            ],
        ),
        (
            of(WITH_WHEEL, **(SLURM | {"has_gpus": WHY})),
            [
                (
                    "problem",
                    "This node, on which Slurm's job 4711 runs, has no GPU, so frameworks run on the CPU. GPUs of "
                    "the cluster, if it has any, are reached in a job.",
                )
            ],
        ),
    ],
)
def test_node_without_gpu(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(node_without_gpu, facts) == verdict


def test_a_login_node_is_no_failure() -> None:
    assert roots(of(WITH_WHEEL, **LOGIN)) == {"cluster.node-without-gpu": "advice"}
    assert roots(of(plain_host(), **LOGIN)) == {"device.no-gpu": "advice"}


def node(facts: Facts, configured: object = False, **containers: object) -> Facts:
    """A node of Kubernetes with the toolkit, of which containerd knows nothing."""
    plain: dict[str, object] = {"docker": None, "docker_runtimes": None, "podman": None, "toolkit": "1.17.8", "cdi": ()}
    plain |= {"docker_desktop": None, "no_cgroups": None, "hook": False, "user_namespace": False, "cdi_driver": None}
    facts = change(facts, "containers", ContainerHost(**(plain | containers)))  # type: ignore[arg-type]
    return of(facts, kubelet=True, runtime_configured=configured)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (of(nvidia_host()), SKIPPED),
        (node(nvidia_host(), True), PASS),
        (node(nvidia_host(), None), PASS),
        (node(nvidia_host(), toolkit=None), PASS),
        (node(nvidia_host(), cdi=("/var/run/cdi/nvidia.yaml",)), PASS),
        (node(nvidia_host(), docker_runtimes=("runc", "nvidia")), PASS),
        (node(plain_host()), PASS),
        (node(nvidia_host(), WHY), UNKNOWN),
        (node(nvidia_host(), toolkit=WHY), UNKNOWN),
        (node(nvidia_host(), cdi=WHY), UNKNOWN),
        (
            node(nvidia_host()),
            [
                (
                    "problem",
                    "Kubernetes runs pods on this node, but neither the configuration of containerd or CRI-O nor a "
                    "CDI specification names NVIDIA's runtime: no pod gets the GPU.",
                )
            ],
        ),
    ],
)
def test_runtime_not_configured(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(runtime_not_configured, facts) == verdict
    severities = [one.severity for one in run(runtime_not_configured, facts) if one.problem]
    assert severities == [Severity.ERROR] * (verdict[0][0] == "problem")  # no pod gets a GPU: the exit code is 1


TO_CONF_D = IgnoredDropIn(path="/etc/containerd/config.d/99-nvidia.toml", reads="/etc/containerd/conf.d")
NOWHERE = IgnoredDropIn(path="/etc/containerd/config.d/99-nvidia.toml")
OF_CRIO = IgnoredDropIn(path="/etc/crio/conf.d/99-nvidia.toml", reads="/etc/crio/crio.conf.d")


@pytest.mark.parametrize("cdi", [(), ("/var/run/cdi/nvidia.yaml",)])
@pytest.mark.parametrize(
    ("file", "how", "commands"),
    [
        (
            TO_CONF_D,
            "/etc/containerd/config.toml only imports /etc/containerd/conf.d/*.toml: containerd does not read that "
            "file.",
            (
                "mkdir -p /etc/containerd/conf.d",
                "mv /etc/containerd/config.d/99-nvidia.toml /etc/containerd/conf.d/",
                "systemctl restart containerd",
            ),
        ),
        (
            NOWHERE,
            "/etc/containerd/config.toml has no `imports`: containerd does not read that file.",
            (
                "sed -i '1i imports = [\"/etc/containerd/config.d/*.toml\"]' /etc/containerd/config.toml",
                "systemctl restart containerd",
            ),
        ),
        (
            OF_CRIO,
            "CRI-O only reads /etc/crio/crio.conf.d: crio does not read that file.",
            (
                "mkdir -p /etc/crio/crio.conf.d",
                "mv /etc/crio/conf.d/99-nvidia.toml /etc/crio/crio.conf.d/",
                "systemctl restart crio",
            ),
        ),
    ],
)
def test_a_drop_in_that_is_not_read(
    file: IgnoredDropIn, how: str, commands: tuple[str, ...], cdi: tuple[str, ...]
) -> None:
    facts = change(node(nvidia_host(), cdi=cdi), "cluster.ignored_drop_ins", (file,))
    message = f"The nvidia runtime is configured in {file.path}, but {how}"
    assert ask(runtime_not_configured, facts) == [("problem", message)]
    assert tuple(c.removeprefix("sudo ") for c in run(runtime_not_configured, facts)[0].fixes[0].commands) == commands


@pytest.mark.parametrize("folder", ["/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/home/kubernetes/bin/nvidia/lib64"])
def test_a_node_whose_driver_is_there_for_pods_alone_is_well(folder: str) -> None:
    facts = nvidia_host(8)
    for part, soname in (("cuda", "libcuda.so.1"), ("nvml", "libnvidia-ml.so.1")):
        copy = library(soname, path=f"{folder}/{soname}", found_by="not on the loader's path")
        facts = change(change(facts, f"nvidia.{part}.libraries", (copy,)), f"nvidia.{part}.code", None)
    assert roots(change(facts, "gpus", Unknown("there is no libnvidia-ml.so.1 to ask"))) == {}


@pytest.mark.parametrize(("scheduler", "reported"), [("slurm", True), (None, False)])
def test_a_mask_of_the_nodes_numbers_is_counted_anew_in_a_job(scheduler: str | None, reported: bool) -> None:
    facts = change(of(nvidia_host(), scheduler=scheduler), "host.environment", {"CUDA_VISIBLE_DEVICES": "3"})
    for path, value in {"unmasked_code": 0, "code": 100, "devices": ()}.items():
        facts = change(facts, f"nvidia.cuda.{path}", value)
    message = " ".join(fix.message for fix in run(cuda_out_of_range, facts)[0].fixes)
    assert ("they count from 0" in message) is reported


SAID = "E0506 19:35:17.052201 factory.go:113] Incompatible strategy detected auto"


def hardened(accepted: object = False, said: object = SAID, facts: Facts | None = None, **changes: object) -> Facts:
    """A node of Kubernetes by its toolkit's setting and the log of the device plugin."""
    plain = {"kubelet": True, "runtime_configured": True, "plugin_blind": said}
    found = of(facts or nvidia_host(), **(plain | changes))
    return change(change(found, "containers.envvar_unprivileged", accepted), "containers.toolkit", "1.19.0")


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (
            hardened(),
            [
                (
                    "problem",
                    "accept-nvidia-visible-devices-envvar-when-unprivileged is false in "
                    "/etc/nvidia-container-runtime/config.toml, and the device plugin on this node finds no GPU.",
                )
            ],
        ),
        (hardened(said=None), PASS),  # hardened on purpose: the plugin has its GPUs in another way
        (hardened(accepted=True), PASS),
        (hardened(accepted=None), PASS),
        (hardened(kubelet=False), SKIPPED),
        (hardened(facts=without_devices(nvidia_host())), PASS),
        (hardened(said=WHY), UNKNOWN),
        (hardened(accepted=WHY), UNKNOWN),
        (hardened(accepted=True, said=WHY), PASS),
    ],
)
def test_envvar_refused(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(envvar_refused, facts) == verdict


def test_a_refused_variable_is_one_failure() -> None:
    assert roots(hardened())["cluster.envvar-refused"] == "fail"
    (found,) = run(envvar_refused, hardened())
    assert found.fixes[0].commands[0].endswith("--set accept-nvidia-visible-devices-envvar-when-unprivileged=true")


@pytest.mark.parametrize(
    ("own", "name", "command"),
    [
        ("k3s", "k3s", "systemctl restart 'k3s*'"),
        ("rke2", "RKE2", "systemctl restart 'rke2-*'"),
        ("k0s", "k0s", "/etc/k0s/containerd.d/nvidia.toml"),
        ("microk8s", "MicroK8s", "microk8s enable nvidia"),
    ],
)
def test_a_distribution_with_its_own_containerd(own: str, name: str, command: str) -> None:
    facts = change(node(nvidia_host()), "cluster.own_runtime", own)
    message = f"{name} runs pods on this node, and its containerd is not configured for NVIDIA's runtime."
    assert ask(runtime_not_configured, facts) == [("problem", message)]
    fix, *others = run(runtime_not_configured, facts)[0].fixes
    assert command in fix.commands[0]
    typed = [line for other in others for line in other.commands]
    socket = "--set 'toolkit.env[0].value=/run/k3s/containerd/containerd.sock'"
    assert any(socket in line for line in typed) == (own in ("k3s", "rke2"))


def test_a_pod_that_asked_for_the_runtime_is_enough() -> None:
    facts = change(node(nvidia_host(), toolkit=None), "cluster.own_runtime", "rke2")
    assert ask(runtime_not_configured, facts) == PASS
    text = 'no runtime for "nvidia" is configured'
    line = ServiceLine(service="rke2-server.service", symptom="k8s-no-runtime", text=text)
    (verdict,) = run(runtime_not_configured, change(facts, "services.lines", (line,)))
    assert verdict.problem is not None
    assert text in verdict.problem.evidence


def test_a_specification_is_not_enough_for_a_blind_device_plugin() -> None:
    with_cdi = change(node(nvidia_host()), "containers.cdi", ("/var/run/cdi/nvidia.yaml",))
    assert ask(runtime_not_configured, with_cdi) == PASS
    blind = change(with_cdi, "cluster.plugin_blind", "No devices found. Waiting indefinitely.")
    assert [verdict for verdict, _ in ask(runtime_not_configured, blind)] == ["problem"]


def test_a_kubelet_without_cri() -> None:
    facts = of(nvidia_host(), cri_disabled="/etc/containerd/config.toml")
    message = (
        "/etc/containerd/config.toml turns CRI off (disabled_plugins), and the kubelet is installed here: it finds no "
        "runtime."
    )
    assert ask(cri_disabled, facts) == [("problem", message)]
    assert ask(cri_disabled, of(nvidia_host())) == SKIPPED
    assert [one.severity for one in run(cri_disabled, facts)] == [Severity.WARNING]
    facts = of(nvidia_host(), cri_disabled="/etc/containerd/config.toml", kubelet=True)
    facts = change(facts, "containers.toolkit", "1.18.0")
    (verdict,) = run(cri_disabled, facts)
    assert verdict.severity is Severity.ERROR
    assert tuple(c.removeprefix("sudo ") for c in verdict.fixes[0].commands) == (
        "cp /etc/containerd/config.toml /etc/containerd/config.toml.before-cri",
        "containerd config default | sudo tee /etc/containerd/config.toml",
        "sed -i 's/SystemdCgroup = false/SystemdCgroup = true/' /etc/containerd/config.toml",
        "nvidia-ctk runtime configure --runtime=containerd --set-as-default",
        "systemctl restart containerd kubelet",
    )
    assert ask(cri_disabled, of(plain_host(), cri_disabled="/etc/containerd/config.toml")) == [("pass", "")]
