"""Which frameworks work with NVIDIA GPUs here, for advice: where they do not, there is nothing to tune yet."""

from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.queries.capability import covers
from gpudoctor.queries.driver import has_nvidia_driver
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import OnFramework


def computing(facts: Facts) -> list[OnFramework]:
    """The frameworks built for CUDA that are not known to fail, on a machine whose driver works."""
    if not has_nvidia_driver(facts) or not visible_gpus(facts):
        return []
    everyone = (OnFramework(facts, p, f) for p in facts.pythons if p.error is None for f in p.frameworks)
    return [on for on in everyone if on.framework.variant == "cuda" and _runs(on)]


def _runs(on: OnFramework) -> bool:
    """Whether it sees a GPU, as far as is known, and has code for one: without, torch still reports one."""
    live, archs = on.framework.live, on.framework.archs
    if live is not None and live.available is not True:
        return False
    if isinstance(archs, Unknown) or not archs:
        return True
    both = on.framework.name == "tensorflow"  # in its build_info compute_80 stands for machine code too
    capabilities = {g.capability if isinstance(g.capability, str) else None for g in visible_gpus(on.facts)}
    return any(c is None or covers(archs, c, both) for c in capabilities)


def torches(facts: Facts) -> list[OnFramework]:
    """Only PyTorch."""
    return [on for on in computing(facts) if on.framework.name == "torch"]
