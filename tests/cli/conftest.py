"""What the tests of the command line share: checks with a known answer, a facts file, and a run in this process."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.fleet.runner import engines
from tests.builders import nvidia_host
from tests.cli import Ran, main
from tests.fleet.runner import local

HEAD = """
from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.maybe import Unknown, known
from gpudoctor.targets import machine
from gpudoctor.tasks import cmd

"""
ONE = """
@check(title="The {name} one", severity=Severity.{severity}, cause="Because.", fixes=(Fix("Mend it.", (cmd("true"),)),),
       references=("https://example.org/",), targets=machine, essential={essential}, caused_by={caused_by},
       aliases=("acme.old-{name}",))
def {name}(facts):
    {body}
"""
BODIES = {
    "fails": ("ERROR", 'return "It fails."'),
    "warns": ("WARNING", 'return "It warns."'),
    "advises": ("ADVICE", 'return "It advises."'),
    "well": ("ERROR", "return None"),
    "unknown": ("ERROR", 'return known(Unknown("nobody knows"))'),
    "breaks": ("ERROR", "return 1 / 0"),
    "follows": ("ERROR", 'return "It follows."'),
}

Run = Callable[..., Ran]


def lay_checks(folder: Path) -> None:
    """Lay a distribution that offers checks of area "acme" by their entry points."""
    package, info = folder / "plugins" / "acme", folder / "acme-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    for name, (severity, body) in BODIES.items():
        caused_by = ("acme.fails",) if name == "follows" else ()
        text = ONE.format(name=name, severity=severity, body=body, essential=name == "unknown", caused_by=caused_by)
        (package / f"{name}.py").write_text(HEAD + text)
    rows = [f"{name} = plugins.acme.{name}:{name}" for name in BODIES]
    (info / "entry_points.txt").write_text("\n".join(["[gpudoctor.checks]", *rows, ""]))


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the distribution with checks."""
    folder = tmp_path_factory.mktemp("plugins")
    lay_checks(folder)
    return folder


@pytest.fixture(scope="session")
def facts_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A healthy machine with one RTX 4090."""
    path = tmp_path_factory.mktemp("facts") / "host.json"
    path.write_bytes(msgspec.json.encode(nvidia_host()))
    return str(path)


@pytest.fixture
def run(plugins: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs a command line in this process, with the checks of area "acme" installed."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(str(plugins))
    catalogue.others.cache_clear()

    def ran(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(arguments)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    yield ran
    catalogue.others.cache_clear()


@pytest.fixture
def judge(run: Run, facts_file: str) -> Run:
    """Runs `check` on the healthy machine's facts with the checks that are named."""

    def ran(only: str, *arguments: str) -> Ran:
        return run("check", "--facts", facts_file, "--only", only, *arguments)

    return ran


@pytest.fixture
def fleet(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs `fleet run local` in this process; the nodes come first."""
    monkeypatch.setitem(engines.ENGINES, "local", ("local", "Local"))
    monkeypatch.setattr(engines, "engine", local.made)

    def ran(*arguments: str) -> Ran:
        return run("fleet", "run", "local", *arguments, "--output", str(tmp_path / "run"))

    return ran
