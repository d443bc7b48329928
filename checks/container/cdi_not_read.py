"""A CDI specification in a directory that this Podman does not read."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import nixos
from gpudoctor.knowledge.container_toolkit import container_toolkit
from gpudoctor.maybe import known, known_or, present
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.containers import engine_host
from gpudoctor.queries.packages import numbers
from gpudoctor.tasks import Edit, cmd

_DROP_IN = "/etc/containers/containers.conf.d/50-cdi.conf"
_PROOF = cmd("podman", "run", "--rm", "--device", "nvidia.com/gpu=all", "ubuntu", "nvidia-smi")


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine with a Podman, and a specification of NVIDIA's for it."""
    found = facts.containers
    listed = any("nvidia" in path for path in known_or(found.cdi, ()))
    if isinstance(found.podman, str) and listed:
        yield from engine_host(facts)


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _unread(facts: Facts) -> tuple[str, ...]:
    """NVIDIA's specifications, where Podman reads none of them."""
    found = facts.containers
    paths = [path for path in known(found.cdi) if "nvidia" in path]
    directories = {_directory(path) for path in paths}
    read = known(found.podman_cdi_dirs) if directories else ()
    if read is None:
        if "/etc/cdi" in directories:  # every Podman reads it
            return ()
        first, fixed = container_toolkit().cdi.etc_alone
        if not numbers(first) <= numbers(known(found.podman_version) or "0") < numbers(fixed):
            return ()
        read = ("/etc/cdi",)
    same = {directory.replace("/var/run/", "/run/", 1).rstrip("/") for directory in read}
    return () if same & {d.replace("/var/run/", "/run/", 1) for d in directories} else tuple(paths)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    directory = _directory(_unread(facts)[0])
    once = Fix(
        "For one command: name the directory.",
        (
            cmd(
                *("podman", f"--cdi-spec-dir={directory}", "run", "--rm"),
                *("--device", "nvidia.com/gpu=all", "ubuntu", "nvidia-smi"),
            ),
        ),
        "restart-process",
    )
    if known_or(facts.containers.podman_cdi_dirs, None) is not None:
        message = f"Add {directory} to cdi_spec_dirs in containers.conf (/etc/containers or ~/.config/containers)."
        return (Fix(message, action="change-environment", verify=_PROOF), once)
    message = f"Have Podman read {directory} too, in its configuration."
    if nixos.is_nixos(facts):
        engine = "virtualisation.containers.containersConf.settings.engine"
        setting = f'{engine}.cdi_spec_dirs = [ "/etc/cdi" "{directory}" ];'
        first = nixos.rebuild(message, setting, "change-environment", _PROOF)
    else:
        text = f'[engine]\ncdi_spec_dirs = ["/etc/cdi", "{directory}"]\n'
        write, remove = Edit(_DROP_IN, text=text, root=True), Edit(_DROP_IN, gone=True, root=True)
        first = Fix(message, (write,), "change-environment", root=True, undo=(remove,), verify=_PROOF)
    newer = f"Upgrade to Podman {container_toolkit().cdi.etc_alone[1]} or newer, which reads both directories."
    return (first, once, Fix(newer, action="reinstall-package", root=True, verify=_PROOF))


@check(
    title="Podman does not read the directory with the CDI specification: unresolvable CDI devices",
    severity=Severity.WARNING,
    cause="Podman looks for CDI specifications in the directories of cdi_spec_dirs (containers.conf). In Podman 5.5 "
    "the default is /etc/cdi alone; NixOS and NVIDIA's service nvidia-cdi-refresh write to /var/run/cdi. Then --device "
    "nvidia.com/gpu=all fails with 'unresolvable CDI devices', although `nvidia-ctk cdi list` shows the devices.",
    fixes=_fixes,
    references=(
        "https://github.com/containers/common/issues/2460",
        "https://github.com/containers/podman/issues/26569",
        "https://github.com/NixOS/nixpkgs/issues/417312",
    ),
    targets=_hosts,
    only_with=("queries.containers:engine_host", "containers.podman", "containers.cdi"),
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def cdi_not_read(facts: Facts) -> Problem | None:
    """NVIDIA's specifications are all in directories that this Podman's release or configuration leaves out."""
    unread = _unread(facts) if may_serve(facts) else ()
    if not unread:
        return None
    named = known(facts.containers.podman_cdi_dirs)
    if named is None:
        reads = f"Podman {present(facts.containers.podman_version)} reads CDI specifications from /etc/cdi alone"
    else:
        reads = f"Podman reads CDI specifications from {' and '.join(named) or 'no directory'} (cdi_spec_dirs)"
    # Next to Docker, the specification is more likely there for Docker.
    severity = None if facts.containers.docker is None else Severity.ADVICE
    return Problem(f"{reads}; NVIDIA's is {' and '.join(unread)}.", severity=severity)
