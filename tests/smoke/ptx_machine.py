"""Runs PTX on the CPU, instruction by instruction, for the 256 threads of a block at once.

It knows what the kernels use and refuses everything else. Threads that part go on apart, those furthest behind first,
and meet again; each access to memory has to be aligned and inside of what was given to it. What instructions do:
https://docs.nvidia.com/cuda/parallel-thread-execution/.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

THREADS = 256
BASE = 1 << 32  # where the memory of the device begins
SHARED = 48 << 10  # bytes of shared memory that every GPU has
Lanes = NDArray[Any]

_TYPES = {
    "pred": "bool", "f32": "float32", "b32": "uint32", "u32": "uint32", "s32": "int32",
    "b64": "uint64", "u64": "uint64", "s64": "int64",
}  # fmt: skip
_REGISTERS = {"p": "bool", "f": "float32", "r": "uint32", "rd": "uint64"}
_CODE = re.compile(r"(?:@(!?)(%p\d+)\s+)?([a-z][\w.]*)\s*(.*);")
_OPERAND = re.compile(r"\{.*?\}|\[.*?\]|[^,\s]+")


def _fused(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    return a.astype("float64") * b + c  # the product is exact, and the sum is rounded once more at most


def _down(exact: Lanes) -> Lanes:
    """To float32, towards minus infinity."""
    near = exact.astype("float32")
    return numpy.where(near > exact, numpy.nextafter(near, numpy.float32(-numpy.inf)), near)


def _shifted(left: bool) -> Callable[[Lanes, Lanes], Lanes]:
    def call(a: Lanes, by: Lanes) -> Lanes:
        whole = 8 * a.dtype.itemsize
        amount = numpy.minimum(by, whole - 1).astype(a.dtype)
        moved = a << amount if left else a >> amount
        return numpy.where(by < whole, moved, 0) if left or a.dtype.kind == "u" else moved

    return call


# What each instruction makes of its operands, all of the type that its name ends with.
_OPERATIONS: dict[str, Callable[..., Lanes]] = {
    "add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "mul.lo": numpy.multiply,
    "mad.lo": lambda a, b, c: a * b + c, "neg": numpy.negative, "not": numpy.invert, "mov": lambda a: a,
    "and": numpy.bitwise_and, "or": numpy.bitwise_or, "min": numpy.minimum, "max": numpy.maximum,
    "rem": numpy.remainder, "shl": _shifted(True), "shr": _shifted(False), "cvta.to.global": lambda a: a,
    "div.rn": numpy.divide, "fma.rn": _fused, "fma.rm": lambda a, b, c: _down(_fused(a, b, c)),
    "ex2.approx.ftz": lambda a: numpy.exp2(a.astype("float64")),
}  # fmt: skip
_COMPARED: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
    "eq": numpy.equal, "ne": numpy.not_equal, "lt": numpy.less, "gt": numpy.greater, "ge": numpy.greater_equal,
    "neu": numpy.not_equal,
}  # fmt: skip


class Memory:
    """Words of four bytes from an address on; only those that were given away may be used."""

    def __init__(self, base: int, size: int) -> None:
        self._base, self.words = base, numpy.full(size // 4, 0xFFFFFFFF, "uint32")
        self.usable = numpy.zeros(size // 4, "bool")

    def place(self, addresses: Lanes, mask: Lanes, count: int) -> Lanes:
        """The first word of each lane's access to so many."""
        if (addresses[mask] % (4 * count)).any():
            raise ValueError("an access that is not aligned")
        at: Lanes = numpy.where(mask, (addresses.astype("int64") - self._base) // 4, 0)
        inside = ((at >= 0) & (at <= len(self.words) - count)).all()
        if not inside or not all(self.usable[at[mask] + more].all() for more in range(count)):
            raise IndexError("an access to memory of nobody")
        return at


class Kernel:
    """One entry of a PTX text: its parameters, its shared arrays, its instructions."""

    def __init__(self, parameters: str, body: str) -> None:
        self.parameters = re.findall(r"\.param \.(\w+) (\w+)", parameters)
        self.shared: dict[str, int] = {}
        self.code: list[tuple[str, str, str, list[str]]] = []
        self.labels: dict[str, int] = {}
        free = 0  # bytes of shared memory that are taken
        for line in map(str.strip, body.splitlines()):
            if line.startswith(".shared"):
                name, size = re.findall(r"(\w+)\[(\d+)\]", line)[0]
                self.shared[name], free = free, free + int(size)
            elif line.endswith(":"):
                self.labels[line[:-1]] = len(self.code)
            elif line and not line.startswith("."):
                found = _CODE.fullmatch(line)
                if found is None:
                    raise ValueError(f"no instruction: {line}")
                self.code.append((*found.group(1, 2, 3), _OPERAND.findall(found.group(4))))  # type: ignore[arg-type]
        self.taken = free


class Block:
    """The threads of one block at work."""

    def __init__(self, kernel: Kernel, memory: Memory, special: dict[str, int], arguments: dict[str, Any]) -> None:
        self._kernel, self._global, self._arguments = kernel, memory, arguments
        self._shared = Memory(0, SHARED)
        self._shared.usable[: kernel.taken // 4] = True
        self._special = {name: numpy.full(THREADS, value, "uint32") for name, value in special.items()}
        self._special["%tid.x"] = numpy.arange(THREADS, dtype="uint32")
        self._registers: dict[str, Lanes] = {}
        self._next = numpy.zeros(THREADS, "int64")
        self._ended, self._waiting = numpy.zeros(THREADS, "bool"), numpy.zeros(THREADS, "bool")

    def run(self) -> None:
        """Run until all threads have ended."""
        with numpy.errstate(all="ignore"):
            while not self._ended.all():
                ready = ~(self._ended | self._waiting)
                if not ready.any():
                    if (self._ended & ~self._waiting).any():
                        raise ValueError("a barrier for some threads only")
                    self._waiting[:] = False
                    continue
                at = int(self._next[ready].min())
                self._step(self._kernel.code[at], ready & (self._next == at))

    def _step(self, line: tuple[str, str, str, list[str]], mask: Lanes) -> None:
        negated, predicate, name, operands = line
        if predicate:
            holds = self._register(predicate)
            mask, others = mask & (~holds if negated else holds), mask & (holds if negated else ~holds)
            self._next[others] += 1
        self._next[mask] += 1
        if name in ("bra", "bra.uni"):
            self._next[mask] = self._kernel.labels[operands[0]]
        elif name == "ret":
            self._ended |= mask
        elif name == "bar.sync":
            self._waiting |= mask
        elif name.startswith(("ld.", "st.")):
            self._moved(name, operands, mask)
        else:
            self._write(operands[0], self._computed(name, operands[1:]), mask)

    def _computed(self, name: str, operands: list[str]) -> Lanes:
        stem, _, kind = name.rpartition(".")
        if stem.startswith("setp"):
            return _COMPARED[stem[5:]](*(self._read(o, kind) for o in operands))
        if stem == "selp":
            a, b = (self._read(o, kind) for o in operands[:2])
            return numpy.where(self._register(operands[2]), a, b)
        if stem == "mul.wide":
            a, b = (self._read(o, kind).astype(kind[0].replace("s", "int64").replace("u", "uint64")) for o in operands)
            return a * b
        if stem.startswith("cvt."):
            return self._converted(stem, self._read(operands[0], kind))
        amounts = ["u32" if stem in ("shl", "shr") and at else kind for at in range(len(operands))]
        return _OPERATIONS[stem](*(self._read(o, k) for o, k in zip(operands, amounts, strict=True)))

    @staticmethod
    def _converted(stem: str, value: Lanes) -> Lanes:
        if stem == "cvt.sat.f32":
            value, stem = numpy.clip(numpy.nan_to_num(value, nan=0.0), 0.0, 1.0), "cvt.f32"
        found: Lanes = value.astype(_TYPES[stem.removeprefix("cvt.").removeprefix("rn.")])
        return found

    def _moved(self, name: str, operands: list[str], mask: Lanes) -> None:
        direction, space, *more = name.split(".")
        kind = more[-1]
        if space == "param":
            self._write(operands[0], numpy.full(THREADS, self._arguments[operands[1][1:-1]], _TYPES[kind]), mask)
            return
        memory = self._shared if space == "shared" else self._global
        values = operands[0] if direction == "ld" else operands[1]
        address, _, offset = operands[direction == "ld"][1:-1].partition("+")
        registers = values.strip("{}").replace(",", " ").split()
        at = memory.place(self._read(address, "u64") + numpy.uint64(int(offset or 0) % (1 << 64)), mask, len(registers))
        for more_words, register in enumerate(registers):
            if direction == "ld":
                self._write(register, memory.words[at + more_words].view(_TYPES[kind]), mask)
            else:
                memory.words[at[mask] + more_words] = self._read(register, kind).view("uint32")[mask]

    def _register(self, name: str) -> Lanes:
        if name not in self._registers:
            kind = _REGISTERS[re.match(r"%([a-z]+)", name).group(1)]  # type: ignore[union-attr]
            self._registers[name] = numpy.zeros(THREADS, kind)
        return self._registers[name]

    def _read(self, operand: str, kind: str) -> Lanes:
        """An operand as a type: a register, a place of threads or blocks, a number, or an address in shared memory."""
        wanted = numpy.dtype(_TYPES[kind])
        if operand in self._special:
            return self._special[operand].view(wanted)
        if operand.startswith("%"):
            found = self._register(operand)
            # An address in shared memory fits a 32-bit register; of a wider one nothing else is read.
            return found.view(wanted) if found.itemsize == wanted.itemsize else found.astype(wanted)
        if operand.startswith("0f"):
            return numpy.full(THREADS, int(operand[2:], 16), "uint32").view(wanted)
        number = self._kernel.shared[operand] if operand in self._kernel.shared else int(operand)
        return numpy.full(THREADS, number % (1 << 8 * wanted.itemsize), f"uint{8 * wanted.itemsize}").view(wanted)

    def _write(self, name: str, value: Lanes, mask: Lanes) -> None:
        register = self._register(name)
        if value.dtype.kind in "ui" and register.dtype.kind in "uif" and value.itemsize == register.itemsize:
            value = value.view(register.dtype)
        elif value.dtype.kind == "f" and register.dtype.kind == "u":
            value = value.astype("float32").view("uint32")
        numpy.copyto(register, value, casting="unsafe", where=mask)


class Machine:
    """A device that runs the kernels of a PTX text.

    Args:
        text: the PTX.
        size: bytes of its memory.
    """

    def __init__(self, text: str, size: int = 1 << 20) -> None:
        entries = re.findall(r"\.visible \.entry (\w+)\((.*?)\)\n(?:\.\w+[^\n]*\n)*\{(.*?)\n\}", text, re.DOTALL)
        self.kernels = {name: Kernel(parameters, body) for name, parameters, body in entries}
        self._memory, self._free = Memory(BASE, size), 0

    def put(self, values: Lanes) -> int:
        """The address of a copy of an array of four-byte numbers; what follows it is nobody's."""
        at, self._free = self._free, self._free + (values.size + 63) // 64 * 64 + 64
        self._memory.words[at : at + values.size] = numpy.ascontiguousarray(values).ravel().view("uint32")
        self._memory.usable[at : at + values.size] = True
        return BASE + 4 * at

    def get(self, address: int, shape: tuple[int, ...], kind: str = "float32") -> Lanes:
        """The numbers at an address."""
        at = (address - BASE) // 4
        return self._memory.words[at : at + int(numpy.prod(shape))].view(kind).reshape(shape).copy()

    def launch(self, name: str, blocks: tuple[int, int], *arguments: float) -> None:
        """Run a kernel, block by block."""
        kernel = self.kernels[name]
        named = {place: value for (_, place), value in zip(kernel.parameters, arguments, strict=True)}
        for y in range(blocks[1]):
            for x in range(blocks[0]):
                special = {"%ctaid.x": x, "%ctaid.y": y, "%nctaid.x": blocks[0]}
                Block(kernel, self._memory, special, named).run()
