"""New environments of pixi and poetry, which are made from a project's file."""

import json

from gpudoctor.facts import Facts
from gpudoctor.setup.plan import SetupStep, Wheel
from gpudoctor.setup.request import SetupRequest
from gpudoctor.tasks import Edit, cmd

# Where the environment lies in the project's folder.
PIXI, POETRY = "/.pixi/envs/default", "/.venv"


def names(wheels: tuple[Wheel, ...]) -> str:
    """The requirements of what is not there yet, for people."""
    return ", ".join(w.requirement for w in wheels if not w.kept)


def split(requirement: str) -> tuple[str, str, str]:
    """Name, extras and version of a requirement: "jax[cuda13]>=0.7" is ("jax", "cuda13", ">=0.7")."""
    place = next((i for i, c in enumerate(requirement) if c in "<>=!~"), len(requirement))
    name, _, extras = requirement[:place].partition("[")
    return name, extras.rstrip("]"), requirement[place:]


def entry(wheel: Wheel) -> str:
    """A dependency as pixi writes it."""
    return _entry(wheel, f"index = {json.dumps(wheel.index)}" if wheel.index else "")


def _entry(wheel: Wheel, index: str) -> str:
    """A dependency as pixi and poetry write it; `index` is the key and value that name its source."""
    name, extras, bound = split(wheel.requirement)
    parts = [f"version = {json.dumps(bound or '*')}"]
    if extras:
        parts.append(f"extras = {json.dumps(extras.split(','))}")
    if index:
        parts.append(index)
    return f"{name} = {{ {', '.join(parts)} }}"


def pixi(facts: Facts, request: SetupRequest, minor: str, wheels: tuple[Wheel, ...], why: str) -> SetupStep:
    """A workspace of pixi."""
    cuda = next((w.variant.removeprefix("cu")[:2] for w in wheels if w.variant.startswith("cu")), None)
    lines = [
        "[workspace]",
        'name = "gpu-env"',
        'channels = ["conda-forge"]',
        f'platforms = ["linux-{"aarch64" if facts.host.architecture == "aarch64" else "64"}"]',
        *(["", "[system-requirements]", f'cuda = "{cuda}"'] if cuda else []),
        "",
        "[dependencies]",
        f'python = "{minor}.*"',
        "",
        "[pypi-dependencies]",
        *(entry(w) for w in wheels),
    ]
    path = f"{request.place}/pixi.toml"
    return SetupStep(
        id="wheels",
        group="environment",
        title=f"Create a pixi workspace in {request.place} with {names(wheels)}.",
        why=why,
        files=(Edit(path, "\n".join(lines) + "\n"),),
        commands=(cmd("pixi", "install", "--manifest-path", path),),
        verify=(cmd(f"{request.place}{PIXI}/bin/python", "--version"),),
        undo=(cmd("rm", "-rf", request.place),),
    )


def poetry(request: SetupRequest, minor: str, wheels: tuple[Wheel, ...], why: str) -> SetupStep:
    """A project of poetry."""
    lines = [
        "[tool.poetry]",
        "package-mode = false",
        "",
        "[tool.poetry.dependencies]",
        f'python = "~{minor}"',
        *(_entry(w, f'source = "pytorch-{w.variant}"' if w.index else "") for w in wheels),
    ]
    for variant, index in dict.fromkeys((w.variant, w.index) for w in wheels if w.index):
        lines += ["", "[[tool.poetry.source]]", f'name = "pytorch-{variant}"', f'url = "{index}"']
        lines += ['priority = "explicit"']
    own = "[virtualenvs]\nin-project = true\n"
    place = request.place
    return SetupStep(
        id="wheels",
        group="environment",
        title=f"Create a poetry project in {place} with {names(wheels)}.",
        why=why,
        files=(Edit(f"{place}/pyproject.toml", "\n".join(lines) + "\n"), Edit(f"{place}/poetry.toml", own)),
        commands=(
            cmd("poetry", "-C", place, "env", "use", minor),
            cmd("poetry", "-C", place, "install", "--no-root"),
        ),
        verify=(cmd(f"{request.place}{POETRY}/bin/python", "--version"),),
        undo=(cmd("rm", "-rf", place),),
    )
