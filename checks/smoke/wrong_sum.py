"""GPUs reach a wrong sum."""

from functools import partial

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again
from gpudoctor.queries.smoke import OnTests, count, each, many, sentence, smoke_tests
from gpudoctor.queries.smoke_cause_groups import MEMORY


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "allreduce", "peer")
    message = "Try without direct copies between GPUs, and then without shared memory, to see which way is at fault."
    settings = (("NCCL_P2P_DISABLE", "1"), ("NCCL_SHM_DISABLE", "1"), ("NCCL_DEBUG", "INFO"))
    tries = tuple(msgspec.structs.replace(verify, env=(one,)) for one in settings)
    return (Fix(message, tries, impact="none", verify=verify),)


def _words(test: SmokeTest) -> str | None:
    number = count(test, "wrong")
    if not number:
        return None
    return (
        f"{many(number, 'element')} over {count(test, 'ranks')} ranks by {test.notes.get('transport') or 'a transport'}"
    )


@check(
    title="A sum over several processes is wrong",
    severity=Severity.ERROR,
    cause="Each process brought a small whole number, whose sum is exact, and another came out. Copies between GPUs "
    "are corrupted (IOMMU, ACS, a broken link), or the library mixes up buffers: training on several GPUs diverges.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",),
    targets=partial(smoke_tests, name="allreduce"),
    caused_by=(
        *MEMORY,
        "smoke.uncorrected-ecc",
        "smoke.corrupted-memory",
        "smoke.corrupted-peer",
        "device.nvlink-fault",
        "fabric.*",
    ),
    affects=("several-gpus", "everything"),
    validated_on=("table 2026-11",),
)
def wrong_sum(on: OnTests) -> Problem | None:
    """Elements that are not n (n + 1) / 2."""
    found = each(on.tests, _words)
    return Problem(sentence(f"{on.name} summed wrongly: {'; '.join(found)}.")) if found else None
