"""cuInit finds no device: where that is a compatibility library older than the module, and where it is not."""

import pytest

from gpudoctor.checks.driver.compat_mismatch import compat_mismatch
from gpudoctor.facts import Facts
from tests.builders import ask
from tests.checks.driver.test_answers import _compat as shadowed
from tests.checks.nvidia_machines import WHY, having, nodes

NO_UVM = nodes("nvidia0", "nvidiactl")


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (shadowed("575.57.08", 100), [("pass", "")]),  # newer than the module: another cause
        (having(shadowed("565.57.01", 100), gpus=()), [("pass", "")]),
        (having(shadowed("565.57.01", 100), gpus__0__mig=True), [("pass", "")]),
        (having(shadowed("565.57.01", 100), nvidia__cuda__unmasked_code=0), [("pass", "")]),  # an empty mask
        (having(shadowed("565.57.01", 100), nvidia__cuda__unmasked_code=WHY), [("unknown", "nobody could look")]),
        (shadowed("565.57.01", 999), [("pass", "")]),
        (having(shadowed("565.57.01", 100), gpus__0__compute_mode="prohibited"), [("pass", "")]),
        (having(shadowed("565.57.01", 100), nvidia__kernel__nodes=NO_UVM), [("pass", "")]),
        (having(shadowed("565.57.01", 100), nvidia__kernel__nodes__0__error="EACCES"), [("pass", "")]),
        (having(shadowed("565.57.01", 100), nvidia__kernel__nodes__1__error="EACCES"), [("pass", "")]),
        (having(shadowed("565.57.01", 100), nvidia__kernel__nodes=WHY), [("unknown", "nobody could look")]),
    ],
)
def test_no_device_is_the_compatibility_library_only_where_nothing_else_is(
    facts: Facts, verdict: list[tuple[str, str]]
) -> None:
    assert ask(compat_mismatch, facts) == verdict
