"""What is recorded of a machine that is well holds there, and not where one thing is another."""

import msgspec
import pytest

from gpudoctor.expect.loader import loads
from gpudoctor.expect.record import RecordError, recorded
from gpudoctor.expect.smoke_tolerances import margin
from gpudoctor.expect.toml_writer import TomlEntry, quoted, written
from gpudoctor.facts import Facts, Figure
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import check
from gpudoctor.toml import tomllib
from tests.builders import change, framework, live, plain_host, with_framework
from tests.checks import healthy_nvidia as nv
from tests.checks import smoke_machines as smoke
from tests.expect import asked
from tests.machines.registry import machines

HEALTHY = [machine for machine in machines() if machine.root is None]
NODE = nv.hgx(nv.H100, 4)


def record(facts: Facts, force: bool = False) -> str:
    return recorded(facts, check(facts=facts), force)


@pytest.mark.parametrize("machine", HEALTHY, ids=lambda machine: machine.name)
def test_read_back_on_the_same_machine_all_of_it_holds(machine: object) -> None:
    facts = machine.make()  # type: ignore[attr-defined]
    found = asked(record(facts), facts)
    assert found
    assert set(found) == {("pass", "")}


def _without_a_gpu(facts: Facts) -> Facts:
    gpus = facts.gpus
    assert isinstance(gpus, tuple)
    return change(facts, "gpus", gpus[:-1])


@pytest.mark.parametrize("machine", HEALTHY, ids=lambda machine: machine.name)
def test_with_a_gpu_less_it_does_not_hold(machine: object) -> None:
    facts = machine.make()  # type: ignore[attr-defined]
    if not isinstance(facts.gpus, tuple) or not facts.gpus:
        pytest.skip("it has none")
    count = len(facts.gpus)
    message = [message for outcome, message in asked(record(facts), _without_a_gpu(facts)) if outcome == "problem"]
    assert f"gpus: expected {count} of them, found {count - 1}." in message


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("gpus.5.name", "NVIDIA H200", 'gpus.*.name: expected "NVIDIA H100 80GB HBM3", found "NVIDIA H200" (GPU 5).'),
        ("gpus.5.status", "lost", 'gpus.*.status: expected "ok", found "lost" (GPU 5).'),
        ("gpus.5.link_width_max", 8, "gpus.*.link_width_max: expected at least 16, found 8 (GPU 5)."),
        ("gpus.5.link_generation_max", 4, "gpus.*.link_generation_max: expected at least 5, found 4 (GPU 5)."),
        ("gpus.5.ecc", False, "gpus.*.ecc: expected true, found false (GPU 5)."),
        ("gpus.5.mig", True, "gpus.*.mig: expected false, found true (GPU 5)."),
        ("gpus.5.nvlinks.3", False, "gpus.*.nvlinks.*: expected true, found false (GPU 5)."),
        ("gpus.5.nvlinks", (True,) * 6, "gpus.*.nvlinks: expected 18 of them, found 6 (GPU 5)."),
        ("nvidia.kernel.loaded", "550.54.14", 'nvidia.kernel.loaded: expected >=570.169, found "550.54.14".'),
        ("nvidia.kernel.fabric_manager", "failed", 'nvidia.kernel.fabric_manager: expected "active", found "failed".'),
        ("nvidia.cuda.version", "12.4", 'nvidia.cuda.version: expected >=12.8, found "12.4".'),
        (
            "pythons.0.frameworks.0.version",
            "2.4.0",
            'pythons.0.frameworks.torch.version: expected >=2.9.1, found "2.4.0".',
        ),
        (
            "pythons.0.frameworks.0.cuda",
            None,
            "pythons.0.frameworks.torch.cuda: expected something, found none.",
        ),
        (
            "pythons.0.frameworks.0.live.count",
            7,
            "pythons.0.frameworks.torch.live.count: expected at least 8, found 7.",
        ),
    ],
)
def test_with_one_thing_changed_its_sentence_is_the_only_one(path: str, value: object, message: str) -> None:
    found = [one for one in asked(record(NODE), change(NODE, path, value)) if one[0] != "pass"]
    assert found == [("problem", message)]


def test_memory_may_differ_by_what_drivers_keep() -> None:
    gpus = NODE.gpus
    assert isinstance(gpus, tuple)
    memory = gpus[0].memory
    assert isinstance(memory, int)
    text = record(NODE)
    assert {outcome for outcome, _ in asked(text, change(NODE, "gpus.0.memory", int(memory * 0.98)))} == {"pass"}
    assert "problem" in {outcome for outcome, _ in asked(text, change(NODE, "gpus.0.memory", int(memory * 0.9)))}


def test_gpus_that_differ_are_written_one_by_one() -> None:
    text = record(change(nv.several(2), "gpus.1.name", "NVIDIA RTX A4000"))
    paths = set(tomllib.loads(text)["expect"])
    assert {"gpus.0.name", "gpus.1.name", "gpus.*.link_width_max"} <= paths


def test_the_kernel_is_there_to_be_uncommented() -> None:
    text = record(NODE)
    assert "host.kernel.release" not in tomllib.loads(text)["expect"]
    with_it = text.replace('# [expect."host.kernel.release"]\n# is', '[expect."host.kernel.release"]\nis')
    assert set(asked(with_it, NODE)) == {("pass", "")}
    assert "host.kernel.release" in tomllib.loads(with_it)["expect"]


# -- rates ---------------------------------------------------------------------------------------------------


def measured(**changes: object) -> Facts:
    """Two H100 whose copies were measured, with the units that the tests tell."""
    facts = smoke.machine(count=2)
    for at, run in enumerate(facts.smoke.runs):
        tests = tuple(
            msgspec.structs.replace(
                test,
                figures=tuple(
                    Figure(name=f.name, value=f.value - at, unit=changes.get("unit", "GB/s"), samples=f.samples)  # type: ignore[arg-type]
                    for f in test.figures
                    if test.name == "transfer"
                ),
            )
            for test in run.tests
        )
        facts = change(facts, f"smoke.runs.{at}", msgspec.structs.replace(run, tests=tests))
    return facts


def test_rates_are_written_with_their_margin() -> None:
    facts = measured()
    found = tomllib.loads(record(facts, force=True))["expect"]
    assert found["smoke.pytorch.transfer.h2d pinned"] == {"at_least": 48.6}  # 0.9 of the lower one, 54.0
    assert set(asked(record(facts, force=True), facts)) == {("pass", "")}
    slower = smoke.ill(facts, "transfer", figures={"h2d pinned": 48.0})
    assert (
        "problem",
        "smoke.pytorch.transfer.h2d pinned: expected at least 48.6, found 48 (GPU 0).",
    ) in asked(record(facts, force=True), slower)


def test_what_is_no_rate_is_not_written() -> None:
    assert "smoke." not in "".join(tomllib.loads(record(measured(unit="s"), force=True))["expect"])


def test_a_gpu_that_others_used_and_a_cpu_are_not_written() -> None:
    facts = measured()
    for at in (0, 1):
        facts = smoke.of_run(facts, at, others=1)
    assert "smoke." not in "".join(tomllib.loads(record(facts, force=True))["expect"])
    facts = measured()
    for at in (0, 1):
        facts = smoke.of_run(facts, at, kind="cpu")
    assert "smoke." not in "".join(tomllib.loads(record(facts, force=True))["expect"])


def test_gpus_of_several_kinds_have_rates_of_their_own() -> None:
    facts = smoke.of_run(measured(), 1, name="NVIDIA H200")
    found = tomllib.loads(record(facts, force=True))["expect"]
    assert found["smoke.pytorch.GPU 0.transfer.h2d pinned"]["at_least"] == 49.5
    assert found["smoke.pytorch.GPU 1.transfer.h2d pinned"]["at_least"] == 48.6


@pytest.mark.parametrize(
    ("samples", "wanted"),
    [((), 0.1), ((10.0, 5.0), 0.1), ((10.0, 10.0, 10.0), 0.1), ((9.0, 10.0, 11.0), 0.3), ((5.0, 10.0, 15.0), 1.5)],
)
def test_the_margin_is_three_deviations_and_never_less_than_a_tenth(samples: tuple[float, ...], wanted: float) -> None:
    assert margin(Figure(name="rate", value=10.0, unit="GB/s", samples=samples)) == pytest.approx(wanted)


def test_a_rate_that_says_nothing_is_left_out() -> None:
    facts = measured()
    wild = Figure(name="h2d pinned", value=50.0, unit="GB/s", samples=(10.0, 50.0, 90.0))
    at = next(i for i, test in enumerate(facts.smoke.runs[0].tests) if test.name == "transfer")
    facts = change(facts, f"smoke.runs.0.tests.{at}.figures", (wild,))
    assert "smoke.pytorch.transfer.h2d pinned" not in tomllib.loads(record(facts, force=True))["expect"]


# -- what is not written down --------------------------------------------------------------------------------


def test_a_machine_that_fails_is_no_example() -> None:
    facts = with_framework(framework(cuda=None, variant="cpu", live=live(0)))
    with pytest.raises(RecordError) as caught:
        record(facts)
    message = str(caught.value)
    assert message.startswith("Refusing to record: this machine has failures (pytorch.cpu-build: ")
    assert message.endswith("Fix them first, or use --force.")
    assert "was NOT known to be healthy" in record(facts, force=True)


def test_nor_is_one_of_which_nobody_knows() -> None:
    facts = change(NODE, "failed", (("nvidia", "it timed out"),))
    with pytest.raises(RecordError, match="it is unknown whether this machine is healthy"):
        record(facts)


def test_where_nothing_is_nothing_is_written() -> None:
    for facts in (plain_host(), change(plain_host(), "gpus", Unknown("NVML: no"))):
        with pytest.raises(RecordError):
            recorded(facts, check(facts=facts), force=True)


def test_a_warning_is_named() -> None:
    facts = next(machine for machine in machines() if machine.name == "card-not-seated").make()
    assert "# The machine had warnings when this was recorded (link.narrow-pcie)" in record(facts)


@pytest.mark.parametrize("text", ['a"b\\c', "a\nb", "\x7f\x1b[31m", "ü€😀", "\ud800", "tab\t"])
def test_any_text_stands_in_the_file_as_it_is(text: str) -> None:
    read = tomllib.loads(f"a = {quoted(text)}")["a"]
    assert read == text.replace("\ud800", "\ufffd")


def test_a_name_does_not_break_out_of_its_comment() -> None:
    entry = TomlEntry("gpus.*.name", "is", "a\n[b]", "A name:\n[evil]\x1b[2J\nx = 1")
    found = tomllib.loads(written([entry], Facts()))
    assert found == {"expect": {"gpus.*.name": {"is": "a\n[b]"}}}
    assert loads(written([entry], Facts()), "e.toml")
