"""Logs as people have them: the right message is the root, and the rest has its place."""

from gpudoctor.knowledge.symptoms import recognise, symptoms
from gpudoctor.report.model import Report
from gpudoctor.symptoms import explained, scan
from tests.at_once import at_once
from tests.symptoms.corpus import rows
from tests.symptoms.framework_samples import FRAMEWORKS
from tests.symptoms.samples import SAMPLES, Sample
from tests.symptoms.samples_programs import PROGRAMS
from tests.symptoms.samples_system import SYSTEM
from tests.symptoms.test_gathered import SAID

ALL = [*SAMPLES, *FRAMEWORKS, *SYSTEM, *PROGRAMS]


@at_once(ALL, lambda sample: sample.log)
def test_the_root_is_found_and_the_others_have_their_roles(sample: Sample) -> None:
    entries = explained(Report(), scan([sample.log.encode()])).symptoms
    assert entries[0].id == sample.root, [(one.id, one.line, one.message) for one in entries]
    assert entries[0].role == "root"
    roles = {one.id: one.role for one in entries[1:]}
    assert roles == sample.roles


@at_once(ALL, lambda sample: sample.log)
def test_a_log_says_the_same_with_prefixes_colours_and_other_ends_of_lines(sample: Sample) -> None:
    plain = [(one.id, one.role) for one in explained(Report(), scan([sample.log.encode()])).symptoms]
    lines = sample.log.splitlines()
    coloured = "\r\n".join(f"\x1b[31m{line}\x1b[0m" for line in lines).encode("utf-16")
    prefixed = "\n".join(f"2026-02-09T09:37:32.33Z stderr F {line}" for line in lines if "nvidia-smi" not in line)
    assert [(one.id, one.role) for one in explained(Report(), scan([coloured])).symptoms] == plain
    assert {one.id for one in explained(Report(), scan([prefixed.encode()])).symptoms} >= {
        id_
        for id_, _ in plain
        if id_ and not id_.startswith("ask-")  # typed by a person, not logged
    } - {
        "killed",
        "smi-missing",
        "podman-no-smi",
        "smi-crashes",
    }


def test_nearly_every_row_is_met_by_a_sample() -> None:
    met = {sample.root for sample in ALL} | {id_ for sample in ALL for id_ in sample.roles}
    threads = [line for row in rows() if not row.open for line in row.log.splitlines()]
    met |= {*SAID} | {found.id for line in threads if (found := recognise(line)) is not None}
    left = [row.id for row in symptoms() if row.kind != "noise" and row.id not in met]
    assert len(ALL) >= 300
    assert left == []
