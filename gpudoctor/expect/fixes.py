"""What makes a machine as a rule of an operator's file wants it, where that can be typed."""

from collections.abc import Sequence
from typing import Any

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.expect.evaluate import Wanted
from gpudoctor.expect.values import FoundValue
from gpudoctor.facts import Facts, Gpu, Python
from gpudoctor.fixes.python import add, conda_install, manager_of
from gpudoctor.fixes.variables import assign, unset
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import gpu_key, gpus_of
from gpudoctor.tasks import Tasks, as_root, query

# What `nvidia-smi` sets: its option, and what has to follow (nvidia-smi(1)).
_SWITCHES = {"ecc": ("-e", "reboot"), "persistence": ("-pm", None), "mig": ("-mig", "reset of the GPU")}
_MODES = {"default": "0", "prohibited": "2", "exclusive-process": "3"}
_DRIVER = {"loaded": "driver", "driver_version": "driver", "version": "cuda", "cuda_version": "cuda"}


def fixes(facts: Facts, steps: Sequence[str], wanted: Wanted, bad: Sequence[FoundValue]) -> tuple[Fix, ...]:
    """The fixes; none where no command is known that does it.

    Args:
        facts: the machine.
        steps: of the rule's path.
        wanted: what the rule wants.
        bad: the values that are not so.
    """
    match tuple(steps):
        case ("gpus", _, field):
            return _gpu_setting(facts, field, dict(wanted), bad)
        case ("nvidia", "kernel" | "nvml" | "cuda", field) if field in _DRIVER:
            return _planned(facts, _DRIVER[field], _specifier(wanted))
        case ("pythons", _, "frameworks", name, "version") if name in BY_MODULE:
            python = _python(facts, bad)
            return (
                _planned(msgspec.structs.replace(facts, pythons=(python,)), name, _specifier(wanted)) if python else ()
            )
        case ("pythons", _, "packages", name, "version"):
            return _package(_python(facts, bad), name, _specifier(wanted))
        case ("host", "environment", name):
            return _variable(facts, name, dict(wanted))
    return ()


def _specifier(wanted: Wanted) -> Any:
    """The versions that are wanted as one specifier; None where they are not written as versions."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        found = [held[1] if name == "version" else SpecifierSet(f"=={held}") for name, held in wanted]
    except InvalidSpecifier:
        return None
    if any(name not in ("version", "is") for name, _ in wanted):
        return None
    whole = found[0]
    for one in found[1:]:
        whole &= one
    return whole


def _planned(facts: Facts, name: str, specifier: Any) -> tuple[Fix, ...]:
    """What `gpudoctor setup` would bring."""
    if specifier is None:
        return ()
    from gpudoctor.setup.requirement_fixes import fixes as of_setup

    return of_setup(facts, name, specifier)


def _python(facts: Facts, bad: Sequence[FoundValue]) -> Python | None:
    """The interpreter that all values belong to; None where there are several, or it belongs to the distribution."""
    paths = {one.python for one in bad}
    found = [python for python in facts.pythons if paths == {python.path}]
    return found[0] if found and found[0].externally_managed is not True else None


def _package(python: Python | None, name: str, specifier: Any) -> tuple[Fix, ...]:
    if python is None or specifier is None:
        return ()
    spec = f"{name}{specifier}"
    by_conda = manager_of(python) == "conda"
    tasks: Tasks = (conda_install(python, spec, channel=None),) if by_conda else add(python, spec)
    proof = query(python.path, "-c", f"import importlib.metadata as m; print(m.version({name!r}))")
    return (Fix(f"Install {spec}.", tasks, "reinstall-package", verify=proof),)


def _variable(facts: Facts, name: str, wanted: dict[str, Any]) -> tuple[Fix, ...]:
    if isinstance(wanted.get("is"), str):
        return (assign(name, wanted["is"], f"Set {name} where the program is started."),)
    return (unset(facts, name),) if wanted.get("present") is False else ()


def _gpu_setting(facts: Facts, field: str, wanted: dict[str, Any], bad: Sequence[FoundValue]) -> tuple[Fix, ...]:
    """What `nvidia-smi` sets, on those of NVIDIA's GPUs on which it is another."""
    keys = {one.gpu for one in bad}
    gpus = [gpu for gpu in gpus_of(facts, "nvidia") if gpu_key(gpu) in keys]
    chosen = _option(field, wanted)
    if chosen is None or len(gpus) != len(keys) or any(getattr(gpu, field) is None for gpu in gpus):
        return ()  # a GPU without the setting
    option, value, needs = chosen

    def command(gpu: Gpu) -> Tasks:
        return (as_root("nvidia-smi", "-i", gpu.index, option, value),)

    tasks = tuple(task for gpu in gpus for task in command(gpu))
    message = f"Set {field.replace('_', ' ')} with nvidia-smi."
    return (Fix(message, tasks, "reset-gpu" if needs else None, needs=needs, verify=query("nvidia-smi", "-q")),)


def _option(field: str, wanted: dict[str, Any]) -> tuple[str, str, str | None] | None:
    """The option of nvidia-smi, its value, and what has to follow; None where it sets no such thing."""
    value = wanted.get("is")
    if field in _SWITCHES and isinstance(value, bool):
        option, needs = _SWITCHES[field]
        return option, str(int(value)), needs
    if field == "compute_mode" and value in _MODES:
        return "-c", _MODES[value], None
    if field == "power_limit":
        limits = [wanted[name] for name in ("is", "at_most", "at_least") if name in wanted]
        return ("-pl", f"{limits[0]:g}", None) if limits else None
    return None
