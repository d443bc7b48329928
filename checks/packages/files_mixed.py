"""Files of two wheels that write the same paths, of which some are of one and some of the other."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting, version_of
from gpudoctor.maybe import text_of
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import stem
from gpudoctor.targets import OnPython, pythons


def _wanted(on: OnPython) -> str:
    """The wheel whose name has the CUDA major of PyTorch, else the one without a CUDA major in its name."""
    torch, names = one_of(on.python, "torch"), on.python.mixed[0].packages
    ours = text_of(torch.cuda if torch else None).partition(".")[0]
    plain = next((name for name in names if stem(name) == name), names[0])
    return next((name for name in names if ours and name.endswith(f"-cu{ours}")), plain)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    name = _wanted(on)
    version = version_of(on.python, name)
    message = f"Install {name} once more, so that all of these files are its own.{lasting(on.facts)}"
    command = install(on.python, f"{name}=={version}" if version else name, force=True, no_deps=True)
    proof = verify(on.python, "import cutlass.cute; print(cutlass.__file__)")
    return (Fix(message, (command,), "reinstall-package", verify=proof),)


@check(
    title="Files of two wheels are mixed",
    severity=Severity.ERROR,
    cause="Two wheels that are installed together write the same paths with different content (CUTLASS's Python DSL "
    "before 4.6: its base, and its part for CUDA 13). pip and uv install them in no certain order, uv both at once: "
    "some files are left of each, and Python code calls a compiled part that it does not fit. FlashInfer, "
    "FlashAttention 4, vLLM and SGLang then fail while they compile a kernel.",
    fixes=_fixes,
    references=(
        "https://github.com/vllm-project/vllm/issues/40082",
        "https://github.com/sgl-project/sglang/pull/25958",
        "https://github.com/ai-dynamo/dynamo/issues/11775",
    ),
    targets=pythons,
    only_with=("pythons.mixed",),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def files_mixed(on: OnPython) -> Problem | None:
    """The probe found a pair of which both have left files."""
    if not on.python.mixed:
        return None
    mix = on.python.mixed[0]
    listed = " and ".join(f"{name} {version_of(on.python, name) or ''}".strip() for name in mix.packages)
    message = (
        f"{listed} write the same files with different content, and what is installed is a mixture: {mix.files[0]} is "
        f"of {mix.packages[0]}, {mix.files[1]} of {mix.packages[1]}."
    )
    return Problem(message, tuple(f"{file}: of {name}" for file, name in zip(mix.files, mix.packages, strict=True)))
