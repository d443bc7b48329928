"""What amdgpu shows of one GPU in sysfs (https://docs.kernel.org/gpu/amdgpu/driver-misc.html, thermal.html)."""

import re

from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.numbers import signed

_SLEEPS = Unknown("not read: the GPU sleeps, and reading would wake it")


class Sensors:
    """Reads the files in a GPU's folder of sysfs.

    Args:
        machine: where to look.
        folder: the GPU's, under /sys/bus/pci/devices.
        asleep: it is suspended; most of these files would wake it, so none is read.
    """

    def __init__(self, machine: Machine, folder: str, *, asleep: bool) -> None:
        self._machine = machine
        self._folder = folder
        self._asleep = asleep
        hwmon = machine.names(f"{folder}/hwmon")
        self._hwmon = f"hwmon/{hwmon[0]}" if hwmon else "hwmon/hwmon0"

    def text(self, name: str) -> Maybe[str | None]:
        """Return a file's content; None where this GPU has no such file, which can be seen without waking it."""
        path = f"{self._folder}/{name}"
        if self._asleep and (self._machine.exists(path) or not self._machine.exists(self._folder)):
            return _SLEEPS
        try:
            return self._machine.text(path, 1 << 16).strip()
        except FileNotFoundError:
            there = self._machine.exists(self._folder)
            return None if there else Unknown(f"{self._folder} is not shown here")
        except OSError as error:  # EBUSY and EPERM while the GPU resets or sleeps
            return Unknown(f"{path}: {error.strerror}")

    def number(self, name: str) -> Maybe[int | None]:
        """Return a file's number; Unknown where there is no such file: which GPUs have it differs by kernel."""
        text = _SLEEPS if self._asleep else self.text(name)
        if isinstance(text, str):
            number = signed(text)
            return Unknown(f"{name} contains {text[:40]!r}") if number is None else number
        return Unknown(f"amdgpu shows no {name} for this GPU") if text is None else text

    def watts(self, *names: str) -> Maybe[float | None]:
        """Return the first of some power sensors in watts; hwmon counts microwatts."""
        value: Maybe[int | None] = Unknown()
        for name in names:
            value = self.number(f"{self._hwmon}/{name}")
            if isinstance(value, int):
                return value / 1e6
        return value

    def temperatures(self) -> tuple[Maybe[int | None], Maybe[int | None]]:
        """Return the edge sensor (GPUs without it: the hot spot) and its critical point, in degrees Celsius."""
        first = self.number(f"{self._hwmon}/temp1_input")
        sensor = "temp1" if isinstance(first, int) else "temp2"
        value = first if isinstance(first, int) else self.number(f"{self._hwmon}/temp2_input")
        critical = self.number(f"{self._hwmon}/{sensor}_crit")
        return _celsius(value), _celsius(critical)

    def clock(self) -> Maybe[int | None]:
        """Return the shader clock in MHz; hwmon counts Hz."""
        value = self.number(f"{self._hwmon}/freq1_input")
        return round(value / 1e6) if isinstance(value, int) else value

    def clock_max(self) -> Maybe[int | None]:
        """Return the highest level of the shader clock in MHz, the last of "2: 2482Mhz *"."""
        text = self.text("pp_dpm_sclk")
        if isinstance(text, str):
            levels = [int(level) for level in re.findall(r"^\w+: ([0-9]{1,9})Mhz", text, re.M)]
            return max(levels, default=Unknown("pp_dpm_sclk lists no levels"))
        return Unknown("amdgpu shows no pp_dpm_sclk for this GPU") if text is None else text

    def ecc(self) -> Maybe[bool | None]:
        """Return whether the memory is watched for errors; None where the GPU has no RAS, as most cards have none."""
        if not self._machine.exists(self._folder):
            return Unknown(f"{self._folder} is not shown here")
        names = self._machine.names(f"{self._folder}/ras")
        return "umc_err_count" in names if names else None

    def uncorrected(self) -> Maybe[int | None]:
        """Return the uncorrectable errors of all blocks since the driver was loaded; None without RAS."""
        if self._asleep:
            return _SLEEPS
        blocks = [n for n in self._machine.names(f"{self._folder}/ras") if n.endswith("_err_count")]
        if not blocks:
            return None if self._machine.exists(self._folder) else Unknown(f"{self._folder} is not shown here")
        total = 0
        for block in blocks:
            text = self.text(f"ras/{block}")
            if isinstance(text, Unknown):
                return text
            found = re.search(r"^ue: ([0-9]{1,15})$", text or "", re.M)
            if found is None:
                return Unknown(f"ras/{block} contains {(text or '')[:40]!r}")
            total += int(found[1])
        return total


def _celsius(value: Maybe[int | None]) -> Maybe[int | None]:
    """Hwmon counts thousandths of a degree."""
    return round(value / 1000) if isinstance(value, int) else value
