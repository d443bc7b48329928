"""Whether this process runs in a container, and in whose."""

import re

import msgspec

from gpudoctor.machine import Machine

SERVICE_ACCOUNT = ("/var/run/secrets/kubernetes.io/serviceaccount", "/run/secrets/kubernetes.io/serviceaccount")

# Parts of paths in /proc/1/cgroup and of the mounts that an engine lays over /etc/hosts, most telling first.
_WORDS = (
    ("/enroot/", "enroot"),
    ("libpod", "podman"),
    ("containers/storage", "podman"),
    ("cri-containerd", "containerd"),
    ("io.containerd", "containerd"),
    ("containerd/", "containerd"),
    ("crio-", "cri-o"),
    ("docker-", "docker"),
    ("/docker/", "docker"),
    ("docker/containers", "docker"),
    ("lxc.payload", "lxc"),
    ("/lxc/", "lxc"),
    ("kubepods", "kubernetes"),
    ("kubelet/pods", "kubernetes"),
)
# Engines bind files of their own over these; the same words elsewhere belong to a host that runs containers.
_BOUND = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/dev/termination-log")
_MANAGERS = {"systemd-nspawn": "systemd-nspawn", "lxc": "lxc", "lxc-libvirt": "lxc", "docker": "docker"}
_MANAGERS |= {"podman": "podman", "oci": "oci", "rkt": "rkt", "container-other": "container", "incus": "lxc"}


class DetectedContainer(msgspec.Struct, frozen=True):
    """What was seen: the engine's name (None: no container), and whether Kubernetes started it."""

    name: str | None
    kubernetes: bool


def probe(machine: Machine) -> DetectedContainer:
    """Look for the marks that container engines leave; a variable alone never makes a container."""
    mounts, groups = _bound_mounts(machine), machine.line("/proc/1/cgroup") or ""
    name = _marked(machine) or _worded(groups) or _worded(mounts) or _lxc(machine)
    kubernetes = _kubernetes(machine, name, groups + mounts)
    if kubernetes and name is None:
        name = "kubernetes"
    return DetectedContainer(name, kubernetes)


def _marked(machine: Machine) -> str | None:
    """The marks that are there on purpose."""
    if machine.exists("/.singularity.d"):
        return "apptainer"
    if machine.exists("/.flatpak-info"):
        return "flatpak"
    engine = machine.line("/run/.containerenv")
    if engine is not None and machine.exists("/run/.toolboxenv"):
        return "toolbox"
    if engine is not None and "DISTROBOX_ENTER_PATH" in machine.env:
        return "distrobox"
    if engine is not None:
        # podman writes engine="podman-5.2.0", into rootless containers and others; an empty file is podman's too.
        found = re.search(r'engine="([a-z]+)', engine)
        return found[1] if found else "podman"
    if machine.exists("/.dockerenv"):
        return "docker"
    # systemd copies there what its container manager calls itself; WSL counts as one and is none.
    said = machine.line("/run/systemd/container") or machine.line("/run/host/container-manager")
    return _MANAGERS.get(said, said) if said and said != "wsl" else None


def _worded(text: str) -> str | None:
    return next((name for word, name in _WORDS if word in text), None)


def _bound_mounts(machine: Machine) -> str:
    """The sources of the mounts over /etc/hosts and its like, and what an overlay under / is made of."""
    lines = []
    for line in (machine.line("/proc/self/mountinfo") or "").splitlines():
        fields = line.split(" ")
        root = fields[4:5] == ["/"] and (" - overlay " in line or "/enroot/" in line)
        if len(fields) > 6 and (root or fields[4] in _BOUND):
            lines.append(line)
    return "\n".join(lines)


def _lxc(machine: Machine) -> str | None:
    """LXC without systemd: lxcfs over /proc, or the environment of the first process, which root may read."""
    mounts = machine.line("/proc/self/mountinfo") or ""
    if re.search(r" /proc/(?:meminfo|cpuinfo|stat|uptime) .* - fuse\.lxcfs ", mounts):
        return "lxc"
    first = (machine.line("/proc/1/environ") or "").split("\0")
    said = next((pair[10:] for pair in first if pair.startswith("container=")), "")
    return _MANAGERS.get(said, said) or None


def _kubernetes(machine: Machine, name: str | None, text: str) -> bool:
    if "kubepods" in text or "kubelet/pods" in text:
        return True
    account = any(machine.exists(path) for path in SERVICE_ACCOUNT)
    return "KUBERNETES_SERVICE_HOST" in machine.env and (account or name is not None)
