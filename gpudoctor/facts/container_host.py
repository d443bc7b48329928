"""What this host offers to containers: Docker, the NVIDIA Container Toolkit, CDI."""

import msgspec

from gpudoctor.facts.text_types import Small, Version
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class RefusedContainer(msgspec.Struct, frozen=True, kw_only=True):
    """A container that did not start: the driver is older than its image requires, or Docker has no GPU."""

    name: str
    condition: str  # of NVIDIA_REQUIRE_CUDA: "cuda>=12.8", "driver>=535"; "gpus": Docker finds no vendor or driver


class CdiNode(msgspec.Struct, frozen=True, kw_only=True):
    """A device node in a CDI specification of NVIDIA's; of GPUs and MIG's slices one of each major."""

    file: str  # "/etc/cdi/nvidia.yaml"
    kind: str  # of its devices: "nvidia.com/gpu"
    path: str  # of the host: "/dev/nvidia-uvm"
    major: Small | None = None  # None: it names none, and an engine takes the host's


class CdiGone(msgspec.Struct, frozen=True, kw_only=True):
    """A file, socket or device node that a CDI specification of NVIDIA's passes in, and that the host does not have."""

    file: str  # "/etc/cdi/nvidia.yaml"
    kind: str  # of its devices: "nvidia.com/gpu"
    path: str  # "/run/nvidia-persistenced/socket"


class ContainerHost(msgspec.Struct, frozen=True, kw_only=True):
    """The container engines of this host and their NVIDIA configuration."""

    docker: Maybe[str | None] = NOT  # path of the client; None: not installed
    docker_version: Maybe[str | None] = NOT  # of the server
    runc_version: Maybe[str | None] = NOT  # as Docker's daemon reports it: "v1.2.5-0-g59923ef"
    docker_runtimes: Maybe[tuple[str, ...] | None] = NOT  # as the daemon lists them
    docker_default_runtime: Maybe[str | None] = NOT
    docker_snap: Maybe[bool | None] = NOT
    docker_rootless: Maybe[bool | None] = NOT
    docker_desktop: Maybe[bool | None] = NOT
    docker_cgroup_driver: Maybe[str | None] = NOT
    docker_cdi: Maybe[bool | None] = NOT  # the daemon reads CDI specifications; None: no Docker
    docker_config_runtimes: Maybe[tuple[str, ...] | None] = NOT  # in /etc/docker/daemon.json
    docker_config_error: str | None = None  # daemon.json that is no JSON
    podman: Maybe[str | None] = NOT
    podman_version: Maybe[str | None] = NOT  # asked only where what it reads of CDI depends on it
    podman_cdi_dirs: Maybe[tuple[str, ...] | None] = None  # cdi_spec_dirs of containers.conf; None: not set
    toolkit: Maybe[str | None] = NOT  # version of nvidia-ctk, "installed" where it tells none; None: not installed
    toolkit_path: str | None = None  # the program that was asked: "/usr/local/nvidia/toolkit/nvidia-ctk"
    toolkit_error: Maybe[str | None] = NOT  # the loader's message where a program of the toolkit cannot start
    no_cgroups: Maybe[bool | None] = NOT  # nvidia-container-runtime/config.toml; None: no such file
    envvar_unprivileged: Maybe[bool | None] = (
        NOT  # that file lets NVIDIA_VISIBLE_DEVICES count in unprivileged containers, its default; None: no such file
    )
    runtime_mode: Maybe[str | None] = NOT  # of NVIDIA's runtime, in the same file: auto, cdi, legacy, csv
    cdi_service: Maybe[bool | None] = NOT  # the unit nvidia-cdi-refresh is installed (toolkit 1.18), not masked
    cdi: Maybe[tuple[str, ...]] = NOT  # specifications under /etc/cdi and /var/run/cdi
    cdi_driver: Maybe[str | None] = NOT  # driver version that the nvidia specification names
    cdi_fields: dict[str, str] = {}  # fields of NVIDIA's specification that came with a later CDI version: that version
    cdi_nodes: Maybe[tuple[CdiNode, ...]] = NOT
    cdi_gone: tuple[CdiGone, ...] = ()  # what is known to be missing of what NVIDIA's specifications name
    enroot_hook: Maybe[str | None] = NOT  # path of the hook by which enroot passes NVIDIA GPUs; None: there is none
    hook: Maybe[bool] = NOT  # an OCI hook of NVIDIA's, by which older Podmans get the GPU without CDI
    # The driver versions that gVisor's nvproxy takes; None: no gVisor that passes GPUs on. And what turns it on.
    gvisor_drivers: Maybe[tuple[Version, ...] | None] = None
    gvisor_config: str | None = None  # "/etc/containerd/runsc.toml"
    refused: Maybe[tuple[RefusedContainer, ...]] = NOT  # containers that never ran for that; not asked by --quick
    bpf_jit_harden: Maybe[Small | None] = NOT  # net.core.bpf_jit_harden; None: only root reads it, and no file sets it
    kptr_restrict: Maybe[Small | None] = NOT  # kernel.kptr_restrict; None: the kernel has no such setting
    user_namespace: Maybe[bool] = NOT  # this system is itself an unprivileged container: root here is not root outside
