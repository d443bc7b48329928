"""A hosted notebook in a session without a GPU."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cloud import choose_gpu
from gpudoctor.maybe import known, present
from gpudoctor.queries.clouds import NOTEBOOKS, notebooks
from gpudoctor.queries.containers import gpu_nodes
from gpudoctor.targets import cards_of, gpus_of


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return (choose_gpu(present(facts.cloud.notebook)),)


@check(
    title="The notebook session has no GPU",
    severity=Severity.ADVICE,
    cause="Hosted notebooks have a GPU only if one was selected for the session; by default they run on a CPU. The "
    "frameworks there are often built for CUDA anyway, and nothing has to be installed.",
    fixes=_fixes,
    references=(
        "https://research.google.com/colaboratory/faq.html",
        "https://www.kaggle.com/docs/notebooks",
        "https://docs.databricks.com/aws/en/compute/gpu",
    ),
    targets=notebooks,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def notebook_without_gpu(facts: Facts) -> str | None:
    """No card on PCI, no node and no GPU that a driver lists."""
    if gpus_of(facts) or gpu_nodes(facts):
        return None
    known(facts.pci)
    if any(cards_of(facts, vendor) for vendor in ("nvidia", "amd")):
        return None
    notebook = present(facts.cloud.notebook)
    return f"This session of {NOTEBOOKS.get(notebook, notebook)} has no GPU: everything runs on the CPU."
