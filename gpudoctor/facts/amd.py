"""AMD's driver: amdgpu, /dev/kfd, the topology that KFD shows, and ROCm."""

import msgspec

from gpudoctor.facts.node import Node
from gpudoctor.facts.nvidia import Dkms
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Amd(msgspec.Struct, frozen=True, kw_only=True):
    """AMD's driver. The GPUs themselves are in `Facts.gpus`, from KFD's topology."""

    loaded: Maybe[bool] = NOT  # /sys/module/amdgpu
    version: Maybe[str | None] = NOT  # /sys/module/amdgpu/version; None: the in-tree driver has none
    kfd: Maybe[tuple[Node, ...]] = NOT  # /dev/kfd: empty where it is missing
    render: Maybe[tuple[Node, ...]] = NOT  # /dev/dri/renderD*
    topology: Maybe[bool] = NOT  # /sys/class/kfd shows nodes
    dkms: Maybe[tuple[Dkms, ...] | None] = NOT  # of amdgpu; None: dkms is not installed
    packages: Maybe[tuple[tuple[str, str, str], ...]] = NOT  # amdgpu-dkms, rock-dkms ...: (name, version, state)
    rocm: Maybe[str | None] = NOT  # release: "6.3.4"; None: not installed
    rocm_path: Maybe[str | None] = NOT
    blacklisted: Maybe[bool] = NOT
    dxg: Maybe[bool] = NOT  # /dev/dxg: WSL's door
