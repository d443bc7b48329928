"""Tests of the probe of batch jobs and of Kubernetes' nodes."""

import pytest

from gpudoctor.facts import Cluster, Host
from gpudoctor.facts.cluster import RuntimeOverride
from gpudoctor.maybe import Unknown
from gpudoctor.probes import cluster
from gpudoctor.recorded_machine import RecordedMachine

BARE = Host(container=None)
JOB = {"PATH": "/usr/bin", "SLURM_JOB_ID": "4711"}
ADOPTED = "0::/system.slice/slurmstepd.scope/job_4711/step_extern/user/task_special\n"
CONF = "ClusterName=c\nGresTypes = gpu,mps\n"


def look(files: dict[str, str] | None = None, env: dict[str, str] | None = None, host: Host = BARE) -> Cluster:
    return cluster.probe(RecordedMachine(files or {}, env=env or {"PATH": "/usr/bin"}), host)


def test_a_machine_of_no_cluster() -> None:
    seen = look()
    assert (seen.scheduler, seen.job, seen.granted, seen.client, seen.has_gpus) == (None,) * 5
    assert (seen.kubelet, seen.runtime_configured) == (False, None)


@pytest.mark.parametrize(
    ("env", "scheduler", "job"),
    [
        ({"SLURM_JOB_ID": "1"}, "slurm", "1"),
        ({"PBS_JOBID": "2.server"}, "pbs", "2.server"),
        ({"LSB_JOBID": "3"}, "lsf", "3"),
        ({"JOB_ID": "4", "SGE_ROOT": "/opt/sge"}, "sge", "4"),
        ({"JOB_ID": "4"}, None, None),
        ({"SLURM_JOB_ID": ""}, None, None),
    ],
)
def test_whose_job(env: dict[str, str], scheduler: str | None, job: str | None) -> None:
    seen = look(env=env)
    assert (seen.scheduler, seen.job) == (scheduler, job)


@pytest.mark.parametrize(
    "group",
    [ADOPTED, "11:devices:/slurm/uid_1000/job_4711/step_extern\n", "4:devices:/slurm_node7/uid_1000/job_4711/step_0\n"],
)
def test_a_shell_that_was_put_into_a_job(group: str) -> None:
    seen = look({"/proc/self/cgroup": group})
    assert (seen.scheduler, seen.job) == ("slurm", "4711")
    assert seen.granted == Unknown("this shell was attached to the job and has none of its variables")


@pytest.mark.parametrize(
    ("more", "granted"),
    [
        ({}, None),
        ({"SLURM_GPUS_ON_NODE": "0"}, None),
        ({"SLURM_TRES_PER_TASK": "cpu=4"}, None),
        ({"SLURM_TRES_PER_TASK": "cpu=4,gres/gpu=1"}, "SLURM_TRES_PER_TASK=cpu=4,gres/gpu=1"),
        ({"SLURM_JOB_GPUS": "2,3", "SLURM_GPUS_ON_NODE": "2"}, "SLURM_JOB_GPUS=2,3"),
        ({"SLURM_JOB_GPUS": "2,3", "SLURM_STEP_GPUS": "2"}, "SLURM_STEP_GPUS=2"),
        ({"SLURM_GPUS_PER_NODE": "1"}, "SLURM_GPUS_PER_NODE=1"),
        ({"SLURM_CPUS_PER_TASK": "8"}, None),
    ],
)
def test_what_slurm_granted(more: dict[str, str], granted: str | None) -> None:
    assert look(env=JOB | more).granted == granted


def test_other_systems_do_not_tell() -> None:
    assert isinstance(look(env={"PBS_JOBID": "2"}).granted, Unknown)


@pytest.mark.parametrize(
    ("files", "client"),
    [
        ({"/usr/bin/sbatch": ""}, ("slurm", "/usr/bin/sbatch")),
        ({"/usr/bin/bsub": ""}, ("lsf", "/usr/bin/bsub")),
        ({"/opt/pbs/bin/qsub": "", "/etc/pbs.conf": ""}, ("pbs", "/opt/pbs/bin/qsub")),
        ({"/usr/bin/qsub": ""}, (None, None)),
    ],
)
def test_the_program_that_submits_jobs(files: dict[str, str], client: tuple[str | None, str | None]) -> None:
    seen = look(files)
    assert (seen.client_of, seen.client) == client


@pytest.mark.parametrize(
    ("text", "has"),
    [
        (CONF, True),
        ("ClusterName=c\n#GresTypes=gpu\n", False),
        ("include /etc/slurm/nodes.conf\n", Unknown("/etc/slurm/slurm.conf includes other files")),
        (None, Unknown("no readable slurm.conf here")),
    ],
)
def test_whether_the_cluster_has_gpus(text: str | None, has: object) -> None:
    files = {"/usr/bin/sbatch": ""} | ({"/etc/slurm/slurm.conf": text} if text else {})
    assert look(files).has_gpus == has


def test_a_configuration_elsewhere() -> None:
    env = {"PATH": "/usr/bin", "SLURM_CONF": "/shared/slurm.conf"}
    assert look({"/usr/bin/sbatch": "", "/shared/slurm.conf": CONF}, env).has_gpus is True


@pytest.mark.parametrize(
    ("files", "configured"),
    [
        ({"/etc/containerd/config.toml": "version = 2\n"}, False),
        ({"/etc/containerd/config.toml": "", "/etc/containerd/conf.d/99-nvidia.toml": 'default = "nvidia"'}, True),
        ({"/etc/crio/crio.conf.d/99-nvidia.conf": "[crio.runtime.runtimes.nvidia]"}, True),
    ],
)
def test_a_node_of_kubernetes(files: dict[str, str], configured: bool) -> None:
    seen = look(files | {"/sys/fs/cgroup/kubepods.slice/cgroup.procs": ""})
    assert (seen.kubelet, seen.runtime_configured) == (True, configured)


def test_a_configuration_that_cannot_be_read() -> None:
    path = "/etc/containerd/config.toml"
    machine = RecordedMachine({path: ""}, errors={path: "EACCES"})
    assert cluster.probe(machine, BARE).runtime_configured == Unknown(f"{path}: Permission denied")


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (
            {"/var/lib/rancher/k3s/x": ""},
            "/var/lib/rancher/k3s contains a container runtime whose files cannot be read",
        ),
        (
            {"/etc/containerd/config.toml": 'imports = ["/opt/*/nvidia.toml"]\n'},
            "/etc/containerd/config.toml imports by a pattern of directories",
        ),
    ],
)
def test_a_runtime_whose_files_lie_elsewhere(files: dict[str, str], why: str) -> None:
    plain = {"/etc/containerd/config.toml": 'imports = ["/etc/containerd/conf.d/*.toml"]\n'}
    assert look(plain).runtime_configured is False
    assert look(plain | files).runtime_configured == Unknown(why)


TOML = "/etc/containerd/config.toml"
RUNTIME = "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]\n"


@pytest.mark.parametrize(
    ("files", "configured", "ignored"),
    [
        # nvidia-ctk 1.18.0 writes to config.d, and most configurations import conf.d
        (
            {TOML: 'imports = ["/etc/containerd/conf.d/*.toml"]\n', "/etc/containerd/config.d/99-nvidia.toml": RUNTIME},
            False,
            [("/etc/containerd/config.d/99-nvidia.toml", "/etc/containerd/conf.d")],
        ),
        (
            {TOML: "version = 2\n", "/etc/containerd/config.d/99-nvidia.toml": RUNTIME},
            False,
            [("/etc/containerd/config.d/99-nvidia.toml", None)],
        ),
        (
            {TOML: 'imports = ["/opt/conf/*.toml"]\n', "/etc/containerd/conf.d/99-nvidia.toml": RUNTIME},
            False,
            [("/etc/containerd/conf.d/99-nvidia.toml", "/opt/conf")],
        ),
        # patterns of several lines, relative ones, and files that import others or themselves
        ({TOML: "imports = [\n  'config.d/*.toml',\n]\n", "/etc/containerd/config.d/a.toml": RUNTIME}, True, []),
        (
            {TOML: 'imports = ["/opt/a.toml"]\n', "/opt/a.toml": 'imports = ["b.toml"]\n', "/opt/b.toml": RUNTIME},
            True,
            [],
        ),
        ({TOML: f'imports = ["{TOML}"]\n'}, False, []),
        ({TOML: 'imports = ["/opt/*.toml"]\n', "/opt/nvidia.conf": RUNTIME}, False, []),
        # from 2.2 on its defaults import conf.d
        ({"/etc/containerd/conf.d/99-nvidia.toml": RUNTIME}, True, []),
        # names of files, and comments
        ({TOML: '# nvidia\nimports = ["/opt/nvidia.toml"]\n'}, False, []),
        # a drop-in of something else
        ({TOML: "version = 2\n", "/etc/containerd/config.d/mirrors.toml": "[plugins]\n"}, False, []),
        # until 1.19 nvidia-ctk writes CRI-O's to conf.d, and CRI-O reads crio.conf.d
        (
            {"/etc/crio/crio.conf.d/10-crio.conf": "[crio]\n", "/etc/crio/conf.d/99-nvidia.toml": RUNTIME},
            False,
            [("/etc/crio/conf.d/99-nvidia.toml", "/etc/crio/crio.conf.d")],
        ),
    ],
)
def test_the_files_that_are_read(
    files: dict[str, str], configured: bool, ignored: list[tuple[str, str | None]]
) -> None:
    seen = look(files)
    assert seen.runtime_configured is configured
    assert [(file.path, file.reads) for file in seen.ignored_drop_ins] == ignored


@pytest.mark.parametrize(("release", "read"), [("v1.7.28", False), ("v2.1.4", False), ("v2.2.0", True), ("", True)])
def test_only_newer_releases_read_a_drop_in_that_nothing_imports(release: str, read: bool) -> None:
    files = {TOML: 'disabled_plugins = ["x"]\n', "/etc/containerd/conf.d/99-nvidia.toml": RUNTIME}
    answer = {"containerd": f"containerd containerd.io {release} b98a3aace656\n"} if release else {}
    seen = cluster.probe(RecordedMachine(files, commands=answer), Host(container=None))
    assert seen.runtime_configured is read
    assert [file.path for file in seen.ignored_drop_ins] == ([] if read else ["/etc/containerd/conf.d/99-nvidia.toml"])


@pytest.mark.parametrize(
    ("config", "more", "found"),
    [
        ('disabled_plugins = ["cri"]\n', {}, TOML),
        ("disabled_plugins = [\n  'io.containerd.grpc.v1.cri',\n]\n", {}, TOML),
        ('# disabled_plugins = ["cri"]\n', {}, None),
        ('disabled_plugins = ["zfs"]\n', {}, None),
        ('disabled_plugins = ["cri"]\n', {"/run/crio/crio.sock": ""}, None),
        ('disabled_plugins = ["cri"]\n', {"/run/cri-dockerd.sock": ""}, None),
        ('disabled_plugins = ["cri"]\n', {"/var/lib/rancher/k3s/x": ""}, None),
    ],
)
def test_a_kubelet_whose_runtime_does_not_speak_to_it(config: str, more: dict[str, str], found: str | None) -> None:
    files = {TOML: config, **more}
    there = RecordedMachine(files, commands={"kubelet": ""})
    assert cluster.probe(there, Host(container=None)).cri_disabled == found
    assert cluster.probe(RecordedMachine(files), Host(container=None)).cri_disabled is None  # for Docker alone
    joined = RecordedMachine({**files, "/etc/kubernetes/kubelet.conf": ""})  # its kubelet is in no folder of PATH
    assert cluster.probe(joined, Host(container=None)).cri_disabled == found


def test_inside_a_container_the_node_is_not_looked_at() -> None:
    files = {"/usr/bin/sbatch": "", "/sys/fs/cgroup/kubepods.slice/cgroup.procs": ""}
    seen = look(files, JOB, Host(container="apptainer"))
    assert (seen.scheduler, seen.client, seen.kubelet) == ("slurm", None, False)
    assert isinstance(seen.runtime_configured, Unknown)


def test_a_node_of_kubeadm_whose_kubelet_is_stopped() -> None:
    assert look({"/etc/kubernetes/kubelet.conf": "kind: Config\n"}).kubelet is True
    assert look({"/etc/kubernetes/manifests/x.yaml": ""}).kubelet is False


@pytest.mark.parametrize(
    ("own", "socket"),
    [
        ("/var/lib/rancher/k3s/x", "/run/k3s/containerd/containerd.sock"),
        ("/var/lib/rancher/rke2/x", "/run/k3s/containerd/containerd.sock"),
        ("/var/lib/k0s/x", "/run/k0s/containerd.sock"),
    ],
)
def test_a_distribution_whose_containerd_runs_is_a_node(own: str, socket: str) -> None:
    assert look({own: "", socket: ""}).kubelet is True
    assert look({own: ""}).kubelet is False  # installed, and stopped
    assert look({socket: ""}).kubelet is False


K3S = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
SOCKET = "/run/k3s/containerd/containerd.sock"
K0S = "/etc/k0s/containerd.toml"
UNCLEAR = "the system's containerd is configured for NVIDIA's runtime, and whether pods use it is not known"


@pytest.mark.parametrize(
    ("files", "own", "configured"),
    [
        ({K3S: RUNTIME}, "k3s", True),
        ({K3S: "version = 3\n"}, "k3s", False),
        ({K3S: "version = 3\n", SOCKET: ""}, "k3s", False),
        ({K3S.replace("k3s", "rke2"): "version = 3\n"}, "rke2", False),
        # nvidia-ctk runtime configure writes where k3s does not read
        ({K3S: "version = 3\n", SOCKET: "", TOML: RUNTIME}, "k3s", False),
        ({K3S: "version = 3\n", TOML: RUNTIME}, "k3s", Unknown(UNCLEAR)),
        ({K3S: RUNTIME, TOML: "version = 2\n"}, "k3s", True),
        ({"/var/lib/k0s/bin/containerd": "", K0S: "# k0s_managed=true\nversion = 2\n"}, "k0s", False),
        (
            {"/var/lib/k0s/bin/containerd": "", K0S: "version = 2\n", "/etc/k0s/containerd.d/nvidia.toml": RUNTIME},
            "k0s",
            True,
        ),
        ({"/var/snap/microk8s/current/args/containerd.toml": "version = 2\n"}, "microk8s", False),
        ({"/var/snap/microk8s/current/args/containerd-template.toml": RUNTIME}, "microk8s", True),
        ({TOML: "version = 2\n"}, None, False),
    ],
)
def test_a_containerd_of_the_distribution(files: dict[str, str], own: str | None, configured: bool | Unknown) -> None:
    seen = look(files)
    assert (seen.own_runtime, seen.runtime_configured) == (own, configured)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("version = 3\nroot = '/var/lib/containerd'\n", 3),
        ("# Written by nodeadm\nversion=2\n\n[plugins]\n", 2),
        ("version = 99999\n", None),
        ("root = '/var/lib/containerd'\n\n[plugins.x]\nversion = 3\n", None),
        ("", None),
    ],
)
def test_the_version_of_containerds_configuration(text: str, version: int | None) -> None:
    assert look({TOML: text}).config_version == version
    assert look({TOML: text, "/run/crio/crio.sock": ""}).config_version is None  # CRI-O runs the pods
    assert look({TOML: text, K3S: "version = 3\n"}).config_version is None
    assert look({}).config_version is None


TWO = """\
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]
BinaryName = '/usr/local/nvidia/toolkit/nvidia-container-runtime'
{}
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
BinaryName = '/usr/bin/runc'
"""
CONTAINERD, POD_NODE = "/etc/containerd/config.toml", {"/etc/kubernetes/kubelet.conf": ""}


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", ()),
        ("binaryName = '/usr/local/nvidia/toolkit/nvidia-container-runtime.cdi'", ()),
        ("binaryName = ''", ()),
        (
            "binaryName = '/usr/bin/runc'",
            (RuntimeOverride(path=CONTAINERD, key="binaryName", program="/usr/bin/runc", others=("BinaryName",)),),
        ),
    ],
)
def test_the_program_of_the_runtime_nvidia(more: str, found: object) -> None:
    assert look({**POD_NODE, CONTAINERD: TWO.format(more)}).runtime_overrides == found


def test_a_file_that_is_no_toml() -> None:
    found = look({**POD_NODE, CONTAINERD: TWO.format("binaryName = ")}).runtime_overrides
    assert isinstance(found, Unknown)
    assert found.unknown.startswith(f"{CONTAINERD} cannot be read as TOML: ")


def test_a_machine_that_runs_no_pods_is_not_asked_for_it() -> None:
    assert look({CONTAINERD: TWO.format("binaryName = 'runc'")}).runtime_overrides == ()


def test_the_logs_of_pods_beside_a_kubelet_show_that_it_runs_them() -> None:
    files = {"/var/log/pods/kube-system_x_1/y/0.log": ""}
    there = RecordedMachine(files, commands={"kubelet": ""})
    assert cluster.probe(there, Host(container=None)).kubelet is True
    assert cluster.probe(RecordedMachine(files), Host(container=None)).kubelet is False
    assert cluster.probe(RecordedMachine({}, commands={"kubelet": ""}), Host(container=None)).kubelet is False


NEWER = {
    TOML: 'version = 2\nimports = ["/etc/containerd/conf.d/*.toml"]\n[plugins]\nversion = 9\n',
    "/etc/containerd/conf.d/10-old.toml": "version = 2\n",
    "/etc/containerd/conf.d/99-nvidia.toml": "version = 4\n\n[plugins]\n",
}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (NEWER, 4),
        (NEWER | {TOML: 'version = 2\nimports = ["/etc/containerd/other/*.toml"]\n'}, None),
        (NEWER | {TOML: 'version = 4\nimports = ["/etc/containerd/conf.d/*.toml"]\n'}, None),
        (NEWER | {TOML: "version = 2\n"}, 4),  # from 2.2 on it imports conf.d
        (NEWER | {"/var/lib/rancher/k3s/x": ""}, None),
    ],
)
def test_a_drop_in_of_a_newer_version(files: dict[str, str], found: int | None) -> None:
    said = "containerd github.com/containerd/containerd/v2 v2.3.2 0123456789abcdef\n"
    seen = cluster.probe(RecordedMachine(files, commands={"containerd --version": said}), Host(container=None))
    assert (seen.newer_drop_in.version if seen.newer_drop_in else None) == found
    if seen.newer_drop_in:
        assert (seen.newer_drop_in.path, seen.newer_drop_in.containerd) == (
            "/etc/containerd/conf.d/99-nvidia.toml",
            "2.3.2",
        )
