"""The batch job that this process is part of, and whether pods run on this machine: from the environment and files."""

import re

from gpudoctor.facts import Cluster, Host
from gpudoctor.facts.cluster import IgnoredDropIn, NewerDropIn, RuntimeOverride, SlurmNode
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or

# The variable that each batch system sets in all of its jobs. JOB_ID alone is anybody's; Grid Engine has a spool too.
_JOBS = (
    ("slurm", "SLURM_JOB_ID"),
    ("pbs", "PBS_JOBID"),
    ("lsf", "LSB_JOBID"),
)
# A shell that pam_slurm_adopt put into a job has its control group and none of its variables.
_ADOPTED = pattern(r"/(?:slurmstepd\.scope|slurm(?:_\w+)?/uid_\d+)/job_(\d+)")
# By which Slurm tells a step of its GPUs (srun(1), sbatch(1)), most telling first; TRES and GRES name any resource.
_GRANTED = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE", "GPU_DEVICE_ORDINAL")
_ASKED = pattern(r"SLURM_(?:\w*GPU\w*|(?:STEP_)?GRES\w*|TRES_PER_\w+)")
_CLIENTS = (("slurm", "sbatch"), ("lsf", "bsub"))
_SLURM_CONF = ("/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf", "/etc/slurm-llnl/slurm.conf")
_SLURMD = ("/usr/sbin", "/usr/local/sbin", "/opt/slurm/sbin")
# The group of all pods: a running kubelet makes it, in one of its two cgroup drivers' names.
_PODS = ("/sys/fs/cgroup/kubepods.slice", "/sys/fs/cgroup/kubepods")
# The kubelet's access to its cluster, written where a machine becomes a node: kubeadm's, and AKS's and EKS's; and the
# settings that EKS's nodeadm writes then.
_KUBELET = ("/etc/kubernetes/kubelet.conf", "/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubelet/config.json")
_LOGS = "/var/log/pods"
_OF_HOST = Unknown("the host's: not visible from the container")
_PODS_1 = ("/sys/fs/cgroup/memory/kubepods.slice", "/sys/fs/cgroup/memory/kubepods")


def probe(machine: Machine, host: Host) -> Cluster:
    """Look at variables, the control group and a few configuration files; no scheduler is asked."""
    scheduler, job = _job(machine)
    inside = known_or(host.container, None) is not None
    client_of, client = (None, None) if inside else _client(machine)
    slurm = "slurm" in (scheduler, client_of)
    own, (runtime, ignored), no_cri, written = (None, (_OF_HOST, ()), None, None) if inside else _pod_runtime(machine)
    kubelet = not inside and (_runs_own(machine, own) or _runs_pods(machine))
    blind, refused = _pods_logs(machine) if kubelet else (None, None)
    return Cluster(
        scheduler=scheduler,
        job=job,
        granted=_granted(machine, scheduler),
        client=client,
        client_of=client_of,
        has_gpus=_has_gpus(machine) if slurm else None,
        kubelet=kubelet,
        runtime_configured=runtime,
        plugin_blind=blind,
        toolkit_refused=refused,
        config_version=written,
        newer_drop_in=_newer_drop_in(machine, written),
        own_runtime=own,
        cri_disabled=no_cri,
        ignored_drop_ins=ignored,
        runtime_overrides=_overrides(machine, runtime, own) if kubelet else (),
        slurm_node=_slurm_node(machine, host),
    )


def _runs_pods(machine: Machine) -> bool:
    """Whether a kubelet runs pods here: by their control group and its files, or by their logs beside its program."""
    if any(map(machine.exists, (*_PODS, *_PODS_1, *_KUBELET))):
        return True
    return bool(machine.names(_LOGS)) and machine.which("kubelet") is not None


def _slurm_node(machine: Machine, host: Host) -> SlurmNode | None:
    slurmd = machine.which("slurmd", _SLURMD)
    if slurmd is None:
        return None
    from gpudoctor.probes.slurm_node import probe as of_node

    return of_node(machine, slurmd, known_or(host.hostname, None))


def _runs_own(machine: Machine, own: str | None) -> bool:
    """Whether the containerd that a distribution of Kubernetes brings runs: its agent is a kubelet, too."""
    if own is None:
        return False
    from gpudoctor.probes.pod_runtimes import socket_of

    return machine.exists(socket_of(own))


def _pod_runtime(
    machine: Machine,
) -> tuple[str | None, tuple[Maybe[bool | None], tuple[IgnoredDropIn, ...]], str | None, int | None]:
    # What containers do not need.
    from gpudoctor.probes.pod_runtimes import config_version, configured, cri_disabled, own_runtime

    own = own_runtime(machine)
    return own, configured(machine, own), cri_disabled(machine, _runs_pods(machine)), config_version(machine)


def _newer_drop_in(machine: Machine, written: int | None) -> NewerDropIn | None:
    if written is None:
        return None
    from gpudoctor.probes.pod_runtimes import newer_drop_in

    return newer_drop_in(machine, written)


def _overrides(machine: Machine, runtime: Maybe[bool | None], own: str | None) -> Maybe[tuple[RuntimeOverride, ...]]:
    if runtime is not True or own is not None:
        return ()
    from gpudoctor.probes.pod_runtimes import overrides

    return overrides(machine)


def _pods_logs(machine: Machine) -> tuple[Maybe[str | None], Maybe[str | None]]:
    from gpudoctor.probes.device_plugin import blind, refused

    return blind(machine), refused(machine)


def _job(machine: Machine) -> tuple[str | None, str | None]:
    for name, variable in _JOBS:
        if machine.env.get(variable):
            return name, machine.env[variable]
    if machine.env.get("JOB_ID") and machine.env.get("SGE_ROOT"):
        return "sge", machine.env["JOB_ID"]
    groups = machine.line("/proc/self/cgroup") or ""
    adopted = _ADOPTED.search(groups) if "/slurm" in groups else None
    return ("slurm", adopted[1]) if adopted else (None, None)


def _granted(machine: Machine, scheduler: str | None) -> Maybe[str | None]:
    """What the batch system says of GPUs: only Slurm's variables tell that none was asked for."""
    if scheduler != "slurm":
        return None if scheduler is None else Unknown(f"{scheduler}'s variables do not show whether GPUs were granted")
    if "SLURM_JOB_ID" not in machine.env:
        return Unknown("this shell was attached to the job and has none of its variables")
    names = [*_GRANTED, *sorted(n for n in machine.env if _ASKED.fullmatch(n) and n not in _GRANTED)]
    for name in names:
        value = machine.env.get(name, "")
        if value not in ("", "0") and (not name.startswith(("SLURM_TRES", "SLURM_GRES")) or "gpu" in value):
            return f"{name}={value}"
    return None


def _client(machine: Machine) -> tuple[str | None, str | None]:
    for name, program in _CLIENTS:
        path = machine.which(program, ("/usr/bin", "/opt/slurm/bin"))
        if path is not None:
            return name, path
    # qsub is the name of several systems' program; OpenPBS and PBS Professional have this file.
    path = machine.which("qsub", ("/opt/pbs/bin",)) if machine.exists("/etc/pbs.conf") else None
    return ("pbs", path) if path else (None, None)


def _has_gpus(machine: Machine) -> Maybe[bool | None]:
    """Whether slurm.conf names GPUs among the generic resources."""
    for path in (machine.env.get("SLURM_CONF", ""), *_SLURM_CONF):
        text = (machine.line(path) or "") if path.startswith("/") else ""
        if text:
            found = re.search(r"^\s*GresTypes\s*=\s*(.*)$", text, re.MULTILINE | re.IGNORECASE)
            if found is None and re.search(r"^\s*include\s", text, re.MULTILINE | re.IGNORECASE):
                return Unknown(f"{path} includes other files")
            return found is not None and "gpu" in found[1].lower()
    return Unknown("no readable slurm.conf here")
