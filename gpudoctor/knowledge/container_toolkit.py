"""Which releases of the NVIDIA Container Toolkit fail with which engines."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class CgroupReleases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases that set device rules in spite of no-cgroups, each with the release that works."""

    hook: dict[str, str]
    direct: dict[str, str]


class CdiReleases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases of the toolkit and of engines that agree on CDI's fields."""

    writes_groups: str
    last_without: str
    engines: dict[str, str]
    etc_alone: tuple[str, str]  # Podman's releases that read /etc/cdi alone: from the first, before the second
    podman: str  # the first Podman that knows CDI
    gpus_by_cdi: str  # the first Docker whose --gpus takes a specification


class SandboxUtils(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Toolkits that a driver's libnvidia-sandboxutils ends, and the driver branches that have that library."""

    since: str
    settable: str
    before: str
    branches: tuple[int, ...]
    fixed: int


class DevicePlugin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What Kubernetes' device plugin logs, in small letters: that it finds no GPU, and that it offers them."""

    blind: tuple[str, ...]
    works: str


class ContainerdReleases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first toolkit that reads containerd's configuration of version 3, and what the toolkit's pod logs."""

    reads_version_3: str
    refused: tuple[str, ...]
    works: str
    refuses_newer: tuple[str, str]  # containerd's own releases that refuse a newer drop-in: from, before


class ContainerToolkit(KnowledgeTable, frozen=True):
    """The table ``container_toolkit.toml``."""

    cgroups: CgroupReleases
    cdi: CdiReleases
    sandboxutils: SandboxUtils
    plugin: DevicePlugin
    containerd: ContainerdReleases


@cache
def container_toolkit() -> ContainerToolkit:
    """Return the table, read once."""
    return load("container_toolkit", ContainerToolkit)
