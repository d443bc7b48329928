"""A service wrote that it has no GPU, or cannot give one to others, and no other check explains it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.row_steps import steps
from gpudoctor.knowledge.symptoms import Symptom, symptoms
from gpudoctor.queries.services import OnService, age, logging_services
from gpudoctor.registry import AREAS
from gpudoctor.tasks import cmd, filtered, query

# What explains a message is in any area of Linux; which are meant, its row says.
_NEVER = ("advice", "host", "smoke", "tables")
_AREAS = tuple(
    f"{area.name}.*"
    for area in AREAS
    if area.name not in _NEVER and not area.on_request and area.condition not in ("macos", "windows")
)
_ORDER = ("cause", "error", "late", "warning")
_MOST = 4


def _rows(lines: OnService) -> list[tuple[Symptom, str]]:
    """The messages with their rows, the root first: by kind, then as they came; without what follows from another."""
    by_id = {row.id: row for row in symptoms()}
    found = [(by_id[one.symptom], one.text) for one in lines.lines if one.symptom in by_id]
    follow = {id_ for row, _ in found for id_ in row.explains}
    left = [one for one in found if one[0].id not in follow] or found
    return sorted(left, key=lambda one: _ORDER.index(one[0].kind) if one[0].kind in _ORDER else len(_ORDER))


def _fixes(on: OnService) -> tuple[Fix, ...]:
    row, name = _rows(on)[0][0], on.lines[0].service
    which = ("-u", name) if name.endswith(".service") else ("-t", name)
    log = filtered(query("journalctl", "-b", *which, "-n", "1000", "--no-pager"), cmd("gpudoctor", "explain", "-"))
    own = Fix("Have gpudoctor explain the whole log of the program.", (log,), impact="none")
    return (*steps(row, on.facts), own)


@check(
    title="A service logged a GPU error",
    severity=Severity.WARNING,
    cause="The journal of a service that uses GPUs, or prepares them for containers and jobs, has a known error since "
    "the service was last started, and no later line shows that it works. The finding shows what the error means; no "
    "other check of this machine explains it.",
    fixes=_fixes,
    references=("https://www.freedesktop.org/software/systemd/man/latest/journalctl.html",),
    targets=logging_services,
    caused_by=(
        "cluster.drop-in-too-new",
        "cluster.runtime-not-configured",
        "container.cdi-file-missing",
        "container.cdi-generation-crashes",
        "container.cdi-incomplete",
        "container.cdi-missing",
        "container.cdi-not-parsed",
        "container.cdi-not-read",
        "container.cdi-stale",
        "container.cdi-without-mig",
        "container.docker-config-broken",
        "container.docker-desktop-linux",
        "container.docker-snap",
        "container.gpu-limit-ignored",
        "container.gpus-without-nvidia",
        "container.nested-needs-no-cgroups",
        "container.no-cgroups",
        "container.no-cgroups-ignored",
        "container.rootless-needs-no-cgroups",
        "container.runtime-not-configured",
        "container.toolkit-broken",
        "container.toolkit-missing",
        "container.toolkit-too-old",
        *_AREAS,
    ),
    affects=("everything",),
    validated_on=("table 2026-11",),
    explains=False,
)
def service_errors(on: OnService) -> Problem | None:
    """What the service wrote; the message's row has the meaning, and names the areas whose problems explain it."""
    found = _rows(on)
    if not found:
        return None
    row, text = found[0]
    hours = int(age(on.facts, next(one for one in on.lines if one.symptom == row.id)) // 3600)
    ago = f" {hours} hour{'s' if hours > 1 else ''} ago" if hours else ""
    named = {id_.partition(".")[0] for id_ in row.checks}
    others = tuple(one for one in _AREAS if one[:-2] not in named)
    return Problem(
        f"{on.lines[0].service} logged{ago}: {text}",
        tuple(line for _, line in found[1:_MOST]),
        cause=row.sentence,
        not_caused_by=others if named else (),
    )
