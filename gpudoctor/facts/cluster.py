"""The cluster that this machine belongs to: the job that this process runs in, and Kubernetes' node."""

import msgspec

from gpudoctor.facts.text_types import Small
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class IgnoredDropIn(msgspec.Struct, frozen=True, kw_only=True):
    """A file that names NVIDIA's runtime, in a directory that the container runtime does not read."""

    path: str  # "/etc/containerd/config.d/99-nvidia.toml"
    reads: str | None = (
        None  # the directory that it reads: "/etc/containerd/conf.d"; None: its configuration names none
    )


class NewerDropIn(msgspec.Struct, frozen=True, kw_only=True):
    """A file that containerd's configuration imports, of a newer version of the format than the configuration."""

    path: str  # "/etc/containerd/conf.d/99-nvidia.toml"
    version: Small
    containerd: Maybe[str] = NOT  # the release of containerd here


class RuntimeOverride(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime nvidia of a file of containerd's, that runs another program than NVIDIA's."""

    path: str  # "/etc/containerd/config.toml"
    key: str  # the option that names the program, as written: "binaryName"
    program: str  # "/usr/local/bin/runc"
    others: tuple[str, ...] = ()  # the same option in other letters, which containerd takes for one: "BinaryName"


class SlurmNode(msgspec.Struct, frozen=True, kw_only=True):
    """How slurmd, which is installed here, is to find this machine's GPUs."""

    gres_conf: str | None = None  # the file that says it: "/etc/slurm/gres.conf"; None: none was found
    autodetect: Maybe[str | None] = NOT  # its AutoDetect for this node: "nvml", "rsmi"; None: nothing or "off"
    lists_gpus: bool = False  # a line of it names or counts this node's GPUs
    gres_types: Maybe[bool] = NOT  # slurm.conf's GresTypes names gpu
    gres: Maybe[str | None] = NOT  # Gres of this node in slurm.conf, or of slurmd's --conf: "gpu:8"; None: it has none
    dynamic: bool = False  # slurmd announces this node itself (-Z), so no line of slurm.conf names it
    plugin_folders: Maybe[tuple[str, ...]] = NOT  # with Slurm's plugins: "/usr/lib64/slurm"
    gpu_plugins: Maybe[tuple[str, ...]] = NOT  # the gpu_*.so in any of them: "generic", "nvidia", "nvml"


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch system or Kubernetes says of this process and this machine; nothing of it is asked by network."""

    scheduler: Maybe[str | None] = NOT  # whose job this is: slurm, pbs, lsf, sge; None: no job
    job: Maybe[str | None] = NOT  # its number
    granted: Maybe[str | None] = NOT  # the variable that names its GPUs, "SLURM_JOB_GPUS=2,3"; None: there is none
    client: Maybe[str | None] = NOT  # path of the program that submits jobs; None: not here
    client_of: Maybe[str | None] = NOT  # slurm, pbs, lsf
    has_gpus: Maybe[bool | None] = NOT  # the cluster has GPUs, by slurm.conf; None: not a Slurm cluster
    kubelet: Maybe[bool] = NOT  # pods run on this machine: it is a node
    runtime_configured: Maybe[bool | None] = NOT  # containerd's or CRI-O's files name nvidia; None: neither is here
    runtime_overrides: Maybe[tuple[RuntimeOverride, ...]] = NOT  # options that keep that runtime from being NVIDIA's
    plugin_blind: Maybe[str | None] = NOT  # the line of the device plugin's log that it finds no GPU; None: none is
    toolkit_refused: Maybe[str | None] = (
        NOT  # the line of the toolkit's pod that it cannot read containerd's configuration; None: it is not there
    )
    config_version: Small | None = None  # of /etc/containerd/config.toml, by which pods run: 2, 3; None: none
    newer_drop_in: NewerDropIn | None = None  # the first of that file's imports
    own_runtime: str | None = None  # the Kubernetes here that brings its own containerd: k3s, rke2, k0s, microk8s
    cri_disabled: str | None = None  # the file by which the kubelet's containerd turns CRI off; None: none does
    ignored_drop_ins: tuple[IgnoredDropIn, ...] = ()  # files for containerd or CRI-O that name nvidia and are not read
    slurm_node: SlurmNode | None = None  # None: slurmd is not here
