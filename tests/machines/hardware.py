"""The GPU itself, its power, its links and its place in the machine."""

from typing import Any

from gpudoctor.facts import Facts, GpuProcess, LogEvent
from gpudoctor.maybe import Unknown
from tests.builders import change, gpu
from tests.checks import healthy_nvidia as nv
from tests.checks.nvidia_machines import event, having, xid
from tests.machines.registry import machine

NOTEBOOK = GpuProcess(pid=4242, memory=8 << 30, name="python3", user=1001, state="S")
GONE = Unknown("NVML: GPU is lost")

# What libcuda says, and what PyTorch makes of it.
ANSWERS = {
    100: ("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected", "No CUDA GPUs are available"),
    802: ("CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized", "system not yet initialized"),
    999: ("CUDA_ERROR_UNKNOWN", "unknown error", "CUDA unknown error"),
}


def refused(code: int) -> dict[str, Any]:
    """CuInit's answer, and PyTorch's."""
    name, text, error = ANSWERS[code]
    return {
        "nvidia__cuda__code": code,
        "nvidia__cuda__name": name,
        "nvidia__cuda__text": text,
        "nvidia__cuda__devices": (),
        "pythons__0__frameworks__0__live__count": 0,
        "pythons__0__frameworks__0__live__available": False,
        "pythons__0__frameworks__0__live__error": error,
        "pythons__0__frameworks__0__live__error_code": code,
    }


@machine("device.fallen-off-the-bus")
def fell_off_the_bus() -> Facts:
    """The second of two cards left the bus under load."""
    line = "NVRM: Xid (PCI:0000:02:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    lost: dict[str, Any] = dict.fromkeys(
        ("utilization", "temperature", "power", "memory_used", "sm_clock", "event_reasons", "link_width"), GONE
    )
    facts = having(
        nv.several(2, 0), gpus__1=gpu(1, status="lost", **lost), log__events=(xid(79, gpu="0000:02:00.0", text=line),)
    )
    return having(
        facts,
        **refused(100),
    )


@machine("device.row-remap-failed")
def worn_memory() -> Facts:
    """An A100 on a board of eight has no spare row left."""
    return change(nv.hgx(nv.A100, 6), "gpus.3", gpu(3, **(nv.A100 | {"remap_failed": True, "remapped_uncorrected": 8})))


@machine("device.row-remap-pending")
def rows_wait_for_a_reset() -> Facts:
    """A row of an H100 was remapped, and takes effect with the next reset."""
    return change(
        nv.hgx(nv.H100, 4), "gpus.5", gpu(5, **(nv.H100 | {"remap_pending": True, "remapped_uncorrected": 1}))
    )


@machine("link.narrow-pcie")
def card_not_seated() -> Facts:
    """A card of sixteen lanes in a slot of sixteen trained one."""
    return nv.several(1, changes=nv.LOAD | {"link_width": 1}, link_width=1)


@machine("health.overheated")
def dust_in_the_fan() -> Facts:
    """The card runs at its slowdown temperature."""
    hot = {"temperature": 92, "event_reasons": ("hw-thermal-slowdown",), "sm_clock": 900, "power": 180.0}
    return nv.several(1, changes=nv.LOAD | hot)


@machine("health.power-brake")
def power_supply_brakes() -> Facts:
    """A server's power supply has the GPUs slow down."""
    slow = {"event_reasons": ("hw-power-brake",), "sm_clock": 345, "power": 120.0}
    return nv.hgx(nv.A100, 6, **(nv.LOAD | slow))


@machine("fabric.manager-down")
def fabric_manager_not_running() -> Facts:
    """A board of eight H100s without its fabric manager: cuInit says 802."""
    facts = nv.hgx(nv.H100, 4, fabric_state="in-progress", fabric_status=None)
    return having(
        facts,
        nvidia__kernel__fabric_manager="inactive",
        **refused(802),
    )


@machine("fabric.manager-mismatch")
def fabric_manager_of_another_version() -> Facts:
    """The driver was upgraded without its fabric manager."""
    return having(
        nv.hgx(nv.H100, 4, fabric_state="in-progress", fabric_status=None),
        nvidia__kernel__fabric_manager="failed",
        nvidia__kernel__fabric_manager_version="570.133.20",
        **refused(802),
    )


@machine("mig.no-instances")
def mig_without_instances() -> Facts:
    """MIG is on, and nobody has cut the GPU."""
    facts = nv.several(1, 0, changes=nv.H100 | {"mig": True, "mig_pending": True, "mig_devices": ()})
    return having(
        facts,
        **refused(100),
    )


@machine("visibility.cuda-out-of-range")
def mask_names_a_gpu_that_is_not_there() -> Facts:
    """A script from a bigger machine left CUDA_VISIBLE_DEVICES=4."""
    return having(
        nv.several(1, 0),
        host__environment={"CUDA_VISIBLE_DEVICES": "4"},
        nvidia__cuda__unmasked_code=0,
        **refused(100),
    )


@machine("device.exclusive-mode")
def exclusive_mode_left_on() -> Facts:
    """Somebody set the compute mode to exclusive, and a notebook holds the GPU."""
    held = gpu(0, compute_mode="exclusive-process", processes=(NOTEBOOK,), memory_used=9 << 30)
    return having(
        nv.several(1),
        gpus__0=held,
        pythons__0__frameworks__0__live__available=True,
        pythons__0__frameworks__0__live__error="CUDA-capable device(s) is/are busy or unavailable",
        pythons__0__frameworks__0__live__error_code=46,
    )


@machine("device.gsp-failed")
def gsp_stopped() -> Facts:
    """The GPU's system processor answers no more."""
    line = "NVRM: Xid (PCI:0000:01:00): 119, pid=2101, Timeout after 6s of waiting for RPC response from GPU0 GSP!"
    stuck: LogEvent = xid(119, text=line)
    return having(
        nv.several(1, 0),
        gpus__0__recovery_action="reset",
        log__events=(stuck,),
        **refused(999),
    )


@machine("device.bar-unassigned")
def no_room_for_the_cards_memory() -> Facts:
    """Above 4G Decoding is off, and a card of 80 GB finds no addresses."""
    line = "This PCI I/O region assigned to your NVIDIA device is invalid"
    return having(
        nv.several(1, 0),
        pci__0__driver=None,
        gpus=(),
        nvidia__kernel__gpus=(),
        log__events=(event("bar-invalid", line, "0000:01:00.0"),),
        nvidia__nvml__code=6,
        nvidia__nvml__text="Not Found",
        nvidia__nvml__count=0,
        **refused(100),
    )
