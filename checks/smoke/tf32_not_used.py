"""TF32 is enabled but not used."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again, unset, updated
from gpudoctor.maybe import UnknownFactError, known
from gpudoctor.queries.smoke import OnTests, cuda_tests, sentence
from gpudoctor.queries.smoke.errors import kinds
from gpudoctor.queries.smoke.training import HAS_TF32, OVERRIDE


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "matmul")
    if on.facts.host.environment.get(OVERRIDE) == "0":
        return (unset(on.facts, OVERRIDE, "it keeps NVIDIA's libraries from using TF32", verify),)
    message = (
        "Check the matmul precision that the program sets; torch.set_float32_matmul_precision('high') enables TF32."
    )
    return updated(on.facts, on.run, verify) or (Fix(message, (), "change-environment", verify=verify),)


@check(
    title="TF32 is enabled but not used",
    severity=Severity.ADVICE,
    cause="With TF32 enabled, float32 matmuls are still exact to 23 bits: they run on the CUDA cores, up to eight "
    "times slower than on the tensor cores.",
    fixes=_fixes,
    references=("https://developer.nvidia.com/blog/accelerating-ai-training-with-tf32-tensor-cores/",),
    targets=partial(cuda_tests, name="matmul", figure="error"),
    caused_by=("smoke.wrong-result",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def tf32_not_used(on: OnTests) -> Problem | None:
    """An error far below TF32's, on a GPU whose tensor cores have TF32."""
    exact = [test for test in on.tests if kinds(test) and set(kinds(test)) == {"exact"}]
    if not exact:
        return None
    if on.gpu is None:
        raise UnknownFactError("no driver lists this GPU")
    capability = known(on.gpu.capability)
    if capability is None or float(capability) < HAS_TF32:
        return None
    error = exact[0].figure("error") or 0.0
    return Problem(sentence(f"{on.name} computes in full float32 although TF32 is enabled: the error is {error:.1e}."))
