"""Options of amdgpu that the kernel ignored."""

import pytest

from gpudoctor.checks.rocm.unknown_option import unknown_option
from gpudoctor.facts import Facts, Gpu, LogEvent
from tests.builders import ask, change
from tests.checks.amd_machines import IGPU, RADEON, amd_host

GIB = 1 << 30


def ignored(option: str, gpu: Gpu = IGPU, module: str = "amdgpu") -> Facts:
    """A machine whose kernel ignored an option in this boot."""
    line = f"{module}: unknown parameter '{option}' ignored"
    event = LogEvent(kind="unknown-parameter", text=line, what={"module": module, "text": option})
    facts = change(amd_host((gpu,), ttm_limit=62 * GIB), "log.events", (event,))
    facts = change(facts, "host.memory", 124 * GIB)
    return change(facts, "host.kernel.command_line", f"quiet amdgpu.{option}=98304")


@pytest.mark.parametrize(
    ("facts", "begin"),
    [
        (ignored("gtt_size"), "amdgpu ignores gtt_size: there is no such option. The limit of GTT memory stays"),
        (ignored("gtt_size", RADEON), "amdgpu ignores gtt_size: there is no such option."),
        (ignored("foo"), "amdgpu ignores foo: there is no such option."),
        (ignored("NVreg_x", module="nvidia"), ""),
    ],
)
def test_it_names_the_option(facts: Facts, begin: str) -> None:
    ((outcome, message),) = ask(unknown_option, facts)
    assert (outcome, message.startswith(begin)) == ("problem" if begin else "pass", True)


def test_a_size_becomes_the_limit_that_there_is() -> None:
    first, look = unknown_option.fixes_for(ignored("gtt_size"))
    assert any("ttm.pages_limit=25165824" in line for line in first.commands)
    assert any(line.startswith("grep -rn gtt_size") for line in look.commands)
    assert len(unknown_option.fixes_for(ignored("foo"))) == 1
