#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fill .venv/ and build both packages with colcon; do again only what has changed. Run by `make setup`.

Needs a Python, a C++ compiler and make; everything else comes from PyPI, in the exact versions of the lock files:
requirements/lock-<distro>-ros.txt for ROS 2 and what builds, lock-<distro>.txt for the package and the demo, with
--tests also lock-<distro>-tests.txt, which is larger, and stand-ins for packages that this ROS 2 does not have.
Where a ROS 2 environment is sourced, that one is used, and PyPI only adds what is not ROS.

Each step leaves a stamp in .venv/stamps with a hash of what went into it, written when the step has succeeded: an
interrupted set-up goes on where it was.
"""

from __future__ import annotations

import fcntl
import hashlib
import html
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMPS = VENV / "stamps"
LOG = VENV / "setup.log"
VENV_PYTHON = VENV / "bin" / "python"
COLCON_DEFAULTS = VENV / "colcon_defaults.yaml"
INTERFACES = "rbd_dynamics_interfaces"
PACKAGE = "rbd_dynamics"
SILENCE = 4.0  # s that the screen may stay as it is
STAND_INS = ROOT / "test" / "stand_ins"
STAND_INS_PREFIX = VENV / "stand_ins"
WHEEL_DISTROS = ("jazzy", "kilted")
PYTHONS = ((3, 11), (3, 12), (3, 13))

#: Used only where the machine's Python comes without pip.
PIP_WHEEL = "pip-25.3-py3-none-any.whl"
PIP_SHA256 = "9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd"

NEXT = """\
Set up. Next:
  . scripts/environment.bash      puts python, rbd_dynamics and the nodes on this shell's path
  rbd_dynamics doctor             says whether everything works, and what this machine lacks
  make demo                       shows the nodes at work on a simulated Panda
  docs/first_torques.md           your own robot, in simulation: three commands"""


if TYPE_CHECKING:
    #: Picks what of a line of output goes to the screen.
    Show = Callable[[str], str | None]


class SetupError(Exception):
    """Something the person at the keyboard has to know; the message is all that is shown."""


# --- which ROS, which Python --------------------------------------------------------------------


def sourced_distro() -> str | None:
    """Name of the ROS 2 distribution whose environment is sourced, if any."""
    prefixes = [p for p in os.environ.get("AMENT_PREFIX_PATH", "").split(":") if p and not p.startswith(str(ROOT))]
    return os.environ.get("ROS_DISTRO") if prefixes else None


def ask(python: str, code: str) -> str | None:
    """What a Python prints when it runs this code; None where that fails."""
    answer = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return answer.stdout.strip() if answer.returncode == 0 else None


def choose_python(distro: str | None) -> str:
    """A Python that suits: the one that imports the sourced rclpy, or one that the wheels exist for."""
    names = [os.environ.get("PYTHON"), "python3", "python3.12", "python3.11", "python3.13"]
    code = "import sys; print(*sys.version_info[:2])" if distro is None else "import rclpy; print(0, 0)"
    # not that of this environment, in whose shell this may run: it may be made anew
    elsewhere = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if VENV not in Path(p, "x").parents)
    seen = []
    for name in names:
        python = shutil.which(name, path=elsewhere) if name else None
        if python is None:
            continue
        answer = ask(python, code)
        if answer is not None:
            version = tuple(int(part) for part in answer.split()[-2:])
            if distro is not None or version in PYTHONS:
                return python
            seen.append(f"{name} is {version[0]}.{version[1]}")
    if distro is not None:
        raise SetupError(
            f"ROS 2 {distro} is sourced, but python3 cannot import rclpy. Set PYTHON to the Python it was built for."
        )
    found = ", ".join(dict.fromkeys(seen)) or "none found"
    raise SetupError(f"Python 3.11 or 3.12 is needed ({found}). Set PYTHON to one.")


def check_machine(distro: str | None, python: str) -> None:
    """Say in one line everything that is missing."""
    missing: dict[str, str] = {}
    if not any(shutil.which(c) for c in (os.environ.get("CXX", "c++"), "g++", "clang++")):
        missing["a C++ compiler"] = "g++"
    if not shutil.which("make"):
        missing["make"] = "make"
    include = ask(python, "import sysconfig; print(sysconfig.get_path('include'))")
    if not Path(include or "", "Python.h").exists():
        missing["the header files of Python"] = "python3-dev"
    if missing:
        packages = " ".join(missing.values())
        raise SetupError(f"Missing: {', '.join(missing)}. On Debian and Ubuntu: sudo apt install {packages}")
    if distro is None and (sys.platform != "linux" or platform.machine() != "x86_64"):
        raise SetupError(
            f"ROS 2 wheels exist for Linux on x86-64 only, this is {sys.platform} on {platform.machine()}. "
            "Install ROS 2, source its setup.bash, and run this again."
        )


# --- steps and stamps ---------------------------------------------------------------------------


def digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()


def digest_files(paths: Iterable[Path]) -> str:
    return digest(*(f"{p.relative_to(ROOT)} {hashlib.sha256(p.read_bytes()).hexdigest()}" for p in sorted(paths)))


def is_done(name: str, key: str) -> bool:
    """That step, with the same inputs."""
    stamp = STAMPS / name
    return stamp.exists() and stamp.read_text() == key


def step(name: str, key: str, title: str, work: Callable[[], None]) -> None:
    """Do the work, unless it was done before with the same inputs."""
    stamp = STAMPS / name
    if is_done(name, key):
        terminal.tell(f"== {title}: done before")
        return
    terminal.tell(f"== {title}")
    stamp.unlink(missing_ok=True)
    start = time.monotonic()
    work()
    STAMPS.mkdir(parents=True, exist_ok=True)
    stamp.write_text(key)
    terminal.tell(f"   {getattr(here, 'name', '')}{time.monotonic() - start:.0f} s")


def beside(name: str, aside: Callable[[], None], work: Callable[[], None]) -> None:
    """Do both at the same time; what the first says begins with its name.

    Raises the error of either, when both have ended.
    """
    errors: list[Exception] = []

    def quietly() -> None:
        here.name = f"{name}: "
        try:
            aside()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=quietly)
    thread.start()
    try:
        work()
    finally:
        thread.join()
    if errors:
        raise errors[0]


#: `name` is what the lines of this thread begin with on the screen, where another works beside it
here = threading.local()


def run(
    command: list[str],
    environment: dict[str, str] | None = None,
    show: Show | None = None,
    waiting: Callable[[], str] | None = None,
) -> None:
    """Run a command; its output goes to the log, and to the screen as far as `show` picks it.

    After some seconds without a word the screen gets what `waiting` says, else how long the command has been running.
    """
    with open(LOG, "a") as log, Screen(waiting) as screen:
        print("$", shlex.join(command), file=log, flush=True)
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace"
        )  # fmt: skip
        lines: list[str] = []
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            lines.append(line)
            shown = show(line) if show else None
            if shown:
                screen.say(shown)
        if process.wait() != 0:
            terminal.tell("")
            print("".join(lines[-40:]), end="", file=sys.stderr)
            raise SetupError(f"{shlex.join(command[:6])} ... failed, see above and {LOG.relative_to(ROOT)}")


class Terminal:
    """What is told: on a terminal how far a command is in one line, the last, over what it said before; else in lines.

    Where two commands run, both are in it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._passing: dict[str, str] = {}

    def tell(self, text: str) -> None:
        """A line that stays; what the command of this thread said ends. "": only that."""
        with self._lock:
            self._passing.pop(getattr(here, "name", ""), None)
            print(f"{ERASE if sys.stdout.isatty() else ''}{text and text + chr(10)}", end="", flush=True)
            self._draw()

    def show(self, name: str, text: str) -> None:
        """How far the command with that name is."""
        with self._lock:
            if not sys.stdout.isatty():
                print(f"   {name}{text}\n", end="", flush=True)  # one piece, also beside another thread
                return
            self._passing[name] = text
            self._draw()

    def _draw(self) -> None:
        if self._passing and sys.stdout.isatty():
            line = "   " + "; ".join(f"{name}{text}" for name, text in self._passing.items())
            print(f"{ERASE}{line[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)


ERASE = "\r\033[K"  # the line
terminal = Terminal()


class Screen:
    """What is said while a command runs: never nothing for long."""

    def __init__(self, waiting: Callable[[], str] | None = None) -> None:
        self._began = self._said = time.monotonic()
        self._waiting = waiting or (lambda: f"{time.monotonic() - self._began:.0f} s ...")
        self._name: str = getattr(here, "name", "")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._speak)

    def __enter__(self) -> Screen:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def say(self, text: str) -> None:
        self._said = time.monotonic()
        terminal.show(self._name, text)

    def _speak(self) -> None:
        while not self._ended.wait(0.25):
            if time.monotonic() - self._said > SILENCE:
                self.say(self._waiting())


# --- the virtual environment --------------------------------------------------------------------


def make_venv(python: str, with_system: bool) -> None:
    """A new environment with pip, also where the machine's Python lacks ensurepip or pip."""
    shutil.rmtree(VENV, ignore_errors=True)
    VENV.mkdir()
    options = ["--system-site-packages"] if with_system else []
    if ask(python, "import ensurepip") is not None:
        run([python, "-m", "venv", *options, str(VENV)])
        return
    if ask(python, "import venv") is None:
        raise SetupError("Missing: Python's module venv. On Debian and Ubuntu: sudo apt install python3-venv")
    terminal.tell("   this Python has no ensurepip (Debian's python3-venv): taking pip from PyPI")
    run([python, "-m", "venv", "--without-pip", *options, str(VENV)])
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder, PIP_WHEEL)
        wheel.write_bytes(download_pip())
        run([str(VENV_PYTHON), f"{wheel}/pip", "install", "--no-index", "--ignore-installed", str(wheel)])


def download_pip() -> bytes:
    """The pip wheel, from the package index, checked."""
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"
    try:
        with urllib.request.urlopen(index, timeout=60) as answer:
            page = answer.read().decode()
        links = [html.unescape(link) for link in re.findall(r'href="([^"]+)"', page)]
        link = next(link for link in links if PIP_WHEEL in link and ".metadata" not in link)
        with urllib.request.urlopen(urllib.parse.urljoin(index, link), timeout=60) as answer:
            wheel: bytes = answer.read()
    except (OSError, StopIteration) as error:
        raise SetupError(
            f"pip could not be had from {index} ({error}). On Debian and Ubuntu: sudo apt install python3-venv"
        ) from error
    if hashlib.sha256(wheel).hexdigest() != PIP_SHA256:
        raise SetupError(f"{PIP_WHEEL} from {index} has the wrong checksum")
    return wheel


def pip_progress(total: int) -> Show:
    """Shows every 20th package that pip turns to, and when it installs."""
    count = 0

    def show(line: str) -> str | None:
        nonlocal count
        if not total:
            return None
        if line.startswith(("Collecting ", "Processing ", "Requirement already satisfied: ")):
            count += 1
            if count % 20 == 0 or count == total:
                return f"{count} of {total} packages"
        return "installing" if line.startswith("Installing collected packages") else None

    return show


def count_installed(names: set[str]) -> int:
    """How many of these packages are in the virtual environment."""
    found = (path.name.split("-")[0] for path in VENV.glob("lib/python*/site-packages/*.dist-info"))
    return sum(re.sub(r"[-_.]+", "-", name).lower() in names for name in found)


def pip(*arguments: str, names: Iterable[str] = ()) -> None:
    """names: the packages, as lock files write them, where progress is to be told."""
    # what is imported is compiled then: all of it would take longer than the downloads
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--no-compile"]
    wanted = set(names)

    def waiting() -> str:
        return f"{count_installed(wanted)} of {len(wanted)} installed" if wanted else "..."

    run(
        [str(VENV_PYTHON), "-m", "pip", "install", *options, *arguments],
        show=pip_progress(len(wanted)),
        waiting=waiting,
    )


def locked(lock: Path, name: str) -> str:
    """The version of a package in a lock file, name==version."""
    return entry_of(lock, name).split()[0]


def entry_of(lock: Path, name: str) -> str:
    """All lines of a package in a lock file: its version and the hashes of its files."""
    found = re.search(rf"^{re.escape(name)}==\S+(.*\n)(    --hash.*\n)*", lock.read_text(), re.MULTILINE)
    assert found, f"{name} is not in {lock}"
    return found[0]


def install_locked(lock: Path) -> None:
    """Exactly what the lock file says: versions, and files with those hashes."""
    names = re.findall(r"^([^ #]+)==", lock.read_text(), re.MULTILINE)
    pip("--require-hashes", "--no-deps", "--no-build-isolation", "-r", str(lock), names=names)


def install_builder(lock: Path) -> None:
    """setuptools builds the few packages that have no wheel."""
    builder = VENV / "setuptools.txt"
    builder.write_text(entry_of(lock, "setuptools"))
    pip("--require-hashes", "--no-deps", "-r", str(builder))


def install_ros(lock: Path) -> None:
    install_locked(lock)
    # A prefix without this file makes colcon warn in every run.
    (VENV / "local_setup.sh").write_text("# ROS 2 from wheels: nothing to set up\n")


def install_beside_ros(lock: Path) -> None:
    """What is not ROS, next to a sourced ROS 2, and never another NumPy than the one ROS was built with."""
    constraints = VENV / "constraints.txt"
    constraints.write_text(ask(str(VENV_PYTHON), "import numpy; print(f'numpy=={numpy.__version__}')") or "")
    library = ["-r", "requirements/library.txt", "-c", str(constraints)]
    pip(*library, "-r", "requirements/demo.txt")
    if ask(str(VENV_PYTHON), "import colcon_core, colcon_cmake, colcon_ros") is None:
        pip(locked(lock, "colcon-common-extensions"), locked(lock, "setuptools"))
    if not shutil.which("cmake"):
        pip(locked(lock, "cmake"))


def install_tests_beside_ros() -> None:
    library = ["-r", "requirements/library.txt", "-c", str(VENV / "constraints.txt")]
    pip(*library, "-r", "requirements/test.txt")
    try:
        pip(*library, "-r", "requirements/optional.txt", "-r", "requirements/compare.txt")
    except SetupError as error:
        terminal.tell(f"   {error}\n   tests that need what could not be installed will skip")


# --- building -----------------------------------------------------------------------------------


def build_environment(distro: str | None) -> dict[str, str]:
    environment = dict(os.environ)
    environment["VIRTUAL_ENV"] = str(VENV)
    environment["PATH"] = f"{VENV / 'bin'}:{environment['PATH']}"
    # `make setup` hands down its own, empty; where none says how many jobs, colcon waits for an idle machine
    flags = environment.get("MAKEFLAGS", "")
    if not re.search(r"(^|\s)(-?\w*j|--jobs)", flags):
        environment["MAKEFLAGS"] = f"-j{min(os.cpu_count() or 1, 4)} {flags}".strip()  # before variables
    environment["COLCON_DEFAULTS_FILE"] = str(COLCON_DEFAULTS)
    if distro is None:
        for name in ("PYTHONPATH", "PYTHONHOME", "COLCON_PREFIX_PATH"):
            environment.pop(name, None)
        environment["AMENT_PREFIX_PATH"] = environment["CMAKE_PREFIX_PATH"] = str(VENV)
    return environment


def colcon_build(package: str, distro: str | None, *arguments: str) -> None:
    command = [str(VENV_PYTHON), "-m", "colcon", "--log-base", "log", "build", "--packages-select", package, *arguments]
    command += ["--event-handlers", "console_direct+"]
    run(command, build_environment(distro), build_progress())


def build_progress() -> Show:
    """Shows what colcon has finished, and how far CMake is, in steps of 20 %."""
    last = 0

    def show(line: str) -> str | None:
        nonlocal last
        if line.startswith(("Finish", "Failed")):
            return line.rstrip()
        found = re.match(r"\[ *(\d+)%\]", line)
        if not found or int(found[1]) < last + 20:
            return None
        last = int(found[1]) // 20 * 20
        return f"{last} %"

    return show


def build_interfaces(distro: str | None) -> None:
    for folder in ("build", "install"):
        shutil.rmtree(ROOT / folder / INTERFACES, ignore_errors=True)
    # The same for everyone who runs colcon in this environment (scripts/environment.bash).
    options = ["-DCMAKE_BUILD_TYPE=Release", f"-DPython3_EXECUTABLE={VENV_PYTHON}"]
    # code that copies messages gains nothing by -O3, and takes longer to compile
    options += [f"-DCMAKE_{language}_FLAGS_RELEASE=-O1 -DNDEBUG" for language in ("C", "CXX")]
    if distro is None:
        options.append(f"-DCMAKE_PROJECT_INCLUDE={ROOT / 'scripts' / 'cmake' / 'with_wheels.cmake'}")
    defaults = (ROOT / "colcon_defaults.yaml").read_text()
    COLCON_DEFAULTS.write_text(defaults.replace("build:\n", f"build:\n  cmake-args: {json.dumps(options)}\n", 1))
    colcon_build(INTERFACES, distro)


def interface_inputs() -> list[Path]:
    folder = ROOT / INTERFACES
    files = [p for p in folder.rglob("*") if p.suffix in (".srv", ".msg", ".action")]
    fix = (ROOT / "scripts" / "cmake").glob("*.cmake")
    return [*files, folder / "CMakeLists.txt", folder / "package.xml", ROOT / "colcon_defaults.yaml", *fix]


def build_package(distro: str | None) -> None:
    for folder in ("build", "install"):
        shutil.rmtree(ROOT / folder / PACKAGE, ignore_errors=True)
    colcon_build(PACKAGE, distro, "--symlink-install")


def build_stand_ins(distro: str | None) -> None:
    """Into a prefix of their own, which scripts/environment.bash puts behind all others."""
    shutil.rmtree(STAND_INS_PREFIX, ignore_errors=True)
    paths = ["--base-paths", *map(str, stand_ins())]
    folders = ["--build-base", str(VENV / "build_stand_ins"), "--install-base", str(STAND_INS_PREFIX)]
    for package in stand_ins():
        colcon_build(package.name, distro, *paths, *folders)


def stand_ins() -> list[Path]:
    """Those of packages that neither the sourced ROS 2 nor the wheels have."""
    prefixes = [prefix for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    elsewhere = [prefix for prefix in (*prefixes, str(VENV)) if STAND_INS_PREFIX not in Path(prefix, "x").parents]
    folders = [file.parent for file in sorted(STAND_INS.glob("*/package.xml"))]
    return [each for each in folders if not any(Path(prefix, "share", each.name).exists() for prefix in elsewhere)]


def package_inputs() -> str:
    """The sources are linked, not copied: only what setup.py reads and the names of the linked files count."""
    files = [ROOT / name for name in ("package.xml", "setup.py", "setup.cfg")]
    names = sorted([*(ROOT / "launch").glob("*.launch.py"), *(ROOT / "config").rglob("*.*")])
    version = re.findall("^__version__.*", (ROOT / PACKAGE / "__init__.py").read_text(), re.MULTILINE)
    return digest(digest_files(files), version, *names)


def keep_compiled() -> None:
    """Where Python must leave nothing beside sources, as in containers, it keeps what it compiles in the environment.

    Otherwise each process would compile all that it imports.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = str(VENV / "pycache")


def main(*, tests: bool) -> None:
    keep_compiled()
    distro = sourced_distro()
    wheels = os.environ.get("ROS_DISTRO_WHEELS", "jazzy")
    if wheels not in WHEEL_DISTROS:
        raise SetupError(f"ROS_DISTRO_WHEELS={wheels}: choose from {', '.join(WHEEL_DISTROS)}")
    lock = ROOT / "requirements" / f"lock-{wheels if distro is None else 'jazzy'}.txt"
    ros_lock, tests_lock = (lock.with_name(f"{lock.stem}-{name}.txt") for name in ("ros", "tests"))
    python = choose_python(distro)
    check_machine(distro, python)
    about = ask(python, "import sys; print(sys.version, sys.base_prefix)")
    mode = f"wheels {wheels}" if distro is None else f"sourced {distro}"
    ros = f"{wheels.capitalize()} from PyPI wheels" if distro is None else f"{distro.capitalize()}, as sourced"
    print(f"ROS 2: {ros}; Python: {python}")

    if distro is None:
        packages_key = digest(ros_lock.read_text(), lock.read_text())
        tests_key = digest(packages_key, tests_lock.read_text())
    else:
        packages_key = digest_files(ROOT / "requirements" / f"{name}.txt" for name in ("library", "demo", "build"))
        names = ("optional", "test", "compare")
        tests_key = digest(packages_key, digest_files(ROOT / "requirements" / f"{name}.txt" for name in names))
    # An installation that was interrupted or is of another lock file starts again from an empty environment.

    def complete() -> bool:
        return all(is_done(name, packages_key) for name in (["ros"] if distro is None else []) + ["packages"])

    if VENV.exists() and not complete():
        (STAMPS / "venv").unlink(missing_ok=True)
    key = digest(mode, ROOT, about)
    step("venv", key, "virtual environment in .venv", lambda: make_venv(python, distro is not None))
    (STAMPS / "mode").write_text(mode)
    interfaces_key = digest(key, packages_key, digest_files(interface_inputs()))

    def interfaces() -> None:
        step("interfaces", interfaces_key, f"interface package {INTERFACES}", lambda: build_interfaces(distro))

    def packages(title: str, install: Callable[[], None]) -> None:
        step("packages", packages_key, title, install)

    if distro is not None:
        packages("packages that are not ROS", lambda: install_beside_ros(ros_lock))
        interfaces()
    elif complete():
        interfaces()
    else:
        install_builder(ros_lock)

        def ros_and_interfaces() -> None:
            step("ros", packages_key, f"ROS 2, of {ros_lock.relative_to(ROOT)}", lambda: install_ros(ros_lock))
            interfaces()

        # the compiler waits for ROS only
        title = f"packages of {lock.relative_to(ROOT)}"
        beside("packages", lambda: packages(title, lambda: install_locked(lock)), ros_and_interfaces)
    if tests:
        step(
            "tests",
            tests_key,
            f"packages of {tests_lock.relative_to(ROOT)}" if distro is None else "packages of the tests",
            lambda: install_locked(tests_lock) if distro is None else install_tests_beside_ros(),
        )
    key = digest(interfaces_key, package_inputs())
    step("package", key, f"Python package {PACKAGE}", lambda: build_package(distro))
    if tests and (wanted := stand_ins()):
        files = (file for folder in wanted for file in folder.rglob("*.*"))
        # not `key`: they do not depend on this package
        key = digest(mode, packages_key, digest_files((*files, ROOT / "colcon_defaults.yaml")))
        named = ", ".join(folder.name for folder in wanted)
        step("stand_ins", key, f"stand-ins for tests: {named}", lambda: build_stand_ins(distro))


if __name__ == "__main__":
    try:
        # One set-up at a time in this checkout.
        with open(__file__) as guard:
            try:
                fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("another set-up is running in this checkout, waiting for it", flush=True)
                fcntl.flock(guard, fcntl.LOCK_EX)
            main(tests="--tests" in sys.argv[1:])
            if "--next" in sys.argv[1:]:
                print(NEXT)
    except SetupError as error:
        sys.exit(f"set-up: {error}")
    except KeyboardInterrupt:
        sys.exit("\nset-up: interrupted; run it again to go on")
