"""What `docker info` says of the daemon, its runtimes and its control groups."""

import re

import msgspec


class DockerInfo(msgspec.Struct, frozen=True):
    """The fields that matter for GPUs; None or empty where `docker info` does not print them.

    `server_version` is None where the client did not reach a daemon; `error` then holds its words.
    """

    server_version: str | None
    runtimes: tuple[str, ...]
    default_runtime: str | None
    cgroup_driver: str | None
    cgroup_version: str | None
    root_dir: str | None
    operating_system: str | None
    security_options: tuple[str, ...]
    cdi_spec_dirs: tuple[str, ...]
    is_rootless: bool
    runc_version: str | None
    error: str | None


def docker_info(text: str) -> DockerInfo:
    """Return what `docker info` prints, as text; a client without a daemon prints its half and an error."""
    fields, lists = _server(text)
    options = lists.get("Security Options", ())
    return DockerInfo(
        server_version=fields.get("Server Version"),
        runtimes=tuple(fields.get("Runtimes", "").split()),
        default_runtime=fields.get("Default Runtime"),
        cgroup_driver=fields.get("Cgroup Driver"),
        cgroup_version=fields.get("Cgroup Version"),
        root_dir=fields.get("Docker Root Dir"),
        operating_system=fields.get("Operating System"),
        security_options=options,
        cdi_spec_dirs=lists.get("CDI spec directories", ()),
        is_rootless="rootless" in options,
        runc_version=fields.get("runc version"),
        error=_error(text),
    )


def _server(text: str) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return the fields with a value on their own line, and the lists one blank deeper below those without.

    Docker before 18.09 prints the daemon's fields without indent, later ones below "Server:".
    """
    base = 0 if re.search(r"^Server Version:", text, re.MULTILINE) else 1
    fields: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    name = ""
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(" "))
        if depth == base:
            name, _colon, value = (part.strip() for part in line.partition(":"))
            if value:
                fields[name] = value
        elif depth == base + 1:
            lists[name] = (*lists.get(name, ()), line.strip())
    return fields, lists


def _error(text: str) -> str | None:
    marks = ("ERROR: ", "Cannot connect to the Docker daemon", "permission denied while trying to connect")
    for line in map(str.strip, text.splitlines()):
        if any(mark in line for mark in marks):
            return line.removeprefix("ERROR: ")
    return None
