"""One root cause is one finding; what follows from it stands under it."""

from typing import Any

import pytest

from gpudoctor import checks
from gpudoctor.check_engine import MACHINE, About, Check, Outcome, Severity, Verdict
from gpudoctor.facts import Facts
from gpudoctor.root_causes import findings


def check(
    id_: str,
    caused_by: tuple[str, ...] = (),
    severity: Severity = Severity.ERROR,
    affects: tuple[str, ...] = ("everything",),
) -> Check[Any]:
    area, name = id_.replace("-", "_").split(".")

    def function(_: Facts) -> None:
        return None

    function.__module__ = f"gpudoctor.checks.{area}.{name}"
    real = vars(checks.load_one(id_)) if id_ in checks.ids() else {}
    own = ("explains", "breaks_imports", "read_from_files", "_vendor", "_bearable")
    declared: dict[str, Any] = {attribute.lstrip("_"): real[attribute] for attribute in own if real}
    return Check(
        function,
        title=id_,
        severity=severity,
        cause="C",
        targets=lambda f: iter([(MACHINE, f)]),
        caused_by=caused_by,
        affects=affects,
        **declared,
    )


def problem(id_: str, caused_by: tuple[str, ...] = (), about: About = MACHINE, **texts: Any) -> Verdict:
    return Verdict(check(id_, caused_by, **texts), about, Outcome.PROBLEM, f"{id_} says")


def unknown(id_: str, caused_by: tuple[str, ...] = (), about: About = MACHINE) -> Verdict:
    return Verdict(check(id_, caused_by), about, Outcome.UNKNOWN, "nobody could say")


def passed(id_: str) -> Verdict:
    return Verdict(check(id_), MACHINE, Outcome.PASS)


def shape(verdicts: list[Verdict]) -> list[tuple[str, list[str]]]:
    """Ids of roots and of what stands under each."""
    found, _ = findings(verdicts)
    return [(f.root.check.id, [c.check.id for c in f.consequences]) for f in found]


def test_a_chain_ends_under_its_first_cause() -> None:
    verdicts = [
        problem("pytorch.no-gpu", ("driver.cuda-error",)),
        problem("driver.cuda-error", ("driver.library-mismatch",)),
        problem("driver.library-mismatch"),
    ]
    assert shape(verdicts) == [("driver.library-mismatch", ["driver.cuda-error", "pytorch.no-gpu"])]


def test_an_area_can_be_named_whole() -> None:
    verdicts = [problem("pytorch.no-gpu", ("driver.*",)), problem("driver.not-loaded")]
    assert shape(verdicts) == [("driver.not-loaded", ["pytorch.no-gpu"])]


def test_an_area_named_whole_explains_only_what_touches_the_same_people() -> None:
    wheel = problem("pytorch.driver-too-old", ("container.*",), affects=("wheels",))
    assert len(shape([wheel, problem("container.toolkit-missing", affects=("containers",))])) == 2
    assert len(shape([wheel, problem("container.no-gpus-passed")])) == 1
    named = problem("pytorch.driver-too-old", ("container.toolkit-missing",), affects=("wheels",))
    assert len(shape([named, problem("container.toolkit-missing", affects=("containers",))])) == 1


def test_what_is_wrong_with_containers_of_this_host_explains_nothing_that_runs_on_it() -> None:
    stale = problem("container.cdi-stale", severity=Severity.WARNING, affects=("containers",))
    failed = problem("smoke.failed", ("container.*",))
    assert shape([failed, stale]) == [("smoke.failed", []), ("container.cdi-stale", [])]
    assert [found.severity for found in findings([failed, stale])[0]] == [Severity.ERROR, Severity.WARNING]
    assert findings([unknown("device.no-gpu", ("container.*",)), stale])[1]
    other = problem("container.toolkit-missing", ("container.*",), affects=("containers",))
    assert len(shape([other, stale])) == 1


def test_a_cause_on_another_gpu_explains_nothing() -> None:
    verdicts = [
        problem("link.narrow-pcie", ("device.fallen-off-the-bus",), About(gpu="a")),
        problem("device.fallen-off-the-bus", (), About(gpu="b")),
    ]
    assert shape(verdicts) == [("device.fallen-off-the-bus", []), ("link.narrow-pcie", [])]


def test_areas_stand_in_the_order_of_mending() -> None:
    verdicts = [problem("pytorch.cpu-build"), problem("container.toolkit-missing"), problem("device.none")]
    assert [root for root, _ in shape(verdicts)] == ["device.none", "container.toolkit-missing", "pytorch.cpu-build"]


def test_of_warnings_those_with_which_frameworks_start_stand_last() -> None:
    mild, other = (
        problem(id_, severity=Severity.WARNING) for id_ in ("python.unmet-requirement", "packages.library-missing")
    )
    assert [root for root, _ in shape([mild, other])] == ["packages.library-missing", "python.unmet-requirement"]
    failure = problem("python.unmet-requirement")
    assert [root for root, _ in shape([failure, other])] == ["python.unmet-requirement", "packages.library-missing"]


def test_a_warning_that_makes_something_fail_is_a_failure() -> None:
    verdicts = [
        problem("host.shm-small", severity=Severity.WARNING),
        problem("pytorch.cpu-build"),
        problem("jax.no-gpu", ("host.shm-small",)),
    ]
    found, _ = findings(verdicts)
    assert [(f.root.check.id, f.severity) for f in found] == [
        ("pytorch.cpu-build", Severity.ERROR),
        ("host.shm-small", Severity.ERROR),
    ]


def test_causes_in_a_circle_still_give_one_finding() -> None:
    verdicts = [
        problem("driver.a", ("driver.b",)),
        problem("driver.b", ("driver.c",)),
        problem("driver.c", ("driver.a",)),
    ]
    ((root, under),) = shape(verdicts)
    assert {root, *under} == {"driver.a", "driver.b", "driver.c"}


def test_of_two_that_explain_each_other_the_deeper_area_wins() -> None:
    verdicts = [problem("wsl.a", ("driver.*",)), problem("driver.b", ("wsl.*",))]
    assert shape(verdicts) == [("driver.b", ["wsl.a"])]


@pytest.mark.parametrize(
    ("verdicts", "open_"),
    [
        ([unknown("driver.cuda-error", ("driver.not-loaded",)), problem("driver.not-loaded")], []),
        ([unknown("driver.cuda-error", ("driver.not-loaded",)), passed("driver.not-loaded")], ["driver.cuda-error"]),
        (
            [Verdict(check("driver.a", ("driver.b",)), MACHINE, Outcome.BROKEN, "KeyError"), problem("driver.b")],
            ["driver.a"],
        ),
    ],
)
def test_unknowns_that_a_problem_explains_are_not_counted(verdicts: list[Verdict], open_: list[str]) -> None:
    _, left = findings(verdicts)
    assert [v.check.id for v in left] == open_


def test_ruled_out_names_causes_that_are_well_everywhere() -> None:
    verdicts = [
        problem("pytorch.no-gpu", ("driver.*",)),
        passed("driver.not-loaded"),
        passed("driver.gpu-lost"),
        unknown("driver.gpu-lost"),
        passed("wsl.version-1"),
    ]
    found, _ = findings(verdicts)
    assert found[0].ruled_out == ("driver.not-loaded",)


@pytest.mark.parametrize(
    ("cause", "id_", "under"),
    [
        ("device.prohibited-mode", "pytorch.driver-too-old", False),
        ("health.overheated", "pytorch.no-gpu", False),
        ("device.row-remap-pending", "host.shm-not-writable", False),
        ("device.none", "pytorch.no-gpu", True),  # a warning where nobody is known to want a GPU
        ("health.memory-held", "pytorch.no-gpu", True),
        ("python.user-site-leaks", "pytorch.no-gpu", True),
        ("device.row-remap-pending", "smoke.device-error", True),  # what failed had started
    ],
)
def test_a_warning_with_which_programs_start_explains_none_that_does_not(cause: str, id_: str, under: bool) -> None:
    area = f"{cause.partition('.')[0]}.*"
    verdicts = [problem(cause, severity=Severity.WARNING), problem(id_, (area,), affects=("wheels",))]
    assert (len(shape(verdicts)) == 1) is under


@pytest.mark.parametrize("cause", ["python.numpy-2", "python.unmet-requirement"])
@pytest.mark.parametrize("id_", ["tensorflow.libraries-missing", "pytorch.cpu-build", "pytorch.driver-too-old"])
def test_what_breaks_an_import_explains_no_build_and_no_missing_library(cause: str, id_: str) -> None:
    framework = id_.partition(".")[0]
    verdicts = [problem(id_, ("python.*",)), problem(f"{framework}.import-fails", ("python.*",)), problem(cause)]
    assert shape(verdicts) == [(cause, [f"{framework}.import-fails"]), (id_, [])]


def test_what_is_unknown_after_a_broken_import_is_explained_by_it() -> None:
    _, left = findings([unknown("pytorch.arch-missing", ("python.*",)), problem("python.numpy-2")])
    assert left == []


def test_a_warning_that_a_check_names_itself_explains_it() -> None:
    verdicts = [
        problem("device.xid-driver", severity=Severity.WARNING),
        problem("driver.cuda-error", ("device.xid-driver",)),
    ]
    assert shape(verdicts) == [("device.xid-driver", ["driver.cuda-error"])]


@pytest.mark.parametrize(
    ("cause", "vendor", "under"),
    [
        ("visibility.hip-out-of-range", "nvidia", False),
        ("visibility.hip-out-of-range", "amd", True),
        ("visibility.cuda-hides-all", "amd", False),
        ("visibility.cuda-hides-all", "nvidia", True),
        ("rocm.kfd-missing", "nvidia", False),
        ("driver.library-mismatch", "amd", False),
        ("driver.library-mismatch", "nvidia", True),
        ("container.no-gpus-passed", "amd", True),  # of no vendor's alone
        ("driver.library-mismatch", None, True),  # nobody knows what it is built for
    ],
)
def test_another_vendors_illness_explains_nothing(cause: str, vendor: str | None, under: bool) -> None:
    torch = About("PyTorch", python="/opt/env/bin/python", package="torch", vendor=vendor)
    verdicts = [problem(cause), problem("pytorch.no-gpu", (f"{cause.partition('.')[0]}.*",), torch)]
    assert (len(shape(verdicts)) == 1) is under
