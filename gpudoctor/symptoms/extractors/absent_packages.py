"""Readers of messages about a package that is missing, has another name, or cannot be installed."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.by_message import PYTHON, pip
from gpudoctor.fixes.other_release import release_asked
from gpudoctor.knowledge.import_errors import distribution_of, import_errors
from gpudoctor.knowledge.python_rules import companion_for
from gpudoctor.maybe import known_or, text_of
from gpudoctor.queries.extensions import COMPANIONS
from gpudoctor.queries.packages import answered, numbers, release
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.targets import torches
from gpudoctor.tasks import Shell, Tasks, cmd, query

# What pip and uv write after the output of a build.
IN_BUILD = re.compile(
    r"\[end of output\]|declare it as a build dependency|originates from a subprocess|Failed to build '"
)
# Gone from Python 3.12, and from setuptools 82, which brought both.
_OF_SETUPTOOLS = ("pkg_resources", "distutils")


def missing_module(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which package has a module that is not there."""
    found = re.search(r"No module named '?([\w.]+)'?", lines[0])
    if found is None:
        return NOTHING
    top = found[1].partition(".")[0]
    if top == "pip":
        return _without_pip(facts)
    if top == "pkg_resources" and IN_BUILD.search(" ".join(lines[1:])):
        return _without_pkg_resources()
    if top in _OF_SETUPTOOLS:
        return _of_setuptools(top, facts)
    message, commands = _into_python(distribution_of(top), facts)
    if top not in import_errors().imported_as:
        message = f"{message[:-1]}; if {top} is a file of your own, run the program in its directory."
    others = [python.pip for python in facts.pythons if isinstance(python.pip, str)] if facts else []
    details = tuple(f"`pip` on PATH installs for {one}, and not for this Python." for one in others[:1])
    return Extracted(details=details, fixes=(Fix(message, commands, "reinstall-package"),), decided=True)


def _of_setuptools(module: str, facts: Facts | None) -> Extracted:
    """A module that only older releases of setuptools bring."""
    message, commands = _into_python("setuptools<82", facts)
    packages = [one for python in facts.pythons for one in known_or(python.packages, ())] if facts else []
    there = {one.version for one in packages if one.name == "setuptools"}
    newer = [text for text in there if numbers(text) >= (82,)] if module == "pkg_resources" else []
    has = f"setuptools {newer[0]}, which is installed, has" if len(there) == 1 and newer else "setuptools 82 has"
    meaning = f"{has} no {module} any more, and the program or a package that it imports needs it"
    if packages and not there:
        meaning = f"setuptools, which brings {module}, is not installed in the Python that runs"
    return Extracted(
        meaning=f"{meaning}; the GPU is not involved",
        fixes=(Fix(message, commands, "reinstall-package"),),
        decided=True,
    )


def _without_pkg_resources() -> Extracted:
    """A package whose setup.py imports pkg_resources, in the environment that pip makes for each build."""
    meaning = "pip builds a package with setuptools 82 or newer, which has no pkg_resources; its setup.py needs it"
    file = '"$PWD/build-constraints.txt"'
    held = Fix(
        "Hold setuptools for builds, then repeat the installation in this shell. Each pip reads one of the variables.",
        (
            Shell("printf 'setuptools<82\\n' > build-constraints.txt"),
            Shell(f"export PIP_CONSTRAINT={file} PIP_BUILD_CONSTRAINT={file}"),
        ),
        "change-environment",
    )
    return Extracted(meaning=f"{meaning}; the GPU is not involved", fixes=(held,), decided=True)


def _without_pip(facts: Facts | None) -> Extracted:
    """Bring pip into an environment, as uv makes them without it; Python itself has a copy."""
    checked = answered(facts)
    path = checked[0].path if len(checked) == 1 else PYTHON
    own = Fix(
        "Put pip into it: Python brings a copy.", (cmd(path, "-m", "ensurepip", "--upgrade"),), "reinstall-package"
    )
    meaning = "this environment has no pip: uv makes it so, and installs packages there itself"
    by_uv = Fix("Install with uv, in place of pip.", (cmd("uv", "pip", "install", "-r", "requirements.txt"),))
    return Extracted(meaning=f"{meaning}; the GPU is not involved", fixes=(own, by_uv), decided=True)


# Names of libraries that are written otherwise than their distributions.
_SPOKEN = {"pytorch": "torch", "opencv": "opencv-python", "pil": "pillow", "faiss": "faiss-cpu"}


def required_library(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """The library that transformers misses for a class: "AutoVideoProcessor requires the Torchvision library"."""
    found = re.search(r"requires the ([\w.-]+) library but it was not found", lines[0])
    if found is None:
        return NOTHING
    name = _SPOKEN.get(found[1].lower(), distribution_of(found[1].lower()))
    versions = [text_of(on.framework.version) for _, on in torches(facts)] if facts and name in COMPANIONS else []
    fits = companion_for(name, release(versions[0])) if versions and versions[0] else ""
    message, commands = _into_python(f"{name}{fits or ''}", facts)
    meaning = f"{name} is not installed in the Python that runs, and the program's model needs it"
    return Extracted(
        meaning=f"{meaning}; the GPU is not involved",
        fixes=(Fix(message, commands, "reinstall-package"),),
        decided=True,
    )


def renamed_package(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """A distribution that only says that it has another name now."""
    found = re.search(r"renamed from [`'\"]?([\w.-]+)[`'\"]? to [`'\"]?([\w.-]*\w)", lines[0])
    if found is None:
        return NOTHING
    old, new = found.groups()
    checked = answered(facts)
    from gpudoctor.fixes.python import uninstall  # for few messages

    remove = uninstall(checked[0], old) if len(checked) == 1 else cmd(PYTHON, "-m", "pip", "uninstall", "-y", old)
    fix = Fix(f"Remove {old}, then install {new}.", (remove, *_into_python(new, facts)[1][-1:]), "reinstall-package")
    return Extracted(
        meaning=f"the package {old} is called {new} now; the GPU is not involved", fixes=(fix,), decided=True
    )


def _into_python(name: str, facts: Facts | None) -> tuple[str, Tasks]:
    """How to install a package into the Python that ran: the one that was checked, where that is one alone."""
    from gpudoctor.fixes.python import install  # for few messages

    checked = answered(facts)
    if len(checked) == 1 and checked[0].externally_managed is not True:
        return f"Install {name} into the Python that was checked.", (install(checked[0], name),)
    which = query("python", "-c", "import sys; print(sys.executable)")
    return f"Install {name} into the Python that runs (the first command names it).", (which, pip(name))


def named_install(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """The command that an error names: "requires Accelerate: `pip install accelerate`"."""
    there = {one.name for python in facts.pythons for one in known_or(python.packages, ())} if facts else set()
    if asked := release_asked(lines[0], there):
        fix = Fix("Install the release that the message asks for.", (pip(asked),), "reinstall-package")
        return Extracted(fixes=(fix,), decided=True)
    found = re.search(
        r"pip3? install ((?:-U |--upgrade )?['\"]?[\w.-]+(?:\[[\w,-]+\])?(?:[<>=!~]=?[\w.*]+)?)['\"`). ]", lines[0]
    )
    if found is None:
        return NOTHING
    words = found[1].replace("'", "").replace('"', "").split()
    message, commands = _into_python(words[-1], facts)
    return Extracted(fixes=(Fix(message, commands, "reinstall-package"),), decided=True)
