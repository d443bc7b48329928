"""What macOS says of the Mac and its GPU."""

import msgspec

from gpudoctor.facts.text_types import Version
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class AppleFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The Mac; each is None where this is none."""

    silicon: Maybe[bool | None] = NOT  # its processor is Apple's own (arm64), whatever a program under Rosetta is told
    chip: Maybe[str | None] = NOT  # "Apple M2 Pro", "Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz"
    macos: Maybe[Version | None] = NOT  # "14.5"


NO_MAC = AppleFacts(silicon=None, chip=None, macos=None)  # on other systems
