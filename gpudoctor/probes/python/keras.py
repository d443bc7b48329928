"""Which backend Keras 3 would take, by its own rules."""

from collections.abc import Sequence

from gpudoctor.facts.python import Package
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

_DEFAULT = "tensorflow"
# The file has four lines.
_LONGEST = 1 << 16


def probe(machine: Machine, packages: Sequence[Package]) -> tuple[Maybe[str | None], str]:
    """The backend, and what names it: KERAS_BACKEND, the path of keras.json, or "default"; None: no Keras 3.

    The variable comes before the file, which Keras writes at its first import and reads ever after
    (keras/src/backend/config.py).
    """
    if not any(p.name in ("keras", "keras-nightly") and _major(p.version) >= 3 for p in packages):
        return None, ""
    if chosen := machine.env.get("KERAS_BACKEND"):
        return chosen, "KERAS_BACKEND"
    home = machine.env.get("KERAS_HOME") or f"{machine.env.get('HOME', '')}/.keras"
    path = f"{home}/keras.json"
    if not path.startswith("/") or not machine.exists(path):
        return _DEFAULT, "default"
    return _of_file(machine, path), path


def _of_file(machine: Machine, path: str) -> Maybe[str]:
    import json

    try:
        settings = json.loads(machine.text(path, _LONGEST))
    except OSError as error:
        return Unknown(f"{path}: {error.strerror or error}")
    except (ValueError, RecursionError):
        return _DEFAULT  # as Keras does with a file that is no JSON
    backend = settings.get("backend", _DEFAULT) if isinstance(settings, dict) else None
    return backend if isinstance(backend, str) else Unknown(f"{path} names no backend")


def _major(version: str) -> int:
    head = version.partition(".")[0]
    return int(head) if head.isdigit() else 0
