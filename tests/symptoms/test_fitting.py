"""The steps of a message's row on machines of different kinds: only what can be typed there, in an order that fits."""

import re
from pathlib import Path

import msgspec
import pytest

import gpudoctor
import gpudoctor.checks
from gpudoctor.facts import Distribution, Facts, Host, Python
from gpudoctor.fixes import row_steps
from gpudoctor.fixes.row_steps import alternatives, steps
from gpudoctor.knowledge.symptoms import Symptom, SymptomFix, symptoms
from gpudoctor.maybe import Unknown
from gpudoctor.report.fixes import label
from gpudoctor.report.model import FixEntry, Report
from gpudoctor.symptoms import attach
from gpudoctor.symptoms.fitting import distinct, fitting
from tests.at_once import at_once
from tests.builders import change, framework, nvidia_host, with_framework
from tests.checks.amd_machines import amd_host
from tests.checks.environments import environment

ROWS = [row for row in symptoms() if row.fixes]
UBUNTU = change(nvidia_host(), "host.distribution", Distribution(id="ubuntu", like=("debian",)))
UBUNTU = change(UBUNTU, "host.user.uid", 1000)
FEDORA = change(UBUNTU, "host.distribution", Distribution(id="fedora"))
WSL = change(UBUNTU, "host.wsl", 2)
WSL_BROKEN = change(WSL, "gpus", ())
DOCKER = change(change(UBUNTU, "host.container", "docker"), "host.user.uid", 0)
POD = change(change(UBUNTU, "host.container", "containerd"), "host.kubernetes", True)
NATIVE = re.compile(r"ubuntu-drivers|nvidia-driver|akmod|modprobe|rmmod|dkms|mokutil|update-initramfs|\breboot\b")


def known(id_: str) -> Symptom:
    (row,) = (row for row in ROWS if row.id == id_)
    return row


def written(id_: str) -> list[str]:
    return [command for one in known(id_).fixes for command in alternatives(one)]


def commands(fixes: tuple[FixEntry, ...]) -> list[str]:
    return [command for one in fixes for command in one.commands]


@at_once([row.id for row in ROWS])
def test_no_linux_driver_is_installed_in_wsl_and_no_module_is_loaded(row: str) -> None:
    assert [one for one in commands(fitting(known(row), WSL)) if NATIVE.search(one)] == []


@at_once([row.id for row in ROWS])
def test_in_a_container_what_is_done_on_its_host_comes_last_and_says_so(row: str) -> None:
    found = fitting(known(row), DOCKER)
    here = [one.place == "here" for one in found]
    assert here == sorted(here, reverse=True)
    where = ("on the host", "on the node", "then ")
    assert all(any(w in one.message.lower() for w in where) for one in found if one.place == "outside")
    own = [one for one in found if one.place == "here" and not one.message.startswith("In ")]
    assert [one for one in commands(tuple(own)) if NATIVE.search(one) or "sudo " in one] == []


def test_steps_that_follow_each_other_keep_their_order() -> None:
    for machine in (UBUNTU, DOCKER):
        found = [one.message for one in fitting(known("k8s-plugin-blind"), machine)]
        assert len(found) == 3
        assert found[-1].startswith("Then start")
        labels = [label(FixEntry(message), place) for place, message in enumerate(found)]
        assert labels == ["fix", "or", "then"]


@pytest.mark.parametrize("machine", [UBUNTU, DOCKER])
def test_no_first_step_refers_to_another_one(machine: Facts) -> None:
    first = [fixes[0].message for row in ROWS if (fixes := fitting(row, machine))]
    refers = re.compile(r"(?:On the (?:host|node)[:,] )?(?:if it (?:remains|fails)|otherwise|then)\b", re.IGNORECASE)
    assert [message for message in first if refers.match(message)] == []
    every = [fix.message for row in ROWS for fix in row.fixes]
    assert [message for message in every if message.startswith("Or ")] == []  # the label says that


def test_each_modprobe_loads_what_it_names() -> None:
    """Without -a the second name is a parameter of the first module: modprobe(8)."""
    one_module = re.compile(r"(?<![-\w])modprobe (?!-a\b|-r\b)[\w-]+ +(?![&|;=]|\w+=)[\w-]+")
    typed = [command for row in ROWS for command in written(row.id)]
    assert [command for command in typed if one_module.search(command)] == []
    sources = [*Path(gpudoctor.__file__).parent.rglob("*.py"), *Path(gpudoctor.checks.__path__[0]).rglob("*.py")]
    several = re.compile(r'"modprobe", "(?!-[arv]")[^"]+", "(?!\w+=)')
    assert [path for path in sources if several.search(path.read_text())] == []


@at_once([row.id for row in ROWS])
def test_a_command_is_of_this_distribution(row: str) -> None:
    for machine, other in ((FEDORA, r"\bsudo (apt|apt-get)\b"), (UBUNTU, r"\bsudo (dnf|yum)\b")):
        found = fitting(known(row), machine)
        assert [one for one in commands(found) if re.search(other, one)] == []
        assert [one.message for one in found if "commands for" in one.message] == []


def test_a_known_machine_needs_no_names_of_distributions() -> None:
    driverless = change(UBUNTU, "gpus", ())
    first, *_, last = fitting(known("nvml-missing"), driverless)
    assert first.message == "Install the NVIDIA driver, then reboot."
    assert first.commands == ("sudo ubuntu-drivers install",)
    assert last.message.startswith("In ")
    fedora = fitting(known("nvml-missing"), change(FEDORA, "gpus", ()))[0]
    assert fedora.commands == ("sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda",)
    debian = change(driverless, "host.distribution", Distribution(id="debian"))
    assert not [one for one in commands(fitting(known("nvml-missing"), debian)) if "ubuntu" in one]


def test_a_driver_that_responds_is_not_installed_again() -> None:
    assert not [one for one in commands(fitting(known("nvml-missing"), UBUNTU)) if "ubuntu-drivers" in one]
    assert not [one for one in commands(fitting(known("torch-no-driver"), DOCKER)) if "ubuntu-drivers" in one]


def test_803_in_a_container_begins_with_the_container() -> None:
    first, second = fitting(known("cuda-driver-mismatch"), DOCKER)
    assert first.message.startswith("In a container: ")
    assert (second.message, second.commands, second.place) == ("On the host: reboot.", ("sudo reboot",), "outside")
    assert fitting(known("cuda-driver-mismatch"), UBUNTU)[0].message == "Reboot."
    assert not [one for one in commands(fitting(known("cuda-driver-mismatch"), POD)) if one.startswith("docker")]


def test_in_wsl_the_driver_is_that_of_windows() -> None:
    found = fitting(known("smi-missing"), WSL_BROKEN)
    assert found[0].commands == ("/usr/lib/wsl/lib/nvidia-smi",)
    assert "never install a Linux driver inside WSL" in found[-1].message
    assert "install" not in " ".join(one.message for one in fitting(known("smi-missing"), WSL)), "the driver responds"
    assert "Windows" not in " ".join(one.message for one in fitting(known("amdgpu-init"), WSL_BROKEN))
    assert not [one for one in fitting(known("smi-missing"), UBUNTU) if "WSL" in one.message]


def test_of_a_machine_that_is_unknown_every_step_stays() -> None:
    for row in ROWS:
        found = fitting(row, Facts())
        assert set(commands(found)) == set(written(row.id))  # in blocks, each of one distribution
        assert [one for one in row.fixes if not any(one.message[2:-2] in step.message for step in found)] == []
    nameless = change(UBUNTU, "host.distribution", Distribution(id=Unknown("no os-release")))
    assert set(commands(fitting(known("gpu-dropped"), nameless))) == set(written("gpu-dropped"))


def test_what_a_machine_leaves_open_is_said() -> None:
    """By one function, of the conditions that a row has as data."""
    row = known("key-rejected")
    first, second, third, last = (one.message for one in fitting(row, Facts()))
    assert first.startswith("On Ubuntu, enroll the key")
    assert second.startswith("On Fedora and RHEL, with akmods, enroll")
    assert third.startswith("On Debian, Fedora, RHEL, SUSE and Arch, where DKMS signs")
    assert last == row.fixes[-1].message
    assert [one.message for one in fitting(known("nvml-missing"), Facts())][2:4] == [
        "On the host, on Ubuntu: install the NVIDIA driver, then reboot.",
        "On the host, on Fedora and RHEL: install the NVIDIA driver, then reboot.",
    ]
    of_clang = [one.message for one in fitting(known("build-tool-missing"), Facts()) if "clang" in one.message]
    assert "for a kernel built with clang: install" in of_clang[0]


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        (Distribution(id="linuxmint", like=("ubuntu", "debian")), "u"),
        (Distribution(id="kali", like=("debian",)), "d"),
        (Distribution(id="rocky", like=("rhel", "centos", "fedora")), "f"),
        (Distribution(id="amzn", like=("fedora",)), "f"),
        (Distribution(id="opensuse-leap", like=("suse", "opensuse")), None),
        (Distribution(id="nixos"), None),
    ],
)
def test_a_command_is_chosen_by_its_key(distribution: Distribution, expected: str | None) -> None:
    steps = (
        SymptomFix("Install it.", ("look", {"ubuntu": "u", "debian": "d", "fedora": "f"})),
        SymptomFix("Only there.", ("o",), distribution=("debian", "rhel")),
    )
    machine = change(UBUNTU, "host.distribution", distribution)
    found = fitting(msgspec.structs.replace(NO_STEPS, fixes=steps), machine)
    assert found[0].commands == ("look", expected) if expected else found[0].commands == ("look",)
    assert (len(found) == 2) == (distribution.id in ("kali", "rocky"))


def test_on_the_host_of_a_container_every_distribution_is_possible() -> None:
    found = fitting(known("nvml-missing"), change(DOCKER, "gpus", ()))
    (install,) = (one for one in found if "install the NVIDIA driver" in one.message)
    assert install.commands == (
        "sudo ubuntu-drivers install",
        "sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda",
    )


def test_nvidias_driver_on_windows_is_no_advice_for_another_vendors_gpu() -> None:
    for row in ("amdgpu-reset-failed", "intel-hang"):
        assert "NVIDIA" not in " ".join(one.message for one in fitting(known(row), WSL_BROKEN)), row


def test_the_same_with_another_version_or_index_is_said_once() -> None:
    own = FixEntry("For this GPU.", ("pip install torch==2.7.* --index-url https://x/whl/cu126",))
    row = SymptomFix("For any.", ("pip install torch --index-url https://x/whl/cu128",))
    other = SymptomFix("Look.", ("nvidia-smi",))
    assert distinct((own,), (row, other)) == [other]
    assert distinct((), (row, other)) == [row, other]


ALONE = change(change(UBUNTU, "containers.docker", None), "containers.podman", None)
ALONE = change(ALONE, "cluster.kubelet", False)


@pytest.mark.parametrize(
    ("row", "machine", "gone"),
    [
        ("nvml-missing", ALONE, "In a container|In Kubernetes"),
        ("smi-missing", ALONE, "In a container"),
        ("apt-no-driver-package", UBUNTU, "contrib|RPM Fusion"),
        ("key-rejected", UBUNTU, "akmods|DKMS"),
        ("key-rejected", FEDORA, "On Ubuntu"),
        ("build-tool-missing", change(UBUNTU, "host.kernel.compiler", "gcc 13.3.0"), "clang"),
        ("apt-nvidia-broken", UBUNTU, "remove the driver"),  # it responds
    ],
)
def test_a_step_for_another_machine_is_left_out(row: str, machine: Facts, gone: str) -> None:
    whole, left = (
        " ".join(one.message for one in steps) for steps in (fitting(known(row), Facts()), fitting(known(row), machine))
    )
    assert all(re.search(one, whole) for one in gone.split("|"))
    assert left
    assert re.search(gone, left) is None


def test_the_branch_that_is_here_is_no_newer_one() -> None:
    here = change(UBUNTU, "nvidia.kernel.loaded", "580.95.05")
    assert "sudo apt install nvidia-driver-580-open" in commands(fitting(known("build-gpl-only"), UBUNTU))
    assert "sudo apt install nvidia-driver-580-open" not in commands(fitting(known("build-gpl-only"), here))
    clang = change(UBUNTU, "host.kernel.compiler", "clang 18.1.3")
    assert any("clang" in one for one in commands(fitting(known("build-tool-missing"), clang)))


CHECKED = with_framework(framework(), UBUNTU)
NO_STEPS = Symptom(id="x", kind="error", program="x", meaning="x", source="x")
PIP = (FixEntry("Install it.", ("MAX_JOBS=4 python -m pip install 'x[y]'", "tf/bin/python -m pip list")),)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (CHECKED, "MAX_JOBS=4 /opt/env/bin/python -m pip install 'x[y]'"),
        (change(CHECKED, "pythons.0.path", "/a b/python"), "MAX_JOBS=4 '/a b/python' -m pip install 'x[y]'"),
        (change(CHECKED, "pythons.0.manager", "uv"), "MAX_JOBS=4 uv pip install --python /opt/env/bin/python 'x[y]'"),
        (change(CHECKED, "pythons.0.externally_managed", True), PIP[0].commands[0]),
        (UBUNTU, PIP[0].commands[0]),
    ],
)
def test_a_step_is_for_the_python_that_was_checked(facts: Facts, expected: str) -> None:
    assert commands(fitting(NO_STEPS, facts, PIP)) == [expected, "tf/bin/python -m pip list"]
    asks = (FixEntry("See which.", ("python -c 'import sys; print(sys.executable)'", "python -m pip install x")),)
    assert fitting(NO_STEPS, facts, asks) == asks


NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"


@pytest.mark.parametrize(
    ("capability", "archs", "installs"),
    [("12.0", ("sm_80", "sm_90"), "cu1"), ("6.1", ("sm_80", "sm_90"), "cu126"), ("8.9", ("sm_80", "sm_90"), "")],
)
def test_without_code_only_what_fits_the_gpu_here_is_advised(
    capability: str, archs: tuple[str, ...], installs: str
) -> None:
    facts = change(with_framework(framework(archs=archs, live=None), UBUNTU), "gpus.0.capability", capability)
    fixes = attach(Report(), NO_KERNEL, facts).symptoms[0].fixes
    builds = [one for one in commands(fixes) if "--index-url" in one]
    assert [installs in one for one in builds] == [True] * bool(installs)
    assert f"export TORCH_CUDA_ARCH_LIST={capability}" in commands(fixes)
    assert not any("older GPU" in one.message or "newer GPU" in one.message for one in fixes)
    unknown = attach(Report(), NO_KERNEL, change(facts, "gpus.0.capability", Unknown("x"))).symptoms[0].fixes
    assert sum("older GPU" in one.message or "newer GPU" in one.message for one in unknown) == 2


def test_a_driver_is_installed_with_this_distributions_command() -> None:
    old = "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040)"
    for machine, typed in ((UBUNTU, True), (FEDORA, False)):
        (fix,) = (one for one in attach(Report(), old, machine).symptoms[0].fixes if "driver branch" in one.message)
        assert any("apt-get install nvidia-driver-" in one for one in fix.commands) is typed
        assert fix.message.endswith("then reboot.")
    (outside,) = (one for one in attach(Report(), old, DOCKER).symptoms[0].fixes if one.place == "outside")
    assert "elsewhere the distribution's package" in outside.message


def test_amds_repositories_are_no_matter_of_nvidias_driver() -> None:
    for facts in WSL, DOCKER:
        first = fitting(known("amd-repository-missing"), facts)[0]
        assert (first.place, first.message) == ("here", "See which files name it, and remove them.")
        assert not [one for one in fitting(known("amd-repository-missing"), facts) if "NVIDIA" in one.message]


def test_no_container_changes_power_or_clocks_of_its_host() -> None:
    for id_ in "smi-power-limit-fixed", "nvidia-jump-label":
        assert {one.place for one in fitting(known(id_), DOCKER)} == {"outside"}


@at_once([row.id for row in ROWS])
def test_what_follows_a_step_is_not_the_first(row: str) -> None:
    for facts in UBUNTU, WSL, DOCKER, POD:
        assert not [one for one in fitting(known(row), facts)[:1] if one.message.startswith("Then")]


@pytest.mark.parametrize("row", [row.id for row in ROWS])
def test_no_command_of_a_message_has_a_remark_behind_it(row: str) -> None:
    assert [one for one in written(row) if re.search(r"(^|\s)# ", one)] == []


@pytest.mark.parametrize(
    ("id_", "path", "value", "first", "there"),
    [
        ("triton-module", "host.wsl", None, "Reinstall PyTorch", False),
        ("triton-module", "host.system", "Windows", "On Windows: install Triton's builds", True),
        ("triton-module", "host.wsl", 2, "Reinstall PyTorch", True),
        ("amdgpu-no-vbios", "host.virtual", None, "Reseat the card", False),
        ("amdgpu-no-vbios", "host.virtual", "kvm", "In a virtual machine: pass the VBIOS", True),
        ("amdgpu-no-vbios", "host.virtual", Unknown("x"), "In a virtual machine: pass the VBIOS", True),
    ],
)
def test_steps_of_windows_and_of_virtual_machines(id_: str, path: str, value: object, first: str, there: bool) -> None:
    found = [one.message for one in fitting(known(id_), change(UBUNTU, path, value))]
    assert found[0].startswith(first)
    assert any(one.startswith(("On Windows: ", "In a virtual machine: ")) for one in found) is there


def test_no_step_brings_cuda_builds_to_other_gpus() -> None:
    """PyTorch's indexes for CUDA are of no use to AMD's and Intel's GPUs, and would replace the build that works."""
    rocm = change(
        environment(framework("torch", variant="rocm", hip="7.2", cuda=None), facts=amd_host()), "host.user.uid", 1000
    )
    shown = [line for row in ROWS for step in steps(row, rocm) for line in step.commands]
    assert [line for line in shown if re.search(r"/whl/cu\d", line)] == []
    assert any("/whl/cu" in line for step in steps(known("torchvision"), UBUNTU) for line in step.commands)
    indexed = change(rocm, "pythons.0.frameworks.0.version", "2.9.1+rocm7.2")
    (one,) = steps(known("torchvision"), indexed)
    assert one.commands[0].endswith("--index-url https://download.pytorch.org/whl/rocm7.2")
    shown = [line for row in ROWS for step in steps(row, indexed) for line in step.commands]
    assert not [line for line in shown if re.search(r"/whl/cu\d|(torch\w*[<=>~]|flashinfer).*/whl/rocm", line)]
    assert steps(known("torch-arch"), indexed) == ()
    own = change(rocm, "pythons.0.frameworks.0.version", "2.9.1+rocm7.2.0.lw.git7e1940d4")
    assert steps(known("torchvision"), own) == ()


def test_what_asks_nvidias_driver_comes_last_on_other_gpus() -> None:
    """And what installs it is not shown: AMD's GPU works without."""
    rocm = change(amd_host(), "host.user.uid", 1000)
    assert not any("nvidia" in line for step in steps(known("libcuda"), rocm) for line in step.commands)
    none = change(UBUNTU, "gpus", ())
    assert any("nvidia" in line for step in steps(known("libcuda"), none) for line in step.commands)
    shown = [step.commands[0] for step in steps(known("cuda-oom"), rocm) if step.commands]
    assert "nvidia-smi" in shown[-1]
    assert "nvidia-smi" not in shown[0]


PORTABLE = Facts(host=Host(system="Windows"), pythons=(Python(path="D:\\App\\python_embeded\\python.exe -s"),))


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("python -m pip install 'numpy<2'", 'D:\\App\\python_embeded\\python.exe -s -m pip install "numpy<2"'),
        ("export A_B=1", '$env:A_B = "1"'),
        ("source torch-env/bin/activate", "torch-env\\Scripts\\activate"),
        ("x = 'program'", "x = 'program'"),
    ],
)
def test_a_line_as_windows_takes_it(line: str, typed: str) -> None:
    assert commands(fitting(NO_STEPS, PORTABLE, (FixEntry("Do it.", (line,)),))) == [typed]


@pytest.mark.parametrize(
    "line", ["export PATH=/usr/local/cuda/bin:$PATH", "A=1 python x.py", "v=$(nvcc); echo", "sudo x"]
)
def test_what_no_shell_of_windows_takes_is_left_out(line: str) -> None:
    assert fitting(NO_STEPS, PORTABLE, (FixEntry("Do it.", (line,)),)) == ()


def test_the_index_of_a_build_that_was_asked_for_stays() -> None:
    line = "export PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cu118"
    assert row_steps.commands(SymptomFix(message="Name it.", commands=(line,)), UBUNTU) == (line,)
