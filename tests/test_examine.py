"""The run as a whole: what one part's failure does to the rest."""

from gpudoctor.examine import Wishes, check, gather
from gpudoctor.maybe import Unknown
from gpudoctor.recorded import RecordedMachine

QUICK = Wishes(quick=True)


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
    report = check(Faulty(), Wishes(quick=True, only=("device",)))
    assert report.status == "incomplete"
    assert [entry.subject for entry in report.unknown if entry.check == "probe"] == ["amd", "kfd"]
