"""The probes: one file, one source of facts. They look and never judge.

`PROBES` lists them; no probe's module is imported before its step runs. What a probe needs, its parameters name:
`machine`, `host` (what machine it is), `cards` (the devices of the probe's vendor on the PCI bus), `vendors` (whose
devices are there), `wanted` (whether any is), `quick` (leave out what takes time) and `before` (what NVIDIA's kernel
driver said before it was used).
Each is found out once, by the step that asks first, while the others wait.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import msgspec

from gpudoctor.facts import Facts, Framework, Host, IntelFacts, PciDevice, Python
from gpudoctor.facts.amd import NO_AMD, NOT_RUN
from gpudoctor.facts.apple import NO_MAC
from gpudoctor.facts.kernel_log import NO_LOG
from gpudoctor.facts.llama_cpp import NO_LLAMA_CPP
from gpudoctor.facts.nvidia import NO_KERNEL
from gpudoctor.facts.ollama import NO_OLLAMA
from gpudoctor.facts.windows import NO_WINDOWS
from gpudoctor.facts.wsl import NO_WSL
from gpudoctor.lazy import Lazy
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown, known_or

NVIDIA, AMD, INTEL = "10de", "1002", "8086"  # PCI vendors
# In the images of llama.cpp they are in /app: .devops/*.Dockerfile in its repository.
LLAMA_CPP_PROGRAMS = ("llama-server", "llama-cli", "llama-bench", "whisper-server", "whisper-cli")
LLAMA_CPP_PLACES = ("/app",)
OLLAMA_PLACES = ("/usr/local/bin", "/usr/bin")
Named = tuple[str, str, Callable[[], Any]]
_NOTHING = Facts()
_NO_INTEL = Unknown("not looked for: there is no Intel GPU here")


class Probe(msgspec.Struct, frozen=True):
    """One probe.

    Attributes:
        key: its name in `Facts.failed` and in the events of its step; a part of `Facts`, unless `fills` names others.
        label: its name for people.
        place: its module in this package; with ":name" where its function is not called `probe`.
        fills: the parts of the facts that it fills, "." between the fields; empty: `key`.
        vendor: the PCI vendor whose devices are its `cards`.
        idle: what it finds where there is no device of its vendor and no /dev/dxg; None: it looks there, too.
        absent: what is known of its part on a system where it is not run; None: nothing.
        slow: it is left out of a quick check, and its part of the facts is as nobody looked.
        programs: where none of these is on PATH or in `places`, it is not imported, and finds `absent`.
        places: further directories of `programs`.
    """

    key: str
    label: str
    place: str
    fills: tuple[str, ...] = ()
    vendor: str = ""
    idle: Any = None
    absent: Any = None
    slow: bool = False
    programs: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the facts that it fills."""
        return self.fills or (self.key,)

    @property
    def elsewhere(self) -> Any:
        """Its part of the facts on a system where it is not run."""
        return getattr(_NOTHING, self.key, None) if self.absent is None else self.absent

    def function(self) -> Callable[..., Any]:
        """What looks."""
        module, _, name = self.place.partition(":")
        found: Callable[..., Any] = getattr(import_module(f"{__name__}.{module}"), name or "probe")
        return found

    def run(self, inputs: Mapping[str, Callable[[], Any]]) -> Any:
        """Look, with those of the inputs that its parameters name."""
        function = self.function()
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        return function(**{name: inputs[name]() for name in names})


HOST = Probe("host", "the machine", "host")
PCI = Probe("pci", "the PCI bus", "pci")
# What the GPU checks need most, and what takes longest, begins first.
PROBES = (
    Probe("nvidia", "NVIDIA's libraries and GPUs", "nvidia.user_space", ("nvidia", "gpus")),
    Probe("nvidia kernel", "NVIDIA's kernel driver", "nvidia.kernel", ("nvidia.kernel",), NVIDIA, absent=NO_KERNEL),
    Probe("amd", "AMD's driver", "amd", vendor=AMD, absent=NO_AMD),
    Probe("kfd", "AMD's GPUs", "amd:gpus", ("gpus",), AMD),
    Probe(
        "rocminfo",
        "ROCm's runtime",
        "amd.rocminfo",
        ("amd.rocminfo",),
        AMD,
        idle=Unknown("rocminfo was not run: there is no AMD GPU here"),
        absent=NOT_RUN,
        slow=True,
    ),
    Probe(
        "intel",
        "Intel's driver",
        "intel",
        vendor=INTEL,
        idle=IntelFacts(
            render=_NO_INTEL,
            loader=_NO_INTEL,
            loader_version=_NO_INTEL,
            opencl=_NO_INTEL,
            level_zero=_NO_INTEL,
            runtime_build=_NO_INTEL,
            legacy=_NO_INTEL,
        ),
    ),
    Probe("log", "the kernel log", "kernel_log", absent=NO_LOG),
    Probe("containers", "container engines", "docker"),
    Probe("toolkits", "CUDA toolkits", "nvidia.toolkits"),
    Probe("cluster", "the cluster and the job", "cluster"),
    Probe("cloud", "the cloud", "cloud"),
    Probe("wsl", "WSL's settings", "wsl.conf", absent=NO_WSL),
    Probe("ollama", "Ollama", "ollama", absent=NO_OLLAMA, programs=("ollama",), places=OLLAMA_PLACES),
    Probe(
        "llama_cpp",
        "llama.cpp",
        "llama_cpp",
        absent=NO_LLAMA_CPP,
        programs=LLAMA_CPP_PROGRAMS,
        places=LLAMA_CPP_PLACES,
    ),
    Probe("services", "the journal of services", "service_log", slow=True),
)
# What looks on macOS and on Windows (gpudoctor.probes.non_linux).
FOREIGN = (
    Probe("apple", "macOS", "apple:facts", absent=NO_MAC),
    Probe("windows", "Windows", "windows:facts", absent=NO_WINDOWS),
)


def system_steps(
    machine: Machine, host: Callable[[], Host], devices: Callable[[], Sequence[PciDevice]], quick: bool = False
) -> list[Named]:
    """The steps of `PROBES`, each with its key and its name for people.

    Args:
        machine: where they look.
        host: waits for what the machine is.
        devices: waits for the devices on its PCI bus.
        quick: leave out what takes time.
    """

    def cards(vendor: str) -> tuple[PciDevice, ...]:
        return tuple(device for device in devices() if device.vendor == vendor)

    def first() -> Any:
        return Probe("", "", "nvidia.kernel:first", vendor=NVIDIA).run(inputs | {"cards": partial(cards, NVIDIA)})

    def run(probe: Probe) -> Any:
        if probe.idle is not None and not cards(probe.vendor) and not machine.exists("/dev/dxg"):
            return probe.idle
        if probe.programs and not any(machine.which(name, probe.places) for name in probe.programs):
            return probe.absent
        return probe.run(inputs | {"cards": partial(cards, probe.vendor)})

    inputs: dict[str, Callable[[], Any]] = {
        "machine": lambda: machine,
        "host": host,
        "vendors": lambda: frozenset(device.vendor for device in devices()),
        "wanted": lambda: bool(devices()) or machine.exists("/dev/dxg"),
        "quick": lambda: quick,
        "before": Lazy(first, None).get,
    }
    return [(probe.key, probe.label, partial(run, probe)) for probe in PROBES if not (quick and probe.slow)]


def filled_by() -> dict[str, tuple[str, ...]]:
    """The parts of the facts, "." between the fields, each with the modules that fill it."""
    found: dict[str, tuple[str, ...]] = {}
    for probe in (HOST, PCI, *PROBES, *FOREIGN):
        for part in probe.parts:
            found[part] = (*found.get(part, ()), f"{__name__}.{probe.place.partition(':')[0]}")
    # What is asked of each interpreter (gpudoctor.pipeline), what is measured, and what is read at the end.
    python = {"pythons": (f"{__name__}.python",), "pythons.frameworks": (f"{__name__}.frameworks",)}
    return found | python | {"smoke": ("gpudoctor.smoketests",), "history": (f"{__name__}.history",)}


def driver_fails(facts: Facts) -> bool:
    """Whether NVIDIA's driver does not run where it is this system's own: no container, no WSL."""
    host, nvidia = facts.host, facts.nvidia
    if NVIDIA not in _gpu_vendors(facts) or (host.system, host.container, host.wsl) != ("Linux", None, None):
        return False
    return nvidia.nvml.code != 0 or nvidia.cuda.code not in (0, None)


def cpu_builds(facts: Facts) -> list[tuple[Python, Framework]]:
    """The frameworks without GPU support on a machine that has a GPU for them."""
    if facts.host.system != "Linux" or not _gpu_vendors(facts) & {NVIDIA, AMD}:
        return []
    return [(p, f) for p in facts.pythons for f in p.frameworks if f.variant == "cpu" and f.distribution]


def _gpu_vendors(facts: Facts) -> set[str]:
    return {device.vendor for device in known_or(facts.pci, ()) if device.role == "gpu"}
