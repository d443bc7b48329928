"""The node with the bad link: what its facts and its smoke tests have in common."""

DRIVER = "580.95.05"
RELEASE = "6.8.0-87-generic"
VENV = "/opt/train"
NAME = "NVIDIA H100 PCIe"
MEMORY = 81_559 << 20
BUSES = (0x01, 0x21, 0x41, 0x61, 0x81, 0xA1, 0xC1, 0xE1)
ADDRESSES = tuple(f"0000:{bus:02x}:00.0" for bus in BUSES)
UUIDS = tuple(
    f"GPU-{n}"
    for n in (
        "b1c7e0f2-5a3d-4e86-9f10-7d2b6c8e4a01",
        "0e94d7a8-21cb-7f35-a6de-58c3f1b07e62",
        "7a2f5c13-e8b0-1d49-b374-c9064ed8f2a5",
        "d36b81e4-0f97-6a2c-8e5b-12a7f43cd098",
        "4c58f09b-b7e2-93d1-a0c6-e65d832f17b4",
        "91ae3d70-6c4f-28b5-95e3-0bf7ca21d846",
        "f80d26b5-13a9-5ec7-b48f-a47e9051c3d2",
        "2573c9ef-da60-8b1e-87a2-6f3ce18b50d9",
    )
)
ILL = 5  # which of them
LANES = 4
ARCHS = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
