# SPDX-License-Identifier: Apache-2.0
"""A hostile user at the command line: one clear line and a sensible exit code, never a traceback."""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from helpers.models.arms import ARM

from rbd_dynamics import ModelError, load
from rbd_dynamics.cli import compile as compile_command
from rbd_dynamics.cli import main, program
from rbd_dynamics.cli.info import run_info
from rbd_dynamics.common import console
from rbd_dynamics.common.node_table import NODES
from rbd_dynamics.formats import check
from rbd_dynamics.kernels import CATALOG

COMMANDS = {
    "info": ["info"],
    "check": ["check"],
    "torques": ["torques"],
    "compile": ["compile"],
    "show": ["show", "-o", "page.html"],
    "excite": ["excite"],
    "rehearse": ["rehearse", "--known-load", "hand=1"],
    "replay": ["replay"],
}

WRONG_FILES = ["missing.urdf", "missing", "folder", "empty", "noise", "zeros", "", "arm.urdf/x", "x" * 300]


def command(*arguments, **options):
    words = [sys.executable, "-m", "rbd_dynamics", *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, errors="replace", **options)


def one_line(capsys):
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("rbd_dynamics: ") and shown.err.count("\n") == 1
    return shown.err


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Some of each kind in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("empty").write_bytes(b"")
    Path("noise").write_bytes(random.Random(1).randbytes(3000))
    Path("zeros").write_bytes(bytes(100))
    Path("arm.urdf").write_text(ARM)
    strange = Path("Größe und Länge 机器人.urdf")
    strange.write_text(ARM)
    return strange


# --- what comes in -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("file", WRONG_FILES)
def test_a_file_that_is_none_is_one_line(name, file, files, capsys):
    code = main([*COMMANDS[name], file])
    if name == "check" and file in ("noise", "zeros"):  # bad news is its answer
        assert code == 1 and "1 error" in capsys.readouterr().out
    else:
        assert code == 2
        assert len(one_line(capsys)) < 600


@pytest.mark.parametrize("arguments", [["info"], ["check"], ["compile", "--kernels", "gravity"]])
def test_names_of_any_letters_are_fine(arguments, files, capsys):
    assert main([*arguments, str(files)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["info", "--lock", "elbo=1"], "did you mean 'elbow'"),
        (["info", "--joints", "elbo"], "did you mean 'elbow'"),
        (["info", "--gravity", "nan", "0", "0"], "not finite"),
        (["compile", "--frame", "hnd"], "did you mean 'hand'"),
        (["compile", "--kernels", "invers_dynamics"], "did you mean 'inverse_dynamics'"),
        (["compile", "--kernels", "pose"], "pose:FRAME"),
        (["compile", "--kernels", "gravity_f_ext"], "no kernel named 'gravity_f_ext'"),
        (["excite", "--velocity", "elbo=1"], "elbo"),
        (["rehearse", "--known-load", "hnd=1"], "did you mean 'hand'"),
    ],
)
def test_a_mistyped_name_is_told_with_the_near_ones(arguments, culprit, files, capsys):
    assert main([*arguments, "arm.urdf"]) == 2
    assert culprit in one_line(capsys)


def test_standard_input_that_is_no_text_or_closed(files, monkeypatch):
    with open("noise", "rb") as noise:
        told = command("info", "-", stdin=noise)
    assert told.returncode == 2 and told.stderr.startswith("rbd_dynamics: standard input is not UTF-8: ")
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["check", "-"]) == 2


@pytest.mark.parametrize("name", ["", *COMMANDS, "play"])
def test_no_arguments_are_explained(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name] if name else [])
    assert stop.value.code == 2
    assert "usage: rbd_dynamics" in capsys.readouterr().err


# --- check and load ------------------------------------------------------------------------------------

WORDS = ("0", "-1", "nan", "1e400", "abc", "", "world", "base", "fixed", "floating", "planar", "prismatic")


def spoiled(rng):
    """The arm's URDF with one or two things changed, left out or there twice."""
    text = ARM
    for _ in range(rng.randint(1, 2)):
        value = rng.choice(list(re.finditer(r'="([^"]*)"', text)))
        tag = rng.choice(list(re.finditer(r"<(\w+)[^<>]*/>", text)))
        text = rng.choice(
            [
                text[: value.start(1)] + rng.choice(WORDS) + text[value.end(1) :],
                text[: tag.start()] + text[tag.end() :],
                text[: tag.end()] + tag[0] + text[tag.end() :],
            ]
        )
    return text


OTHERS = {
    "SDF without a link": '<sdf version="1.9"><model name="m"/></sdf>',
    "SDF without a model": '<sdf version="1.9"/>',
    "SDF with a massless link": '<sdf version="1.9"><model name="m"><link name="a"/></model></sdf>',
    "URDF without a link": '<robot name="x"/>',
    "HTML": "<html/>",
    "broken XML": "<robot><",
    "YAML": "- 1\n- 2\n",
}


@pytest.mark.parametrize("strict", [False, True])
def test_check_and_load_agree_on_what_is_an_error(strict):
    rng = random.Random(2)
    refused = 0
    for text in [*OTHERS.values(), ARM, *(spoiled(rng) for _ in range(150))]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                load(text, strict=strict)
                wrong = False
            except ModelError:
                wrong = True
        refused += wrong
        assert wrong == any(finding.severity == "error" for finding in check(text, strict=strict)), text
    assert 30 < refused < 140


def test_a_defect_is_an_error_only_where_that_is_asked_for(files, capsys):
    text = re.sub('ixx="[^"]*"', 'ixx="0.08"', ARM, count=1)
    with pytest.warns(Warning):
        load(text)
    Path("slip.urdf").write_text(text)
    assert main(["check", "slip.urdf"]) == 0
    assert "warning" in capsys.readouterr().out
    assert main(["check", "slip.urdf", "--strict"]) == 1


def test_an_sdf_without_links_is_told_plainly(files, capsys):
    Path("none.sdf").write_text(OTHERS["SDF without a link"])
    assert main(["check", "none.sdf"]) == 1
    assert "error  model 'm': has no link" in capsys.readouterr().out
    assert main(["info", "none.sdf"]) == 2
    assert "model 'm': has no link" in one_line(capsys)


# --- what goes out -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", ["--help", "replay --help", "info arm.urdf", "info arm.urdf --json", "check arm.urdf", "doctor"]
)
def test_a_reader_that_leaves_is_no_error(arguments, files):
    line = f"set -o pipefail; '{sys.executable}' -m rbd_dynamics {arguments} | true"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [["info", "arm.urdf"], ["info", "arm.urdf", "--json"], ["check", "arm.urdf"]])
def test_a_full_disk_behind_standard_output_is_told(arguments, files):
    """The device is only opened as standard output, never named."""
    if not Path("/dev/full").is_char_device():
        pytest.skip("there is no /dev/full")
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "rbd_dynamics", *arguments]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, env=buffered)
    assert done.returncode == 2 and done.stderr == "rbd_dynamics: No space left on device\n"


def test_a_terminal_that_knows_few_letters_gets_others(files):
    plain = {**os.environ, "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    told = command("info", str(files), env=plain)
    assert told.returncode == 0 and told.stderr == "" and "m/s" in told.stdout
    told = command("info", "fehlt-größe.urdf", env=plain)
    assert told.returncode == 2 and told.stderr.startswith("rbd_dynamics: no such file: fehlt-gr")


@pytest.mark.parametrize("width", [80, 20, 1])
def test_tables_fit_a_narrow_terminal(width, files, monkeypatch, capsys):
    monkeypatch.setattr(console, "FILE_WIDTH", width)
    assert main(["info", "arm.urdf"]) == 0
    lines = capsys.readouterr().out.splitlines()
    if width >= 80:
        assert max(map(len, lines)) <= width
        assert any("moves" in line for line in lines) and any("range" in line for line in lines)


def test_no_number_is_lost_in_80_columns(monkeypatch, capsys):
    """Of a robot with every column: what the wide table has, the two narrow ones have, too."""
    text = ARM.replace('name="elbow"', 'name="a_rather_long_name_of_an_elbow_joint"')
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert main(["info", "-"]) == 0
    wide = set(capsys.readouterr().out.split())
    monkeypatch.setattr(console, "FILE_WIDTH", 80)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert main(["info", "-"]) == 0
    narrow = capsys.readouterr().out
    numbers = {word for word in wide if re.fullmatch(r"-?\d+(\.\d+)?", word)}
    assert numbers and numbers <= set(narrow.split())
    assert max(map(len, narrow.splitlines())) <= 80


@pytest.mark.parametrize("output", ["folder", "missing/motion.yaml", "empty/motion.yaml"])
def test_a_place_that_cannot_be_written_is_told_before_the_work(output, files, capsys, monkeypatch):
    def works(*_, **__):
        raise AssertionError("work before the output was looked at")

    monkeypatch.setattr("rbd_dynamics.replay.excitation.design", works)
    assert main(["excite", "arm.urdf", "--acceleration", "5", "-o", output]) == 2
    assert output in one_line(capsys)


@pytest.mark.parametrize("arguments", [["replay", "noise"], ["rehearse", "arm.urdf", "--known-load", "hand=1"]])
def test_a_folder_that_is_a_file_is_told(arguments, files, capsys):
    assert main([*arguments, "-o", "empty"]) == 2
    assert one_line(capsys) == "rbd_dynamics: empty: Not a directory\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_is_told(files, capsys):
    Path("folder").chmod(0o555)
    assert main(["excite", "arm.urdf", "--acceleration", "5", "-o", "folder/motion.yaml"]) == 2
    assert "Permission denied" in one_line(capsys)


# --- interrupted, faulty -------------------------------------------------------------------------------


def heeds_ctrl_c():
    """For a new process: what a shell starts in the background does not, and neither do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_a_command_in_a_line(tmp_path):
    pipe = tmp_path / "robot.urdf"
    os.mkfifo(pipe)
    words = [sys.executable, "-m", "rbd_dynamics", "info", str(pipe)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, preexec_fn=heeds_ctrl_c, **pipes) as process:
        with open(pipe, "w"):  # it reads now
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


@pytest.mark.parametrize(("name", "quiet"), [("rbd_dynamics", True), ("my_script.py", False)])
def test_ctrl_c_during_the_imports_is_the_command_s_alone(name, quiet, tmp_path):
    script = tmp_path / name
    script.write_text("import os, signal, rbd_dynamics\nos.kill(os.getpid(), signal.SIGINT)\n")
    words = [sys.executable, str(script)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, preexec_fn=heeds_ctrl_c)
    assert ("KeyboardInterrupt" in done.stderr) is not quiet
    if quiet:
        assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_imports_of_a_node_ends_it_quietly(name, number, tmp_path):
    """As an executable of the package, in whose folder `ros2 run` finds it."""
    script = tmp_path / "rbd_dynamics" / name
    script.parent.mkdir()
    script.write_text(f"import os, rbd_dynamics\nos.kill(os.getpid(), {int(number)})\nimport numpy\n")
    words = [sys.executable, str(script)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, preexec_fn=heeds_ctrl_c)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_fault_of_ours_is_one_line_and_its_traceback_is_kept(files, monkeypatch, capsys, tmp_path):
    def breaks(options):
        raise TypeError("something\nwe did not think of")

    monkeypatch.setattr("rbd_dynamics.cli.info.run_info", breaks)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["info", "arm.urdf"]) == program.FAULT
    told = one_line(capsys)
    kept = Path(re.search(r"traceback: (.*)\)", told)[1])
    assert "TypeError: something we did not think of" in told
    assert "in breaks" in kept.read_text() and run_info is not breaks


@pytest.mark.parametrize(
    ("error", "said"),
    [(ModuleNotFoundError("no", name="coal"), "needs the module 'coal'"), (MemoryError(), "not enough memory")],
)
def test_what_the_machine_lacks_is_told(error, said, files, monkeypatch, capsys):
    def lacks(options):
        raise error

    monkeypatch.setattr("rbd_dynamics.cli.info.run_info", lacks)
    assert main(["info", "arm.urdf"]) == 2
    assert said in one_line(capsys)


# --- compile -------------------------------------------------------------------------------------------


def test_compile_fills_the_cache_for_other_processes(files, monkeypatch, tmp_path):
    monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", str(tmp_path / "cache"))
    arguments = ["compile", "arm.urdf", "--kernels", "gravity,mass_matrix", "--frame", "hand"]
    first = json.loads(command(*arguments, "--json").stdout)
    wanted = ["gravity", "mass_matrix", "pose:hand", "jacobian:hand", "jacobian_dot:hand"]
    assert [kernel["name"] for kernel in first["kernels"]] == wanted
    assert all(kernel["compiled"] for kernel in first["kernels"])
    assert first["cache"] == str(tmp_path / "cache" / "kernels")
    code = (
        "import rbd_dynamics as rbd; from rbd_dynamics.compiler.cached_only import cached_only\n"
        f"with cached_only(): rbd.Robot(rbd.load('arm.urdf')).compile(*{wanted!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    shown = command(*arguments).stdout
    assert shown.count("was there") == 5 and "0 of 5 kernels compiled" in shown


def test_all_kernels_are_those_that_need_no_frame(files, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compile_command, "_compiled", lambda robot, name: 0.0)
    assert main(["compile", "arm.urdf", "--kernels", "all", "--json"]) == 0
    names = [kernel["name"] for kernel in json.loads(capsys.readouterr().out)["kernels"]]
    plain = [name for name in names if name in CATALOG]
    assert plain == [name for name, entry in CATALOG.items() if entry.of != "frame"]
    assert names[len(plain) :] == [f"{name}_f_ext" for name in plain if CATALOG[name].wrenches]


def test_compile_without_a_cache_says_so(files, monkeypatch, capsys):
    monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", "")
    assert main(["compile", "arm.urdf"]) == 2
    assert "RBD_DYNAMICS_CACHE_DIR" in one_line(capsys)
