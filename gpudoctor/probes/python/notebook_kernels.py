"""Jupyter's kernels that start another Python than the examined one."""

from collections.abc import Iterator

import msgspec

from gpudoctor.facts.python import NotebookKernel
from gpudoctor.machine import Machine
from gpudoctor.probes.python.elsewhere import frameworks_in

_MOST = 16


class _Spec(msgspec.Struct):
    """The file kernel.json; https://jupyter-client.readthedocs.io/en/stable/kernels.html."""

    argv: list[str]
    display_name: str = ""


def probe(machine: Machine, prefix: str) -> tuple[NotebookKernel, ...]:
    """The kernels whose Python is another environment's, or gone; of two with one name the first counts, as in Jupyter.

    Args:
        machine: where they are.
        prefix: the examined environment.
    """
    seen: set[str] = set()
    found = []
    for folder in _folders(machine, prefix):
        for name in machine.names(folder)[:_MOST]:
            if name not in seen and (kernel := _read(machine, folder, name, prefix)) is not None:
                seen.add(name)
                found.append(kernel)
    return tuple(one for one in found if one.python)


def _folders(machine: Machine, prefix: str) -> Iterator[str]:
    """Where jupyter_core looks: in an environment its own directory comes before the user's."""
    env, home = machine.env, machine.env.get("HOME", "").rstrip("/")
    for folder in env.get("JUPYTER_PATH", "").split(":"):
        if folder.startswith("/"):
            yield f"{folder}/kernels"
    yield f"{prefix}/share/jupyter/kernels"
    data = env.get("JUPYTER_DATA_DIR") or f"{env.get('XDG_DATA_HOME') or f'{home}/.local/share'}/jupyter"
    if data.startswith("/"):
        yield f"{data}/kernels"
    yield "/usr/local/share/jupyter/kernels"
    yield "/usr/share/jupyter/kernels"


def _read(machine: Machine, folder: str, name: str, prefix: str) -> NotebookKernel | None:
    """A kernel; its Python is "" where that is the examined one, or is none by its path."""
    text = machine.line(f"{folder}/{name}/kernel.json")
    if text is None:
        return None
    try:
        spec = msgspec.json.decode(text, type=_Spec)
    except (msgspec.DecodeError, UnicodeError):
        return None
    program = spec.argv[0] if spec.argv else ""
    own, place = f"{prefix.rstrip('/')}/", f"{folder}/{name}"
    others = program.startswith("/") and "python" in program.rpartition("/")[2] and not program.startswith(own)
    if not others or machine.real(program.rpartition("/")[0]) == machine.real(f"{own}bin"):
        return NotebookKernel(name=name, title=spec.display_name, path=place)
    exists = machine.exists(program)
    inside = frameworks_in(machine, program.rpartition("/")[0].rpartition("/")[0]) if exists else ()
    return NotebookKernel(
        name=name, title=spec.display_name, path=place, python=program, exists=exists, frameworks=inside
    )
