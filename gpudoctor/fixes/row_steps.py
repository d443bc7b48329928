"""Which steps of a message's row can be taken on a machine, and how they read there.

Where a step is taken, its row says (`where`, `distribution` ... of `SymptomFix`). What follows from a command itself is
in the tables below, which are for the steps that a message's own words advise, too.
"""

import shlex
from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.python import manager_of
from gpudoctor.fixes.system import driver_packages, family_of
from gpudoctor.knowledge import torch
from gpudoctor.knowledge.symptoms import Symptom, SymptomFix
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.queries.packages import answered
from gpudoctor.targets import gpus_of, has_nvidia, in_container
from gpudoctor.tasks import Manual
from gpudoctor.tasks.as_typed import shown

# Programs and files of the kernel, its modules and the driver's packages, which neither a container nor WSL has.
_HOST = pattern(
    r"\b(ubuntu-drivers|(nvidia-)?modprobe|rmmod|dkms|akmods?|kmodgenca|mokutil|dracut|update-initramfs|update-grub|grubby"
    r"|reboot|poweroff|akmod-nvidia|nvidia-drivers?|nvidia-open|libnvidia-compute|xorg-x11-drv-nvidia|libcuda1|kernel-devel"
    r"|linux-(headers|generic|firmware)|nvidia-fabric-?manager|nvidia-gridd|nvidia-(persistence|power)d|amdgpu-install)\b"
    r"|/etc/modprobe\.d|kernel command line|--gpu-?reset|systemctl (isolate|set-default)"
    r"|nvidia-smi -(pl|pm|lgc|c|mig|r)\b"
)
# What sets up the engine that starts containers, which no container has.
_ENGINE = pattern(r"\b(nvidia-ctk|nvidia-container-toolkit|snap|systemctl restart (docker|containerd|crio))\b")
# Wheels for NVIDIA's GPUs; those of PyTorch's indexes, which have the same ones for others; steps for NVIDIA's alone.
_CUDA_BUILD = pattern(r"/whl/cu\d")
_NUMBERED = pattern(r"torch\w*\[?[\w,]*\]?[<>=~!]")
_TORCH_INDEX = pattern(r"https://download\.pytorch\.org/whl/cu\d+")
_OF_CUDA = pattern(r"CUDA|\bcu\d|torch\w*[<=>~]")
# What is asked of NVIDIA's driver, or installs it.
_NVIDIA = pattern(
    r"\b(nvidia-smi|nvidia-ctk|ubuntu-drivers|nvidia-drivers?|libnvidia-\w+|xorg-x11-drv-nvidia|compute-sanitizer)\b"
    r"|/module/nvidia|lspci -d 10de|\bxid\b"
)
_PCI = pattern(r"^lspci\b")  # WSL has no PCI device that it could show
_DOCKER = pattern(r"^docker (run|restart|inspect|context)\b")  # no pod has it
_PINNED = pattern(r"\binstall (?:\S+ )*nvidia-driver-(\d+)")
_CONDA = "conda "
_SUDO = pattern(r"\bsudo (?=[^-])")
_PYTHON = pattern(r"(?<![\w./-])python(?= -[mc] )")
_TORCH = pattern(r"(?<= )torch(?= .*--index-url )")
_PIP = pattern(r"(?<![\w./-])python -m pip (install|uninstall|list|show)(?: -y)?")
_TOOLKIT = pattern(r"\bcuda-toolkit-(\d+)-(\d+)\b")
_WHICH = "sys.executable"
# What no shell of Windows takes: paths of Linux, substitutions, variables before a command, programs of Linux.
_POSIX = pattern(
    r"/(usr|etc|opt|dev|proc|sys|var|lib)/|\$[({A-Z]|^[A-Z_]+=\S+ |\b(sudo|grep|ldconfig|dmesg|lsmod|apt(-get)?) "
)
_SINGLE = pattern(r"'([^'\"]*)'")
_EXPORT = pattern(r"export (\w+)=[\"']?([^\"'$ ]*)[\"']?")
_ACTIVATE = pattern(r"(.* && |)(?:source|\.) ([\w./-]+)/bin/activate")

_CONTAINERS = ("container", "docker", "kubernetes")
_PLACES = {
    "container": "in a container", "docker": "in Docker", "kubernetes": "in Kubernetes", "wsl": "in WSL",
    "conda": "in conda", "host": "on the host", "node": "on the node", "vm": "in a virtual machine",
    "windows": "on Windows",
}  # fmt: skip
_DISTRIBUTIONS = {
    "ubuntu": "Ubuntu", "debian": "Debian", "fedora": "Fedora", "rhel": "RHEL", "suse": "SUSE", "arch": "Arch",
}  # fmt: skip
_ALSO = {"debian": "ubuntu", "fedora": "rhel"}  # have the commands of a family, too


def steps(row: Symptom, facts: Facts) -> tuple[Fix, ...]:
    """The steps of a row as fixes; those of a host, which neither a container nor WSL can take, are left out.

    Nobody but a person runs them: they are written for all machines, and some have words to fill in.

    Args:
        row: of a message that was written here.
        facts: of the machine; what is unknown of it drops nothing.
    """
    container = in_container(facts)
    guest = container or facts.host.wsl is not None
    own = (one for one in row.fixes if not is_elsewhere(one, facts) and not (guest and is_of_host(one, container)))
    here = sorted(own, key=lambda one: order(one, facts))
    typed = [(sentence(one, facts), commands(one, facts)) for one in here]
    return tuple(
        Fix(message, tuple(map(Manual, lines)), root=any("sudo " in line for line in lines)) for message, lines in typed
    )


def is_elsewhere(fix: SymptomFix, facts: Facts) -> bool:
    """Whether a step is taken elsewhere, or is for a machine on which no driver responds."""
    pod, compiler = facts.host.kubernetes, facts.host.kernel.compiler
    if fix.where in _CONTAINERS and _runs_no_containers(facts, fix.where == "kubernetes"):
        return True
    if in_container(facts) and isinstance(pod, bool) and fix.where == ("docker" if pod else "kubernetes"):
        return True
    if fix.compiler and isinstance(compiler, str) and not compiler.startswith(fix.compiler):
        return True
    own = _names(facts)
    if fix.distribution and own is not None and not {*own[:1]} & {*fix.distribution}:
        return True
    if fix.without_driver and (gpus_of(facts, "nvidia") or _asks_nvidia(fix, facts)):
        return True
    if _is_of_another_vendor(facts) and _brings_cuda(fix, facts):
        return True
    if facts.host.system == "Windows" and fix.where != "windows" and fix.commands:
        lines = (one for one in fix.commands if isinstance(one, str))
        if all(map(_POSIX.search, lines)):  # and of Linux distributions
            return True
    if fix.where == "wsl":
        return facts.host.wsl is None
    if fix.where == "windows":  # which WSL is a part of
        return facts.host.wsl is None and facts.host.system in ("Linux", "Darwin")
    if fix.where == "vm":
        return facts.host.virtual is None or isinstance(facts.host.wsl, int)
    only_conda = bool(fix.commands) and all(line.startswith(_CONDA) for line in alternatives(fix))
    return (fix.where == "conda" or only_conda) and _without_conda(facts)


def _is_of_another_vendor(facts: Facts) -> bool:
    """Whether a framework here is built for AMD's or Intel's GPUs, or AMD's are there, and nothing of NVIDIA's is."""
    builds = {one.variant for python in facts.pythons for one in python.frameworks if isinstance(one.variant, str)}
    return bool(builds & {"rocm", "xpu"} or gpus_of(facts, "amd")) and not has_nvidia(facts)


def _asks_nvidia(fix: SymptomFix, facts: Facts) -> bool:
    """Whether a step starts with NVIDIA's driver, on a machine that has another vendor's GPUs alone."""
    return bool(_NVIDIA.search(next(iter(alternatives(fix)), ""))) and _is_of_another_vendor(facts)


def _brings_cuda(fix: SymptomFix, facts: Facts) -> bool:
    """Whether a step installs builds for CUDA, and no index that is known has the same for the PyTorch here."""
    lines = [line for line in alternatives(fix) if _CUDA_BUILD.search(line)]
    texts = (fix.message, *(_TORCH_INDEX.sub("", line) for line in lines))
    fits = _own_index(facts) is not None and not any(_CUDA_BUILD.search(one) or _OF_CUDA.search(one) for one in texts)
    return bool(lines) and not fits


def _own_index(facts: Facts) -> str | None:
    """The index of the one PyTorch for AMD's or Intel's GPUs that is here; None: it is not known."""
    versions = {one.version for python in facts.pythons for one in python.frameworks if one.variant in ("rocm", "xpu")}
    indexes = {torch.index_of_build(one) for one in versions if isinstance(one, str)}
    return indexes.pop() if len(indexes) == 1 else None


def _runs_no_containers(facts: Facts, pods: bool) -> bool:
    """Whether this is no container, and none can be started here: no client of an engine, for pods no kubelet."""
    if facts.host.container is not None or facts.cluster.kubelet is not False:
        return False
    return pods or (facts.containers.docker is None and facts.containers.podman is None)


def _names(facts: Facts) -> tuple[str, ...] | None:
    """The distribution as rows name it, then its family; () where they name neither; None: it is unknown."""
    own = facts.host.distribution
    if facts.host.system == "Windows":
        return ()
    if isinstance(own.id, Unknown):
        return None
    named = [one for one in (own.id, *own.like) if one in _DISTRIBUTIONS][:1]
    return (*named, *filter(None, (family_of(facts),)))


def _without_conda(facts: Facts) -> bool:
    """Whether no checked environment is one of conda's."""
    managers = {one.manager for one in facts.pythons}
    return bool(managers) and not any(isinstance(one, Unknown) or one in ("conda", "pixi") for one in managers)


def order(fix: SymptomFix, facts: Facts) -> int:
    """What is taken in a container or in WSL comes first there, and last elsewhere; so does what is NVIDIA's."""
    if _asks_nvidia(fix, facts):
        return 2
    if fix.where in _CONTAINERS:
        return -1 if in_container(facts) else int(facts.host.container is None)
    here = {"vm": facts.host.virtual, "wsl": facts.host.wsl, "windows": facts.host.system == "Windows" or None}
    return -1 if isinstance(here.get(fix.where or ""), str | int) else 0


def is_of_host(fix: SymptomFix, container: bool) -> bool:
    """Whether a step is taken where the kernel and the driver are, or the engine that starts containers."""
    if fix.where not in (None, "host", "node", "vm"):
        return False
    return (container and fix.where is not None) or any(
        _HOST.search(one) or (container and _ENGINE.search(one)) for one in alternatives(fix)
    )


def sentence(fix: SymptomFix, facts: Facts, outside: bool = False) -> str:
    """What a step says, with the conditions that this machine does not decide: where, on which distribution.

    Args:
        fix: the step.
        facts: of the machine.
        outside: whether it is taken on the host of a container, of which the facts then are.
    """
    unknown = _names(facts) is None
    places = ("host", fix.where) if outside and fix.where not in ("node", *_CONTAINERS) else (fix.where,)
    bare = facts.host.container is None
    parts = [_PLACES[one] for one in dict.fromkeys(places) if one and not (one == "host" and bare)]
    if fix.distribution and unknown:
        *others, last = (_DISTRIBUTIONS[one] for one in fix.distribution)
        parts.append(f"on {', '.join(others)} and {last}" if others else f"on {last}")
    if fix.compiler and not isinstance(facts.host.kernel.compiler, str):
        parts.append(f"for a kernel built with {fix.compiler}")
    message = fix.message
    if unknown and (names := _choices(fix)):
        start = f"{message[:-2]}; " if message.endswith(").") else f"{message[:-1]} ("
        message = f"{start}commands for {'; '.join(names)})."
    label = "then " if fix.then else f"{', '.join(parts)}{', ' if ': ' in message else ': '}" if parts else ""
    if not label:
        return message
    start = message if message[1:2].isupper() else message[:1].lower() + message[1:]
    return f"{label[:1].upper()}{label[1:]}{start}"


def by_distribution(fix: SymptomFix, facts: Facts) -> tuple[SymptomFix, ...]:
    """A step with the commands of several distributions as one for each, where nobody knows which it is."""
    keys = list(dict.fromkeys(key for one in fix.commands if isinstance(one, dict) for key in one))
    if _names(facts) is not None or len(keys) < 2:
        return (fix,)
    found = []
    for key in keys:
        also = _ALSO.get(key)
        names = (key, *((also,) if also and also not in keys else ()))
        lines = (one if isinstance(one, str) else one.get(key) for one in fix.commands)
        found.append(replace(fix, commands=tuple(line for line in lines if line), distribution=names))
    return tuple(found)


def _choices(fix: SymptomFix) -> list[str]:
    """The distributions by which a step's commands are chosen: "Debian, Ubuntu", "Fedora, RHEL"."""
    keys = dict.fromkeys(key for one in fix.commands if isinstance(one, dict) for key in one)
    also = {key: other for key in keys if (other := _ALSO.get(key)) is not None and other not in keys}
    return [", ".join(_DISTRIBUTIONS[one] for one in (key, also.get(key)) if one) for key in keys]


def alternatives(fix: SymptomFix) -> tuple[str, ...]:
    """All commands, of every distribution."""
    found = ((one,) if isinstance(one, str) else one.values() for one in fix.commands)
    return tuple(dict.fromkeys(line for lines in found for line in lines))


def commands(fix: SymptomFix, facts: Facts) -> tuple[str, ...]:
    """What is typed on this machine."""
    own = _names(facts)
    lines = alternatives(fix)
    if own is not None:
        chosen = (one if isinstance(one, str) else next((one[k] for k in own if k in one), "") for one in fix.commands)
        lines = tuple(filter(None, chosen))
    if _is_of_another_vendor(facts) and (index := _own_index(facts)):
        lines = tuple(_TORCH_INDEX.sub(index, one) for one in lines)
    lines = _with_toolkit(_with_companions(_for_this_gpu(lines, facts), facts), facts)
    lines = tuple(_by_checked(one, lines, facts) for one in lines if _has(one, facts))
    if facts.host.system == "Windows":
        return tuple(in_windows(one) for one in lines if fix.where == "windows" or not _POSIX.search(one))
    return tuple(_SUDO.sub("", one) for one in lines) if facts.host.user.uid == 0 else lines


def _for_this_gpu(lines: tuple[str, ...], facts: Facts) -> tuple[str, ...]:
    """The commands with PyTorch's index for the GPU and the driver here; a release that is named stays with its own."""
    found = answered(facts)
    if len(found) != 1 or not gpus_of(facts, "nvidia") or not any(map(_TORCH_INDEX.search, lines)):
        return lines
    from gpudoctor.fixes.torch_build import torch_choice  # few messages are about PyTorch's builds

    choice = torch_choice(facts, found[0])
    if choice is None:
        return lines
    stays = (bool(_NUMBERED.search(one)) or one.startswith("export PIP_") for one in lines)
    return tuple(one if keep else _TORCH_INDEX.sub(choice.index, one) for one, keep in zip(lines, stays, strict=True))


def _with_toolkit(lines: tuple[str, ...], facts: Facts) -> tuple[str, ...]:
    """The commands that install a CUDA toolkit, from NVIDIA's repository and in the release that PyTorch here needs."""
    named = next((match for one in lines if (match := _TOOLKIT.search(one))), None)
    if named is None:
        return lines
    from gpudoctor.fixes.toolkit import add_repository, packaged  # few messages are about compilers

    found = answered(facts)
    built = next((f.cuda for f in found[0].frameworks if f.name == "torch"), None) if len(found) == 1 else None
    release = packaged(facts, built if isinstance(built, str) and "." in built else f"{named[1]}.{named[2]}")
    first = tuple(shown(task) for task in add_repository(facts))
    new: list[str] = []
    for one in lines:
        new += first if _TOOLKIT.search(one) else ()
        line = _TOOLKIT.sub(f"cuda-toolkit-{release.replace('.', '-')}", one)
        new.append(line.replace(f"/cuda-{named[1]}.{named[2]}", f"/cuda-{release}"))
    return tuple(new)


def _with_companions(lines: tuple[str, ...], facts: Facts) -> tuple[str, ...]:
    """The commands that install PyTorch with what is here of the packages that belong to its release."""
    found = answered(facts)
    there = {one.name for one in known_or(found[0].packages, ())} if len(found) == 1 else set()
    names = [name for name in ("torchvision", "torchaudio") if name in there]
    return tuple(
        _TORCH.sub(" ".join(("torch", *(name for name in names if name not in one))), one) if names else one
        for one in lines
    )


def _by_checked(command: str, lines: Sequence[str], facts: Facts) -> str:
    """The command for the interpreter that was checked, where it is one into which packages can be installed."""
    found = answered(facts)
    asks = any(_WHICH in one for one in lines)  # which Python runs is what the step is about
    if asks or len(found) != 1 or found[0].externally_managed is True:
        return command
    if facts.host.system == "Windows":
        return _PYTHON.sub(lambda _: found[0].path, command)
    path = shlex.quote(found[0].path)
    if manager_of(found[0]) == "uv":
        command = _PIP.sub(lambda match: f"uv pip {match[1]} --python {path}", command)
    return _PYTHON.sub(lambda _: path, command)


def in_windows(line: str) -> str:
    """A line as Windows' shells take it: cmd.exe knows no single quotes, and reads < as a redirection."""
    if match := _EXPORT.fullmatch(line):  # in PowerShell
        return f'$env:{match[1]} = "{match[2]}"'
    if match := _ACTIVATE.fullmatch(line):
        return f"{match[1]}{match[2]}\\Scripts\\activate"
    return _SINGLE.sub(r'"\1"', line) if _PIP.search(line) or " -m pip " in line else line


def _has(command: str, facts: Facts) -> bool:
    """Whether a command can be there: a container engine, a kernel, conda; a driver that is not there yet."""
    if facts.host.kubernetes is True and _DOCKER.match(command):
        return False
    if isinstance(facts.host.wsl, int) and (_HOST.search(command) or _PCI.search(command)):
        return False
    if command.startswith(_CONDA) and _without_conda(facts):
        return False
    return (pinned := _PINNED.search(command)) is None or not has_branch(pinned[1], facts)


def has_branch(number: str, facts: Facts) -> bool:
    """Whether the driver of a branch is the one that is here: installing it again changes nothing."""
    here = (facts.nvidia.kernel.loaded, facts.nvidia.nvml.driver_version)
    loaded = any(isinstance(one, str) and one.partition(".")[0] == number for one in here)
    return loaded or any(name.startswith(f"nvidia-driver-{number}") for name in driver_packages(facts))
