"""The headers of cuDNN and NCCL: small files that name the version of what is installed, loaded by anything or not."""

from collections.abc import Iterator, Sequence

from gpudoctor.facts.toolkit import LibraryHeader
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine

# https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/overview.html (CUDNN_MAJOR ...); src/nccl.h.in of NCCL.
_HEADERS = (
    ("cuDNN", "cudnn_version.h", pattern(r"^#define CUDNN_(?:MAJOR|MINOR|PATCHLEVEL)\s+(\d+)", 8)),
    ("NCCL", "nccl.h", pattern(r"^#define NCCL_(?:MAJOR|MINOR|PATCH)\s+(\d+)", 8)),
)  # 8: re.MULTILINE


def probe(machine: Machine, roots: Sequence[str]) -> tuple[LibraryHeader, ...]:
    """Return each header once, links resolved.

    Args:
        machine: where to look.
        roots: directories that have an include directory: toolkits, and "/usr".
    """
    found = {header.path: header for root in roots for header in _of(machine, root)}
    return tuple(found.values())


def _of(machine: Machine, root: str) -> Iterator[LibraryHeader]:
    folders = [f"{root}/include"]
    if root == "/usr":
        folders.append(f"{folders[0]}/{machine.architecture()}-linux-gnu")
    for library, name, define in _HEADERS:
        for folder in folders:
            text = machine.line(f"{folder}/{name}")
            parts = define.findall(text) if text else ()
            if len(parts) == 3:
                path = machine.real(f"{folder}/{name}")
                yield LibraryHeader(library=library, path=path, version=".".join(parts))
