"""Whether the container runtime that runs pods reads a configuration with NVIDIA's runtime.

containerd reads config.toml and what its `imports` names: paths, patterns, relative ones from the file's own directory
(containerd-config.toml(5)). From 2.2 on its defaults import conf.d (containerd/containerd#12323); the file of Docker's
package containerd.io imports nothing and turns off the plugin by which the kubelet talks to it. CRI-O reads crio.conf
and crio.conf.d (crio.conf.d(5)). The drop-ins of NVIDIA's toolkit went elsewhere: until 1.18.0 to containerd's config.d
(NVIDIA/nvidia-container-toolkit#1404), until 1.19 to CRI-O's conf.d (#1829).
Some distributions bring a containerd with files of its own: k3s and RKE2 write theirs when they start, with the
runtimes that they find then; k0s imports /etc/k0s/containerd.d; MicroK8s makes its file from a template.
containerd takes the options of a runtime by their names in any letters: of BinaryName and binaryName, which Kubespray
writes and the toolkit adds to, one counts (NVIDIA/gpu-operator#1374).
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatch

from gpudoctor.facts.cluster import IgnoredDropIn, NewerDropIn, RuntimeOverride
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

# Kubernetes distributions that bring a containerd of their own: where they are, and its files, which may be for root.
_MICROK8S = "/var/snap/microk8s/current/args"
_OWN_RUNTIME = {
    "k3s": ("/var/lib/rancher/k3s", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"),
    "rke2": ("/var/lib/rancher/rke2", "/var/lib/rancher/rke2/agent/etc/containerd/config.toml"),
    "k0s": ("/var/lib/k0s", "/etc/k0s/containerd.toml", "/etc/k0s/containerd.d/*.toml"),
    "microk8s": ("/var/snap/microk8s", f"{_MICROK8S}/containerd.toml", f"{_MICROK8S}/containerd-template.toml"),
}
# Their sockets, which show that theirs runs and not the system's.
_SOCKETS = {
    "k3s": "/run/k3s/containerd/containerd.sock",
    "rke2": "/run/k3s/containerd/containerd.sock",
    "k0s": "/run/k0s/containerd.sock",
    "microk8s": "/var/snap/microk8s/common/run/containerd.sock",
}
_UNCLEAR = Unknown("the system's containerd is configured for NVIDIA's runtime, and whether pods use it is not known")
_IMPORTS = pattern(r"^\s*imports\s*=\s*\[([^\]]*)\]", re.MULTILINE)
_COMMENT = pattern(r"^\s*#.*$", re.MULTILINE)
_QUOTED = pattern(r"""["']([^"']+)["']""")
_DISABLED = pattern(r"^\s*disabled_plugins\s*=\s*\[([^\]]*)\]", re.MULTILINE)
# CRI's plugin, as releases before and from 2.0 on name it: https://github.com/containerd/containerd/blob/main/docs/cri/config.md
_CRI = frozenset({"cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"})
_VERSION = pattern(r"^version\s*=\s*([0-9]{1,4})\b", re.MULTILINE)
_OTHER_CRI = ("/run/crio/crio.sock", "/run/cri-dockerd.sock")
_RELEASE = pattern(r"\bv?(\d+)\.(\d+)\.\d+")
_IMPORTS_SINCE = (2, 2)
_VERSION_SECONDS = 5.0
_DEFAULT_IMPORTS = ("/etc/containerd/conf.d/*.toml",)
_CONTAINERD = "/etc/containerd/config.toml"
_CRIO = ("/etc/crio/crio.conf", "/etc/crio/crio.conf.d/*")
_CRIO_READS = "/etc/crio/crio.conf.d"
_DROP_INS = ("/etc/containerd/config.d/*.toml", "/etc/containerd/conf.d/*.toml", "/etc/crio/conf.d/*")


class _Files:
    """The files that runtimes read, each once, and why some could not be read."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.texts: dict[str, str] = {}
        self.why: Unknown | None = None
        self.imports: list[str] = []

    def read(self, path: str) -> str | None:
        """Return a file's text, None where it is not there, cannot be read, or was read before."""
        if path in self.texts:
            return None
        try:
            self.texts[path] = self.machine.text(path, 1 << 20)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.why = Unknown(f"{path}: {error.strerror}")
            return None
        return self.texts[path]

    def follow(self, path: str) -> None:
        """Read a file of containerd's and those that it imports."""
        text = self.read(path)
        if text is None:
            return
        named = _IMPORTS.search(text)
        folder = path.rpartition("/")[0]
        own = [one if one[0] == "/" else f"{folder}/{one}" for one in _QUOTED.findall(named[1] if named else "")]
        self.imports += own
        for one in own if named or path != _CONTAINERD else self._default_imports():
            for file in matching(self.machine, one):
                self.follow(file)

    def _default_imports(self) -> tuple[str, ...]:
        """What containerd imports where its file names nothing; its release is asked where files depend on it."""
        if not any(True for one in _DEFAULT_IMPORTS for _ in matching(self.machine, one)):
            return ()
        ended = self.machine.run(["containerd", "--version"], seconds=_VERSION_SECONDS)
        found = _RELEASE.search(ended.out)
        return () if found and (int(found[1]), int(found[2])) < _IMPORTS_SINCE else _DEFAULT_IMPORTS


def cri_disabled(machine: Machine, joined: bool) -> str | None:
    """Return the file by which the kubelet's containerd turns CRI off; None: no kubelet is here, or CRI is on.

    Args:
        machine: where to look.
        joined: whether it is a node of a cluster.
    """
    here = joined or machine.which("kubelet") is not None
    if not here or any(map(machine.exists, _OTHER_CRI)) or own_runtime(machine):
        return None
    found = _DISABLED.search(_COMMENT.sub("", machine.line(_CONTAINERD) or ""))
    return _CONTAINERD if found and _CRI.intersection(_QUOTED.findall(found[1])) else None


def config_version(machine: Machine) -> int | None:
    """Return the version of the format of the system's containerd's file; None: it names none, or another runs pods."""
    if any(map(machine.exists, _OTHER_CRI)) or own_runtime(machine):
        return None
    before_tables = (machine.line(_CONTAINERD) or "").partition("\n[")[0]
    found = _VERSION.search(before_tables)
    return int(found[1]) if found else None


def newer_drop_in(machine: Machine, written: int | None) -> NewerDropIn | None:
    """Return the first import of the system's containerd's file that is of a newer version of the format.

    Args:
        machine: where to look.
        written: the version of that file.
    """
    found = _Files(machine)
    if written is not None:
        found.follow(_CONTAINERD)
    for path, text in found.texts.items():
        version = _VERSION.search(text.partition("\n[")[0])
        if written is not None and version and int(version[1]) > written:
            ended = machine.run(["containerd", "--version"], seconds=_VERSION_SECONDS)
            release = _RELEASE.search(ended.out)
            named = release[0].lstrip("v") if release else Unknown("containerd --version names no release")
            return NewerDropIn(path=path, version=int(version[1]), containerd=named)
    return None


def matching(machine: Machine, path: str) -> Iterator[str]:
    """Return the files that a path stands for, whose last part may be a pattern."""
    folder, _, name = path.rpartition("/")
    if not any(sign in name for sign in "*?["):
        yield path
        return
    yield from (f"{folder}/{one}" for one in sorted(machine.names(folder)) if fnmatch(one, name))


def own_runtime(machine: Machine) -> str | None:
    """Return the distribution of Kubernetes here that brings a containerd of its own."""
    return next((name for name, (folder, *_) in _OWN_RUNTIME.items() if machine.exists(folder)), None)


def socket_of(own: str) -> str:
    """Return the socket of a distribution's own containerd, which is there while it runs."""
    return _SOCKETS[own]


def configured(machine: Machine, own: str | None) -> tuple[Maybe[bool | None], tuple[IgnoredDropIn, ...]]:
    """Return whether a file that is read names NVIDIA's runtime (None: there is none), and those that are not read.

    Args:
        machine: where to look.
        own: the distribution of Kubernetes that brings a containerd of its own.
    """
    if own:
        mine = _own(machine, own)
        if not isinstance(mine, Unknown) and machine.exists(_SOCKETS[own]):
            return mine, ()
        shared, ignored = _shared(machine)
        if mine is True or shared is not True:
            return mine, ()
        return _UNCLEAR, ignored
    return _shared(machine)


def overrides(machine: Machine) -> Maybe[tuple[RuntimeOverride, ...]]:
    """Return the options by which the runtime nvidia of the system's containerd runs another program than NVIDIA's."""
    seen: list[RuntimeOverride] = []
    found = _Files(machine)
    found.follow(_CONTAINERD)
    for path, text in found.texts.items():
        if "nvidia" not in text:
            continue
        from gpudoctor.toml import tomllib  # few machines have such a file

        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            return Unknown(f"{path} cannot be read as TOML: {error}")
        for options in _below(table, ("runtimes", "nvidia", "options")):
            named = {key: value for key, value in options.items() if key.lower() == "binaryname" and value}
            for key, program in named.items():
                if "nvidia" not in str(program).rpartition("/")[2]:
                    others = tuple(one for one in named if one != key)
                    seen.append(RuntimeOverride(path=path, key=key, program=str(program), others=others))
    return tuple(seen) or found.why or ()


def _below(table: dict[str, object], names: tuple[str, ...]) -> Iterator[dict[str, object]]:
    """The tables at the end of a path that may begin at any depth."""
    inner: object = table
    for name in names:
        inner = inner.get(name) if isinstance(inner, dict) else None
    if isinstance(inner, dict):
        yield inner
    for value in table.values():
        if isinstance(value, dict):
            yield from _below(value, names)


def _own(machine: Machine, own: str) -> Maybe[bool]:
    """Whether the files of a distribution's own containerd name NVIDIA's runtime."""
    found = _Files(machine)
    folder, main, *others = _OWN_RUNTIME[own]
    for path in (one for name in (main, *others) for one in matching(machine, name)):
        found.follow(path)
    if any(map(_names_nvidia, found.texts.values())):
        return True
    if found.why or main not in found.texts:
        return found.why or Unknown(f"{folder} contains a container runtime whose files cannot be read")
    return False


def _shared(machine: Machine) -> tuple[Maybe[bool | None], tuple[IgnoredDropIn, ...]]:
    """The same of the system's containerd and CRI-O."""
    found = _Files(machine)
    found.follow(_CONTAINERD)
    if _CONTAINERD not in found.texts:
        for path in matching(machine, _DEFAULT_IMPORTS[0]):
            found.follow(path)
    for path in (one for named in _CRIO for one in matching(machine, named)):
        found.read(path)
    if any(map(_names_nvidia, found.texts.values())):
        return True, ()
    if found.why or any("*" in one.rpartition("/")[0] for one in found.imports):
        return found.why or Unknown(f"{_CONTAINERD} imports by a pattern of directories"), ()
    ignored = _ignored(machine, found)
    return (False if found.texts or ignored else None), ignored


def _ignored(machine: Machine, found: _Files) -> tuple[IgnoredDropIn, ...]:
    """The toolkit's drop-ins that no runtime reads, each with the directory that its runtime reads."""
    imported = next((one.rpartition("/")[0] for one in found.imports if one.endswith("/*.toml")), None)
    paths = [one for named in _DROP_INS for one in matching(machine, named) if one not in found.texts]
    return tuple(
        IgnoredDropIn(path=path, reads=_CRIO_READS if path.startswith("/etc/crio/") else imported)
        for path in paths
        if _names_nvidia(machine.line(path) or "")
    )


def _names_nvidia(text: str) -> bool:
    """Whether a configuration names NVIDIA's runtime, elsewhere than in comments and names of other files."""
    return "nvidia" in _COMMENT.sub("", _IMPORTS.sub("", text))
