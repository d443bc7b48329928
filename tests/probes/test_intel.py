"""Intel's GPUs on Linux: the nodes, and where Level Zero lies."""

import pytest

from gpudoctor.facts import IntelFacts
from gpudoctor.machine import Status
from gpudoctor.maybe import Unknown
from gpudoctor.probes import intel, pci, system_steps
from gpudoctor.recorded_machine import RecordedMachine
from tests.builders import host
from tests.checks.intel_machines import ARC, UHD

NODE = Status(0o660, 0, 109, 0, 226, 128, False)
LIB = "/usr/lib/x86_64-linux-gnu"
OPENCL = f"{LIB}/intel-opencl/libigdrcl.so"


def machine(*, stack: bool = True, errors: dict[str, str] | None = None, **env: str) -> RecordedMachine:
    files: dict[str, str | bytes] = {"/sys/class/drm/renderD128/device/vendor": "0x8086\n"}
    files |= {f"{LIB}/libze_loader.so.1": "", f"{LIB}/libze_intel_gpu.so.1": ""} if stack else {}
    return RecordedMachine(files, statuses={"/dev/dri/renderD128": NODE}, errors=errors, env=env)


def test_a_card_with_its_stack() -> None:
    found = intel.probe(machine(errors={"/dev/dri/renderD128": "EACCES"}), (ARC,))
    assert (found.loader, found.level_zero) == (f"{LIB}/libze_loader.so.1", f"{LIB}/libze_intel_gpu.so.1")
    (node,) = found.render  # type: ignore[misc]
    assert (node.path, node.mode, node.gid, node.error) == ("/dev/dri/renderD128", "660", 109, "EACCES")


@pytest.mark.parametrize(
    ("real", "version"),
    [
        (f"{LIB}/libze_loader.so.1.28.2", "1.28.2"),
        (f"{LIB}/libze_loader.so.1", Unknown(f"{LIB}/libze_loader.so.1 does not show its version")),
    ],
)
def test_the_loaders_version_is_in_its_files_name(real: str, version: object) -> None:
    name = f"{LIB}/libze_loader.so.1"
    there = RecordedMachine({real: ""}, links={} if real == name else {name: real})
    assert intel.probe(there, (ARC,)).loader_version == version
    assert intel.probe(machine(stack=False), (ARC,)).loader_version is None


def test_a_desktop_without_it() -> None:
    found = intel.probe(machine(stack=False), (ARC,))
    assert (found.loader, found.level_zero) == (None, None)


def test_a_processors_graphics_is_not_opened_where_nobody_computes() -> None:
    closed = Unknown("not opened: nothing here computes on an Intel GPU")
    (node,) = intel.probe(machine(stack=False), (UHD,)).render  # type: ignore[misc]
    assert node.error == closed
    (node,) = intel.probe(machine(), (UHD,)).render  # type: ignore[misc]
    assert node.error is None


def test_conda_and_variables_name_further_folders() -> None:
    there = RecordedMachine({"/env/lib/libze_loader.so.1": ""}, env={"CONDA_PREFIX": "/env"})
    assert intel.probe(there, (UHD,)).loader == "/env/lib/libze_loader.so.1"
    there = RecordedMachine({"/x/libze_loader.so.1": ""}, env={"LD_LIBRARY_PATH": "relative:/x"})
    assert intel.probe(there, (UHD,)).loader == "/x/libze_loader.so.1"


@pytest.mark.parametrize("name", ["intel.icd", "pocl.icd"])
def test_opencl_is_registered(name: str) -> None:
    assert intel.probe(RecordedMachine({f"/etc/OpenCL/vendors/{name}": ""}), (ARC,)).opencl is (name == "intel.icd")


def test_other_vendors_nodes_are_not_intels() -> None:
    there = RecordedMachine(
        {"/sys/class/drm/renderD128/device/vendor": "0x10de\n"}, statuses={"/dev/dri/renderD128": NODE}
    )
    assert intel.probe(there, (ARC,)).render == ()


def test_nothing_is_looked_for_without_a_gpu() -> None:
    idle = Unknown("not looked for: there is no Intel GPU here")
    stack = next(step for key, _, step in system_steps(machine(), host, lambda: ()) if key == "intel")
    assert stack() == IntelFacts(
        render=idle, loader=idle, level_zero=idle, loader_version=idle, opencl=idle, runtime_build=idle, legacy=idle
    )
    (arc,) = [step for key, _, step in system_steps(machine(), host, lambda: (ARC,)) if key == "intel"]
    assert arc().level_zero == f"{LIB}/libze_intel_gpu.so.1"


@pytest.mark.parametrize(("device", "window"), [("56a0", 16 << 30), ("56a0", 256 << 20)])
def test_the_window_into_a_cards_memory(device: str, window: int) -> None:
    at, row = "/sys/bus/pci/devices/0000:03:00.0", "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    rows = [row] * 6
    rows[2] = f"0x{1 << 40:016x} 0x{(1 << 40) + window - 1:016x} 0x000000000014220c\n"
    files: dict[str, str | bytes] = {f"{at}/vendor": "0x8086", f"{at}/device": f"0x{device}", f"{at}/class": "0x030000"}
    (found,) = pci.probe(RecordedMachine({**files, f"{at}/resource": "".join(rows)}), host())  # type: ignore[misc]
    assert found.bar1 == window


@pytest.mark.parametrize(
    ("files", "links", "build", "legacy"),
    [
        ((), {}, None, False),
        (
            ("libze_intel_gpu.so.1.16.37435",),
            {"libze_intel_gpu.so.1": "libze_intel_gpu.so.1.16.37435"},
            37435,
            False,
        ),
        (("libze_intel_gpu.so.1",), {}, Unknown(f"{LIB}/libze_intel_gpu.so.1 does not show its version"), False),
        (("intel-opencl/libigdrcl.so",), {}, Unknown(f"{OPENCL} does not show its version"), False),
        (("libze_intel_gpu_legacy1.so.1",), {}, None, True),
        (("intel-opencl/libigdrcl_legacy1.so",), {}, None, True),
        (("../../../etc/OpenCL/vendors/intel_legacy1.icd",), {}, None, True),
    ],
)
def test_the_build_of_the_runtime(files: tuple[str, ...], links: dict[str, str], build: object, legacy: bool) -> None:
    paths = [f"{LIB}/{name}" if not name.startswith("..") else f"/{name.lstrip('./')}" for name in files]
    there = RecordedMachine(dict.fromkeys(paths, ""), links={f"{LIB}/{a}": f"{LIB}/{b}" for a, b in links.items()})
    found = intel.probe(there, (UHD,))
    assert (found.runtime_build, found.legacy) == (build, legacy)


FEDORA = "/usr/lib64/libze_intel_gpu.so.1"
HIDDEN = Unknown(f"{FEDORA} does not show its version")


@pytest.mark.parametrize(
    ("tool", "library", "output", "build"),
    [
        ("rpm", FEDORA, "package libze-intel-gpu1 is not installed\nintel-level-zero 25.48.36300.8\n", 36300),
        ("rpm", FEDORA, "intel-level-zero 25.48.36300.8\nintel-opencl 25.48.36300.8\n", 36300),
        ("rpm", FEDORA, "intel-level-zero-25.48.36300.8-1.fc43.x86_64\n", 36300),  # without --qf
        ("dpkg-query", OPENCL, "intel-opencl-icd 23.43.27642.40-1ubuntu3 installed\n", 27642),
        (
            "dpkg-query",
            FEDORA,
            "libze-intel-gpu1 25.48.36300.8-0 installed\nintel-level-zero-gpu 1.3.29735.27-914 config-files\n"
            "intel-opencl-icd 24.35.30872.22-1 config-files\n",  # removed, its settings kept
            36300,
        ),
        ("pacman", FEDORA, "intel-compute-runtime 1:26.09.37435.1-1\n", 37435),
        ("rpm", FEDORA, "intel-level-zero 25.48.36300.8\nintel-opencl 26.05.37020.3\n", HIDDEN),  # which is loaded?
        ("rpm", FEDORA, "package intel-level-zero is not installed\n", HIDDEN),
        ("rpm", FEDORA, "intel-opencl 20.40\n", HIDDEN),
        ("rpm", "/opt/own/libze_intel_gpu.so.1", "intel-level-zero 25.48.36300.8\n", Unknown),  # of no package
        ("zypper", FEDORA, "intel-level-zero 25.48.36300.8\n", HIDDEN),
    ],
)
def test_packages_tell_the_build_where_the_files_name_does_not(
    tool: str, library: str, output: str, build: object
) -> None:
    env = {"LD_LIBRARY_PATH": "/opt/own"}
    there = RecordedMachine({library: ""}, commands={tool: output}, env=env)
    found = intel.probe(there, (UHD,)).runtime_build
    assert isinstance(found, Unknown) if build is Unknown else found == build
