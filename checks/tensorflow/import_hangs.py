"""TensorFlow that does not come back from its import or its first question to the driver."""

from functools import partial

from gpudoctor.judge import Fix, Severity, check
from gpudoctor.subjects import OnLive, lives
from gpudoctor.views.frameworks import hang
from gpudoctor.views.reasons import SYSTEM


@check(
    title="TensorFlow hangs",
    severity=Severity.ERROR,
    cause="A file system that does not answer, or a driver that does not come back, holds the process.",
    fixes=(
        Fix(
            "See where it stands: run it with a dump of its stack, and look whether the environment lies on a network "
            "file system.",
            (
                "timeout 90 python -X faulthandler -c 'import faulthandler; faulthandler.dump_traceback_later(60); "
                "import tensorflow'",
            ),
            impact="none",
        ),
    ),
    references=("https://docs.python.org/3/library/faulthandler.html",),
    each=partial(lives, name="tensorflow"),
    because=(*SYSTEM, "python.*", "host.*"),
    affects=("wheels",),
)
def import_hangs(on: OnLive) -> str | None:
    """The child did not end within its deadline."""
    return hang(on.name, on.live)
