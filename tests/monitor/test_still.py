"""Facts as a source: one moment, with what they hold and no more."""

from gpudoctor.facts import GpuProcess
from gpudoctor.maybe import Unknown
from gpudoctor.monitor.facts_source import NOT_HELD, Still
from gpudoctor.monitor.snapshot import STILL
from gpudoctor.sampling.lines import Slice
from tests.builders import change, nvidia_host, plain_host


def test_the_values_of_the_facts_are_shown() -> None:
    source = Still(nvidia_host())
    source.start()
    look = source.look()
    source.stop()
    (gpu,) = look.devices
    (sample,) = gpu.samples
    assert (look.kind, gpu.key, gpu.label, gpu.processes) == (STILL, "nvidia 0", "GPU 0", ())
    assert (sample.temperature, sample.power, sample.reasons) == (40, 20.0, ("gpu-idle",))
    assert (sample.fan, sample.pcie_rx, sample.memory_clock) == (NOT_HELD, NOT_HELD, NOT_HELD)
    assert (gpu.device.power_limit, gpu.device.link_width_max, gpu.device.mig_devices) == (450.0, 16, None)


def test_slices_and_processes_come_along() -> None:
    facts = change(nvidia_host(), "gpus.0.mig_devices", ("MIG-1", "MIG-2"))
    facts = change(facts, "gpus.0.processes", (GpuProcess(pid=3, name="python", user=1000, memory=5),))
    (gpu,) = Still(facts).look().devices
    assert gpu.device.mig_devices == (Slice(uuid="MIG-1"), Slice(uuid="MIG-2"))
    assert isinstance(gpu.processes, tuple)
    assert [(p.pid, p.name, p.user, p.memory, p.kind) for p in gpu.processes] == [(3, "python", 1000, 5, NOT_HELD)]


def test_unknown_processes_stay_unknown() -> None:
    (gpu,) = Still(change(nvidia_host(), "gpus.0.processes", Unknown("NVML: GPU is lost"))).look().devices
    assert gpu.processes == Unknown("NVML: GPU is lost")


def test_without_a_gpu_there_is_none() -> None:
    assert Still(plain_host()).look().devices == ()
