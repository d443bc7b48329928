"""NVIDIA's driver branches, from the list that NVIDIA publishes for programs.

"The release information can be scraped by automation tools", says
https://docs.nvidia.com/datacenter/tesla/drivers/supported-drivers-and-cuda-toolkit-versions.html.
"""

import json
from collections.abc import Iterator

from gpudoctor.knowledge.drivers import drivers
from scripts.refreshing.difference import Difference, Fetch

ADDRESS = "https://docs.nvidia.com/datacenter/tesla/drivers/releases.json"
KINDS = {"lts branch": "LTSB", "production branch": "PB", "new feature branch": "NFB"}
HAND = "the CUDA version that it reports, and its end of life: read its release notes"


def differences(fetch: Fetch) -> Iterator[Difference]:
    """Branches that the table does not have, or has as of another kind.

    Raises:
        OSError: NVIDIA does not answer.
    """
    for number, branch in json.loads(fetch(ADDRESS)).items():
        kind, row = KINDS.get(str(branch.get("type", "")).lower(), ""), drivers().branch.get(int(number))
        if row is None and int(number) > min(drivers().branch):
            yield Difference("drivers", ("branch", number), None, kind, ADDRESS, HAND)
        elif row is not None and kind and row[1] != kind:
            yield Difference("drivers", ("branch", number, 1), row[1], kind, ADDRESS)
