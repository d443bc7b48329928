"""JUnit and SARIF against the schemas that others publish, fetched by the names of the packages that carry them."""

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpudoctor.report.model import Report
from gpudoctor.report.renderers import junit, sarif
from tests.report.machines import MACHINES, of_machine
from tests.report.test_readers import HOSTILE

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(600)]
# pytest carries the schema of Jenkins' xUnit plug-in for its own tests; Microsoft's matchers carry that of SARIF.
XSD_OF, XSD = "pytest", "testing/example_scripts/junit-10.xsd"
SCHEMA_OF, SCHEMA = "@microsoft/jest-sarif@1.0.0-beta.0", "package/lib/schemas/sarif-2.1.0-rtm.5.json"
VALIDATE = """
import sys, xmlschema
schema = xmlschema.XMLSchema(sys.argv[1])
for name in sys.argv[2:]:
    for error in schema.iter_errors(name):
        print(name, error.path, error.reason)
"""


def _fetch(*argv: str, cwd: Path) -> None:
    ended = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=300)
    if ended.returncode:
        pytest.skip(f"{argv[0]} cannot fetch {argv[-1]}: {ended.stderr.strip()[-300:]}")


def _member(folder: Path, pattern: str, name: str) -> bytes:
    (path,) = folder.glob(pattern)
    with tarfile.open(path) as held:
        found = next(held.extractfile(one) for one in held if one.name.endswith(name))
        assert found is not None
        return found.read()


@pytest.fixture(scope="module")
def xsd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("xsd")
    words = ("download", "-q", "--no-deps", "--no-binary", XSD_OF, XSD_OF)
    pip = (sys.executable, "-m", "pip") if shutil.which("pip", path=str(Path(sys.executable).parent)) else ("pip",)
    _fetch(*pip, *words, cwd=folder)
    path = folder / "junit.xsd"
    path.write_bytes(_member(folder, f"{XSD_OF}-*.tar.gz", XSD))
    return path


def _reports() -> dict[str, Report]:
    return {name: of_machine(name) for name in MACHINES} | {"strings made to break it": HOSTILE, "nothing": Report()}


def _invalid(python: str, xsd: Path, *files: Path) -> list[str]:
    argv = [python, "-c", VALIDATE, str(xsd), *map(str, files)]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=True)
    return ended.stdout.splitlines()


def test_junit_fits_the_schema_of_jenkins(interpreter: Callable[..., str], xsd: Path, tmp_path: Path) -> None:
    files = []
    for number, report in enumerate(_reports().values()):
        files.append(tmp_path / f"{number}.xml")
        files[-1].write_text(junit.render(report))
    python = interpreter("xmlschema", "xmlschema")
    assert _invalid(python, xsd, *files) == []
    broken = tmp_path / "broken.xml"
    broken.write_text(files[0].read_text().replace("<testcase ", "<testcase colour='red' ", 1))
    assert _invalid(python, xsd, broken) != []


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if not shutil.which("npm"):
        pytest.skip("no npm to fetch the schema with")
    folder = tmp_path_factory.mktemp("schema")
    _fetch("npm", "pack", "--silent", SCHEMA_OF, cwd=folder)
    found: dict[str, Any] = json.loads(_member(folder, "*.tgz", SCHEMA))
    return found


def test_sarif_fits_its_schema(schema: dict[str, Any]) -> None:
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())
    for name, report in _reports().items():
        document = json.loads(sarif.render(report))
        assert [f"{name}: {error.json_path} {error.message}" for error in validator.iter_errors(document)] == []
    document["runs"][0]["colour"] = "red"
    assert list(validator.iter_errors(document)) != []
