"""Intel's GPUs on Linux: the render nodes, and the libraries of Level Zero through which programs reach them."""

from collections.abc import Sequence

from gpudoctor.facts.device_node import DeviceNode
from gpudoctor.facts.intel import IntelFacts
from gpudoctor.facts.pci import PciDevice
from gpudoctor.knowledge import intel as known_cards
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.numbers import whole
from gpudoctor.probes import device_nodes

VENDOR = "0x8086"
LOADER, DRIVER, OPENCL = "libze_loader.so.1", "libze_intel_gpu.so.1", "libigdrcl.so"
# NEO__LEGACY_NAME_SUFFIX in intel/compute-runtime's CMakeLists.txt
LEGACY, LEGACY_ICD = ("libze_intel_gpu_legacy1.so.1", "libigdrcl_legacy1.so"), "/etc/OpenCL/vendors/intel_legacy1.icd"
ICD = "/etc/OpenCL/vendors/intel.icd"  # intel/compute-runtime, package intel-opencl-icd
_PACKAGED = ("/usr/lib", "/lib/")  # where distributions' packages have their libraries
_QUERIES = {
    "dpkg-query": ("-W", "-f=${Package} ${Version} ${db:Status-Status}\n"),
    "rpm": ("-q", "--qf", "%{NAME} %{VERSION}\n"),
    "pacman": ("-Q",),
}
_REMOVED = "config-files"  # dpkg(1): its settings alone are left
_VERSION = pattern(r"\b\d\d\.\d\d\.(\d{5,6})\.\d")  # year, week, build: 25.48.36300.8
_FIRST_BUILD = 10000  # of 2019; smaller numbers are the library's own
# Where distributions put them; NixOS's drivers are in the last but one, conda's and oneAPI's come by LD_LIBRARY_PATH.
FOLDERS = (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/usr/local/lib64",
    "/lib/x86_64-linux-gnu", "/run/opengl-driver/lib", "/usr/lib/x86_64-linux-gnu/intel-opencl",
)  # fmt: skip


def probe(machine: Machine, cards: Sequence[PciDevice]) -> IntelFacts:
    """Look for what a framework needs, on a machine that has an Intel GPU or WSL's door to one.

    Args:
        machine: where to look.
        cards: Intel's GPUs on the bus.
    """
    folders = _folders(machine)
    driver, loader = _found(machine, DRIVER, folders), _found(machine, LOADER, folders)
    discrete = any(known_cards.family(card.device) for card in cards)
    opencl = machine.exists(ICD)
    return IntelFacts(
        render=_render(machine, cards, wanted=discrete or opencl or driver is not None),
        loader=loader,
        loader_version=_loader_version(machine, loader),
        level_zero=driver,
        runtime_build=_build(machine, driver, folders),
        opencl=opencl,
        legacy=any(_found(machine, name, folders) for name in LEGACY) or machine.exists(LEGACY_ICD),
    )


def _folders(machine: Machine) -> tuple[str, ...]:
    own = [folder for folder in machine.env.get("LD_LIBRARY_PATH", "").split(":") if folder.startswith("/")]
    prefix = machine.env.get("CONDA_PREFIX", "")
    return (*own, *([f"{prefix}/lib"] if prefix.startswith("/") else []), *FOLDERS)


def _found(machine: Machine, name: str, folders: Sequence[str]) -> str | None:
    return next((f"{folder}/{name}" for folder in folders if machine.exists(f"{folder}/{name}")), None)


def _loader_version(machine: Machine, loader: str | None) -> Maybe[str | None]:
    """The release of Level Zero's loader, the end of its file's name: libze_loader.so.1.28.2."""
    if loader is None:
        return None
    version = machine.real(loader).rpartition(".so.")[2]
    return version if version.count(".") == 2 else Unknown(f"{loader} does not show its version")


def _build(machine: Machine, driver: str | None, folders: Sequence[str]) -> Maybe[int | None]:
    """The build of Intel's compute runtime.

    It is the last number of its Level Zero driver's file (.so.1.16.37435) and the third of its packages' version.
    """
    library = driver or _found(machine, OPENCL, folders)
    if library is None:
        return None
    build = whole(machine.real(library).rpartition(".")[2])
    if build is not None and build >= _FIRST_BUILD:
        return build
    builds = _packaged(machine) if library.startswith(_PACKAGED) else set()
    return builds.pop() if len(builds) == 1 else Unknown(f"{library} does not show its version")


def _packaged(machine: Machine) -> set[int]:
    """The builds of the packages that bring the runtime: 36300 of intel-level-zero 25.48.36300.8."""
    names = known_cards.runtime_packages()
    for tool, options in _QUERIES.items():
        if machine.which(tool) is not None:
            # A name that is not installed makes each of them fail, and they print the others all the same.
            lines = machine.run([tool, *options, *names], seconds=15.0).out.splitlines()
            found = [_VERSION.search(line) for line in lines if not line.endswith(_REMOVED)]
            if any(found):
                return {int(match[1]) for match in found if match}
    return set()


def _render(machine: Machine, cards: Sequence[PciDevice], wanted: bool) -> tuple[DeviceNode, ...]:
    """The render nodes of Intel's GPUs; opened where somebody may want to compute, and no GPU is woken for it."""
    sleeping = {card.address for card in cards if card.runtime_status == "suspended"}
    found, closed = [], {}
    for name in machine.names("/dev/dri"):
        device = f"/sys/class/drm/{name}/device"
        if not name.startswith("renderD") or machine.line(f"{device}/vendor") not in (VENDOR, None):
            continue
        path = f"/dev/dri/{name}"
        found.append(path)
        if not wanted:
            closed[path] = Unknown("not opened: nothing here computes on an Intel GPU")
        elif machine.real(device).rpartition("/")[2] in sleeping:
            closed[path] = Unknown("not opened: the GPU sleeps, and opening could wake it")
    return device_nodes.look(machine, found, closed)
