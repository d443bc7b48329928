"""A chart with its title, the table's rows, and the lines above and below: by what they say."""

import re
from typing import Any

import msgspec
import pytest

from gpudoctor.maybe import Unknown
from gpudoctor.monitor.snapshot import LIVE, STILL, Snapshot, Watched
from gpudoctor.sampling.lines import GpuSample, HostMemory, MonitorDevice, MonitorProcess, Slice
from gpudoctor.tui.gpus.chart import DOTS
from gpudoctor.tui.gpus.device_header import header
from gpudoctor.tui.gpus.link_panel import links
from gpudoctor.tui.gpus.metrics import METRICS
from gpudoctor.tui.gpus.notes import note, span, summary
from gpudoctor.tui.gpus.plot import plot
from gpudoctor.tui.gpus.processes import HEADING, rows
from gpudoctor.tui.gpus.table import BY_KEY, heading, row
from gpudoctor.tui.gpus.words import age, axis

HEALTHY = MonitorDevice(
    name="NVIDIA H100", address="0000:0a:00.0", memory=80 << 30, temperature_slowdown=90, power_limit=700.0,
    sm_clock_max=1980, link_generation_max=5, link_width_max=16, nvlinks=(True,) * 18, mig=False, mig_devices=(),
)  # fmt: skip
SAMPLE = GpuSample(
    at=9.0, utilization=97, memory_used=60 << 30, temperature=64.0, power=512.0, sm_clock=1755.0, memory_clock=2619.0,
    fan=None, performance_state=0, event_reasons=("sw-power-cap",), pcie_rx=9.24e9, pcie_tx=1.6e9, link_generation=5,
    link_width=16,
)  # fmt: skip
HELD = "Throttle: "


def gpu(device: MonitorDevice = HEALTHY, **changes: Any) -> Watched:
    sample = msgspec.structs.replace(SAMPLE, **changes)
    return Watched(key="nvidia 0", vendor="nvidia", index=0, device=device, samples=(sample,), processes=())


def look(*gpus: Watched, kind: str = LIVE, **more: Any) -> Snapshot:
    return msgspec.structs.replace(Snapshot(kind=kind, now=9.5, devices=gpus), **more)


def drawn(key: str, one: Watched, kind: str = LIVE, width: int = 26, height: int = 3) -> list[str]:
    rows = plot(BY_KEY[key], one, look(one, kind=kind), 1.0, DOTS, width, height)
    return ["".join(text for text, _ in line) for line in rows]


@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("utilization", "Utilization            97%"),
        ("memory", "Memory    60.0 of 80.0 GiB"),
        ("temperature", "Temperature    64 of 90 °C"),
        ("power", "Power         512 of 700 W"),
        ("clock", "SM clock  1755 of 1980 MHz"),
        ("pcie", "PCIe   in 9.2 out 1.6 GB/s"),
    ],
)
def test_the_title_says_the_newest_value_and_its_limit(key: str, title: str) -> None:
    assert drawn(key, gpu())[0] == title


def test_what_the_top_of_a_chart_without_a_limit_stands_for_is_said_where_there_is_room() -> None:
    assert drawn("pcie", gpu(), width=40)[0].endswith("in 9.2 out 1.6 GB/s, max 12.8")


@pytest.mark.parametrize("key", [metric.key for metric in METRICS])
def test_a_chart_fills_its_room(key: str) -> None:
    found = drawn(key, gpu(), height=9)
    assert [len(line) for line in found] == [26] * 9
    assert any(char > "⠀" for char in "".join(found[1:]))


@pytest.mark.parametrize(
    ("width", "seconds", "line"),
    [
        (26, 52.0, "-52 s                  now"),
        (12, 180.0, "-3 min   now"),
        (9, 18.0, "-18 s now"),
        (8, 18.0, "        "),
    ],
)
def test_the_time_stands_at_both_ends_of_a_chart_where_there_is_room(width: int, seconds: float, line: str) -> None:
    assert axis(width, seconds) == line


def test_a_chart_of_some_lines_has_its_time_beneath_and_a_moment_has_none() -> None:
    assert drawn("power", gpu(), height=4)[-1] == axis(26, 52)
    assert "now" not in "".join(drawn("power", gpu(), height=3))
    assert "now" not in "".join(drawn("power", gpu(), STILL, height=9))


def test_unknown_says_why_and_is_not_drawn() -> None:
    found = drawn("power", gpu(power=Unknown("NVML: GPU is lost")))
    assert found == ["Power           ? of 700 W", "Unknown: NVML: GPU is", "lost."]


def test_what_a_gpu_has_not_is_said() -> None:
    assert "This GPU has no such" in "".join(drawn("power", gpu(power=None)))


def test_without_a_limit_only_the_value_is_told() -> None:
    assert drawn("power", gpu(MonitorDevice()))[0].endswith("512 W")


def test_a_moment_is_a_bar() -> None:
    found = drawn("utilization", gpu(utilization=50), STILL, width=10)
    assert found[1:] == ["━━━━━─────"]


def test_what_the_driver_says_reaches_the_terminal_harmless() -> None:
    evil = gpu(msgspec.structs.replace(HEALTHY, name="[red]\x1b[31mH100"), power=Unknown("\x1b[2J[bold]no"))
    texts = [
        *drawn("power", evil, width=60),
        header(evil, "", 80)[0].plain,
        note(look(evil, evil))[0].plain,
        summary((evil,)),
    ]
    assert "\x1b" not in "".join(texts)
    assert "[red]" in texts[2]


# -- the table -----------------------------------------------------------------------------------------------


def reported(one: Watched, width: int = 78, height: int = 1) -> list[str]:
    return row(one, look(one), width, height, 1.0, DOTS).plain.split("\n")


@pytest.mark.parametrize("width", [78, 118, 198])
def test_the_heading_stands_above_its_columns(width: int) -> None:
    names, (values,) = heading(width), reported(gpu(), width)
    for title, value in (
        ("Temp", "64°"),
        ("Power W", "512/700"),
        ("MHz", "1755"),
        ("PCIe", "Gen5 x16"),
        ("Util", "97%"),
    ):
        assert names.index(title) + len(title) == values.index(value) + len(value), title
    assert names.index("Throttle") == values.index("power cap")
    assert len(values) <= width


@pytest.mark.parametrize("width", [78, 118, 198])
def test_the_table_has_the_time_above_its_charts_and_the_memory_as_a_bar(width: int) -> None:
    names, (values,) = heading(width, 2.0), reported(gpu(), width)
    assert names.index(" now ") < names.index("Memory")
    assert re.search(r"-(\d+) (s|min)", names)
    used, free = values.count("━"), values.count("─")
    assert used == round((used + free) * 60 / 80)
    assert "60.0/80 ━" in values


def test_a_row_of_several_lines_has_its_values_at_the_foot() -> None:
    found = reported(gpu(), height=3)
    assert ["512/700" in line for line in found] == [False, False, True]
    assert len({len(line) for line in found}) == 1


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({"link_width": 4}, "Gen5 x4!"), ({"event_reasons": 1 << 6}, "HW thermal"), ({"event_reasons": ()}, "none"),
        ({"utilization": Unknown("?")}, "?"), ({"utilization": None}, " - "), ({"link_width": None}, "-"),
    ],
)  # fmt: skip
def test_what_is_not_well_has_a_mark_besides_its_colour(changes: dict[str, Any], holds: str) -> None:
    assert holds in reported(gpu(**changes))[0]


def test_a_gpu_that_cannot_be_asked_says_why() -> None:
    lost = Watched(key="nvidia 3", vendor="nvidia", index=3, refused="NVML: GPU is lost")
    assert reported(lost, height=2) == [" 3  cannot be queried: NVML: GPU is lost", ""]
    assert header(lost, "", 80)[1].plain == "cannot be queried: NVML: GPU is lost"
    assert drawn("power", lost)[1:] == ["NVML: GPU is lost"]


# -- above and below -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reasons", "message"),
    [
        ((), "none"),
        (("gpu-idle",), "idle"),
        (("sw-power-cap", "hw-thermal-slowdown"), "power cap, HW thermal slowdown"),
        (1 << 47, "bit-47"),
        (Unknown("amdgpu does not tell"), "?"),
        (None, "-"),
    ],
)
def test_what_holds_the_clocks_is_said_in_words(reasons: object, message: str) -> None:
    assert header(gpu(event_reasons=reasons), "last 48 s", 80)[1].plain.endswith(HELD + message)


def test_the_header_fits_its_width() -> None:
    wide, narrow = (header(gpu(), "last 48 s", width)[0].plain for width in (80, 30))
    assert (len(wide), wide.endswith("last 48 s"), "0000:0a:00.0" in wide) == (80, True, True)
    assert "0000:0a:00.0" not in narrow


def test_links_say_what_is_narrow_and_what_is_down() -> None:
    device = msgspec.structs.replace(HEALTHY, nvlinks=(True, False), pcie_replays=3, ecc_uncorrected=1)
    (line,) = links(gpu(device, link_width=4))
    assert line.plain == (
        "PCIe Gen5 x4, max Gen5 x16 (too few lanes)   NVLink 1 of 2 up   MIG off   Replays 3   ECC errors 1"
    )


def test_each_mig_device_has_a_line() -> None:
    one = Slice(uuid="MIG-1", name="NVIDIA A100 MIG 1g.5gb", memory=5 << 30, memory_used=1 << 30)
    device = msgspec.structs.replace(HEALTHY, mig=True, mig_devices=(one, Slice()))
    first, second, third = (line.plain for line in links(gpu(device)))
    assert "MIG on, 2 devices" in first
    assert second.split() == ["1g.5gb", "1.0", "of", "5.0", "GiB", "MIG-1"]
    assert third.split() == ["MIG", "device", "?"]


@pytest.mark.parametrize(
    ("device", "message"),
    [
        (MonitorDevice(), "NVLink unknown   MIG unknown"),
        (MonitorDevice(nvlinks=None, mig=None), "NVLink none   MIG none"),
    ],
)
def test_unknown_links_are_not_none(device: MonitorDevice, message: str) -> None:
    assert message in links(gpu(device))[0].plain


def test_processes_stand_by_their_memory() -> None:
    found = (
        MonitorProcess(
            pid=7, kind="C", memory=1 << 30, name="python", command="/opt/env/bin/python train.py --data /mnt/x",
            user="anna", host_memory=11 << 30, age=3_700.0,
        ),
        MonitorProcess(
            pid=8, kind="C+G", memory=20 << 30, name=None, command=None, user=1000, host_memory=None, age=None
        ),
        MonitorProcess(pid=9, memory=Unknown("?"), name=Unknown("?"), user=Unknown("?")),
        MonitorProcess(pid=6, kind="G", memory=0, name="Xorg", command=Unknown("?"), user="root", age=59.0),
    )  # fmt: skip
    lines = [line.plain for line in rows([msgspec.structs.replace(gpu(), processes=found)])]
    assert lines == [
        "  0        8  1000     20.0 GiB         -       -  C+G  not in this container",
        "  0        7  anna     1024 MiB  11.0 GiB     1 h  C    python train.py --data /mnt/x",
        "  0        9  ?               ?         ?       ?  ?    ?",
        "  0        6  root        0 MiB         ?    59 s  G    Xorg",
    ]
    ends = [(name, HEADING.index(name) + len(name)) for name in ("GPU", "PID", "GPU mem", "Host mem", "Age")]
    assert [lines[1][:end].split(" ")[-1] for _, end in ends] == ["0", "7", "MiB", "GiB", "h"]
    assert lines[1].index("python") == HEADING.index("Command")


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (59.9, "59 s"), (60, "1 min"), (7_199, "1 h"), (200_000, "2 d"), (None, "-")]
)
def test_ages_have_the_largest_unit(seconds: float | None, shown: str) -> None:
    assert age(seconds) == shown


def test_the_hosts_memory_stands_in_the_note() -> None:
    host = HostMemory(memory=64 << 30, memory_available=41 << 30)
    shown = msgspec.structs.replace(look(gpu()), host=host)
    assert note(shown)[0].plain == "RAM 23/64 GiB   live, one sample per second"
    unknown = msgspec.structs.replace(look(gpu()), host=HostMemory(memory=64 << 30))
    assert note(unknown)[0].plain == "live, one sample per second"


def test_no_process_and_unknown_processes_are_said() -> None:
    assert rows([gpu()])[0].plain == "No process uses the GPU."
    silent = msgspec.structs.replace(gpu(), processes=Unknown("NVML: GPU is lost"))
    assert rows([silent])[0].plain == "GPU 0: NVML: GPU is lost"


@pytest.mark.parametrize(
    ("kind", "message"),
    [("live", "live"), ("replayed", "replayed: not measured here"), ("still", "a single recorded sample")],
)
def test_whose_samples_these_are_is_said(kind: str, message: str) -> None:
    (line,) = note(look(gpu(), gpu(), kind=kind, title="not measured here" if kind == "replayed" else ""))
    assert line.plain.startswith("2 x NVIDIA H100")
    assert message in line.plain


def test_a_trouble_stands_in_its_place() -> None:
    said = "NVIDIA's driver stopped responding 4 s ago, asked for the state of GPU 1."
    assert [line.plain for line in note(look(gpu(), troubles=(said,)))] == [f"{said} The values shown are older."]
    assert note(look()) == []


@pytest.mark.parametrize(("step", "message"), [(1.0, "last 52 s"), (5.0, "last 4 min")])
def test_the_time_that_a_chart_shows(step: float, message: str) -> None:
    assert span(look(), step, DOTS, 26) == message
    assert span(look(kind=STILL), step, DOTS, 26) == ""


def test_the_values_as_text() -> None:
    assert summary((gpu(),)) == (
        "GPU 0 NVIDIA H100: Utilization 97%, Memory 60.0 of 80.0 GiB, Temperature 64 of 90 °C, Power 512 of 700 W, "
        "SM clock 1755 of 1980 MHz, PCIe in 9.2 out 1.6 GB/s, Throttle: power cap"
    )
