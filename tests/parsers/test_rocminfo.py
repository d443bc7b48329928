"""What rocminfo prints: its agents, and the call that failed."""

import pytest

from gpudoctor.parsers.rocminfo import Listing, parse

# The format of ROCm 7.0 (ROCm/legacy-rocm-build#5379), with the lines that matter; labels are 25 wide, values 35.
HEAD = """\
\x1b[37mROCk module is loaded\x1b[0m
=====================
HSA System Attributes
=====================
Runtime Version:         1.18
Runtime Ext Version:     1.11

==========
HSA Agents
==========
"""
CPU = """\
*******
Agent 1
*******
  Name:                    AMD Ryzen 9 7950X 16-Core Processor
  Uuid:                    CPU-XX
  Marketing Name:          AMD Ryzen 9 7950X 16-Core Processor
  Vendor Name:             CPU
  Feature:                 None specified
  Device Type:             CPU
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: FINE GRAINED
  ISA Info:
"""
GPU = """\
*******
Agent 2
*******
  Name:                    gfx1100
  Uuid:                    GPU-5555aaaa5555aaaa
  Marketing Name:          AMD Radeon RX 7900 XTX
  Vendor Name:             AMD
  Device Type:             GPU
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1100
*******
Agent 3
*******
  Name:                    gfx1036
  Marketing Name:
  Device Type:             GPU
"""
DONE = "*** Done ***             \n"
CALL = "hsa api call failure at: /src/rocminfo/rocminfo.cc:1306"
RESOURCES = "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources."
DENIED = "Unable to open /dev/kfd read-write: Permission denied"
ENDLESS = "9" * 5000
ID = ("Warning: Agent creation failed.", "The GPU node has an unrecognized id.")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            HEAD + CPU + GPU + DONE,
            Listing((("gfx1100", "AMD Radeon RX 7900 XTX"), ("gfx1036", None)), None, ()),
        ),
        (HEAD + CPU + DONE, Listing((), None, ())),
        (HEAD + CPU, Listing(None, None, ())),
        # rocm-arch/rocm-arch#933
        ("\n".join((*ID, HEAD)) + CPU + DONE, Listing((), None, ID)),
        # ROCm/legacy-rocm-build#5433, TheRock#642
        (
            f"\x1b[37mROCk module is loaded\x1b[0m\n\x1b[31m{CALL}\n\x1b[31m{RESOURCES}\n\x1b[0m",
            Listing(None, "HSA_STATUS_ERROR_OUT_OF_RESOURCES", (CALL, RESOURCES)),
        ),
        # ROCm/legacy-rocm-build#719: releases of 2018 print a number
        (
            "hsa api call failure at line 900, file: /src/rocminfo.cc. Call returned 4104",
            Listing(
                None,
                "HSA_STATUS_ERROR_OUT_OF_RESOURCES",
                ("hsa api call failure at line 900, file: /src/rocminfo.cc. Call returned 4104",),
            ),
        ),
        ("Call returned 0x2b", Listing(None, "0x2b", ("Call returned 0x2b",))),
        ("Call returned 04104", Listing(None, "HSA_STATUS_ERROR_OUT_OF_RESOURCES", ("Call returned 04104",))),
        (f"Call returned {ENDLESS}", Listing(None, None, (f"Call returned {ENDLESS}"[:300],))),
        ("Call returned HSA_STATUS_ERROR: A generic error has occurred.",
         Listing(None, "HSA_STATUS_ERROR", ("Call returned HSA_STATUS_ERROR: A generic error has occurred.",))),
        # one agent, then an error
        (f"{HEAD}{CPU}{CALL}\n{RESOURCES}", Listing(None, "HSA_STATUS_ERROR_OUT_OF_RESOURCES", (CALL, RESOURCES))),
        (f"ROCk module is loaded\n{DENIED}\nada is member of render group", Listing(None, None, (DENIED,))),
        ("ROCk module is NOT loaded, possibly no GPU devices", Listing(None, None, ())),
        ("", Listing(None, None, ())),
    ],
    ids=[
        "two GPUs", "CPU", "cut", "unknown id", "hsa_init", "number", "hex", "zero", "endless", "generic",
        "agent fails", "kfd", "rock", "none",
    ],
)  # fmt: skip
def test_parse(text: str, found: Listing) -> None:
    assert parse(text) == found


def test_no_line_is_endless() -> None:
    (line,) = parse(f"Unable to open {'x' * 5000}\n" * 50).lines
    assert len(line) == 300
