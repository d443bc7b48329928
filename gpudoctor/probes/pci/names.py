"""Names of PCI devices from the installed pci.ids."""

from functools import cached_property

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

# Debian and Arch; Fedora and Ubuntu; SUSE; what update-pciids writes.
PLACES = ("/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", "/usr/share/pci.ids", "/var/lib/pciutils/pci.ids")


class PciNames:
    """Looks names up; the file of 1.5 MB is read when the first name is asked for, and searched, not parsed."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def name(self, vendor: str, device: str) -> Maybe[str | None]:
        """Return "AD102 [GeForce RTX 4090]", or None where the file does not know the device."""
        data = self._data
        if data is None:
            return Unknown("there is no pci.ids here")
        start = data.find(f"\n{vendor}  ".encode())
        if start < 0:
            return None
        end = _NEXT.search(data, start + 1)
        at = data.find(f"\n\t{device}  ".encode(), start, end.start() if end else len(data))
        if at < 0:
            return None
        return data[at + 8 : data.find(b"\n", at + 1)].decode("utf-8", "replace").strip()

    @cached_property
    def _data(self) -> bytes | None:
        for path in PLACES:
            try:
                return b"\n" + self._machine.data(path) + b"\n"
            except OSError:
                continue
        return None


# A line that does not begin with a tab begins the next vendor, a class or a remark.
_NEXT = pattern(rb"\n(?=[^\t\n#])")
