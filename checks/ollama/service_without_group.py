"""The account of Ollama's service cannot open /dev/kfd."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.fixes import amd, nixos, ollama
from gpudoctor.maybe import known, present
from gpudoctor.queries.ollama import on_amd
from gpudoctor.tasks import as_root, query


def _closed(facts: Facts) -> DeviceNode | None:
    """/dev/kfd where only its group may open it, and the service is not in that group."""
    service = facts.ollama.service
    if known(service.user) in (None, "root", "0"):
        return None
    node = next(iter(known(facts.amd.kfd)), None)
    if node is None or int(known(node.mode)[-1:]) & 6 == 6 or amd.is_for_root_alone(facts, node):
        return None
    return None if known(node.gid) in known(service.groups) else node


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    user, group = present(facts.ollama.service.user), amd.group_of(facts, present(_closed(facts)))
    message = f"Add {user} to the group {group}, to which /dev/kfd belongs, and restart the service."
    if nixos.is_nixos(facts):
        option = f'systemd.services.ollama.serviceConfig.SupplementaryGroups = [ "{group}" ];'
        return (nixos.rebuild(message, option, "change-environment", ollama.PROOF),)
    names = group if group == "video" else f"{group},video"
    return (
        Fix(
            message,
            (as_root("usermod", "-aG", names, user), ollama.RESTART),
            "change-environment",
            root=True,
            undo=(as_root("gpasswd", "-d", user, group), ollama.RESTART),
            verify=query("id", user),
        ),
    )


@check(
    title="Ollama's service may not open the AMD GPU (/dev/kfd)",
    severity=Severity.ERROR,
    cause="The service has an account of its own, whose groups count, not those of the user. The installer adds it to "
    "render and video where these groups exist; an account that was made by hand or before ROCm was installed is not "
    "in them. Ollama then computes on the CPU: 'open /dev/kfd: permission denied'.",
    fixes=_fixes,
    references=(
        "https://docs.ollama.com/linux",
        "https://github.com/ollama/ollama/issues/7723",
        "https://github.com/ollama/ollama/pull/1776",
        "https://github.com/ollama/ollama/pull/6736",
    ),
    targets=on_amd,
    only_with=("ollama.program",),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def service_without_group(facts: Facts) -> Problem | None:
    """The mode and the group of the node, and the groups of the unit's user."""
    node = _closed(facts)
    if node is None:
        return None
    user, group = present(facts.ollama.service.user), amd.group_of(facts, node)
    return Problem(
        f"ollama.service runs as {user}, which is not in the group {group}: it cannot open /dev/kfd (mode "
        f"{present(node.mode)}), and Ollama computes on the CPU."
    )
