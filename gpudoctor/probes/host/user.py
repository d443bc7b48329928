"""The user whose permissions count, and the groups that open GPU devices."""

from gpudoctor.facts.host import User, UserGroup
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.numbers import whole

# render: udev's group of /dev/kfd and renderD*; video: the older one; docker: its socket's.
MATTER = ("render", "video", "docker")
# Where getpass.getuser() looks first: https://docs.python.org/3/library/getpass.html#getpass.getuser
NO_ACCOUNT = 2  # the exit code of getent(1)
LOGIN = ("LOGNAME", "USER", "LNAME", "USERNAME")


def user(machine: Machine) -> User:
    """Return the user of this process, with numeric groups: a container often has no names for its host's."""
    uid, _, gids = machine.ids()
    known = _groups(machine)
    name = _account(machine, uid)[0]
    names = {gid: name for name, gid in reversed(known.items())}
    return User(
        uid=uid,
        name=name,
        login=_login(machine, uid, name),
        groups=tuple(UserGroup(gid=gid, name=names.get(gid)) for gid in gids),
        sudo=machine.which("sudo") is not None,
        known_groups=tuple(UserGroup(gid=known[name], name=name) for name in MATTER if name in known),
    )


def _login(machine: Machine, uid: int, name: str | None) -> Maybe[bool]:
    """Whether Python's getpass.getuser() finds a name for the user; a directory service is asked only here."""
    if name or any(machine.env.get(variable) for variable in LOGIN) or machine.system != "Linux":
        return True
    if not machine.here:
        return Unknown("programs are not run under another root")
    said = machine.run(["getent", "passwd", str(uid)], 5.0)
    if said.code in (0, NO_ACCOUNT):
        return said.code == 0
    return Unknown(f"getent passwd {uid}: {said.missing or said.err.strip() or 'no answer'}")


def home(machine: Machine) -> str | None:
    """Return the user's home as Python's expanduser() finds it: HOME, else the one in /etc/passwd."""
    return machine.env.get("HOME") or _account(machine, machine.ids()[0])[1]


def _groups(machine: Machine) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in _lines(machine, "/etc/group"):
        name, _, rest = line.partition(":")
        gid = rest.split(":")[1:2]
        number = whole(gid[0]) if gid else None
        if number is not None:
            found.setdefault(name, number)
    return found


def _account(machine: Machine, uid: int) -> tuple[str | None, str | None]:
    """The name and the home of a user; users of a directory service are not in the file."""
    for line in _lines(machine, "/etc/passwd"):
        fields = line.split(":")
        if len(fields) >= 6 and fields[2] == str(uid):
            return fields[0], fields[5] or None
    return None, None


def _lines(machine: Machine, path: str) -> list[str]:
    try:
        return machine.text(path).splitlines()
    except OSError:
        return []
