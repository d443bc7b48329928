"""The steps of the Python environment: made, or taken as it is, and filled, by the program that installs there."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion

from gpudoctor.facts import Facts, Python
from gpudoctor.fixes.pip import Installer, only, pip, replace
from gpudoctor.fixes.python import conda_install, conda_of, manager_of, uv_index
from gpudoctor.fixes.system import family_of
from gpudoctor.knowledge import cupy, onnxruntime
from gpudoctor.maybe import known_or
from gpudoctor.queries.packages import packages_of
from gpudoctor.setup.installed_packages import Installed, back
from gpudoctor.setup.plan import SetupStep, Wheel
from gpudoctor.setup.projects import PIXI, POETRY, entry, names, pixi, poetry, split
from gpudoctor.setup.request import SetupRequest
from gpudoctor.tasks import Command, Edit, FileSection, Task, Tasks, cmd

_CUDA = (
    "The wheels include CUDA, cuDNN and NCCL in the versions that they were tested with; they share one copy of each, "
    "so they are resolved and installed together"
)

_CONDA_TORCH = ("pytorch", "pytorch-gpu", "pytorch-cpu")
NOTHING: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def manager(request: SetupRequest, python: Python | None) -> str:
    """Who installs."""
    if request.manager:
        return request.manager
    if request.into and python:
        return manager_of(python)
    return "uv" if request.uv else "pip"


def interpreter(request: SetupRequest, by: str) -> str:
    """The Python of the environment."""
    if request.into:
        return request.into
    folder = {"pixi": PIXI, "poetry": POETRY}.get(by, "")
    return f"{request.place}{folder}/bin/python"


def steps(facts: Facts, request: SetupRequest, by: str, minor: str, wheels: tuple[Wheel, ...]) -> tuple[SetupStep, ...]:
    """All steps of the environment.

    Args:
        facts: the machine.
        request: what is wished for.
        by: who installs.
        minor: the release of Python.
        wheels: what is installed.
    """
    if request.into:
        python = next((p for p in facts.pythons if p.path == request.into), None) or Python(path=request.into)
        return (_into(python, by, wheels),)
    if by == "pixi":
        return (pixi(facts, request, minor, wheels, _why(wheels)),)
    if by == "poetry":
        return (poetry(request, minor, wheels, _why(wheels)),)
    return _made(facts, request, by, minor), _filled(facts, request, by, wheels)


# -- uv, pip, conda ------------------------------------------------------------------------------------------


def _made(facts: Facts, request: SetupRequest, by: str, minor: str) -> SetupStep:
    place, own = request.place, _minor(facts)
    why = f"A separate environment leaves other projects unchanged; there are wheels for Python {minor}."
    if own and own != minor:
        why += f" (The Python in use is {own}.)"
    if by == "pip" and _may_lack_venv(facts, request):
        why += " If it reports that ensurepip is not available: sudo apt-get install python3-venv."
    return SetupStep(
        id="environment",
        group="environment",
        title=f"Create an environment with Python {minor} in {place}.",
        why=why,
        commands=_make(facts, request, by, minor, own),
        verify=(cmd(f"{place}/bin/python", "--version"),),
        undo=(cmd("rm", "-rf", place),),
    )


def _may_lack_venv(facts: Facts, request: SetupRequest) -> bool:
    """Whether the Python is Debian's or Ubuntu's own, whose module venv is a package of its own."""
    base = request.base or (facts.pythons[0].path if facts.pythons else "")
    return family_of(facts) == "debian" and base.startswith("/usr/bin/")


def _make(facts: Facts, request: SetupRequest, by: str, minor: str, own: str | None) -> Tasks:
    place = request.place
    if by == "conda":
        argv = ("conda", "create", "--yes", "--prefix", place, "--channel", "conda-forge", f"python={minor}", "pip")
        return (cmd(*argv),)
    if by == "uv":
        return (cmd("uv", "venv", "--python", minor, place),)
    base = request.base or (facts.pythons[0].path if facts.pythons else "python3")
    if own in (None, minor):
        return (cmd(base, "-m", "venv", place),)
    if request.uv:
        return (cmd("uv", "venv", "--seed", "--python", minor, place),)
    tool = f"{place}-uv"  # it brings the other Python, and can be removed afterwards
    return (
        cmd(base, "-m", "venv", tool),
        cmd(f"{tool}/bin/python", "-m", "pip", "install", "uv"),
        cmd(f"{tool}/bin/uv", "venv", "--seed", "--python", minor, place),
    )


def _minor(facts: Facts) -> str | None:
    found = facts.pythons[0].version if facts.pythons else None
    return ".".join(found.split(".")[:2]) if isinstance(found, str) else None


def _filled(facts: Facts, request: SetupRequest, by: str, wheels: tuple[Wheel, ...]) -> SetupStep:
    python = interpreter(request, by)
    # What is configured for the user holds in the new environment too, where the same program installs.
    same = next((p for p in facts.pythons if (manager_of(p) == "uv") is (by == "uv")), None)
    configured = known_or(same.extra_index, None) if same else None
    return SetupStep(
        id="wheels",
        group="environment",
        title=f"Install {names(wheels)}.",
        why=_why(wheels),
        commands=_install(by, python, wheels, configured),
        verify=(_check(by, python),),
    )


def _install(
    by: str,
    python: str,
    wheels: tuple[Wheel, ...],
    configured: str | None,
    again: Mapping[str, tuple[str, ...]] = NOTHING,
) -> Tasks:
    """First what comes from an index of its own, then the rest next to it.

    The second command names the first one's packages again: so their pins are part of the solution, and what is
    there stays, because it fits.

    Args:
        by: who installs.
        python: the environment's Python.
        wheels: what is installed.
        configured: the variable or file that adds further indexes; None: nothing does.
        again: the frameworks of which another build is there, and the packages that are compiled against that one.
    """
    installer: Installer = "uv" if by == "uv" else "pip"
    rest = [w.requirement for w in wheels if not w.index]
    found: list[Task] = []
    for index, own in _by_index(wheels):
        old = {name for wheel in own if wheel.framework in again for name in again[wheel.framework]}
        specs = [w.requirement for w in own]
        specs += sorted(old - {split(spec)[0] for spec in specs})
        if old or any(wheel.framework in again for wheel in own):
            found += replace(installer, python, index, specs, configured=configured)
        else:
            source, env, note = only(installer, index, configured)
            found.append(pip(installer, python, "install", *source, *specs, env=env, note=note))
    if any(not w.kept for w in wheels if not w.index):
        found.append(pip(installer, python, "install", *(w.requirement for w in wheels if w.index), *rest))
    return tuple(found)


def _by_index(wheels: tuple[Wheel, ...]) -> Iterator[tuple[str, tuple[Wheel, ...]]]:
    """The wheels of each index of its own, with those that stay: so they are part of the solution."""
    for index in dict.fromkeys(w.index for w in wheels if w.index and not w.kept):
        yield index, tuple(w for w in wheels if w.index == index)


def _check(by: str, python: str) -> Command:
    if by == "uv":
        return cmd("uv", "pip", "check", "--python", python)
    return cmd(python, "-m", "pip", "check")


def _why(wheels: tuple[Wheel, ...]) -> str:
    each = " ".join(w.why for w in wheels)
    cuda = any(w.variant.startswith("cu") for w in wheels)
    return f"{each} {_CUDA}." if cuda else each


# -- into an environment that is there -----------------------------------------------------------------------


def _into(python: Python, by: str, wheels: tuple[Wheel, ...]) -> SetupStep:
    project = python.project if isinstance(python.project, str) else None
    if by in ("uv", "poetry") and project:
        return _project(python, by, project, wheels)
    if by == "pixi":
        return _workspace(python, project, wheels)
    gone, again = _rivals(python, wheels), _other_builds(python, wheels)
    old = _replaced(python, wheels, again)
    configured = known_or(python.extra_index, None)
    found = (*_remove(by, python.path, gone), *_install(by, python.path, wheels, configured, again))
    if any(w.kept for w in wheels) and any(p.name in _CONDA_TORCH for p in conda_of(python)):
        # conda's solver takes the builds for the PyTorch that is there; pip's would be for another
        found = (conda_install(python, *(w.framework for w in wheels if not w.kept)),)
    why = _why(wheels)
    if gone:
        are = "is" if len(gone) == 1 else "are"
        why += f" {' and '.join(gone)} {are} removed first: the files would be mixed with the new ones."
    return SetupStep(
        id="wheels",
        group="environment",
        title=f"Install {names(wheels)} into {python.path}{_in_place_of(old)}.",
        why=why,
        commands=found,
        verify=(_check(by, python.path),),
        undo=back(
            "uv" if by == "uv" else "pip",
            python.path,
            (),
            (*old, *_installed(python, gone)),
            _new(python, wheels, old),
        ),
    )


def _installed(python: Python, names: Iterable[str]) -> tuple[Installed, ...]:
    """Those of some packages that are there."""
    there = {p.name: p.version for p in packages_of(python)}
    return tuple(Installed(name, there[name]) for name in names if name in there)


def _new(python: Python, wheels: tuple[Wheel, ...], old: tuple[Installed, ...]) -> tuple[Installed, ...]:
    """What comes, in releases of which only the installer knows the number."""
    stays = {p.name for p in packages_of(python)} - {one.name for one in old}
    names = (split(w.requirement)[0] for w in wheels if not w.kept)
    return tuple(Installed(name, "") for name in names if name not in stays)


def _replaced(python: Python, wheels: tuple[Wheel, ...], again: Mapping[str, tuple[str, ...]]) -> tuple[Installed, ...]:
    """The packages that are there in a release or build that does not stay; what depends on them may change, too."""
    wanted = {name: bound for w in wheels if not w.kept for name, _, bound in (split(w.requirement),)}
    rebuilt = {name for framework, others in again.items() for name in (framework, *others)}
    there = _installed(python, dict.fromkeys((*wanted, *sorted(rebuilt))))
    return tuple(one for one in there if one.name in rebuilt or not _fits(one.version, wanted.get(one.name, "")))


def _fits(number: str, bound: str) -> bool:
    """Whether an installer keeps an installed version; one that is none, it decides itself."""
    try:
        return SpecifierSet(bound).contains(number, prereleases=True)
    except InvalidVersion:
        return True


def _in_place_of(old: tuple[Installed, ...]) -> str:
    return f", in place of {' and '.join(f'{one.name} {one.version}' for one in old)}" if old else ""


def _workspace(python: Python, project: str | None, wheels: tuple[Wheel, ...]) -> SetupStep:
    """Pixi's file decides. What comes from an index of its own is written into it: `pixi add` would take PyPI's."""
    prefix = str(python.prefix) if isinstance(python.prefix, str) else python.path
    place = project or prefix.partition("/.pixi/")[0]
    wheels = tuple(w for w in wheels if not w.kept)
    own, rest = [w for w in wheels if w.index], [w.requirement for w in wheels if not w.index]
    found: list[Task] = []
    if own:
        lines = FileSection("[pypi-dependencies]", tuple(entry(w) for w in own))
        found.append(Edit(f"{place}/pixi.toml", sections=(lines,)))
    if rest:
        found.append(cmd("pixi", "add", "--manifest-path", place, "--pypi", *rest))
    return SetupStep(
        id="wheels",
        group="environment",
        title=f"Add {names(wheels)} to the workspace in {place}.",
        why=f"{_why(wheels)} pixi installs what the workspace file lists, and removes what it does not list.",
        commands=(*found, cmd("pixi", "install", "--manifest-path", place)),
        verify=(cmd(python.path, "--version"),),
    )


def _rivals(python: Python, wheels: tuple[Wheel, ...]) -> tuple[str, ...]:
    """Other packages with the same files."""
    there = {p.name for p in packages_of(python)}
    found: list[str] = []
    for wheel in wheels:
        name = split(wheel.requirement)[0]
        exclusive = {"cupy": cupy.exclusive(), "onnxruntime": onnxruntime.exclusive()}.get(wheel.framework, ())
        found += [n for n in exclusive if n in there and n != name]
    return tuple(dict.fromkeys(found))


def _other_builds(python: Python, wheels: tuple[Wheel, ...]) -> dict[str, tuple[str, ...]]:
    """The frameworks of which another build is there, and what is compiled against it: it comes along."""
    there = {p.name: p.version for p in packages_of(python)}
    ours = next((w for w in wheels if w.framework == "torch"), None)
    if ours is None or there.get("torch", f"+{ours.variant}").endswith(f"+{ours.variant}"):
        return {}
    return {"torch": tuple(name for name in ("torchvision", "torchaudio") if name in there)}


def _remove(by: str, python: str, names: tuple[str, ...]) -> Tasks:
    if not names:
        return ()
    return (pip("uv", python, "uninstall", *names) if by == "uv" else pip("pip", python, "uninstall", "--yes", *names),)


def _project(python: Python, by: str, project: str, wheels: tuple[Wheel, ...]) -> SetupStep:
    """The project's file decides: what is installed next to its lock is undone by the next sync."""
    found: list[Task] = []
    for index, all_of_it in _by_index(wheels):
        own = [w for w in all_of_it if not w.kept]
        name, specs = f"pytorch-{own[0].variant}", [w.requirement for w in own]
        if by == "poetry":
            found += [
                cmd("poetry", "-C", project, "source", "add", "--priority=explicit", name, index),
                cmd("poetry", "-C", project, "add", "--source", name, *specs),
            ]
        else:
            found.append(uv_index(project, name, index, tuple(w.framework for w in all_of_it)))
            found.append(cmd("uv", "add", "--directory", project, *specs))
    rest = [w.requirement for w in wheels if not w.index and not w.kept]
    if rest:
        add = ("uv", "add", "--directory", project) if by == "uv" else ("poetry", "-C", project, "add")
        found.append(cmd(*add, *rest))
    return SetupStep(
        id="wheels",
        group="environment",
        title=f"Add {names(wheels)} to the project in {project}.",
        why=f"{_why(wheels)} {by} installs what the project file lists, and removes what it does not list.",
        commands=tuple(found),
        verify=(cmd(python.path, "--version"),),
    )
