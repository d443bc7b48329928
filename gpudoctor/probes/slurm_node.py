"""Which GPUs of this machine Slurm offers: slurm.conf's Gres, gres.conf, and the plugins by which slurmd finds them."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from gpudoctor.digits import number_of
from gpudoctor.facts.cluster import SlurmNode
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

# slurm.conf where packages have it, and as slurmd gets it from the controller
# (https://slurm.schedmd.com/configless_slurm.html).
_CONF = ("/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf", "/etc/slurm-llnl/slurm.conf")
_CACHE = "/var/spool/slurmd/conf-cache/slurm.conf"
_CONTINUED = pattern(r"\\\s*\n")
_PAIR = pattern(r"(\w+)\s*=\s*(\"[^\"]*\"|\S+)")
_INCLUDE = pattern(r"(?im)^\s*include\s")
# Where units have slurmd's options: https://github.com/SchedMD/slurm/blob/master/etc/slurmd.service.in
_OPTIONS = ("/etc/default/slurmd", "/etc/sysconfig/slurmd")
_DYNAMIC = pattern(r"(?<![\w-])-Z(?![\w-])")
_OPTION_GRES = pattern(r"(?i)\bgres=([^\s'\",]+)")
_FOLDERS = (
    "/usr/lib64/slurm",
    "/usr/lib/slurm",
    "/usr/lib/slurm-wlm",
    "/usr/local/lib/slurm",
    "/usr/local/lib64/slurm",
)
# Every build of Slurm has these.
_ALWAYS = ("gpu_generic.so", "gres_gpu.so")
_LIBRARIES = ("nvml", "rsmi", "oneapi")  # Slurm looks for them anywhere in the value, in this order


def probe(machine: Machine, slurmd: str, hostname: str | None) -> SlurmNode:
    """Read slurm.conf and gres.conf, and list the directories of plugins.

    Args:
        machine: where to look.
        slurmd: the path of the program.
        hostname: this machine's name.
    """
    prefixes = dict.fromkeys(path.rpartition("/sbin/")[0] for path in (slurmd, machine.real(slurmd)))
    own = [f"{prefix}/etc/{name}" for prefix in prefixes for name in ("slurm.conf", "slurm/slurm.conf")]
    try:
        conf, text = _first(machine, (machine.env.get("SLURM_CONF", ""), *_CONF, _CACHE, *own))
    except OSError as error:
        return SlurmNode(autodetect=Unknown(f"{error.filename}: {error.strerror}"))
    if conf is None:
        return SlurmNode(autodetect=Unknown("no slurm.conf was found"))
    node = _gres(machine, f"{conf.rpartition('/')[0]}/gres.conf", text, hostname)
    types = _gres_types(text)
    options = " ".join(map(_options, map(machine.line, _OPTIONS)))
    dynamic = _DYNAMIC.search(options) is not None
    gres = _own_gres(text, options, dynamic, hostname)
    node = msgspec.structs.replace(node, gres_types=types, gres=gres, dynamic=dynamic)
    if node.autodetect is None or types is False:
        return node
    folders = _plugin_folders(machine, text, list(prefixes))
    if not folders:
        why = Unknown("no directory with Slurm's plugins was found")
        return msgspec.structs.replace(node, plugin_folders=why, gpu_plugins=why)
    files = sorted({name for names in folders.values() for name in names if re.fullmatch(r"gpu_\w+\.so", name)})
    plugins = tuple(name.removeprefix("gpu_").removesuffix(".so") for name in files)
    return msgspec.structs.replace(node, plugin_folders=tuple(folders), gpu_plugins=plugins)


def _gres_types(conf: str) -> Maybe[bool]:
    types = [pairs["grestypes"] for pairs in _lines(conf) if "grestypes" in pairs]
    if any("gpu" in one.lower() for one in types):
        return True
    return Unknown("slurm.conf includes other files") if _INCLUDE.search(conf) else False


def _own_gres(conf: str, options: str, dynamic: bool, hostname: str | None) -> Maybe[str | None]:
    """Gres of this node: of its line, else of the last NodeName=DEFAULT before it, else of slurmd's --conf.

    Args:
        conf: slurm.conf's text.
        options: slurmd's.
        dynamic: whether the node announces itself.
        hostname: this machine's name.
    """
    default = None
    for pairs in _lines(conf):
        name = pairs.get("nodename")
        if name and name.upper() == "DEFAULT":
            default = pairs.get("gres", default)
        elif name and any(_is_among(one, hostname) for one in (name, pairs.get("nodehostname", ""))):
            return pairs.get("gres", default)
    if dynamic:
        found = _OPTION_GRES.search(options)
        return found[1] if found else None
    return Unknown("slurm.conf includes other files" if _INCLUDE.search(conf) else "no line of slurm.conf names it")


def _options(text: str | None) -> str:
    """What a file of variables gives slurmd: the lines that are no comments."""
    return " ".join(line for line in (text or "").splitlines() if not line.lstrip().startswith("#"))


def _first(machine: Machine, paths: Sequence[str]) -> tuple[str | None, str]:
    """The first of the files that is there, with its text.

    Raises:
        OSError: it cannot be read.
    """
    for path in paths:
        if path.startswith("/") and machine.exists(path):
            return path, machine.text(path)
    return None, ""


def _gres(machine: Machine, path: str, conf: str, hostname: str | None) -> SlurmNode:
    """What gres.conf says of this node.

    Args:
        machine: where to look.
        path: of gres.conf.
        conf: slurm.conf's text.
        hostname: this machine's name.
    """
    if not machine.exists(path):
        return SlurmNode(autodetect=None)
    try:
        text = machine.text(path)
    except OSError as error:
        return SlurmNode(gres_conf=path, autodetect=Unknown(f"{path}: {error.strerror}"))
    if _INCLUDE.search(text):
        return SlurmNode(gres_conf=path, autodetect=Unknown(f"{path} includes other files"))
    every = list(_lines(text))
    for_all = [pairs for pairs in every if "nodename" not in pairs]
    named = [pairs for pairs in every if "nodename" in pairs]
    mine = [pairs for pairs in named if _is_among(pairs["nodename"], hostname)]
    # A node may have another name in Slurm than its own; then nobody can tell whose the lines are.
    certain = bool(mine) or any(_is_among(pairs.get("nodename", ""), hostname) for pairs in _lines(conf))
    lists = any(_lists_gpus(pairs) for pairs in (*for_all, *(mine if certain else named)))
    if not certain and any("autodetect" in pairs for pairs in named):
        why = Unknown(f"{path} names nodes, and by which name Slurm knows this one is not known")
        return SlurmNode(gres_conf=path, autodetect=why, lists_gpus=lists)
    values = [pairs["autodetect"] for pairs in (*mine, *for_all) if "autodetect" in pairs]
    return SlurmNode(gres_conf=path, autodetect=_by(values[0]) if values else None, lists_gpus=lists)


def _by(value: str) -> str | None:
    value = value.lower()
    found = next((name for name in _LIBRARIES if name in value), value)
    return None if found == "off" else found


def _lists_gpus(pairs: dict[str, str]) -> bool:
    return pairs.get("name", "").lower() == "gpu" and bool({"file", "multiplefiles", "count"} & set(pairs))


def _lines(text: str) -> Iterator[dict[str, str]]:
    """The parameters of each line by their names in small letters."""
    for line in _CONTINUED.sub(" ", text).splitlines():
        pairs = {key.lower(): value.strip('"') for key, value in _PAIR.findall(line.partition("#")[0])}
        if pairs:
            yield pairs


def _is_among(nodes: str, hostname: str | None) -> bool:
    """Whether Slurm's text of nodes, "gpu[01-04,7],login", names this machine."""
    names = {hostname, hostname.partition(".")[0]} if hostname else set()
    return any(_is(part, name) for part in re.split(r",(?![^\[]*\])", nodes) for name in names if name)


def _is(part: str, name: str) -> bool:
    pieces = re.split(r"\[([^\]]*)\]", part)
    shape = "".join("([0-9]+)" if at % 2 else re.escape(piece) for at, piece in enumerate(pieces))
    found = re.fullmatch(shape, name)
    return found is not None and all(map(_within, found.groups(), pieces[1::2]))


def _within(number: str, ranges: str) -> bool:
    for one in ranges.split(","):
        first, _, last = one.partition("-")
        low, here, high = number_of(first), number_of(number), number_of(last or first)
        if low is None or here is None or high is None:
            continue
        if low <= here <= high and number == str(here).zfill(len(first)):
            return True
    return False


def _plugin_folders(machine: Machine, conf: str, prefixes: Sequence[str]) -> dict[str, list[str]]:
    """The directories with Slurm's plugins, and their files: those of PluginDir, else all usual ones."""
    said = [pairs["plugindir"] for pairs in _lines(conf) if "plugindir" in pairs]
    triplet = f"{machine.architecture()}-linux-gnu"
    places = [f"{prefix}/lib{bits}/slurm" for prefix in prefixes for bits in ("64", "")]
    usual = [*places, f"/usr/lib/{triplet}/slurm-wlm", f"/usr/lib/{triplet}/slurm", *_FOLDERS]
    listed = {folder: machine.names(folder) for folder in (said[-1].split(":") if said else usual)}
    return {folder: names for folder, names in listed.items() if any(one in names for one in _ALWAYS)}
