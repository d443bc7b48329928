"""One GPU: what NVML or KFD and sysfs say of it."""

import msgspec

from gpudoctor.facts.text_types import Capability, Celsius, Count, Generation, Lanes, Number, Small, Whole
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class GpuProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process that holds GPU memory."""

    pid: Small
    memory: Maybe[Count | None] = NOT  # bytes
    name: Maybe[str | None] = NOT  # None: not in this PID namespace
    user: Maybe[Small | None] = NOT
    state: Maybe[str | None] = NOT  # R, S, D (uninterruptible sleep), Z (zombie)


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. `index` is NVML's or KFD's, which environment masks do not change.

    Sizes are bytes, clocks MHz, power watts, temperatures degrees Celsius. None: this GPU has no such thing
    by design (no ECC, no MIG, no NVLink, no memory of its own); Unknown: it could not be read.
    """

    vendor: str  # nvidia, amd, intel
    index: Small
    address: Maybe[str | None] = NOT  # "0000:01:00.0"
    name: Maybe[str] = NOT
    uuid: Maybe[str | None] = NOT
    chip: Maybe[str | None] = NOT
    generation: Maybe[str | None] = NOT  # "Ampere"
    capability: Maybe[Capability | None] = NOT  # compute capability "8.6"; None on AMD
    gfx: Maybe[str | None] = NOT  # "gfx1100"; None on NVIDIA
    integrated: Maybe[bool] = NOT
    status: Maybe[str] = NOT  # ok, no-power (NVML 8), lost (NVML 15), reset-required (NVML 16), error N
    memory: Maybe[Count | None] = NOT
    memory_used: Maybe[Count | None] = NOT
    utilization: Maybe[Small | None] = NOT  # per cent
    performance_state: Maybe[Small | None] = NOT  # 0 fastest .. 15
    temperature: Maybe[Celsius | None] = NOT
    temperature_operating_max: Maybe[Celsius | None] = NOT  # above it the GPU may run below its base clock
    temperature_slowdown: Maybe[Celsius | None] = NOT
    temperature_shutdown: Maybe[Celsius | None] = NOT
    temperature_memory: Maybe[Celsius | None] = NOT
    temperature_memory_max: Maybe[Celsius | None] = NOT
    fans: Maybe[tuple[Small, ...] | None] = NOT  # per cent at which each is meant to run; None: the GPU has none
    power: Maybe[Number | None] = NOT
    power_limit: Maybe[Number | None] = NOT  # enforced
    power_default: Maybe[Number | None] = NOT
    power_max: Maybe[Number | None] = NOT  # the highest limit that the board allows
    sm_clock: Maybe[Small | None] = NOT
    sm_clock_max: Maybe[Small | None] = NOT
    application_clock: Maybe[Small | None] = NOT  # that nvidia-smi -ac set; None: this GPU has no such setting
    application_clock_default: Maybe[Small | None] = NOT
    event_reasons: Maybe[tuple[str, ...] | None] = NOT  # why clocks are held: sw-power-cap, hw-thermal-slowdown ...
    link_generation: Maybe[Generation | None] = NOT
    link_width: Maybe[Lanes | None] = NOT
    link_generation_max: Maybe[Generation | None] = NOT  # of card and slot together
    link_width_max: Maybe[Lanes | None] = NOT
    pcie_replays: Maybe[Count | None] = NOT
    ecc: Maybe[bool | None] = NOT  # now
    ecc_pending: Maybe[bool | None] = NOT  # after the next reset
    ecc_corrected: Maybe[Count | None] = NOT  # since the driver was loaded
    ecc_uncorrected: Maybe[Count | None] = NOT  # since the driver was loaded
    ecc_uncorrected_total: Maybe[Count | None] = NOT
    remapped_corrected: Maybe[Count | None] = NOT  # rows of memory, after correctable errors
    remapped_uncorrected: Maybe[Count | None] = NOT
    remap_pending: Maybe[bool | None] = NOT
    remap_failed: Maybe[bool | None] = NOT
    banks_without_spares: Maybe[Count | None] = NOT  # banks of memory that have no row left for remapping
    sram_threshold: Maybe[bool | None] = NOT  # more uncorrectable SRAM errors than NVIDIA tolerates
    inforom: Maybe[bool | None] = NOT  # its checksums are right
    retired_pending: Maybe[bool | None] = NOT
    compute_mode: Maybe[str | None] = NOT  # default, exclusive-process, prohibited
    mig: Maybe[bool | None] = NOT
    mig_pending: Maybe[bool | None] = NOT
    mig_devices: Maybe[tuple[str, ...] | None] = NOT  # UUIDs
    persistence: Maybe[bool | None] = NOT
    processes: Maybe[tuple[GpuProcess, ...]] = NOT
    nvlinks: Maybe[tuple[bool, ...] | None] = NOT  # one entry a link: up or not
    fabric_state: Maybe[str | None] = NOT  # not-supported, not-started, in-progress, completed
    fabric_status: Maybe[Whole | None] = NOT  # NVML return code of the registration
    fabric_health: Maybe[tuple[str, ...] | None] = NOT  # what ails it: degraded-bandwidth, route-unhealthy ...
    fabric_of_several: Maybe[bool | None] = NOT  # its NVLink fabric spans several machines (multi-node NVLink)
    nvlink_replays: Maybe[Count | None] = NOT  # since the driver was loaded, over all links
    nvlink_recoveries: Maybe[Count | None] = NOT
    nvlink_crc: Maybe[Count | None] = NOT
    vbios: Maybe[str | None] = NOT
    serial: Maybe[str | None] = NOT
    virtualization: Maybe[str | None] = NOT  # none, passthrough, vgpu, host-vgpu, host-vsga
    recovery_action: Maybe[str | None] = NOT  # none, reset, reboot, drain, drain-and-reset
    numa_node: Maybe[Small | None] = NOT
    render_node: Maybe[str | None] = NOT  # /dev/dri/renderD128
    wave_area: Maybe[Count | None] = NOT  # bytes for a queue's saved waves, from KFD (cwsr_size); None: it shows none
