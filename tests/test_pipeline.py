"""The run as a whole: what one part's failure does to the rest."""

from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import CheckOptions, Done, Glimpsed, check, examine, gather
from gpudoctor.recorded_machine import RecordedMachine

QUICK = CheckOptions(quick=True)


class Faulty(RecordedMachine):
    """A machine on which the probe of AMD's GPUs meets what nobody has thought of."""

    def names(self, folder: str) -> list[str]:
        """Raise for KFD's topology."""
        if folder.startswith("/sys/class/kfd"):
            raise KeyError(folder)
        return super().names(folder)


def test_a_probe_that_fails_is_told_and_costs_no_other_part() -> None:
    facts = gather(Faulty({"/etc/hostname": "here\n"}), QUICK)
    why = "the probe failed: KeyError: '/sys/class/kfd/kfd/topology/nodes'"
    assert dict(facts.failed) == {"amd": why, "kfd": why}
    assert facts.amd.loaded == Unknown(why)
    assert facts.host.hostname == "here"


def test_a_probe_that_fails_leaves_no_report_that_says_pass() -> None:
    report = check(Faulty(), CheckOptions(quick=True, only=("device",)))
    assert report.status == "incomplete"
    assert [entry.subject for entry in report.unknown if entry.check == "probe"] == ["amd", "kfd"]


AMD_CARD = {"vendor": "0x1002", "device": "0x744c", "class": "0x030000"}
NVIDIA_CARD = {"vendor": "0x10de", "device": "0x2684", "class": "0x030000"}


def on_the_bus(card: dict[str, str], **files: str) -> RecordedMachine:
    """A machine with one card and without NVIDIA's libraries."""
    bus = {f"/sys/bus/pci/devices/0000:03:00.0/{name}": f"{text}\n" for name, text in card.items()}
    return RecordedMachine(bus | files)


def test_without_nvidia_on_the_bus_and_in_the_libraries_there_is_no_gpu_of_nvidias() -> None:
    """Otherwise AMD's checks could not say that their driver lists no GPU."""
    assert gather(on_the_bus(AMD_CARD), QUICK).gpus == ()
    assert isinstance(gather(on_the_bus(NVIDIA_CARD), QUICK).gpus, Unknown)
    on_windows = {"/proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2\n"}
    assert isinstance(gather(on_the_bus(AMD_CARD, **on_windows), QUICK).gpus, Unknown)


def test_a_glimpse_says_no_more_than_the_end() -> None:
    """What is said while probes still look must not be taken back."""
    events = list(examine(None, CheckOptions(glimpses=True, quick=True)))
    glimpses = [event.report for event in events if isinstance(event, Glimpsed)]
    done = next(event.report for event in events if isinstance(event, Done))
    final = {entry.check for entry in done.findings} | {c.check for f in done.findings for c in f.consequences}
    assert glimpses
    assert {entry.check for report in glimpses for entry in report.findings} <= final
