"""What a path leads to on one machine: each value, where it is, and whom it concerns."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from gpudoctor.expect.paths import KEYS, joined
from gpudoctor.expect.smoke_paths import FigurePath, smoke_path
from gpudoctor.facts import Facts, Framework, Gpu, Python, Smoke, SmokeRun, SmokeTest
from gpudoctor.maybe import Unknown
from gpudoctor.registry import BY_AREA
from gpudoctor.targets import gpu_key

OF_ITSELF = ("path", "found_by", "error")  # of an interpreter that does not answer


class FoundValue(NamedTuple):
    """One value.

    Attributes:
        path: with the place of each element in it.
        value: None: there is no such thing here; an Unknown where nobody could say.
        label: what it belongs to, for people: "GPU 3"; "": the path alone says it.
        gpu: the key of the GPU that it belongs to.
        python: the interpreter that it belongs to.
        package: the framework that it belongs to.
        left: how many steps of the path could not be gone.
    """

    path: str
    value: Any
    label: str = ""
    gpu: str | None = None
    python: str | None = None
    package: str | None = None
    left: int = 0


def found(facts: Facts, steps: Sequence[str]) -> tuple[FoundValue, ...]:
    """Everything that a path leads to; a "*" over nothing leads to one value that is None."""
    if steps[0] == "smoke" and len(steps) > 1 and steps[1] not in Smoke.__struct_fields__:
        return tuple(_measured(facts.smoke, smoke_path(steps[1:]), joined(steps)))
    return tuple(_walk(facts, tuple(steps), FoundValue("", None)))


def _walk(node: Any, steps: tuple[str, ...], at: FoundValue) -> Iterator[FoundValue]:
    at = _belongs(node, at)
    if not steps or node is None or isinstance(node, Unknown):
        yield at._replace(value=node, path=at.path or "facts", left=len(steps))
        return
    step, rest = steps[0], steps[1:]
    for name, one in _children(node, step):
        yield from _walk(one, rest, at._replace(path=f"{at.path}.{joined([name])}".removeprefix(".")))


def _belongs(node: Any, at: FoundValue) -> FoundValue:
    if isinstance(node, Gpu):
        return at._replace(label=f"GPU {node.index}", gpu=gpu_key(node))
    if isinstance(node, Python):
        return at._replace(python=node.path)
    return at._replace(package=node.name) if isinstance(node, Framework) else at


def _children(node: Any, step: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, tuple):
        yield from _elements(node, step)
    elif isinstance(node, dict):
        named = {step: node.get(step)} if step != "*" else node
        yield from named.items() or [("*", None)]
    else:
        yield step, _field(node, step)


def _field(node: Any, name: str) -> Any:
    """A field; where nobody asked, it is unknown, though the facts hold None or nothing."""
    value = getattr(node, name)
    if isinstance(node, Framework) and name == "live" and value is None:
        return Unknown("it was not imported (--quick)")
    if isinstance(node, Facts) and name == "pythons" and not value:
        return Unknown("no Python was checked")
    if isinstance(node, Python) and node.error is not None and name not in OF_ITSELF:
        return Unknown(node.error)
    if isinstance(node, Smoke) and not node.runs:
        return Unknown("no smoke test was run: add --smoke")
    return value


def _elements(node: tuple[Any, ...], step: str) -> Iterator[tuple[str, Any]]:
    if step == "*":
        yield from ((str(number), one) for number, one in enumerate(node))
        if not node:
            yield "*", None
    elif step.isdecimal():
        number = int(step)
        inside = number < len(node)
        beyond = Unknown(f"only {len(node)} were checked") if node and isinstance(node[0], Python) else None
        yield step, node[number] if inside else beyond
    else:
        named = [one for one in node if _is(one, step)]
        yield from ((step, one) for one in named[:1] or [None])


def _is(one: Any, name: str) -> bool:
    key = KEYS.get(type(one))
    return isinstance(one, msgspec.Struct) and key is not None and getattr(one, key) == name


# -- what was measured ---------------------------------------------------------------------------------------


def _measured(smoke: Smoke, wanted: FigurePath, path: str) -> Iterator[FoundValue]:
    """The figure of each device and variant that is meant; what was not measured is unknown, with why."""
    runs = [run for run in smoke.runs if _meant(run, wanted)]
    tests = [(run, test) for run in runs for test in run.tests if _is_test(test, wanted)]
    for run, test in tests:
        label = f"{run.label}{f' {test.variant}' if test.variant else ''}"
        value = test.figure(wanted.figure)
        why = Unknown(test.message or run.message or f"{wanted.test} did not measure it ({test.outcome})")
        yield FoundValue(path, why if value is None else value, label, run.gpu, run.python or None, _package(run))
    if not tests:
        said = next((run.message for run in runs if run.message), f"the smoke test {wanted.test} was not run")
        yield FoundValue(path, Unknown(said if smoke.runs else "no smoke test was run: add --smoke"))


def _meant(run: SmokeRun, wanted: FigurePath) -> bool:
    return wanted.backend in (None, run.backend) and wanted.device in (None, run.label)


def _is_test(test: SmokeTest, wanted: FigurePath) -> bool:
    return test.name == wanted.test and wanted.variant in (None, test.variant)


def _package(run: SmokeRun) -> str | None:
    framework = BY_AREA.get(run.backend)
    return framework.module if framework else None
