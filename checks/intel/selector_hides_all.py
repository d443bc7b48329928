"""ONEAPI_DEVICE_SELECTOR or ZE_AFFINITY_MASK hides all Level Zero GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import number_of
from gpudoctor.fixes.intel import verify
from gpudoctor.knowledge.intel import tiles
from gpudoctor.queries.intel import sees_none, xpu_torches
from gpudoctor.targets import OnLive, cards_of
from gpudoctor.tasks import unset

_SELECTOR, _MASK = "ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK"


def _devices(on: OnLive) -> int:
    """How many devices there are at most: by default each tile of a card counts (ZE_FLAT_DEVICE_HIERARCHY)."""
    return sum(tiles(card.device) for card in cards_of(on.facts, "intel"))


def _exists(number: str, devices: int) -> bool:
    """Whether there may be a device of a number ("0", "0.1", "3.*"); a text that is none may select anything."""
    root = number_of(number.strip().partition(".")[0])
    return root is None or not devices or root < devices


def _accepts(term: str, devices: int) -> bool:
    """Whether a term selects a Level Zero GPU: level_zero:*, *:gpu, level_zero:0,1."""
    backend, _, chosen = term.strip().lower().partition(":")
    names = [name.strip() for name in chosen.split(",")]
    wanted = any(n in ("*", "gpu") or (n[:1].isdigit() and _exists(n, devices)) for n in names)
    return backend in ("*", "level_zero") and wanted


def _discards(term: str) -> bool:
    backend, _, devices = term.strip().lower().removeprefix("!").partition(":")
    return backend in ("*", "level_zero") and devices.strip() in ("*", "gpu")


def _hides(value: str, devices: int) -> bool:
    terms = [term.strip() for term in value.split(";") if term.strip()]
    accepting = [term for term in terms if not term.startswith("!")]
    if any(_discards(term) for term in terms if term.startswith("!")):
        return True
    return bool(accepting) and not any(_accepts(term, devices) for term in accepting)


def _masks(value: str, devices: int) -> bool:
    """Whether each number of a mask ("0", "0,1", "3.1") is beyond all possible devices."""
    return bool(devices) and not any(_exists(part, devices) for part in value.split(","))


def _hiding(on: OnLive) -> tuple[str, str] | None:
    """The variable that hides all GPUs, and its value."""
    environment = on.facts.host.environment
    selector, mask = environment.get(_SELECTOR, ""), environment.get(_MASK, "")
    if selector and _hides(selector, _devices(on)):
        return _SELECTOR, selector
    return (_MASK, mask) if mask and _masks(mask, _devices(on)) else None


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    name = (_hiding(on) or (_SELECTOR, ""))[0]
    message = "Unset the variable, here and where it is defined."
    return (Fix(message, (unset(name),), "change-environment", verify=verify(on.python)),)


@check(
    title="ONEAPI_DEVICE_SELECTOR or ZE_AFFINITY_MASK hides all Intel GPUs from PyTorch",
    severity=Severity.ERROR,
    cause="ONEAPI_DEVICE_SELECTOR selects backends and devices for every SYCL program. PyTorch uses Intel GPUs only "
    "through Level Zero: a value that names only opencl or cpu leaves none. ZE_AFFINITY_MASK selects Level Zero "
    "devices by number.",
    fixes=_fixes,
    references=(
        "https://intel.github.io/llvm/EnvironmentVariables.html",
        "https://www.intel.com/content/www/us/en/developer/articles/technical/flattening-gpu-tile-hierarchy.html",
        "https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html",
    ),
    targets=xpu_torches,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def selector_hides_all(on: OnLive) -> Problem | None:
    """PyTorch finds none, and the value selects none."""
    found = _hiding(on)
    if found is None or not sees_none(on):
        return None
    name, value = found
    which = "selects no Level Zero GPU" if name == _SELECTOR else "names no existing GPU"
    cards = len(cards_of(on.facts, "intel"))
    there = f": this machine has {cards} Intel GPU{'s' if cards > 1 else ''}, numbered from 0" if cards else ""
    return Problem(f"{name}={value} {which}{there}.")
