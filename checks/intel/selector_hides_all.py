"""ONEAPI_DEVICE_SELECTOR hides every GPU of Level Zero."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.subjects import OnLive
from gpudoctor.views.intel import sees_none, xpu_torches

_NAME = "ONEAPI_DEVICE_SELECTOR"


def _accepts(term: str) -> bool:
    """Whether a term lets a GPU of Level Zero through: level_zero:*, *:gpu, level_zero:0,1."""
    backend, _, devices = term.strip().lower().partition(":")
    chosen = [device.strip() for device in devices.split(",")]
    return backend in ("*", "level_zero") and any(d in ("*", "gpu") or d[:1].isdigit() for d in chosen)


def _discards(term: str) -> bool:
    backend, _, devices = term.strip().lower().removeprefix("!").partition(":")
    return backend in ("*", "level_zero") and devices.strip() in ("*", "gpu")


def _hides(value: str) -> bool:
    terms = [term.strip() for term in value.split(";") if term.strip()]
    accepting = [term for term in terms if not term.startswith("!")]
    if any(_discards(term) for term in terms if term.startswith("!")):
        return True
    return bool(accepting) and not any(_accepts(term) for term in accepting)


@check(
    title="A variable hides all of Intel's GPUs from PyTorch",
    severity=Severity.ERROR,
    cause="ONEAPI_DEVICE_SELECTOR chooses back ends and devices for every SYCL program. PyTorch reaches Intel's GPUs "
    "by Level Zero alone: a value that names only opencl or cpu leaves it none.",
    fixes=(
        Fix(
            "Take the variable away, here and where it is set.",
            (f"unset {_NAME}",),
            "change-environment",
            verify="sycl-ls",
        ),
    ),
    references=(
        "https://intel.github.io/llvm/EnvironmentVariables.html",
        "https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html",
    ),
    each=xpu_torches,
    affects=("everything",),
    seen=("table 2026-11",),
)
def selector_hides_all(on: OnLive) -> Problem | None:
    """PyTorch finds none, and the value lets none through."""
    value = on.facts.host.environment.get(_NAME, "")
    if not value or not _hides(value) or not sees_none(on):
        return None
    return Problem(f"{_NAME}={value} lets no GPU of Level Zero through.")
