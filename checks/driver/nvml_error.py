"""NVML returns an error that nothing else explains."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.module import reload_module
from gpudoctor.knowledge.errors import holds_at_start, needs_reboot, needs_reload
from gpudoctor.knowledge.errors import nvml_error as meaning_of
from gpudoctor.maybe import known, known_or, phrases
from gpudoctor.queries.cause_groups import HANGS, NODES, NOT_LOADED, SURROUNDINGS, VERSIONS
from gpudoctor.queries.wanted import left_off, left_over
from gpudoctor.targets import in_container, nvidia_machine
from gpudoctor.tasks import as_root, filtered, query

_LOG = Fix(
    "Read the driver's messages in the kernel log.",
    (filtered(query("dmesg", root=True), query("grep", "-E", "NVRM|Xid|nvidia"), query("tail", "-n", "30")),),
)
_REBOOT = Fix("Reboot.", (as_root("reboot"),), "reboot", root=True, needs="reboot", verify=query("nvidia-smi"))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    code = known_or(facts.nvidia.nvml.code, None)
    if code is None:
        return (_LOG,)
    if needs_reload(code) and not in_container(facts) and isinstance(facts.nvidia.kernel.loaded, str):
        return (_LOG, reload_module(facts), _REBOOT)
    return (_LOG, _REBOOT) if needs_reboot(code) else (_LOG,)


@check(
    title="NVML returns an error: nvidia-smi fails",
    severity=Severity.ERROR,
    cause="NVML, which nvidia-smi uses, could not be initialized. The usual causes differ by error code.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html",),
    targets=nvidia_machine,
    caused_by=(*NOT_LOADED, *VERSIONS, *NODES, *HANGS, *SURROUNDINGS, "device.xid-hardware", "device.xid-driver"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def nvml_error(facts: Facts) -> Problem | None:
    """The result of nvmlInit; harmless for computing where cuInit succeeds."""
    nvml = facts.nvidia.nvml
    code = known(nvml.code)
    if code is None or code == 0:
        return None
    if left_over(facts):
        return None  # device.none reports the packages
    found = meaning_of(code)
    causes = "; ".join(phrases(found.in_container if in_container(facts) else "", found.causes)) if found else ""
    usual = f"Usual causes of this code: {causes}." if causes and holds_at_start(code) else None
    message = f"NVML reports: {known_or(nvml.text, None) or (found.meaning if found else 'error')} ({code})."
    mild = facts.nvidia.cuda.code == 0 or left_off(facts)
    return Problem(message, cause=usual, severity=Severity.WARNING if mild else None)
