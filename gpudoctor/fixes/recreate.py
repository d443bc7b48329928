"""An environment made again in another directory, from the list of its packages."""

from gpudoctor.facts import Python
from gpudoctor.knowledge.torch import index_of_build
from gpudoctor.queries.packages import packages_of
from gpudoctor.tasks import Task, Tasks, cmd, pipe, query

_LIST = "/tmp/packages.txt"


def recreate(python: Python, new: str, *before: Task) -> Tasks:
    """List the packages, make the environment and install them there, PyTorch's builds from its own index.

    Args:
        python: whose packages are listed; its interpreter makes the new environment.
        new: the new environment's directory.
        before: what comes before the new environment is made.
    """
    indexes = dict.fromkeys(index for p in packages_of(python) if (index := index_of_build(p.version)))
    sources = (word for index in indexes for word in ("--extra-index-url", index))
    return (
        pipe(query(python.path, "-m", "pip", "freeze"), cmd("tee", _LIST)),
        *before,
        cmd(python.path, "-m", "venv", new),
        cmd(f"{new}/bin/python", "-m", "pip", "install", *sources, "-r", _LIST),
    )
