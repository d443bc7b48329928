"""What the loaded driver answers, its versions, libraries and nodes: each illness by a machine that has it."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Problem, judge
from gpudoctor.facts import Facts
from gpudoctor.root_causes import findings
from tests.builders import ask, card, library, nvidia_host, plain_host
from tests.checks.nvidia_machines import (
    WHY,
    event,
    failing,
    having,
    logged,
    nodes,
    unloaded,
    versions,
    xid,
)

COMPAT = "/usr/local/cuda-12.9/compat"
LIBRARY = "/usr/lib/x86_64-linux-gnu"


def _compat(version: str, code: int) -> Facts:
    place = {"path": f"{COMPAT}/libcuda.so.1", "real": f"{COMPAT}/libcuda.so.{version}"}
    first = library("libcuda.so.1", version, kind="compat", found_by="LD_LIBRARY_PATH", **place)
    return failing(
        code,
        nvidia__cuda__libraries=(first, library("libcuda.so.1")),
        nvidia__cuda__loaded=f"{COMPAT}/libcuda.so.{version}",
        host__environment={"LD_LIBRARY_PATH": f"{COMPAT}:/opt/lib"},
    )


STUB = library("libcuda.so", None, path="/opt/cuda/lib64/stubs/libcuda.so", kind="stub", found_by="LD_LIBRARY_PATH")
PENDING = versions("550.90.07", "550.107.02", "550.107.02")
HALF = versions("520.56.06", "520.56.06", "525.85.12")
POD = having(PENDING, host__container="kubernetes", nvidia__kernel__on_disk=WHY)
BARE_NODES = nodes("nvidia0", "nvidiactl")
NO_UVM = failing(
    999, nvidia__kernel__nodes=BARE_NODES, nvidia__kernel__modules=("nvidia",), nvidia__kernel__uvm_major=None
)
MIXED = failing(
    999,
    nvidia__cuda__libraries=(library("libcuda.so.1", "570.133.20"),),
    nvidia__cuda__loaded=None,
    nvidia__nvml__code=0,
)
NOT_LISTED = failing(100, nvidia__nvml__count=0, gpus=())
UNPLUGGED = logged(event("power-source", "PlatformRequestHandler failed to get platform power mode"), facts=NOT_LISTED)
SOME = having(nvidia_host(2), nvidia__nvml__count=1, gpus=nvidia_host(1).gpus)

# The open module with HMM, on which only CUDA fails.
OPEN = failing(3, nvidia__kernel__flavor="open", nvidia__kernel__parameters={"uvm_disable_hmm": "N"})

ILL = [
    (
        "driver.library-mismatch",
        PENDING,
        "The loaded kernel module is 550.90.07, the driver's libraries are 550.107.02: the versions do not match. "
        "Module 550.107.02 is installed on disk but not loaded yet.",
    ),
    (
        "driver.library-mismatch",
        POD,
        "The host's loaded kernel module is 550.90.07, the driver's libraries are 550.107.02: the versions do not "
        "match.",
    ),
    (
        "driver.library-mismatch",
        having(nvidia__nvml__code=18, nvidia__kernel__loaded=WHY),
        "NVML or libcuda reports that the driver's libraries and the loaded kernel module differ in version.",
    ),
    (
        "driver.library-mismatch",
        logged(
            event("api-mismatch", driver="570.148.08"),
            event("api-mismatch-module", driver="570.148.06"),
            facts=having(nvidia__nvml__code=18, nvidia__kernel__loaded=WHY, nvidia__nvml__libraries=WHY),
        ),
        "The loaded kernel module is 570.148.06, the driver's libraries are 570.148.08: the versions do not match.",
    ),
    (
        "driver.half-upgraded",
        HALF,
        "The driver's libraries are 525.85.12, but the module on disk is 520.56.06, which is also loaded. A reboot "
        "cannot fix this.",
    ),
    (
        "driver.half-upgraded",
        versions("570.124.04", "570.124.06", "570.133.20"),
        "The driver's libraries are 570.133.20, but the module on disk is 570.124.06, and 570.124.04 is loaded: "
        "three versions that all differ. A reboot cannot fix this.",
    ),
    (
        "driver.mixed-installation",
        MIXED,
        f"libcuda is 570.133.20 ({LIBRARY}/libcuda.so.570.133.20), libnvidia-ml is 570.169 "
        f"({LIBRARY}/libnvidia-ml.so.570.169).",
    ),
    (
        "driver.mixed-installation",
        having(nvidia__nvml__libraries=(library("libnvidia-ml.so.1", size=0),), nvidia__nvml__code=WHY),
        f"The driver's library {LIBRARY}/libnvidia-ml.so.1 is an empty file.",
    ),
    (
        "driver.library-missing",
        having(nvidia__cuda__libraries=(), nvidia__cuda__code=None),
        "The kernel module 570.169 is loaded, but libcuda.so.1 is not found: without it no program can use CUDA.",
    ),
    (
        "driver.device-nodes-missing",
        failing(100, nvidia__kernel__nodes=()),
        "The module 570.169 is loaded, but /dev/nvidiactl is missing.",
    ),
    (
        "driver.device-nodes-missing",
        failing(100, facts=nvidia_host(2), nvidia__kernel__nodes=BARE_NODES),
        "The module has 2 GPUs, but only 1 of their nodes /dev/nvidiaN exist.",
    ),
    (
        "driver.device-nodes-closed",
        failing(100, nvidia__kernel__nodes=nodes("nvidiactl", mode="660", gid=44, error="EACCES")),
        "/dev/nvidiactl cannot be opened: Permission denied (EACCES, mode 660). It belongs to the group 44.",
    ),
    (
        "driver.uvm-missing",
        NO_UVM,
        "/dev/nvidia-uvm is missing in this machine, so CUDA cannot start (cuInit 999). The module nvidia_uvm is not "
        "loaded "
        "either.",
    ),
    (
        "driver.uvm-missing",
        having(NO_UVM, host__container="podman", nvidia__kernel__modules=("nvidia", "nvidia_uvm")),
        "/dev/nvidia-uvm is missing in the container, so CUDA cannot start (cuInit 999).",
    ),
    (
        "driver.uvm-missing",
        failing(999, nvidia__kernel__nodes=nodes("nvidia0", "nvidiactl", "nvidia-uvm", major=509)),
        "/dev/nvidia-uvm has the major number 509, but the module nvidia-uvm has 511: the node is from an earlier "
        "boot.",
    ),
    (
        "driver.uvm-stale",
        logged(event("suspend"), event("resume"), facts=failing(999)),
        "cuInit returns 999 (unknown error) since the machine resumed from suspend while NVML works: the loaded "
        "module nvidia_uvm is in a stale state.",
    ),
    (
        "driver.stub-library",
        failing(34, nvidia__cuda__libraries=(STUB,), nvidia__cuda__loaded=STUB.path),
        "Programs load the toolkit's stub /opt/cuda/lib64/stubs/libcuda.so, found through LD_LIBRARY_PATH, instead "
        "of the driver's libcuda.",
    ),
    (
        "driver.stub-library",
        having(nvidia__cuda__libraries=(library("libcuda.so.1"), STUB)),
        "Programs that open libcuda.so load the toolkit's stub /opt/cuda/lib64/stubs/libcuda.so, found through "
        "LD_LIBRARY_PATH, instead of the driver's libcuda.",
    ),
    (
        "driver.compat-mismatch",
        _compat("565.57.01", 803),
        f"Programs load {COMPAT}/libcuda.so.565.57.01 (565.57.01, found through LD_LIBRARY_PATH) instead of the "
        "driver's own libcuda. It does not match the loaded kernel module 570.169 (cuInit 803).",
    ),
    (
        "driver.compat-mismatch",
        _compat("565.57.01", 100),
        f"Programs load {COMPAT}/libcuda.so.565.57.01 (565.57.01, found through LD_LIBRARY_PATH) instead of the "
        "driver's own libcuda. It does not match the loaded kernel module 570.169 (cuInit 100).",
    ),
    (
        "driver.compat-unsupported",
        _compat("575.57.08", 804),
        f"Programs load the compatibility library {COMPAT}/libcuda.so.575.57.08 (575.57.08, found through "
        "LD_LIBRARY_PATH) with the older kernel module 570.169, which this GPU does not support (cuInit 804).",
    ),
    (
        "driver.nvml-no-answer",
        having(nvidia__nvml__hung="init", nvidia__nvml__code=WHY),
        "NVML did not respond in time (in init); nvidia-smi hangs too.",
    ),
    (
        "driver.cuda-no-answer",
        having(nvidia__cuda__hung="init", nvidia__cuda__code=WHY),
        "libcuda did not respond in time (in init): every CUDA program hangs there.",
    ),
    (
        "driver.crashes",
        having(nvidia__cuda__died="SIGSEGV", nvidia__cuda__code=WHY),
        "libcuda crashed when it was called (SIGSEGV).",
    ),
    ("driver.no-devices", UNPLUGGED, "NVML works but lists no GPU, though PCI shows 1 (0000:01:00.0)."),
    ("driver.no-devices", NOT_LISTED, "NVML works but lists no GPU, though PCI shows 1 (0000:01:00.0)."),
    (
        "driver.nvml-error",
        having(nvidia__nvml__code=10, nvidia__nvml__text="Timeout", nvidia__cuda__code=999),
        "NVML reports: Timeout (10).",
    ),
    (
        "driver.cuda-error",
        failing(3, nvidia__cuda__name="CUDA_ERROR_NOT_INITIALIZED", nvidia__cuda__text="initialization error"),
        "cuInit returns 3 (CUDA_ERROR_NOT_INITIALIZED: initialization error).",
    ),
    (
        "driver.hmm-without-room",
        failing(802),
        "cuInit returns 802 on a machine without NVSwitch: nvidia_uvm could not set up HMM.",
    ),
    (
        "driver.hmm-without-room",
        OPEN,
        "cuInit returns 3 though the open module is loaded and NVML responds: HMM in nvidia_uvm, which is on, is the "
        "known cause.",
    ),
]

WELL = [
    ("driver.library-mismatch", HALF),  # half-upgraded says so
    ("driver.library-mismatch", having(PENDING, nvidia__nvml__code=0, nvidia__cuda__code=0)),
    ("driver.half-upgraded", PENDING),
    ("driver.half-upgraded", versions("550.90.07", None, "550.107.02")),
    ("driver.mixed-installation", PENDING),
    ("driver.mixed-installation", _compat("565.57.01", 803)),
    ("driver.library-missing", unloaded(nvidia__cuda__libraries=())),
    (
        "driver.device-nodes-missing",
        having(nvidia__kernel__nodes=()),
    ),  # nvidia-modprobe has not run yet, and all is well
    ("driver.device-nodes-closed", failing(100, nvidia__kernel__nodes=nodes("nvidiactl", error="EPERM"))),
    ("driver.uvm-missing", having(nvidia__kernel__nodes=BARE_NODES, nvidia__kernel__modules=("nvidia",))),
    ("driver.uvm-missing", failing(100, nvidia__kernel__nodes=())),
    ("driver.uvm-missing", having(NO_UVM, nvidia__cuda__code=100, nvidia__cuda__unmasked_code=0)),
    ("driver.uvm-missing", having(NO_UVM, nvidia__cuda__code=802)),
    ("driver.uvm-stale", NO_UVM),
    ("driver.uvm-stale", failing(999, gpus__0__status="lost")),
    ("driver.uvm-stale", failing(999, facts=logged(event("fallen-off-bus", gpu="0000:01:00.0")))),
    ("driver.uvm-stale", failing(999, nvidia__nvml__code=999)),
    ("driver.compat-mismatch", PENDING),
    ("driver.no-devices", failing(100, nvidia__nvml__count=0, pci__0__driver="vfio-pci")),
    ("driver.device-nodes-missing", failing(999, facts=having(SOME, nvidia__kernel__nodes=BARE_NODES))),
    ("driver.cuda-error", failing(100, nvidia__cuda__unmasked_code=0)),
    ("driver.hmm-without-room", failing(802, pci=(card(device="2330"),))),
    ("driver.hmm-without-room", logged(event("confidential-guest"), facts=failing(802))),
    # Switched off already, the module that has none, and a GPU with an error of its own.
    ("driver.hmm-without-room", having(OPEN, nvidia__kernel__parameters={"uvm_disable_hmm": "Y"})),
    ("driver.hmm-without-room", having(OPEN, nvidia__kernel__flavor="proprietary")),
    ("driver.hmm-without-room", logged(xid(79), facts=OPEN)),
]

UNKNOWN = [
    ("driver.library-mismatch", having(nvidia__kernel__loaded=WHY, nvidia__cuda__code=999)),
    ("driver.half-upgraded", having(HALF, nvidia__kernel__on_disk=WHY)),
    ("driver.mixed-installation", having(MIXED, nvidia__cuda__libraries=WHY)),
    ("driver.library-missing", having(nvidia__cuda__libraries=WHY)),
    ("driver.device-nodes-missing", failing(100, nvidia__kernel__nodes=WHY)),
    ("driver.device-nodes-closed", having(nvidia__kernel__nodes=WHY)),
    ("driver.uvm-missing", having(NO_UVM, nvidia__cuda__code=WHY)),
    ("driver.uvm-missing", having(NO_UVM, nvidia__kernel__nodes=WHY)),
    ("driver.uvm-stale", having(nvidia__cuda__code=WHY)),
    ("driver.stub-library", having(nvidia__cuda__code=WHY)),
    ("driver.compat-mismatch", having(_compat("565.57.01", 803), nvidia__kernel__loaded=WHY)),
    ("driver.compat-unsupported", having(nvidia__cuda__code=WHY)),
    ("driver.nvml-no-answer", having(nvidia__nvml__code=WHY)),
    ("driver.cuda-no-answer", having(nvidia__cuda__code=WHY)),
    ("driver.crashes", having(nvidia__cuda__code=WHY)),
    ("driver.no-devices", having(nvidia__nvml__count=WHY)),
    ("driver.nvml-error", having(nvidia__nvml__code=WHY)),
    ("driver.cuda-error", having(nvidia__cuda__code=WHY)),
    ("driver.hmm-without-room", having(nvidia__cuda__code=WHY)),
]


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_the_problem_is_named(check: str, facts: Facts, message: str) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("problem", message)]


@pytest.mark.parametrize("check", sorted({check for check, _, _ in ILL}))
def test_a_healthy_machine_and_one_without_gpus_have_none(check: str) -> None:
    one = catalogue.load([check])[0]
    assert {outcome for outcome, _ in ask(one, nvidia_host())} == {"pass"}
    assert ask(one, plain_host()) == [("skipped", "")]


@pytest.mark.parametrize(("check", "facts"), WELL)
def test_what_only_looks_like_it_is_left_alone(check: str, facts: Facts) -> None:
    assert {outcome for outcome, _ in ask(catalogue.load([check])[0], facts)} == {"pass"}


@pytest.mark.parametrize(("check", "facts"), UNKNOWN)
def test_what_nobody_could_see_is_unknown(check: str, facts: Facts) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("unknown", "nobody could look")]


@pytest.mark.parametrize(
    ("facts", "root"),
    [
        (PENDING, "driver.library-mismatch"),
        (HALF, "driver.half-upgraded"),
        (_compat("565.57.01", 803), "driver.compat-mismatch"),
        (_compat("575.57.08", 804), "driver.compat-unsupported"),
        (NO_UVM, "driver.uvm-missing"),
        (failing(999), "driver.uvm-stale"),
        (NOT_LISTED, "driver.no-devices"),
        (failing(802), "driver.hmm-without-room"),
    ],
)
def test_one_cause_is_one_finding(facts: Facts, root: str) -> None:
    found, _ = findings(judge(facts, catalogue.load(catalogue.select(catalogue.ids(), ("driver", "device"), ()))))
    assert [f.root.check.id for f in found] == [root]


def test_a_restart_is_advised_only_where_it_helps() -> None:
    mismatch, half = catalogue.load(["driver.library-mismatch", "driver.half-upgraded"])
    assert mismatch.fixes_for(PENDING)[0].commands == ("sudo reboot",)
    assert all("reboot" not in " ".join(fix.commands) for fix in half.fixes_for(HALF))
    assert "sudo apt-get --fix-broken install" in half.fixes_for(HALF)[0].commands
    lxc = having(PENDING, host__container="lxc", nvidia__kernel__on_disk=WHY)
    assert [fix.commands for fix in mismatch.fixes_for(lxc)] == [()]
    assert "exactly 550.90.07" in mismatch.fixes_for(lxc)[0].message


def test_a_path_that_hides_the_driver_is_taken_out_of_the_variable() -> None:
    one = catalogue.load(["driver.compat-mismatch"])[0]
    assert one.fixes_for(_compat("565.57.01", 803))[0].commands == ("export LD_LIBRARY_PATH=/opt/lib",)


def test_only_the_folders_own_line_leaves_the_loaders_configuration() -> None:
    one = catalogue.load(["driver.compat-mismatch"])[0]
    machine = having(_compat("565.57.01", 803), host__environment={}, host__container="docker")
    find, cache = one.fixes_for(machine)[0].commands
    assert find.endswith(rf"sudo xargs -r sed -i.bak '\#^[[:space:]]*{COMPAT}/*[[:space:]]*$#d'")
    assert (cache, " rm " in find) == ("sudo ldconfig", False)


@pytest.mark.parametrize(
    ("check", "facts", "words"),
    [
        ("driver.cuda-error", failing(3), "fork() after CUDA was initialized"),
        ("driver.nvml-error", having(nvidia__nvml__code=9, nvidia__cuda__code=100), "Usual causes of this code: "),
    ],
)
def test_usual_causes_stand_in_the_cause_and_not_in_the_sentence(check: str, facts: Facts, words: str) -> None:
    problem = catalogue.load([check])[0](facts)
    assert isinstance(problem, Problem)
    assert words in str(problem.cause)
    assert "causes" not in problem.message


def test_a_driver_in_a_bad_state_is_loaded_again() -> None:
    [one] = catalogue.load(["driver.nvml-error"])
    machine = having(nvidia__nvml__code=999, nvidia__nvml__text="Unknown Error", nvidia__cuda__code=999)
    pod = having(machine, host__container="docker")
    _, again, reboot = one.fixes_for(machine)
    assert again.commands[-1] == "sudo modprobe nvidia"
    assert "rmmod" in again.commands[1]
    assert reboot.commands == ("sudo reboot",)
    assert len(one.fixes_for(pod)) == 1
    bare, inside = one(machine), one(pod)
    assert isinstance(bare, Problem)
    assert isinstance(inside, Problem)
    assert bare.cause == (
        "Usual causes of this code: the driver has crashed or is in a bad state (Xids in the kernel log show why)."
    )
    assert "device nodes are missing" in str(inside.cause)


def test_a_gpu_that_went_with_the_ac_adapter_is_kept_powered() -> None:
    ((finding,), _) = findings(judge(UNPLUGGED, catalogue.load(["driver.no-devices"])))
    fix = finding.root.fixes[0]
    assert "NVreg_DynamicPowerManagement=0x00" in fix.message
    assert fix.commands[-1] == "sudo reboot"


def test_who_holds_the_lock_that_nvidia_smi_waits_for() -> None:
    def waits(holder: str, waiter: str = "nvidia-smi") -> Facts:
        text = f"INFO: task {waiter}:4821 blocked on a mutex likely owned by task {holder}:1432"
        line = event("lock-owner", text, process=waiter, device=holder)
        return logged(line, facts=having(nvidia__nvml__hung="init", nvidia__nvml__code=WHY))

    (check,) = catalogue.load(["driver.nvml-no-answer"])
    ((_, message),) = ask(check, waits("nvidia-powerd"))
    assert message.endswith("It waits for a lock of the driver that nvidia-powerd holds.")
    assert check.fixes_for(waits("nvidia-powerd"))[0].commands[0] == "sudo systemctl disable nvidia-powerd"
    assert check.fixes_for(waits("kworker/3:1"))[0].impact == "none"
    assert ask(check, waits("ext4", "rsync"))[0][1].endswith("nvidia-smi hangs too.")
