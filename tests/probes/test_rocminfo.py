"""When rocminfo is run, and how it may end."""

from typing import Any

import msgspec
import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import PciDevice, Rocminfo, RocrAgent
from gpudoctor.machine import Status
from gpudoctor.maybe import Unknown
from gpudoctor.probes import system_steps
from gpudoctor.probes.amd.rocminfo import SECONDS, probe
from gpudoctor.recorded_machine import RecordedMachine
from tests.builders import host
from tests.parsers.test_rocminfo import CALL, CPU, DENIED, DONE, GPU, HEAD, ID, RESOURCES

PATH = "/opt/rocm/bin/rocminfo"
KFD = {"/dev/kfd": Status(0o660, 0, 992, 0, 235, 0, False), PATH: Status(0o755, 0, 0, 9, 0, 0, False)}
CARD = PciDevice(address="0000:03:00.0", vendor="1002", device="744c", class_code="030000", runtime_status="active")
ASLEEP = msgspec.structs.replace(CARD, runtime_status="suspended")


def recorded(result: Any = "", **changes: Any) -> RecordedMachine:
    """A machine on which rocminfo ends so."""
    plain: dict[str, Any] = {"statuses": KFD, "commands": {"rocminfo": result}, "env": {"PATH": "/usr/bin"}}
    return RecordedMachine({PATH: "ELF"}, **(plain | changes))


def ended(**how: Any) -> ChildResult:
    """How it ended."""
    return ChildResult(argv=(PATH,), **how)


@pytest.mark.parametrize(
    ("result", "found"),
    [
        (
            HEAD + CPU + GPU + DONE,
            Rocminfo(
                path=PATH,
                agents=(RocrAgent(gfx="gfx1100", name="AMD Radeon RX 7900 XTX"), RocrAgent(gfx="gfx1036")),
            ),
        ),
        (ended(code=0, out=HEAD + CPU + DONE, err="\n".join(ID)), Rocminfo(path=PATH, lines=ID)),
        (
            ended(code=8, out=f"{CALL}\n{RESOURCES}"),
            Rocminfo(path=PATH, status="HSA_STATUS_ERROR_OUT_OF_RESOURCES", lines=(CALL, RESOURCES)),
        ),
        (ended(code=1, out=DENIED), Rocminfo(path=PATH, lines=(DENIED,))),
        (
            ended(signal="SIGABRT", err="rocminfo: Assertion `status' failed.\n"),
            Rocminfo(path=PATH, died="SIGABRT", lines=("rocminfo: Assertion `status' failed.",)),
        ),
        (ended(timed_out=True, seconds=SECONDS + 1, out="ROCk module is loaded\n"), Rocminfo(path=PATH, hung=True)),
    ],
    ids=["GPUs", "no GPU", "hsa_init", "kfd", "signal", "hang"],
)
def test_how_it_ends(result: Any, found: Rocminfo) -> None:
    assert probe(recorded(result), [CARD]) == (found,)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        # ROCm/tensorflow-upstream#1364: an image without lsmod
        (
            ended(code=1, out="ROCk module is NOT loaded, possibly no GPU devices\n"),
            "rocminfo ended with 1: ROCk module is NOT loaded, possibly no GPU devices",
        ),
        (
            ended(code=127, err="rocminfo: error while loading shared libraries: libhsa-runtime64.so.1"),
            "rocminfo ended with 127: rocminfo: error while loading shared libraries: libhsa-runtime64.so.1",
        ),
        (ended(code=0), "rocminfo ended with 0: it printed nothing"),
        (ended(code=0, out=HEAD + CPU), "rocminfo ended with 0: ISA Info:"),
        (ended(signal="SIGKILL", out=HEAD), "rocminfo was ended by SIGKILL"),
        (ended(signal="SIGTERM", out=f"{CALL}\n{RESOURCES}"), "rocminfo was ended by SIGTERM"),
        (ended(timed_out=True, seconds=3.0), "rocminfo: it had less than its full time"),
        (ended(missing="Exec format error"), "rocminfo: Exec format error"),
    ],
    ids=["module", "loader", "silent", "cut list", "killed", "terminated", "cut short", "not started"],
)
def test_what_says_nothing_of_the_runtime(result: ChildResult, why: str) -> None:
    assert probe(recorded(result), [CARD]) == Unknown(why)


def test_it_is_run_only_where_it_can_say_something() -> None:
    nowhere = RecordedMachine(statuses={"/dev/kfd": KFD["/dev/kfd"]})
    closed = recorded(statuses={PATH: KFD[PATH]})
    asleep = recorded()
    assert probe(nowhere, [CARD]) == ()
    assert probe(closed, [CARD]) == Unknown("rocminfo was not run: there is no /dev/kfd")
    assert probe(asleep, [ASLEEP]) == Unknown(
        "rocminfo was not run: the GPU at 0000:03:00.0 sleeps, and it would wake it"
    )
    assert [machine.ran for machine in (nowhere, closed, asleep)] == [[], [], []]


def test_in_wsl_it_is_run_without_kfd() -> None:
    """ROCm/legacy-rocm-build#4471: AMD's runtime for WSL lists the CPU alone."""
    device = {"/dev/dxg": KFD["/dev/kfd"], PATH: KFD[PATH]}
    text = "WSL environment detected.\n" + HEAD + CPU + DONE
    assert probe(recorded(text, statuses=device), []) == (Rocminfo(path=PATH),)


def test_the_one_of_the_installed_rocm_comes_first() -> None:
    """Its release becomes a fact; the one on PATH may belong to AMD's wheels."""
    own = "/venv/bin/rocminfo"
    how: dict[str, Any] = {
        "statuses": KFD | {own: KFD[PATH]},
        "commands": {"rocminfo": HEAD + CPU + DONE},
        "env": {"PATH": "/venv/bin:/usr/bin"},
    }
    assert probe(RecordedMachine({own: "#!", PATH: "ELF"}, **how), [CARD]) == (Rocminfo(path=PATH),)
    assert probe(RecordedMachine({own: "#!"}, **how), [CARD]) == (Rocminfo(path=own),)


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_check_leaves_it_out(quick: bool) -> None:
    steps = {key for key, _, _ in system_steps(RecordedMachine(), host, tuple, quick)}
    assert ("rocminfo" not in steps) is quick
