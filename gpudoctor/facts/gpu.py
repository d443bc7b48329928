"""One GPU: what NVML or KFD and sysfs say of it."""

import msgspec

from gpudoctor.facts.words import Capability
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process that holds GPU memory."""

    pid: int
    memory: Maybe[int | None] = NOT  # bytes
    name: Maybe[str | None] = NOT  # None: not in this PID namespace
    user: Maybe[int | None] = NOT
    state: Maybe[str | None] = NOT  # R, S, D (uninterruptible sleep), Z (zombie)


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. `index` is NVML's or KFD's, which environment masks do not change.

    Sizes are bytes, clocks MHz, power watts, temperatures degrees Celsius. None: this GPU has no such thing
    by design (no ECC, no MIG, no NVLink, no memory of its own); Unknown: it could not be read.
    """

    vendor: str  # nvidia, amd, intel
    index: int
    address: Maybe[str | None] = NOT  # "0000:01:00.0"
    name: Maybe[str] = NOT
    uuid: Maybe[str | None] = NOT
    chip: Maybe[str | None] = NOT
    generation: Maybe[str | None] = NOT  # "Ampere"
    capability: Maybe[Capability | None] = NOT  # compute capability "8.6"; None on AMD
    gfx: Maybe[str | None] = NOT  # "gfx1100"; None on NVIDIA
    integrated: Maybe[bool] = NOT
    status: Maybe[str] = NOT  # ok, no-power (NVML 8), lost (NVML 15), reset-required (NVML 16), error N
    memory: Maybe[int | None] = NOT
    memory_used: Maybe[int | None] = NOT
    utilisation: Maybe[int | None] = NOT  # per cent
    performance_state: Maybe[int | None] = NOT  # 0 fastest .. 15
    temperature: Maybe[int | None] = NOT
    temperature_slowdown: Maybe[int | None] = NOT
    temperature_shutdown: Maybe[int | None] = NOT
    temperature_memory: Maybe[int | None] = NOT
    temperature_memory_max: Maybe[int | None] = NOT
    fans: Maybe[tuple[int, ...] | None] = NOT  # per cent at which each is meant to run; None: the GPU has none
    power: Maybe[float | None] = NOT
    power_limit: Maybe[float | None] = NOT  # enforced
    power_default: Maybe[float | None] = NOT
    sm_clock: Maybe[int | None] = NOT
    sm_clock_max: Maybe[int | None] = NOT
    application_clock: Maybe[int | None] = NOT  # that nvidia-smi -ac set; None: this GPU has no such setting
    application_clock_default: Maybe[int | None] = NOT
    event_reasons: Maybe[tuple[str, ...] | None] = NOT  # why clocks are held: sw-power-cap, hw-thermal-slowdown ...
    link_generation: Maybe[int | None] = NOT
    link_width: Maybe[int | None] = NOT
    link_generation_max: Maybe[int | None] = NOT  # of card and slot together
    link_width_max: Maybe[int | None] = NOT
    pcie_replays: Maybe[int | None] = NOT
    ecc: Maybe[bool | None] = NOT  # now
    ecc_pending: Maybe[bool | None] = NOT  # after the next reboot
    ecc_corrected: Maybe[int | None] = NOT  # since the driver was loaded
    ecc_uncorrected: Maybe[int | None] = NOT  # since the driver was loaded
    ecc_uncorrected_total: Maybe[int | None] = NOT
    remapped_uncorrected: Maybe[int | None] = NOT
    remap_pending: Maybe[bool | None] = NOT
    remap_failed: Maybe[bool | None] = NOT
    banks_without_spares: Maybe[int | None] = NOT  # banks of memory that have no row left for remapping
    sram_threshold: Maybe[bool | None] = NOT  # more uncorrectable SRAM errors than NVIDIA tolerates
    inforom: Maybe[bool | None] = NOT  # its checksums are right
    retired_pending: Maybe[bool | None] = NOT
    compute_mode: Maybe[str | None] = NOT  # default, exclusive-process, prohibited
    mig: Maybe[bool | None] = NOT
    mig_pending: Maybe[bool | None] = NOT
    mig_devices: Maybe[tuple[str, ...] | None] = NOT  # UUIDs
    persistence: Maybe[bool | None] = NOT
    processes: Maybe[tuple[Process, ...]] = NOT
    nvlinks: Maybe[tuple[bool, ...] | None] = NOT  # one entry a link: up or not
    fabric_state: Maybe[str | None] = NOT  # not-supported, not-started, in-progress, completed
    fabric_status: Maybe[int | None] = NOT  # NVML return code of the registration
    fabric_health: Maybe[tuple[str, ...] | None] = NOT  # what ails it: degraded-bandwidth, route-unhealthy ...
    fabric_of_several: Maybe[bool | None] = NOT  # its NVLink fabric spans several machines (multi-node NVLink)
    nvlink_replays: Maybe[int | None] = NOT  # since the driver was loaded, over all links
    nvlink_recoveries: Maybe[int | None] = NOT
    nvlink_crc: Maybe[int | None] = NOT
    vbios: Maybe[str | None] = NOT
    serial: Maybe[str | None] = NOT
    virtualization: Maybe[str | None] = NOT  # none, passthrough, vgpu, host-vgpu, host-vsga
    recovery_action: Maybe[str | None] = NOT  # none, reset, reboot, drain, drain-and-reset
    numa_node: Maybe[int | None] = NOT
    render_node: Maybe[str | None] = NOT  # /dev/dri/renderD128
