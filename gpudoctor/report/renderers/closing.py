"""The last lines of a report: what was proven, what to try next."""

from collections import Counter
from collections.abc import Iterator

from gpudoctor.check_engine import Outcome, Verdict
from gpudoctor.facts import Facts, Python
from gpudoctor.facts.text_types import not_run
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.queries.frameworks import not_tested
from gpudoctor.registry import EXPECT, SMOKED
from gpudoctor.report.counts import no_problems
from gpudoctor.report.model import FindingEntry
from gpudoctor.report.numbers import number
from gpudoctor.targets import framework_name, gpus_of

CHOSEN = "Only the selected checks ran; the cause may be elsewhere."
ADVICE = "Only the selected checks ran. Advice does not change the verdict: --fail-on advice makes the exit code 1."
ROOT = "Nothing in that file system was run (--root), so it is unknown whether its driver and libraries respond."
ELSEWHERE = "The fixes are for the system whose file system that is (--root): type them there, not here."
NO_GPU = "There is no GPU to diagnose: these results prove nothing about one."
NO_SMOKE = "No GPU that can run smoke tests was found, so none ran. To test the CPU: `gpudoctor smoke --device cpu`"
# Of a facts file of an earlier release, which went on with the CPU.
ON_CPU = "No GPU was found, so the smoke tests ran on the CPU and prove nothing about a GPU."
_MOST_NAMES = 12  # of packages that were not imported
SETUP = "Next: `gpudoctor setup pytorch` (or tensorflow, jax, cupy) plans the installation that fits this machine."
PROOF = "Next: `gpudoctor smoke` tests that the GPU computes correctly, and how fast."
STILL_FAILS = (
    "If a program still fails, `gpudoctor run -- COMMAND` runs it and explains its error. Check its own environment: "
    "with its Python (--python PATH), as its user, in its container."
)
# What to do after a check; who asked about an error has another question.
INVITATIONS = (SETUP, PROOF, STILL_FAILS)
NOTHING = "None of the selected checks applies to this machine, so nothing was checked."


def closing(
    facts: Facts,
    verdicts: list[Verdict],
    status: str,
    entries: tuple[FindingEntry, ...],
    chosen: bool = False,
    command: str = "check",
    recorded: bool = False,
) -> tuple[str, ...]:
    """Sentences for the end of the report."""
    root = [ROOT] * not_run(facts.nvidia.nvml.code)
    if chosen and all(v.outcome is Outcome.SKIPPED for v in verdicts):
        return (*root, NOTHING)
    there = [ELSEWHERE] * (bool(root) and any(entry.fixes for entry in entries))
    lines = [*there, *_expected(verdicts), *([CHOSEN] if chosen and status != "pass" and entries else [])]
    if status == "fail" or (status == "no-gpu" and any(entry.status == "fail" for entry in entries)):
        explain = f"`gpudoctor explain {entries[0].check}`" if entries else "`gpudoctor explain ID`"
        return (*root, *lines, f"Fix the first problem, then re-run `gpudoctor {command}`. For details: {explain}")
    lines += [*_proven(facts), *_smoked(facts, entries), *_left_out(facts), *root]
    if facts.smoke.instead:
        lines.append(ON_CPU if facts.smoke.runs else NO_SMOKE)
    elif status == "no-gpu":
        lines.append(NO_GPU)
    elif status == "incomplete":
        lines.append("Some facts are unknown: --verbose lists them, and what access they need.")
    else:
        lines += _covered(facts, verdicts, entries, not chosen and command == "check", recorded)
    if facts.quick and _frameworks(facts) and not facts.smoke.runs:
        lines.append("No framework was imported (--quick): `gpudoctor check` shows which GPUs each one sees.")
    if status in ("pass", "warn") and not chosen and (left := not_tested(facts)):
        more = f" and {number(len(left) - _MOST_NAMES)} more" if len(left) > _MOST_NAMES else ""
        lines.append(f"Not tested: {', '.join(left[:_MOST_NAMES])}{more} (only files were read).")
    if status in ("pass", "warn") and not chosen:
        lines += _critical_toolkit(facts)
    if chosen and status == "pass" and entries:
        lines.append(ADVICE)
    lines += _next(facts, status if command == "check" and not (chosen or recorded) else "")
    if status == "pass" and not (facts.quick or chosen or recorded) and lines:
        lines.append(STILL_FAILS)
    return tuple(lines)


def _next(facts: Facts, status: str) -> Iterator[str]:
    """What comes after a check: a framework where there is none, and then the proof that it computes."""
    smoked = {one.module for one in SMOKED}
    lives = [f.live for python in facts.pythons for f in python.frameworks if f.name in smoked]
    others = any(known_or(python.imports, ()) for python in facts.pythons)  # what computes on GPUs without a framework
    if status in ("pass", "warn") and gpus_of(facts) and not (_frameworks(facts) or others):
        yield SETUP
    elif status == "pass" and not facts.smoke.runs and (gpus_of(facts, "nvidia") or gpus_of(facts, "amd")):
        yield from [PROOF] if any(live and live.available is True for live in lives) else []


def _covered(
    facts: Facts, verdicts: list[Verdict], entries: tuple[FindingEntry, ...], everything: bool, recorded: bool
) -> Iterator[str]:
    """That there are no problems, and of what: without a framework, nobody may take it for a working PyTorch."""
    bare = everything and not _frameworks(facts)
    asked = {v.check.id for v in verdicts if v.outcome is Outcome.PASS}
    if not entries and asked:
        yield f"{no_problems(bool(gpus_of(facts)), not bare, len(asked))}."
    elif entries and bare:
        another = "" if recorded else " --python PATH checks another one."
        yield f"No framework was checked: the environment has none.{another}"


def _expected(verdicts: list[Verdict]) -> Iterator[str]:
    """What became of the operator's own rules, of which each is met, not met or unknown."""
    outcomes = Counter(v.outcome for v in verdicts if v.check.area == EXPECT)
    words = {Outcome.PASS: "met", Outcome.PROBLEM: "not met", Outcome.UNKNOWN: "unknown", Outcome.BROKEN: "broken"}
    if outcomes:
        yield f"Expectations: {', '.join(f'{outcomes[one]:,} {word}' for one, word in words.items() if outcomes[one])}."


def _frameworks(facts: Facts) -> bool:
    """Whether a checked environment has a framework."""
    return any(python.frameworks for python in facts.pythons)


def _critical_toolkit(facts: Facts) -> list[str]:
    """That containers can take over this host, in one line: who looks for a lost GPU must not read of it first."""
    version = facts.containers.toolkit
    if not isinstance(version, str):
        return []
    from gpudoctor.knowledge.vulnerabilities import of_release, vulnerabilities

    critical = [one.cve for one in of_release(vulnerabilities().toolkit, version) if one.severity == "critical"]
    more = "`gpudoctor check --only security` has the fix"
    return [f"NVIDIA Container Toolkit {version} has {critical[0]} (critical): {more}."] if critical else []


def _proven(facts: Facts) -> list[str]:
    """What is known to work, because it was tried."""
    lines = []
    cuda = facts.nvidia.cuda
    if cuda.code == 0 and isinstance(cuda.devices, tuple) and cuda.devices:
        lines.append(f"The NVIDIA driver responds: CUDA initializes and lists {_gpus(len(cuda.devices))}.")
    for python in facts.pythons:
        for framework in python.frameworks:
            live = framework.live
            if live and live.available is True and not isinstance(live.count, Unknown):
                lines.append(f"{framework_name(framework)} was imported and sees {_gpus(live.count)}.")
        if not python.frameworks:
            lines += _imported(python)
    return lines


def _imported(python: Python) -> list[str]:
    """The packages that were imported where there is no framework to speak of: that shows only that they load."""
    names = [
        f"{one.package} {one.version}" for one in known_or(python.imports, ()) if one.error is None and not one.died
    ]
    return [f"Imported: {', '.join(names[:_MOST_NAMES])}."] if names else []


def _smoked(facts: Facts, entries: tuple[FindingEntry, ...]) -> list[str]:
    """What the smoke tests have shown, of GPUs or of a CPU that somebody chose, where they found nothing."""
    if any(entry.check.startswith("smoke.") and entry.status == "fail" for entry in entries):
        return []
    runs = [run for run in facts.smoke.runs if run.kind != "cpu"] or [*facts.smoke.runs] * (not facts.smoke.instead)
    if not runs:
        return []
    from gpudoctor.smoketests.suite import COMPARE  # not for those who ran none

    done = [run.label for run in runs for t in run.tests if t.outcome == "done" and t.name != COMPARE]
    tests, labels = len(done), list(dict.fromkeys(done))
    if not tests:
        return []
    single = [label for label in labels if not label.startswith("GPUs ")]  # the tests between GPUs name them again
    where = _together(single or labels).replace("CPU", "the CPU")
    proven = "" if any(run.kind != "cpu" for run in runs) else "; that proves nothing about a GPU"
    return [f"{tests} smoke test{'s' * (tests != 1)} completed on {where} with correct results{proven}."]


def _together(labels: list[str]) -> str:
    """Devices by their labels, GPUs that follow each other as one: "GPU 0 and GPU 1", "GPUs 0-7"."""
    numbers = [int(label[4:]) for label in labels if label.startswith("GPU ") and label[4:].isdigit()]
    if len(labels) > 2 and numbers == list(range(numbers[0], numbers[0] + len(labels))):
        return f"GPUs {numbers[0]}-{numbers[-1]}"
    return " and ".join(labels) if len(labels) < 3 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def _left_out(facts: Facts) -> list[str]:
    """What computes on GPUs alone, where only the CPU was tested: who has it would look for it in vain."""
    runs = facts.smoke.runs
    if not runs or any(run.kind != "cpu" for run in runs):
        return []
    there = {framework.name for python in facts.pythons for framework in python.frameworks}
    tested = {run.backend for run in runs}
    gpu_alone = (one for one in SMOKED if one.cpu_proof is None and one.module in there and one.area not in tested)
    return [f"{one.title} was not tested: it computes only on a GPU." for one in gpu_alone]


def _gpus(count: int) -> str:
    return f"{count} GPU{'' if count == 1 else 's'}"
