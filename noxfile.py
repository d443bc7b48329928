"""Tasks for contributors: `nox -s fast` before each push; `nox --list` shows the others."""

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["fast", "lint"]

TEST = ("-c", "constraints.txt", "-e", ".[test,web]")
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


@nox.session
def fast(session: nox.Session) -> None:
    """The pure tests, in about a minute and a half; arguments go to pytest."""
    session.install(*TEST)
    session.run("pytest", "-q", "--fast", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests that need neither a GPU nor real frameworks."""
    session.install(*TEST)
    session.run("pytest", "-q", *session.posargs)


@nox.session(python=PYTHONS)
def pythons(session: nox.Session) -> None:
    """The pure tests on each supported Python."""
    session.install(*TEST)
    session.run("pytest", "-q", "--fast", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Linter, formatter, types, and the rules on imports."""
    session.install(*TEST)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy", "--strict")
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Whether the generated pages and the samples are fresh, and the site, into build/site."""
    session.install(*TEST, "-e", ".[docs]")
    session.run("pytest", "-q", "tests/docs")
    session.run("mkdocs", "build", "--strict", "--quiet", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def build(session: nox.Session) -> None:
    """The wheel, the sdist and the single files for nodes without a network, into dist/; the version may be given."""
    session.install("build", "pex", "twine")
    session.run("python", "scripts/build_release.py", *session.posargs)
    session.run("twine", "check", "--strict", "dist/gpudoctor_cli-*.whl", "dist/gpudoctor_cli-*.tar.gz")
