"""Names of PCI devices: from the installed pci.ids, and of GPUs from our own tables where there is none."""

from functools import cached_property

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or

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

    def of_revision(self, device: str, revision: Maybe[str | None]) -> Maybe[str | None]:
        """Return the name of an AMD device, on whose revision it depends: pci.ids lists all products of a device id."""
        from gpudoctor.knowledge import gpu_names  # only where there is such a GPU

        exact = gpu_names.exact_name("amd", device, known_or(revision, None))
        return exact or self.name("1002", device)

    @cached_property
    def _data(self) -> bytes | None:
        for path in PLACES:
            try:
                return b"\n" + self._machine.data(path) + b"\n"
            except OSError:
                continue
        return None


def sold_as(vendor: str, device: str, subsystem: Maybe[str | None], chip: Maybe[str | None]) -> str | None:
    """Return the name of a GPU that the installed pci.ids does not have: its product, else its chip or family.

    Args:
        vendor: the PCI vendor id.
        device: the PCI device id.
        subsystem: "10de:1463"; on it the names of NVIDIA's boards depend.
        chip: "Navi 31", where it is known.
    """
    brand = _BRANDS.get(vendor)
    if brand is None:
        return None
    from gpudoctor.knowledge import gpu_names

    product = gpu_names.name_of(brand.lower(), device, known_or(subsystem, None))
    if product is None and vendor == "8086":
        from gpudoctor.knowledge import intel

        family = intel.family(device)
        return f"Intel {family.name}" if family else None
    return product or (f"{brand} {chip}" if isinstance(chip, str) else None)


_BRANDS = {"10de": "NVIDIA", "1002": "AMD", "8086": "Intel"}
# A line that does not begin with a tab begins the next vendor, a class or a remark.
_NEXT = pattern(rb"\n(?=[^\t\n#])")
