"""ONNX Runtime that does not come back from its import or its first question to the driver."""

from functools import partial

from gpudoctor.check_engine import Severity, check
from gpudoctor.fixes.frameworks import where_it_hangs
from gpudoctor.queries.cause_groups import SYSTEM
from gpudoctor.queries.frameworks import hang
from gpudoctor.targets import OnLive, lives


@check(
    title="ONNX Runtime hangs",
    severity=Severity.ERROR,
    cause="A file system that does not answer, or a driver that does not come back, holds the process.",
    fixes=where_it_hangs,
    references=("https://docs.python.org/3/library/faulthandler.html",),
    targets=partial(lives, name="onnxruntime"),
    caused_by=(*SYSTEM, "python.*", "host.*"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
    essential=True,
)
def import_hangs(on: OnLive) -> str | None:
    """The child did not end within its deadline; with less time than that, nobody knows whether it hangs."""
    return hang(on.name, on.live)
