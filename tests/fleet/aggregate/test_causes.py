"""Findings of many nodes put together: what is one cause, and what is told of it."""

import msgspec
import pytest

from gpudoctor.expect.loader import loads
from gpudoctor.fleet.aggregate import causes, targets
from gpudoctor.fleet.aggregate.streaming import summed
from gpudoctor.fleet.cause_fixes import fixes, of_node
from gpudoctor.fleet.cause_targets import wheres
from gpudoctor.fleet.expectations import Holding
from gpudoctor.fleet.renderers.phrases import as_finding, in_short
from gpudoctor.report.model import FindingEntry, FixEntry, GpuEntry, Report
from tests.fleet.aggregate.reports import Given, finding, fleet, gpus, named, report


def _told(*findings: tuple[FindingEntry, ...]) -> list[tuple[str, str, int, int]]:
    found = fleet(named(report(findings=each) for each in findings))
    return [(one.check, one.nodes, one.count, one.times) for one in found.causes]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (finding(), finding(subject="GPU 5", fix="Reseat GPU 5."), True),
        (finding(cause="GPU 1 at 0000:1b:00.0 is ill."), finding(cause="GPU 2 at 0000:2c:00.0 is ill."), True),
        (finding(), msgspec.structs.replace(finding(), evidence=("else",), message="Else.", references=()), True),
        (finding(), finding(check="link.slow-pcie"), False),
        (finding(), finding(status="fail"), False),
        (finding(), finding(cause="A bad riser."), False),
        (finding(cause="Driver 570 is too old."), finding(cause="Driver 535 is too old."), False),
        (finding(), finding(fix="Change the slot."), False),
        (finding(), msgspec.structs.replace(finding(), title="Else"), False),
    ],
)
def test_what_is_one_cause(one: FindingEntry, other: FindingEntry, same: bool) -> None:
    assert len(_told((one,), (other,))) == (1 if same else 2)


def test_a_node_counts_once_however_many_of_its_gpus_have_it() -> None:
    many = tuple(finding(subject=f"GPU {index}") for index in range(3))
    assert _told(many, (), (finding(),), many[:2]) == [("link.narrow-pcie", "n[1,3-4]", 3, 6)]


def test_worst_first_then_those_of_most_nodes() -> None:
    reported = _told(
        (finding("c.advice", "advice"), finding("b.warn", "warn"), finding("a.warn", "warn")),
        (finding("c.advice", "advice"), finding("d.fail", "fail"), finding("b.warn", "warn")),
        (finding("c.advice", "advice"), finding("z.else", "else")),
    )
    assert [check for check, *_ in reported] == ["d.fail", "b.warn", "a.warn", "c.advice", "z.else"]


def test_the_example_is_the_first_node_by_name_with_its_own_words() -> None:
    given = {name: report(findings=[finding(subject=f"GPU of {name}")]) for name in ("n3", "n1", "n2")}
    (cause,) = fleet(given).causes
    assert (cause.example, cause.message) == ("n1", "GPU of n1 is ill.")
    assert [fix.message for fix in cause.fixes] == ["Reseat GPU 0."]
    assert cause.references == ("https://example.org/",)


def test_consequences_are_no_causes() -> None:
    one = msgspec.json.encode(report(findings=[finding()])).replace(
        b'"consequences":[]', b'"consequences":[{"check":"cuda.init","message":"It fails."}]'
    )
    assert b"cuda.init" in one
    assert [cause.check for cause in fleet({"n1": one}).causes] == ["link.narrow-pcie"]


def test_more_causes_than_can_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes, "MOST", 3)
    given = [report(findings=[finding(cause=f"Cause {letter}.")]) for letter in "abcdefg"]
    found = fleet(named(given)).causes
    alone = ("Title of link.narrow-pcie", 1)
    assert [(one.title, one.count) for one in found] == [alone, alone, alone, ("Other findings", 4)]
    assert (found[-1].check, found[-1].example, found[-1].fixes) == ("", "n4", ())
    backwards = {f"m{9 - number}": one for number, one in enumerate(given)}  # each comes before the example so far
    last = fleet(backwards).causes[-1]
    assert (last.check, last.title, last.message, last.count) == ("", "Other findings", "", 4)


def test_one_node_with_thousands_hides_nothing_of_the_others() -> None:
    many = report(findings=[finding(cause=f"Cause {number:x}.") for number in range(3000)])
    found = fleet(named([many, report(findings=[finding("z.last")])])).causes
    assert ("z.last", "n2") in [(one.check, one.nodes) for one in found]
    assert (found[-1].title, found[-1].nodes, found[-1].times) == ("Other findings", "n1", 2800)


def test_what_was_parsed_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes, "_KEPT", 10_000)
    book = causes.Causes()
    for number in range(100):
        assert book.read(msgspec.json.encode((finding(subject=f"GPU {number}"),)))[0].subject == f"GPU {number}"
        assert len(book._memo) < 10


def _on(index: int) -> FindingEntry:
    fix = FixEntry(f"Reset GPU {index}.", (f"nvidia-smi -i {index} -r",), verify=f"nvidia-smi -i {index}")
    return msgspec.structs.replace(finding(subject=f"GPU {index}", cause=f"GPU {index} is ill."), fixes=(fix,))


def test_commands_are_grouped_by_the_nodes_that_need_them() -> None:
    (cause,) = fleet(named(report(findings=each) for each in [[_on(2)], [_on(5)], [_on(2), _on(0)]])).causes
    assert [(one.nodes, one.count) for one in cause.variants] == [("n[1,3]", 2), ("n2", 1), ("n3", 1)]
    (fix,) = as_finding(cause).fixes
    assert fix.message == "Reset the GPU."
    assert fix.commands == (
        "# on n[1,3]:\nnvidia-smi -i 2 -r", "# on n2:\nnvidia-smi -i 5 -r", "# on n3:\nnvidia-smi -i 0 -r",
    )  # fmt: skip
    assert fix.verify == "# on n[1,3]:\nnvidia-smi -i 2\n# on n2:\nnvidia-smi -i 5\n# on n3:\nnvidia-smi -i 0"
    assert as_finding(cause).cause == "The GPU is ill."
    assert in_short(cause) == "Reset the GPU"


def test_the_commands_of_one_node() -> None:
    (cause,) = fleet(named(report(findings=each) for each in [[_on(2)], [_on(5)], [_on(2), _on(0)]])).causes
    assert fixes(of_node(cause, "n2"))[0].commands == ("nvidia-smi -i 5 -r",)
    assert fixes(of_node(cause, "n3"))[0].commands == ("# on n3:\nnvidia-smi -i 2 -r", "# on n3:\nnvidia-smi -i 0 -r")
    assert fixes(of_node(cause, "elsewhere")) == fixes(cause)


def test_commands_that_all_nodes_share_are_shown_once() -> None:
    (cause,) = fleet(named(report(findings=[_on(2)]) for _ in range(3))).causes
    assert cause.variants == ()
    assert as_finding(cause).fixes[0].commands == ("nvidia-smi -i 2 -r",)


def test_of_commands_that_each_node_has_for_itself_only_the_example_s_are_shown() -> None:
    given = [report(findings=[_on(number)]) for number in range(causes.VARIANTS + 2)]
    (cause,) = fleet(named(given)).causes
    assert [one.nodes for one in cause.variants] == ["n1"]
    others = causes.VARIANTS + 1
    assert as_finding(cause).fixes[0].commands == (
        "# on n1:\nnvidia-smi -i 0 -r",
        f"# on each of the {others} others the commands differ: gpudoctor check shows them there",
    )


@pytest.mark.parametrize("own", [False, True])
def test_of_an_expectation_it_is_listed_which_nodes_have_what(own: bool) -> None:
    def wrong(value: str) -> FindingEntry:
        sentence = f"nvidia.kernel.loaded: expected >=580, found {value}."
        entry = finding("expect.driver", "fail", cause="c", fix="f")
        if own:  # the file has a sentence of its own
            return msgspec.structs.replace(entry, message="Ask Ken.", evidence=(sentence,))
        return msgspec.structs.replace(entry, message=sentence, evidence=())

    given = named(report(findings=[wrong(value)]) for value in ("570", "560", "570"))
    (cause,) = fleet(given).causes
    assert cause.evidence == (
        "nvidia.kernel.loaded: expected >=580", "found 570 on n[1,3]", "found 560 on n2",
    )  # fmt: skip
    many = named(report(findings=[wrong(str(number))]) for number in range(20))
    (cause,) = fleet(many).causes
    assert len(cause.evidence) == 10
    assert cause.evidence[-1] == "and 12 more values"


def test_an_expectation_that_its_own_report_explains_is_none() -> None:
    hold = Holding(loads('[expect."gpus"]\ncount = 8\n', "site.toml"))
    dead = report(listed=(), status="fail", findings=[finding("driver.not-loaded", "fail")])
    found = summed(Given(named([report(), report(listed=gpus(7)), dead])), hold=hold)
    assert [(one.check, one.nodes) for one in found.causes] == [("driver.not-loaded", "n3"), ("expect.gpus", "n2")]


def _about(index: int, bus: str) -> Report:
    gpu = msgspec.structs.replace(finding(subject=f"GPU {index}"), evidence=(f"Xid (PCI:0000:{bus}:00): 64",))
    shown = [GpuEntry(index=index, vendor="nvidia", address=f"0000:{bus}:00.0")]
    return report(findings=[gpu], shown=shown)


def test_each_node_keeps_its_own_gpu() -> None:
    (cause,) = fleet(named([_about(4, "05"), _about(2, "03"), _about(4, "05")])).causes
    assert [(one.nodes, wheres(one)) for one in cause.targets] == [
        ("n[1,3]", "GPU 4 at 0000:05:00.0"), ("n2", "GPU 2 at 0000:03:00.0"),
    ]  # fmt: skip
    shown = as_finding(cause)
    assert shown.message.splitlines() == [
        "n[1,3]: GPU 4 at 0000:05:00.0: GPU 4 is ill.", "n2: GPU 2 at 0000:03:00.0: GPU 2 is ill.",
    ]  # fmt: skip
    assert shown.evidence == ("n[1,3]: Xid (PCI:0000:05:00): 64", "n2: Xid (PCI:0000:03:00): 64")
    own = of_node(cause, "n2")
    assert (own.message, own.evidence) == ("GPU 2 at 0000:03:00.0: GPU 2 is ill.", ("Xid (PCI:0000:03:00): 64",))


def test_the_order_of_the_reports_changes_nothing_of_the_targets() -> None:
    given = named([_about(4, "05"), _about(2, "03"), _about(4, "05")])
    assert fleet(given).causes[0].targets == fleet(dict(reversed(given.items()))).causes[0].targets


def test_of_many_gpus_of_a_node_the_first_has_its_words() -> None:
    (cause,) = fleet(named([report(findings=[finding(subject=f"GPU {index}") for index in range(8)])])).causes
    assert as_finding(cause).message == "n1: GPU 0 is ill. Also GPUs 1 to 7."


def test_of_too_many_words_the_gpus_are_kept_and_of_too_many_gpus_nothing() -> None:
    def hot(degrees: int, index: int) -> Report:
        one = msgspec.structs.replace(finding(subject=f"GPU {index}"), message=f"It has {degrees} degrees C.")
        return report(findings=[one])

    (cause,) = fleet(named(hot(40 + at, at % 2) for at in range(targets.DIFFERENT + 2))).causes
    assert [(one.count, wheres(one)) for one in cause.targets] == [(129, "GPU 0"), (129, "GPU 1")]
    assert as_finding(cause).message.startswith("n1: It has 40 degrees C.\nn[1,3,5,")
    (cause,) = fleet(named(hot(40, at) for at in range(targets.DIFFERENT + 2))).causes
    assert (cause.targets, as_finding(cause).message) == ((), "n1: It has 40 degrees C.")
    assert of_node(cause, "n2").message == "n1: It has 40 degrees C."  # nobody takes it for n2's
