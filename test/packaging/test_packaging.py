# SPDX-License-Identifier: Apache-2.0
"""The package as ROS and pip see it: manifest, entry points, installed files, interfaces, versions."""

from __future__ import annotations

import ast
import glob
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
import yaml
from helpers.paths import ROOT

from rbd_dynamics.common import extras

PACKAGES = {
    "rbd_dynamics": (ROOT, "ament_python"),
    "rbd_dynamics_interfaces": (ROOT / "rbd_dynamics_interfaces", "ament_cmake"),
}
SERVICES = sorted(path.stem for path in (ROOT / "rbd_dynamics_interfaces" / "srv").glob("*.srv"))
INTERFACES = sorted(
    path.relative_to(ROOT / "rbd_dynamics_interfaces").as_posix()
    for path in (ROOT / "rbd_dynamics_interfaces").glob("[ams]*/*.*")
)
#: Imports that a plain checkout of the package can do without; each is found at run time or replaced. Some have keys of
#: rosdep all the same.
OPTIONAL = set(extras.OPTIONAL) - {"matplotlib", "xacro"}
OPTIONAL |= {"lz4", "compression", "backports"}  # come with rosbags, or with Python
#: Name of the import: name of the rosdep key.
ROSDEP = {
    "numpy": "python3-numpy",
    "scipy": "python3-scipy",
    "yaml": "python3-yaml",
    "rich": "python3-rich",
    "matplotlib": "python3-matplotlib",
    "urdf_parser_py": "urdfdom_py",
    "hypothesis": "python3-hypothesis",
    "pytest": "python3-pytest",
}


def manifest(package: str) -> ElementTree.Element:
    return ElementTree.parse(PACKAGES[package][0] / "package.xml").getroot()


def setup_arguments(*command: str) -> dict[str, object]:
    """What setup.py hands to setuptools when it is called for a command, without building anything."""
    code = "import setuptools, json; setuptools.setup = lambda **k: print(json.dumps(k)); exec(open('setup.py').read())"
    answer = subprocess.run(
        [sys.executable, "-c", code, *command], cwd=ROOT, capture_output=True, text=True, check=True
    )  # fmt: skip
    arguments: dict[str, object] = json.loads(answer.stdout)
    return arguments


def test_all_files_of_the_package_are_installed():
    """Templates and pages as well, however deep; patterns find nothing that begins with a dot."""
    package = ROOT / "rbd_dynamics"
    patterns = setup_arguments("--name")["package_data"]["rbd_dynamics"]
    installed = {name for pattern in patterns for name in glob.glob(pattern, root_dir=package)}
    listed = subprocess.run(["git", "ls-files", "rbd_dynamics"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    names = [name.removeprefix("rbd_dynamics/") for name in listed.stdout.split("\n") if name]
    assert [name for name in names if not name.endswith(".py") and name not in installed] == []


def console_scripts() -> dict[str, str]:
    """All executables by name: those of a build for ROS."""
    points = setup_arguments("develop", "--help")["entry_points"]["console_scripts"]  # type: ignore[index]
    return dict(re.fullmatch(r"(\S+) = (\S+)", point).groups() for point in points)  # type: ignore[union-attr]


@pytest.mark.parametrize("package", PACKAGES)
def test_manifest_is_valid(package: str) -> None:
    pytest.importorskip("catkin_pkg")
    from catkin_pkg.package import parse_package

    warnings: list[str] = []
    parsed = parse_package(str(PACKAGES[package][0]), warnings=warnings)
    parsed.validate(warnings=warnings)
    assert parsed.name == package
    assert parsed.package_format == 3
    assert not warnings


@pytest.mark.parametrize("package", PACKAGES)
def test_manifest_says_how_to_build_licence_maintainer_and_author(package: str) -> None:
    root = manifest(package)
    assert root.findtext("export/build_type") == PACKAGES[package][1]
    assert root.findtext("license") == "Apache-2.0"
    email = root.find("maintainer").get("email")  # type: ignore[union-attr]
    assert re.fullmatch(r"[\w.-]+@[\w-]+(\.[\w-]+)+", email or "")
    licence = PACKAGES[package][0] / root.find("license").get("file", "")  # type: ignore[union-attr]
    assert "Apache License" in licence.read_text()
    assert root.findtext("author") == setup_arguments()["author"]


def test_colcon_sees_both_packages_with_their_types() -> None:
    if not (importlib.util.find_spec("colcon_core") and importlib.util.find_spec("colcon_ros")):
        pytest.skip("colcon is not installed")
    environment = {**os.environ, "COLCON_DEFAULTS_FILE": str(ROOT / "colcon_defaults.yaml")}
    answer = subprocess.run(
        [sys.executable, "-m", "colcon", "--log-base", os.devnull, "list"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = {line.split()[0]: line.split()[-1] for line in answer.stdout.splitlines()}
    assert found == {name: f"(ros.{build_type})" for name, (_, build_type) in PACKAGES.items()}


def test_one_version_in_all_places() -> None:
    import rbd_dynamics

    version = rbd_dynamics.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert manifest("rbd_dynamics").findtext("version") == version
    assert manifest("rbd_dynamics_interfaces").findtext("version") == version
    assert setup_arguments()["version"] == version
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(cited["version"]) == version
    assert f"\n## [{version}] - {cited['date-released']}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_setup_and_manifest_agree() -> None:
    arguments, root = setup_arguments(), manifest("rbd_dynamics")
    maintainer = root.find("maintainer")
    assert maintainer is not None
    assert arguments["name"] == root.findtext("name")
    assert arguments["license"] == root.findtext("license")
    assert arguments["maintainer"] == maintainer.text
    assert arguments["maintainer_email"] == maintainer.get("email")
    assert set(arguments["packages"]) == {  # type: ignore[call-overload]
        ".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "rbd_dynamics").rglob("__init__.py")
    }


def test_everything_that_belongs_in_share_is_installed() -> None:
    installed = {name for _, names in setup_arguments()["data_files"] for name in names}  # type: ignore[attr-defined]
    for folder, pattern in (("launch", "*"), ("config", "**/*"), (".", "package.xml"), ("resource", "*")):
        files = {str(path.relative_to(ROOT)) for path in (ROOT / folder).glob(pattern) if path.is_file()}
        assert files <= installed, f"{sorted(files - installed)} would not be installed"


@pytest.mark.parametrize("name", console_scripts())
def test_entry_point_exists(name: str) -> None:
    module, function = console_scripts()[name].split(":")
    if ".nodes." in module:
        assert module.endswith(f".{name}")
        pytest.importorskip("rclpy", reason="nodes need ROS 2")
    assert callable(getattr(importlib.import_module(module), function))


def imports(tree: ast.AST) -> set[str]:
    """Top-level names of all absolute imports in a syntax tree, also those inside functions."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"rbd_dynamics"}


def test_every_import_is_declared() -> None:
    declared = {element.text for element in manifest("rbd_dynamics").iter("exec_depend")}
    files = [*(ROOT / "rbd_dynamics").rglob("*.py"), *(ROOT / "launch").glob("*.py")]
    for path in files:
        for name in imports(ast.parse(path.read_text())) - OPTIONAL:
            assert ROSDEP.get(name, name) in declared, f"{path.relative_to(ROOT)} imports {name}: add it to package.xml"


def test_every_import_of_the_tests_is_declared() -> None:
    """Those that no test can do without; what a test asks for itself, it skips without."""
    root = manifest("rbd_dynamics")
    declared = {element.text for kind in ("exec_depend", "test_depend") for element in root.iter(kind)}
    ours = {"helpers", "rigs", "benchmarks", "campaigns"}
    apart = {path for room in ("rigs", "stand_ins") for path in (ROOT / "test" / room).rglob("*.py")}
    for path in sorted(set((ROOT / "test").rglob("*.py")) - apart):
        top = ast.parse(path.read_text())
        top.body = [node for node in top.body if isinstance(node, ast.Import | ast.ImportFrom)]
        for name in imports(top) - ours:
            assert ROSDEP.get(name, name) in declared, f"{path.relative_to(ROOT)} imports {name}: add it to package.xml"


def test_interfaces_are_there_before_the_build() -> None:
    """setup.py looks for them: colcon builds them first, and bloom has them installed."""
    assert "rbd_dynamics_interfaces" in {element.text for element in manifest("rbd_dynamics").iter("build_depend")}


def test_only_nodes_import_ros() -> None:
    ros = {"rclpy", "launch", "launch_ros", "sensor_msgs", "std_msgs", "trajectory_msgs", "rbd_dynamics_interfaces"}
    for path in (ROOT / "rbd_dynamics").rglob("*.py"):
        room = path.relative_to(ROOT / "rbd_dynamics").parts[0]
        if room not in ("nodes", "demo"):
            assert not imports(ast.parse(path.read_text())) & ros, f"{path.relative_to(ROOT)} must work without ROS"


def test_library_imports_without_ros() -> None:
    code = "import sys; sys.modules['rclpy'] = None; import rbd_dynamics; print(rbd_dynamics.__version__)"
    environment = {name: value for name, value in os.environ.items() if name != "AMENT_PREFIX_PATH"}
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


def test_the_process_that_plans_imports_neither_models_nor_kernels() -> None:
    """Every torque node starts one."""
    code = "import sys, rbd_dynamics.nodes.torque.planning_process; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    dear = (
        "rbd_dynamics.model",
        "rbd_dynamics.kernels",
        "rbd_dynamics.compiler",
        "rbd_dynamics.spatial",
        "yaml",
        "rclpy",
    )
    assert not {name for name in loaded.split() if name.startswith(dear)}


@pytest.mark.parametrize("name", SERVICES)
def test_every_response_says_success_and_why(name: str) -> None:
    srv = pytest.importorskip("rbd_dynamics_interfaces.srv", reason="the interface package is not built")
    fields = getattr(srv, name).Response.get_fields_and_field_types()
    assert list(fields)[:2] == ["success", "message"]
    assert (fields["success"], fields["message"]) == ("boolean", "string")


@pytest.mark.parametrize("name", SERVICES)
def test_every_flat_array_travels_with_its_joint_names(name: str) -> None:
    srv = pytest.importorskip("rbd_dynamics_interfaces.srv", reason="the interface package is not built")
    for message in (getattr(srv, name).Request, getattr(srv, name).Response):
        fields = message.get_fields_and_field_types()
        if "sequence<double>" in fields.values():
            assert fields["joint_names"] == "sequence<string>"


@pytest.mark.parametrize("name", INTERFACES)
def test_every_field_is_explained(name: str) -> None:
    explained = False
    for line in (ROOT / "rbd_dynamics_interfaces" / name).read_text().splitlines():
        if line.startswith("#"):
            explained = True
        elif line not in ("---", "string message"):
            assert explained, f"{name}: no comment above '{line}'"
            explained = False


def test_all_services_are_generated() -> None:
    text = (ROOT / "rbd_dynamics_interfaces" / "CMakeLists.txt").read_text()
    assert 'file(GLOB interfaces RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS' in text
    for folder in ("action", "msg", "srv"):
        assert f'"{folder}/*.{folder}"' in text
    interfaces = pytest.importorskip("rbd_dynamics_interfaces.srv")
    assert [name for name in dir(interfaces) if hasattr(getattr(interfaces, name), "Request")] == SERVICES


@pytest.mark.parametrize(
    ("locks", "sets"),
    [((f"{distro}-ros",), ("build", f"ros-{distro}")) for distro in ("jazzy", "kilted")]
    + [((f"{distro}-ros", distro), ("library", "demo")) for distro in ("jazzy", "kilted")]
    + [
        ((f"{distro}-ros", distro, f"{distro}-tests"), ("optional", "test", "compare"))
        for distro in ("jazzy", "kilted")
    ]
    + [(("docs",), ("docs",))],
)
def test_lock_file_holds_every_pinned_requirement(locks: tuple[str, ...], sets: tuple[str, ...]) -> None:
    folder, lock = ROOT / "requirements", locks[-1]
    text = "".join((folder / f"lock-{name}.txt").read_text() for name in locks)
    entries = re.findall(r"^(\S+==\S+).*\n((?: +--hash=sha256:[0-9a-f]{64}.*\n)*)", text, re.MULTILINE)
    assert all(hashes for _, hashes in entries), "an entry has no hashes: run scripts/lock"
    locked = {entry for entry, _ in entries}
    names = {line.split("==")[0] for line in locked}
    assert len(names) == len(entries), "a package is given twice: run scripts/lock"
    for file in sets:
        for line in (folder / f"{file}.txt").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            plain = re.sub(r"\[.*\]", "", line)
            name = re.split(r"[=<>]", plain)[0].lower()
            assert name in names, f"{name} is not in lock-{lock}.txt: run scripts/lock"
            assert "==" not in plain or plain in locked, f"{plain} differs from lock-{lock}.txt: run scripts/lock"


def test_scripts_are_well_formed() -> None:
    bash = shutil.which("bash")
    assert bash
    for script in ("run", "test", "lint", "lock", "docs", "wheel", "environment.bash"):
        subprocess.run([bash, "-n", str(ROOT / "scripts" / script)], check=True)
