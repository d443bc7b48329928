"""Where a project is installed from that PyPI does not have."""

from msgspec.structs import replace

from gpudoctor.fixes.python import install
from gpudoctor.knowledge.requests import OtherProject
from gpudoctor.maybe import text_of
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import release
from gpudoctor.targets import OnPython
from gpudoctor.tasks import Command
from gpudoctor.tasks.placeholders import RELEASE


def meant(on: OnPython, row: OtherProject, force: bool = False) -> tuple[str, Command | None]:
    """Say where the project that is meant is, and install it; no command where pip cannot, or not enough is known.

    Args:
        on: the environment.
        row: the package of PyPI that only has its name.
        force: install it although a release of it is there, and leave its dependencies alone.
    """
    torch, python = one_of(on.python, "torch"), text_of(on.python.version).split(".")[:2]
    words = {
        "torch": ".".join(release(text_of(torch.version)).split(".")[:2]) if torch else "",
        "tag": f"cp{''.join(python)}",
        "arch": text_of(on.facts.host.architecture),
    }
    if not row.install or not all(words.values()):
        return row.instead.format(**words), None
    blanks = (RELEASE,) if RELEASE.name in row.install else ()
    command = install(on.python, row.install.format(**words), force=force, no_deps=force)
    return row.instead.format(**words), replace(command, placeholders=blanks)
