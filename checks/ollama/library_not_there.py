"""A variable that names a library which Ollama does not have."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.ollama import with_variable
from gpudoctor.knowledge.ollama import ollama
from gpudoctor.maybe import present
from gpudoctor.queries.ollama import installed, is_since, setting

_NAME = "OLLAMA_LLM_LIBRARY"
# What MLX reads, and the libraries for CPUs alone, which somebody chose.
_OTHERS = ("mlx_", "cpu")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    where = present(setting(facts, _NAME)).path
    message = f"Start Ollama without {_NAME}, so that it chooses the library itself" + (
        f"; it is set in {where}" if where else ""
    )
    return (with_variable(facts, _NAME, None, message),)


@check(
    title="Ollama computes on the CPU: OLLAMA_LLM_LIBRARY names no library that it has",
    severity=Severity.ERROR,
    cause="Ollama uses the directory of lib/ollama that OLLAMA_LLM_LIBRARY names, and skips all others. Where there is "
    "none of that name it finds no GPU and reports no error. Its directories have the CUDA version in their name: "
    "cuda_v12, cuda_v13.",
    fixes=_fixes,
    references=(
        "https://github.com/ollama/ollama/issues/12797",
        "https://github.com/ollama/ollama/issues/14052",
        "https://github.com/NVIDIA/dgx-spark-playbooks/issues/23",
    ),
    targets=installed,
    only_with=("ollama.program",),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def library_not_there(facts: Facts) -> Problem | None:
    """The variable of the service, and the directories with libraries for GPUs."""
    named, folders = setting(facts, _NAME), facts.ollama.folders
    if named is None or not folders or named.value in folders or named.value.startswith(_OTHERS):
        return None
    if not is_since(facts, ollama().only_named):
        return None
    where = f" ({named.path})" if named.path else ""
    return Problem(
        f"{_NAME} is {named.value}{where}, but {present(facts.ollama.directory)} has {' and '.join(folders)}: Ollama "
        "skips them all and computes on the CPU."
    )
