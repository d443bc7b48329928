"""Makes a test machine of the bundle that a user sent, with the verdict that is right.

    python scripts/add_case.py gpu.tar.gz --name laptop-without-module --cause driver.not-loaded --fix modprobe

The facts of the bundle go to tests/machines/recorded/NAME.json, masked again, and the verdict to a row of
tests/machines/recorded.toml. Printed are what gpudoctor reports of the machine today, what it should report, and the
test to run: it fails until both agree. Where they agree already, the row also holds status and effects as they are.

Exit codes: 0 added (or shown, with --dry-run), 2 not added, and nothing is changed.
"""

import argparse
import difflib
import gzip
import io
import re
import sys
import tarfile
import zlib
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gpudoctor import catalogue
from gpudoctor.cli.bundle_archive import FOLDER
from gpudoctor.expect.toml_writer import quoted
from gpudoctor.facts import Facts
from gpudoctor.facts.facts_file import LIMIT as LARGEST
from gpudoctor.facts.facts_file import FactsFileError, load, write
from gpudoctor.pipeline import check
from gpudoctor.privacy.masks import masked
from gpudoctor.report.model import Report
from gpudoctor.report.sanitize import clean
from tests.machines import recorded
from tests.machines.recorded import HEALTHY, LIMIT, Row

ROOT = Path(__file__).resolve().parent.parent
MEMBER = f"{FOLDER}/facts.json"
MACHINES = ROOT / "tests" / "machines"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class CaseError(ValueError):
    """Nothing was added; the message is one sentence."""


def bundled(path: str) -> Facts:
    """The facts of a bundle; nothing is unpacked.

    Raises:
        CaseError: it is no bundle, or one that `gpudoctor bundle` did not write.
    """
    try:
        with gzip.open(path) as file:
            data = file.read(2 * LARGEST + 1)
    except (EOFError, zlib.error):
        raise CaseError(f"{path} is damaged: it ends too early, or was changed on its way.") from None
    except gzip.BadGzipFile as error:
        damaged = "Not a gzipped file" not in str(error)
        raise CaseError(f"{path} is {'damaged' if damaged else 'not a bundle: it is not a .tar.gz file'}.") from None
    except OSError as error:
        raise CaseError(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(data) > 2 * LARGEST:
        raise CaseError(f"{path} is not a bundle: it unpacks to more than {2 * LARGEST >> 20} MiB.")
    try:
        return load(_member(path, data), f"{path}:{MEMBER}")
    except FactsFileError as error:
        raise CaseError(str(error)) from None


def _member(path: str, data: bytes) -> bytes:
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for one in archive:
                if one.isdir() and one.name == FOLDER:  # where somebody packed it again
                    continue
                if not one.isfile() or not re.fullmatch(rf"{FOLDER}/[\w.-]+", one.name):
                    raise CaseError(f"{path} is not a bundle: gpudoctor never packs {clean(one.name)[:60]!r}.")
                if one.name == MEMBER and (file := archive.extractfile(one)):
                    return file.read()
    except tarfile.TarError as error:
        raise CaseError(f"{path} is damaged, or not a bundle: {clean(str(error))[:100]}.") from None
    raise CaseError(f"{path} is not a bundle: it has no {MEMBER}.")


def shareable(path: str, facts: Facts) -> bytes:
    """The facts as they go into the tree: masked again, and without what is as it is by default.

    Raises:
        CaseError: they name people or computers, or are too large.
    """
    hidden = masked(facts)
    if (hidden.host.hostname, hidden.host.user) != (facts.host.hostname, facts.host.user):
        raise CaseError(f"{path} names its host and its user: ask for a bundle that was made without --no-mask.")
    slim = _slim(hidden) | {"schema": hidden.schema}
    data = msgspec.json.format(msgspec.json.encode(slim), indent=1) + b"\n"
    if len(data) > LIMIT:
        sizes = {name: len(msgspec.json.encode(value)) for name, value in slim.items()}
        largest = max(sizes, key=lambda name: sizes[name])
        raise CaseError(f"The facts of {path} are larger than {LIMIT >> 10} KiB, most of it {largest!r}.")
    return data


def _slim(node: Any) -> Any:
    if isinstance(node, msgspec.Struct):
        fields = msgspec.structs.fields(node)
        return {f.encode_name: _slim(getattr(node, f.name)) for f in fields if getattr(node, f.name) != _default(f)}
    if isinstance(node, tuple | list):
        return [_slim(one) for one in node]
    return {key: _slim(value) for key, value in node.items()} if isinstance(node, dict) else node


def _default(field: msgspec.structs.FieldInfo) -> object:
    factory = field.default_factory
    return factory() if callable(factory) else field.default


def row_of(arguments: argparse.Namespace, facts: Facts) -> Row:
    """The row that was asked for.

    Raises:
        CaseError: an argument is not what it should be.
    """
    _known(arguments.cause, *arguments.never, *(arguments.effect or ()))
    if not _NAME.fullmatch(arguments.name) or len(arguments.name) > 60:
        raise CaseError(
            f"--name {arguments.name!r}: lower-case words joined by hyphens, such as laptop-without-module."
        )
    if arguments.source and not re.fullmatch(r"https://[^\s\"]+", arguments.source):
        raise CaseError(f"--source {arguments.source!r}: an address that begins with https://.")
    if arguments.cause == HEALTHY and (arguments.status or arguments.effect or arguments.fix):
        raise CaseError(f"--cause {HEALTHY} is a healthy machine: it has no --status, --effect or --fix.")
    if arguments.cause in arguments.never:
        raise CaseError(f"{arguments.cause} cannot be both --cause and --not.")
    return Row(
        name=arguments.name,
        month=facts.created[:7],
        cause=arguments.cause,
        status=arguments.status,
        effects=None if arguments.effect is None else tuple(sorted(set(arguments.effect))),
        never=tuple(arguments.never),
        fix=arguments.fix,
        hardware=arguments.hardware,
        source=arguments.source,
    )


def _known(*ids: str) -> None:
    known = catalogue.ids()
    for one in ids:
        if one not in known and one != HEALTHY:
            near = difflib.get_close_matches(one, known, 1)
            raise CaseError(f"There is no check {one}{f'; did you mean {near[0]}?' if near else '.'}")


def held(row: Row, report: Report) -> Row:
    """A row on which the report agrees, with the status and the effects that nobody named."""
    if row.cause == HEALTHY:
        return row
    first = report.findings[0]
    found = recorded.effects(first) if row.effects is None else row.effects
    return msgspec.structs.replace(row, status=row.status or first.status, effects=found)


def as_toml(row: Row) -> str:
    """The row as it is written; what is empty is left out."""
    lines = ["", "[[machine]]"]
    for name, value in msgspec.to_builtins(row).items():
        written = quoted(value) if isinstance(value, str) else f"[{', '.join(map(quoted, value))}]"
        lines.append(f"{name} = {written}")
    return "\n".join(lines) + "\n"


def add(arguments: argparse.Namespace) -> list[str]:
    """Add the machine, and give the lines to print.

    Raises:
        CaseError: it cannot be added; nothing is changed.
    """
    facts = bundled(arguments.bundle)
    row, data = row_of(arguments, facts), shareable(arguments.bundle, facts)
    place, table = arguments.into / "recorded" / f"{row.name}.json", arguments.into / "recorded.toml"
    if place.exists() or row.name in {one.name for one in recorded.rows(arguments.into)}:
        raise CaseError(f"There is a machine {row.name}; take another --name.")
    report = check(facts=load(data, place.name))
    faults = recorded.wrong(row, report)
    if not faults:
        row = held(row, report)
    if not arguments.dry_run:
        write(str(place), data)
        write(str(table), table.read_bytes() + as_toml(row).encode())
    lines = [f"today     {one.check} ({one.status}): {one.message}" for one in report.findings] or ["today     nothing"]
    lines += [f"expected  {row.cause if row.cause != HEALTHY else 'nothing that fails or warns'}", ""]
    lines += faults or ["gpudoctor is right about this machine: the row holds what it reports today."]
    if arguments.dry_run:
        return [*lines, "", f"Nothing was written. The row would be:{as_toml(row).rstrip()}"]
    lines += [
        "",
        f"{_shown(place)}: {len(data):,} bytes, masked",
        f"{_shown(table)}: a row; edit it where it needs more",
    ]
    return [*lines, "", f"pytest -n 0 'tests/machines/test_recorded.py::test_the_verdict[{row.name}]'"]


def _shown(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def main(argv: list[str] | None = None) -> int:
    """Read the arguments, add the machine, print what it is."""
    about = str(__doc__)
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", metavar="BUNDLE", help="what `gpudoctor bundle` wrote")
    parser.add_argument("--name", required=True, help="of the machine: what is wrong, such as laptop-without-module")
    parser.add_argument(
        "--cause", required=True, metavar="ID", help=f"the check that is right; {HEALTHY}: it is healthy"
    )
    parser.add_argument("--status", default="", choices=("fail", "warn", "advice"), help="of its finding")
    parser.add_argument("--effect", nargs="*", metavar="ID", help="the checks under it, exactly")
    parser.add_argument("--not", dest="never", nargs="+", default=[], metavar="ID", help="no findings of their own")
    parser.add_argument("--fix", default="", metavar="TEXT", help="what its first fix contains: a command, a word")
    parser.add_argument(
        "--hardware", default="", metavar="GPU", help="the bundle comes from a real machine with this GPU"
    )
    parser.add_argument("--source", default="", metavar="URL", help="where it was reported")
    parser.add_argument("--dry-run", action="store_true", help="show it, and write nothing")
    parser.add_argument("--into", type=Path, default=MACHINES, help=argparse.SUPPRESS)
    try:
        lines = add(parser.parse_args(argv))
    except CaseError as error:
        print(clean(str(error)), file=sys.stderr)  # noqa: T201 - a tool for people
        return 2
    print("\n".join(map(clean, lines)))  # noqa: T201 - a tool for people
    return 0


if __name__ == "__main__":
    sys.exit(main())
