"""AWS's NCCL plugin is installed where the loader does not look."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known, present
from gpudoctor.targets import gpus_of, machine
from gpudoctor.tasks import export


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return (
        Fix(
            "Let the loader search the plugin's folder, before the program starts.",
            (export("LD_LIBRARY_PATH", present(facts.host.plugin_off_path), "before"),),
            "change-environment",
            needs="restart of the program",
        ),
    )


@check(
    title="NCCL does not find AWS's plugin for EFA",
    severity=Severity.WARNING,
    cause="NCCL reaches EFA only through AWS's plugin, libnccl-net.so, which it opens by name. Where the loader does "
    "not find it, NCCL logs no error and uses TCP sockets between machines, which are many times slower.",
    fixes=_fixes,
    references=(
        "https://github.com/aws/aws-ofi-nccl",
        "https://github.com/NVIDIA-NeMo/RL/issues/1973",
    ),
    targets=machine,
    only_with=("gpus", "host.plugin_off_path"),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def nccl_plugin_off_path(facts: Facts) -> Problem | None:
    """The plugin's file, RDMA devices that can be opened, and a loader that does not find it."""
    folder = known(facts.host.plugin_off_path)
    if folder is None or not gpus_of(facts, "nvidia") or not known(facts.host.rdma):
        return None
    return Problem(f"AWS's NCCL plugin is in {folder}, where the loader does not look: NCCL uses TCP sockets, not EFA.")
