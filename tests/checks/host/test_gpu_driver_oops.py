"""A GPU's driver that crashed inside the kernel."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.host.gpu_driver_oops import gpu_driver_oops
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.probes.kernel_log import events
from gpudoctor.probes.kernel_log.lines import from_text
from tests.builders import ask, change, nvidia_host, plain_host

UVM = """
[ 7411.301122] BUG: kernel NULL pointer dereference, address: 0000000000000000
[ 7411.301130] Oops: 0000 [#1] SMP PTI
[ 7411.301133] CPU: 2 UID: 0 PID: 31882 Comm: nvidia-sleep.sh Tainted: P           OE       7.1.8-arch1-3 #1
[ 7411.301140] RIP: 0010:_raw_q_schedule+0x2f/0xb0 [nvidia_uvm]
[ 7411.301160] Call Trace:
[ 7411.301170] RIP: 0033:0x7f3a61c0d2f4
"""
AMD = """
[  100.000001] general protection fault, probably for non-canonical address 0xdead000000000122: 0000 [#1] SMP
[  100.000002] CPU: 9 PID: 4555 Comm: python3 Not tainted 6.8.0 #1
[  100.000003] RIP: 0010:amdgpu_vm_sdma_commit+0x45/0x120 [amdgpu]
"""
WARNING = """
[  100.000001] WARNING: CPU: 3 PID: 911 at drivers/gpu/drm/amd/amdgpu/amdgpu_object.c:1345 amdgpu_bo_release_notify
[  100.000002] CPU: 3 PID: 911 Comm: python3 Tainted: G           OE      6.8.0 #1
[  100.000003] RIP: 0010:amdgpu_bo_release_notify+0x45/0x120 [amdgpu]
"""
ELSEWHERE = """
[  100.000001] Oops: 0000 [#1] SMP PTI
[  100.000003] RIP: 0010:ext4_writepages+0x45/0x120 [ext4]
[  100.000004] RIP: 0010:nv_open+0x45/0x120 [nvidia]
"""
EARLIER = """
[   10.000001] Oops: 0000 [#1] SMP PTI
[  100.000003] RIP: 0010:amdgpu_bo_release_notify+0x45/0x120 [amdgpu]
"""


def logged(text: str, facts: Facts | None = None) -> Facts:
    found = events(from_text(text.strip().splitlines()))
    return change(change(facts or nvidia_host(), "log.events", found), "log.now", 7500.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            UVM,
            "The kernel module nvidia_uvm crashed once during suspend or resume, in the process nvidia-sleep.sh (1 "
            "minute ago): Oops: 0000 in _raw_q_schedule+0x2f/0xb0.",
        ),
        (
            AMD,
            "The kernel module amdgpu crashed once, in the process python3 (2 hours ago): general protection fault, "
            "probably for non-canonical address 0xdead000000000122: 0000 in amdgpu_vm_sdma_commit+0x45/0x120.",
        ),
        (WARNING, None),
        (ELSEWHERE, None),
        (EARLIER, None),
        ("", None),
    ],
)
def test_gpu_driver_oops(text: str, message: str | None) -> None:
    assert ask(gpu_driver_oops, logged(text)) == [("problem", message) if message else ("pass", "")]


def test_a_machine_without_gpus_and_a_container_are_not_asked() -> None:
    assert ask(gpu_driver_oops, logged(UVM, plain_host())) == [("skipped", "")]
    assert ask(gpu_driver_oops, change(logged(UVM), "host.container", "docker")) == [("skipped", "")]


def test_an_unread_log_is_unknown_and_an_old_oops_forgotten() -> None:
    closed = change(nvidia_host(), "log.events", Unknown("not to be seen"))
    assert ask(gpu_driver_oops, closed) == [("unknown", "not to be seen")]
    assert ask(gpu_driver_oops, change(logged(UVM), "log.now", 8 * 86400.0 + 7500)) == [("pass", "")]


def test_uvm_is_unloaded_before_the_next_suspend() -> None:
    [suspend] = run(gpu_driver_oops, logged(UVM))
    assert [fix.commands[0] for fix in suspend.fixes[:2]] == ["sudo reboot", "sudo modprobe -r nvidia_uvm"]
    [other] = run(gpu_driver_oops, logged(AMD))
    assert not any("modprobe" in command for fix in other.fixes for command in fix.commands)
