"""What this host offers to containers: Docker, Podman, the NVIDIA Container Toolkit and CDI."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from gpudoctor.child import ChildResult
from gpudoctor.facts import ContainerHost, Host
from gpudoctor.facts.container_host import RefusedContainer
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parsers.docker_info import DockerInfo, docker_info
from gpudoctor.parsers.numbers import whole

# `docker info` answers in a tenth of a second; a daemon that hangs must not cost more than this.
_INFO_SECONDS = 3.0
_CLIENTS = ("/usr/bin", "/usr/local/bin", "/snap/bin")
# GPU operators install the toolkit under /usr/local/nvidia/toolkit.
_TOOLKIT = ("/usr/bin", "/usr/local/bin", "/usr/local/nvidia/toolkit")
# Before nvidia-ctk there was, the runtime handed --version on to runc and told that one's.
_CLI = "nvidia-container-cli"
_TOOLKIT_PROGRAMS = ("nvidia-ctk", _CLI, "nvidia-container-runtime")
# The loader's message (_dl_signal_error in glibc, elf/dl-error-skeleton.c).
_NOT_LOADED = pattern(r"(?m)^\S+: error while loading shared libraries: .+")
_HOOK = "oci-nvidia-hook.json"
_HOOKS = ("/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d")
# Containers that hold a whole system, in which Docker may run too.
_SYSTEMS = ("lxc", "systemd-nspawn")
_CONFIG = "/etc/nvidia-container-runtime/config.toml"
# The hook that comes with enroot (conf/hooks/98-nvidia.sh of NVIDIA/enroot).
_ENROOT = "/etc/enroot/hooks.d/98-nvidia.sh"
_NO_CGROUPS = pattern(r"^\s*no-cgroups\s*=\s*true\b", re.MULTILINE)
_NO_ENVVAR = pattern(r"^\s*accept-nvidia-visible-devices-envvar-when-unprivileged\s*=\s*false\b", re.MULTILINE)
# The GPU operator's toolkit has a configuration of its own there.
_OPERATOR = "/usr/local/nvidia/toolkit"
_MODE = pattern(r"""^\s*mode\s*=\s*["'](\w[\w-]*)""", re.MULTILINE)
# A file in /etc goes before the package's.
_REFRESH = tuple(f"{folder}/systemd/system/nvidia-cdi-refresh.service" for folder in ("/etc", "/usr/lib", "/lib"))
# Options of the daemon stand in its unit and in the files that units of distributions name (dockerd(8), --add-runtime).
_UNITS = ("/etc/systemd/system/docker.service", "/etc/default/docker", "/etc/sysconfig/docker")
_UNIT_DROP_INS = "/etc/systemd/system/docker.service.d"
_ADDED = pattern(r"--add-runtime[= ][\"']?([\w.-]+)=")
# Where sysctl(8) reads: a file of a later folder replaces one of the same name.
_SYSCTL = ("/usr/lib/sysctl.d", "/run/sysctl.d", "/etc/sysctl.d")
_HARDEN = pattern(r"^\s*-?net[./]core[./]bpf_jit_harden\s*=\s*(\d)\b", re.MULTILINE)
_UNASKED = Unknown("not asked: no CDI specification here depends on Podman's release")
_INSIDE = Unknown("the host's: not visible from the container")
_UNWANTED = Unknown("not asked: there is no GPU that a container could use")

Runtimes = Maybe[tuple[str, ...] | None]


class _Daemon(msgspec.Struct, frozen=True):
    """Docker's daemon: what it says, or why it says nothing; None: there is no Docker."""

    info: Maybe[DockerInfo | None]

    def field(self, name: str) -> Maybe[str | None]:
        if isinstance(self.info, DockerInfo):
            return getattr(self.info, name) or Unknown(f"docker info does not print {name.replace('_', ' ')}")
        return self.info


def probe(machine: Machine, host: Host, wanted: bool, quick: bool = False) -> ContainerHost:
    """Look at the container engines.

    Args:
        machine: the machine.
        host: what it is; from inside a container nothing of this can be seen.
        wanted: whether there is a GPU; the daemon is asked only then.
        quick: do not ask for containers.
    """
    if known_or(host.container, None) not in (None, *_SYSTEMS):
        return _unknown(_INSIDE)
    from gpudoctor.probes import cdi

    client = _client(machine)
    daemon = _Daemon(_ask(machine, client) if wanted and client else _UNWANTED if client else None)
    configured, error = _configured(machine, daemon)
    specifications, config = cdi.probe(machine), _config(machine)
    podman, podman_version, podman_cdi_dirs = _podman(
        machine, specifications.fields, specifications.paths, wanted, quick
    )
    toolkit, toolkit_path, toolkit_error = _toolkit(machine, wanted, quick)
    drivers, runsc_config = _gvisor(machine) if wanted else (None, None)
    return ContainerHost(
        docker=client,
        docker_version=daemon.field("server_version"),
        runc_version=daemon.field("runc_version"),
        docker_runtimes=daemon.info.runtimes if isinstance(daemon.info, DockerInfo) else daemon.info,
        docker_default_runtime=daemon.field("default_runtime"),
        docker_snap=_snap(machine, client, daemon),
        docker_rootless=_rootless(machine, client, daemon),
        docker_desktop=_desktop(machine, client, daemon),
        docker_cgroup_driver=daemon.field("cgroup_driver"),
        docker_cdi=bool(daemon.info.cdi_spec_dirs) if isinstance(daemon.info, DockerInfo) else daemon.info,
        docker_config_runtimes=configured,
        docker_config_error=error,
        podman=podman,
        podman_version=podman_version,
        podman_cdi_dirs=podman_cdi_dirs,
        toolkit=toolkit,
        toolkit_path=toolkit_path,
        toolkit_error=toolkit_error,
        no_cgroups=bool(_NO_CGROUPS.search(config)) if isinstance(config, str) else config,
        envvar_unprivileged=_envvar(machine, config),
        runtime_mode=_mode(config) if isinstance(config, str) else config,
        cdi_service=any(machine.exists(path) and machine.real(path) != "/dev/null" for path in _REFRESH),
        cdi=specifications.paths,
        cdi_driver=specifications.driver,
        cdi_fields=specifications.fields,
        cdi_nodes=specifications.nodes,
        cdi_gone=specifications.gone,
        enroot_hook=_ENROOT if machine.exists(_ENROOT) else None,
        hook=any(machine.exists(f"{folder}/{_HOOK}") for folder in _HOOKS),
        gvisor_drivers=drivers,
        gvisor_config=runsc_config,
        refused=_refused(machine, client, daemon, quick),
        bpf_jit_harden=_bpf_jit_harden(machine) if client else None,
        kptr_restrict=whole(machine.line("/proc/sys/kernel/kptr_restrict") or ""),
        user_namespace=_user_namespace(machine),
    )


def _gvisor(machine: Machine) -> tuple[Maybe[tuple[str, ...] | None], str | None]:
    if machine.which("runsc", ("/usr/local/bin",)) is None:
        return None, None
    from gpudoctor.probes import gvisor  # few hosts have it

    return gvisor.probe(machine)


def _unknown(why: Unknown) -> ContainerHost:
    return ContainerHost(
        docker=why,
        docker_version=why,
        runc_version=why,
        docker_runtimes=why,
        docker_default_runtime=why,
        docker_snap=why,
        docker_rootless=why,
        docker_desktop=why,
        docker_cgroup_driver=why,
        docker_cdi=why,
        docker_config_runtimes=why,
        podman=why,
        podman_version=why,
        podman_cdi_dirs=why,
        toolkit=why,
        toolkit_error=why,
        no_cgroups=why,
        envvar_unprivileged=why,
        runtime_mode=why,
        cdi_service=why,
        cdi=why,
        cdi_driver=why,
        cdi_nodes=why,
        enroot_hook=why,
        hook=why,
        refused=why,
        bpf_jit_harden=why,
        kptr_restrict=why,
        user_namespace=why,
    )


def _user_namespace(machine: Machine) -> Maybe[bool]:
    """Whether users are mapped: the first namespace maps all 2^32 - 1 ids to themselves (user_namespaces(7))."""
    text = machine.line("/proc/self/uid_map")
    return Unknown("/proc/self/uid_map cannot be read") if text is None else text.split() != ["0", "0", "4294967295"]


def _bpf_jit_harden(machine: Machine) -> int | None:
    """What the kernel says, or, since only root reads that, what a file of sysctl.d(5) sets: the last one counts."""
    own = whole(machine.line("/proc/sys/net/core/bpf_jit_harden") or "")
    if own is not None:
        return own
    files = {name: f"{folder}/{name}" for folder in _SYSCTL for name in machine.names(folder) if name.endswith(".conf")}
    found = None
    for path in (*(files[name] for name in sorted(files)), "/etc/sysctl.conf"):
        for match in _HARDEN.finditer(machine.line(path) or ""):
            found = int(match[1])
    return found


def _client(machine: Machine) -> str | None:
    """Return Docker's client; the package podman-docker installs a script of the same name, which is Podman."""
    path = machine.which("docker", _CLIENTS)
    if path is None:
        return None
    try:
        is_podman = b"podman" in machine.data(path, 4096)
    except OSError:  # a program of some megabytes, hence none of such scripts
        is_podman = False
    return None if is_podman else path


def _ask(machine: Machine, client: str) -> Maybe[DockerInfo]:
    ended = machine.run([client, "info"], seconds=_INFO_SECONDS)
    text = f"{ended.out}\n{ended.err}"
    info = docker_info(text)
    if info.server_version or info.runtimes:
        return info
    if ended.timed_out:
        return Unknown(f"docker info did not respond within {_INFO_SECONDS:g} seconds")
    if "permission denied" in text:
        return Unknown(
            "docker info: permission denied: the user may not use the Docker daemon (root or the group docker may)"
        )
    why = info.error or ended.missing or next(iter(text.strip().splitlines()), f"ended with {ended.code}")
    return Unknown(f"docker info: {why}")


def _refused(machine: Machine, client: str | None, daemon: _Daemon, quick: bool) -> Maybe[tuple[RefusedContainer, ...]]:
    if client is None:
        return ()
    if not isinstance(daemon.info, DockerInfo):
        return Unknown("not asked: the Docker daemon does not respond")
    if quick:
        return Unknown("Docker was not asked for containers (--quick)")
    from gpudoctor.probes import refused_containers

    return refused_containers.refused(machine, client)


def _of_system(machine: Machine) -> bool:
    """Whether another root has the socket of the system's daemon: rootless ones and Docker Desktop's are elsewhere."""
    return not machine.here and machine.exists("/run/docker.sock")


def _snap(machine: Machine, client: str | None, daemon: _Daemon) -> bool | None:
    if client is None:
        return None
    root = daemon.info.root_dir if isinstance(daemon.info, DockerInfo) else None
    return (
        client.startswith("/snap/") or machine.real(client) == "/usr/bin/snap" or (root or "").startswith("/var/snap/")
    )


def _rootless(machine: Machine, client: str | None, daemon: _Daemon) -> Maybe[bool | None]:
    if client is None:
        return None
    if isinstance(daemon.info, DockerInfo):
        return daemon.info.is_rootless
    if _of_system(machine):
        return False
    named = f"{machine.env.get('DOCKER_HOST', '')} {_context(machine)}"
    return True if "/run/user/" in named or "rootless" in named else daemon.info


def _desktop(machine: Machine, client: str | None, daemon: _Daemon) -> Maybe[bool | None]:
    if client is None:
        return None
    if isinstance(daemon.info, DockerInfo):
        return "Docker Desktop" in (daemon.info.operating_system or "")
    if _of_system(machine):
        return False
    return True if _context(machine) == "desktop-linux" else daemon.info


def _context(machine: Machine) -> str:
    """Return the name of the context that the client uses: environment first, then its configuration."""
    if machine.env.get("DOCKER_CONTEXT"):
        return machine.env["DOCKER_CONTEXT"]
    folder = machine.env.get("DOCKER_CONFIG") or f"{machine.env.get('HOME', '/root')}/.docker"
    content, _error = _json(machine, f"{folder}/config.json")
    name = content.get("currentContext") if isinstance(content, dict) else None
    return name if isinstance(name, str) else ""


def _configured(machine: Machine, daemon: _Daemon) -> tuple[Runtimes, str | None]:
    """Return the runtimes in the daemon's configuration, and what is wrong with the file."""
    path = "/etc/docker/daemon.json"
    if isinstance(daemon.info, DockerInfo) and daemon.info.is_rootless:
        from gpudoctor.probes.podman import config_home

        path = f"{config_home(machine)}/docker/daemon.json"
    content, error = _json(machine, path)
    added = () if machine.here else _added(machine)  # where the daemon can be asked, it names them all
    if isinstance(content, Unknown) or (content is None and not added):
        return content, error
    runtimes = content.get("runtimes") if isinstance(content, dict) else None
    return (*(runtimes if isinstance(runtimes, dict) else ()), *added), error


def _added(machine: Machine) -> tuple[str, ...]:
    """The runtimes among the daemon's options."""
    drop_ins = (f"{_UNIT_DROP_INS}/{name}" for name in machine.names(_UNIT_DROP_INS))
    texts = (machine.line(path) or "" for path in (*_UNITS, *drop_ins))
    return tuple(name for text in texts for name in _ADDED.findall(text))


def _json(machine: Machine, path: str) -> tuple[object, str | None]:
    """Return a JSON file's content, None where there is no file; and what is wrong with it."""
    try:
        text = machine.text(path, 1 << 20)
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except OSError as error:
        return Unknown(f"{path}: {error.strerror}"), None
    import json

    try:
        content: object = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        return Unknown(f"{path} is not valid JSON: {error}"), f"{path}: {error}"
    return ({} if content is None else content), None


def _toolkit(machine: Machine, wanted: bool, quick: bool) -> tuple[str | None, str | None, Maybe[str | None]]:
    """The toolkit's version, the program that tells it, and why a program of it cannot start.

    nvidia-ctk is a static program, which starts whatever is missing; nvidia-container-cli links to libraries.
    """
    found = [path for name in _TOOLKIT_PROGRAMS if (path := machine.which(name, _TOOLKIT))]
    if not found:
        return None, None, None
    if not wanted:
        return "installed", found[0], _UNWANTED
    ended = machine.run([found[0], "--version"])
    version = re.search(r"\bversion:? v?(\d+\.\d+(?:\.\d+)*\S*)", ended.out) if ended.ok else None
    linked = next((path for path in found if path.endswith(f"/{_CLI}")), found[0])
    error = _loading(ended)
    if linked != found[0] and not isinstance(error, str):
        error = Unknown(f"{_CLI} was not started (--quick)") if quick else _loading(machine.run([linked, "--version"]))
    return (version[1] if version else "installed"), found[0], error


def _loading(ended: ChildResult) -> Maybe[str | None]:
    """What the loader reported, where it could not load the program; None: it was loaded."""
    found = _NOT_LOADED.search(ended.err)
    if found:
        return found[0]
    return None if ended.code is not None else Unknown("the toolkit's program did not run to its end")


def _config(machine: Machine) -> Maybe[str | None]:
    """The settings of NVIDIA's runtime; None: it has no configuration file."""
    try:
        return machine.text(_CONFIG, 1 << 20)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Unknown(f"{_CONFIG}: {error.strerror}")


def _envvar(machine: Machine, config: Maybe[str | None]) -> Maybe[bool | None]:
    if machine.exists(_OPERATOR):
        return Unknown(f"pods get NVIDIA's runtime from {_OPERATOR}, which has settings of its own")
    return not _NO_ENVVAR.search(config) if isinstance(config, str) else config


def _mode(config: str) -> str:
    found = _MODE.search(config)
    return found[1] if found else "auto"


def _podman(
    machine: Machine, fields: Mapping[str, str], specifications: Maybe[Sequence[str]], wanted: bool, quick: bool
) -> tuple[str | None, Maybe[str | None], Maybe[tuple[str, ...] | None]]:
    """Podman, its release where that matters, and the directories that it is configured to search."""
    path = machine.which("podman", ("/usr/bin",))
    if path is None:
        return None, None, None
    if isinstance(specifications, Unknown):
        return path, specifications, specifications
    if not specifications:
        return path, _UNASKED, None
    from gpudoctor.probes import podman

    directories = podman.directories(machine)
    if not fields and not (wanted and any("nvidia" in one for one in specifications)):
        return path, _UNASKED, directories
    if quick and not fields:
        return path, Unknown("podman was not started (--quick)"), directories
    return path, podman.release(machine, path), directories
