"""What makes a GPU do less, who stops what holds it, and blocks that are to be pasted."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import GpuProcess
from gpudoctor.fixes import container, prebuilt, wsl
from gpudoctor.fixes.holders import stop_holders
from gpudoctor.fixes.limits import lower
from gpudoctor.tasks.as_typed import shown, typed
from tests.builders import gpu, nvidia_host
from tests.checks.nvidia_machines import WHY, disk, having, logged, xid


@pytest.mark.parametrize(
    ("capability", "limit", "command"),
    [
        ("8.9", 450.0, "sudo nvidia-smi -i 0 -lgc 300,1200"),
        ("7.0", WHY, "sudo nvidia-smi -i 0 -lgc 300,1200"),
        ("6.1", 150.0, "sudo nvidia-smi -i 0 -pl 120"),
        ("6.1", None, None),
        (WHY, WHY, None),
    ],
)
def test_only_volta_and_newer_lock_their_clocks(capability: object, limit: object, command: str | None) -> None:
    found = lower(gpu(capability=capability, power_limit=limit))
    assert (shown(found[0]) if found else None) == command


def test_only_the_gpu_that_fell_off_is_limited() -> None:
    gone = having(pci__0__capability="8.9", gpus=())
    one = catalogue.load(["device.fallen-off-the-bus"])[0]
    _, look = run(one, logged(xid(79), facts=gone))[0].fixes
    assert look.commands[-1] == "sudo nvidia-smi -i 0000:01:00.0 -lgc 300,1200"


def test_who_holds_a_gpu_is_stopped_in_its_own_way() -> None:
    mine = stop_holders((GpuProcess(pid=7, name="python"), GpuProcess(pid=8, name="ollama")), "Stop it.")
    assert mine.commands == ("ps -o pid,user,etime,cmd -p 7,8", "sudo systemctl stop ollama", "kill 7")
    foreign = stop_holders((GpuProcess(pid=9, name=None),), "Stop it.")
    assert foreign.message.startswith("Stop it. The process is not visible here")
    assert foreign.place == "outside"
    assert not any("kill" in command for command in foreign.commands)  # the number may be another process here
    assert stop_holders((), "Stop it.").commands == (
        "nvidia-smi",
        "sudo fuser -v /dev/nvidia*",
    )


BUILT = "linux-modules-nvidia-570-generic"


@pytest.mark.parametrize(
    ("names", "path", "expected"),
    [
        ((BUILT,), "", True),  # the package of a kernel alone
        ((), "/lib/modules/6.8.0-52-generic/kernel/nvidia-570/nvidia.ko", True),  # its files alone
        ((), "/lib/modules/6.8.0-52-generic/updates/dkms/nvidia.ko", False),
        ((BUILT, "nvidia-dkms-570"), "", False),
    ],
)
def test_what_shows_that_modules_are_prebuilt(names: tuple[str, ...], path: str, expected: bool) -> None:
    packages = tuple((name, "570.169", "ii") for name in names)
    others = (disk(path=path),) if path else ()
    facts = having(nvidia__kernel__packages=packages, nvidia__kernel__other_kernels=others, nvidia__kernel__dkms=())
    assert prebuilt.uses(facts) is expected


def test_the_heat_is_looked_at_with_words_that_old_drivers_know() -> None:
    hot = having(gpus__0__event_reasons=("hw-thermal-slowdown",), gpus__0__capability="6.1", gpus__0__power_limit=None)
    one = catalogue.load(["health.overheated"])[0]
    found = [fix for _, subject in one.targets(hot) for fix in one.fixes_for(subject)]
    assert len(found) == 1
    assert "fan.speed" in found[0].commands[1]
    assert not any(
        "clocks_event_reasons" in text for text in (*found[0].commands, *typed((found[0].verify or found[0].tasks[0],)))
    )


def test_what_is_to_be_pasted_stands_in_blocks_of_lines() -> None:
    pod = having(nvidia_host(), host__container="kubernetes", host__kubernetes=True)
    assert "          nvidia.com/gpu: 1" in container.pass_gpus(pod)[0].commands[1].splitlines()
    assert "        medium: Memory" in container.larger_shm(pod)[0].commands[0].splitlines()


def test_windows_commands_are_marked_as_such() -> None:
    guest = wsl.host_files(having(host__wsl=None))[0].commands
    (on_windows,) = [command for command in guest if command.startswith("#")]
    assert "On the Windows host, in PowerShell" in on_windows.splitlines()[0]
    assert guest.index("mkdir -p /tmp/wsl-drivers /tmp/wsl-lib") < min(i for i, c in enumerate(guest) if "scp" in c)
    assert wsl.SHUTDOWN.argv[0] == "wsl.exe"
