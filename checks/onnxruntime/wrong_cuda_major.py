"""ONNX Runtime for one CUDA major beside the libraries of another."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import onnxruntime_spec, onnxruntime_verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.maybe import phrase, text_of
from gpudoctor.queries.libraries import other_majors
from gpudoctor.queries.onnxruntime import missing, words
from gpudoctor.queries.packages import major
from gpudoctor.targets import OnFramework, onnxruntimes


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    spec = onnxruntime_spec(on.facts, on.python)
    name, _, bound = spec.partition("onnxruntime-gpu")
    wanted = f"onnxruntime-gpu[cuda,cudnn]{bound}" if not name else spec
    message = (
        "Install the release for the installed CUDA major, with the CUDA and cuDNN wheels that it needs; then call "
        f"onnxruntime.preload_dlls() before the first session, so that it finds them.{lasting(on.facts)}"
    )
    command = install(on.python, wanted, upgrade=True)
    return (Fix(message, (command,), "reinstall-package", verify=onnxruntime_verify(on.python, preload=True)),)


@check(
    title="ONNX Runtime is built for another CUDA major than the installed libraries",
    severity=Severity.ERROR,
    cause="onnxruntime-gpu of PyPI is built for CUDA 11 up to 1.18, for CUDA 12 from 1.19 and for CUDA 13 from 1.27; "
    "its CUDA provider opens libraries whose names carry the major version, and falls back to the CPU in silence.",
    fixes=_fixes,
    references=(
        "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html",
        "https://github.com/microsoft/onnxruntime/issues/21684",
        "https://github.com/microsoft/onnxruntime/issues/29767",
    ),
    targets=onnxruntimes,
    caused_by=("python.*", "onnxruntime.both-packages", "onnxruntime.driver-too-old"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def wrong_cuda_major(on: OnFramework) -> Problem | None:
    """What its CUDA provider links to is there in another major only."""
    lacking = missing(on)
    others = other_majors(on.facts, on.python, [n for n in lacking if n.wheel is None])
    if not others:
        return None
    first = next(iter(others))
    built = phrase(" is built for CUDA {} and", major(text_of(on.framework.cuda)))
    message = f"{on.name}{built} needs {first}; installed is only {others[first]}: it runs on the CPU."
    pairs = tuple(f"{wanted} is missing, {there} is there" for wanted, there in others.items())
    return Problem(message, (*pairs[:5], *words(on)))
