# SPDX-License-Identifier: Apache-2.0
# The environment that `make setup` made, for a shell:  . scripts/environment.bash
# Then `python`, `rbd_dynamics`, `feedforward`, ... and rclpy are at hand.

_rbd_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ ! -f "$_rbd_root/.venv/stamps/package" ]; then
    if command -v flock >/dev/null && ! flock -n "$_rbd_root/scripts/setup_environment.py" true; then
        echo "make is setting it up: wait until it has ended" >&2
    else
        echo "not set up yet: run  make setup" >&2
    fi
    return 1 2>/dev/null || exit 1
fi
export VIRTUAL_ENV=$_rbd_root/.venv
export PATH=$_rbd_root/install/rbd_dynamics/lib/rbd_dynamics:$VIRTUAL_ENV/bin:$PATH
if [ -n "${PYTHONDONTWRITEBYTECODE-}" ]; then # as containers have it: then nothing but .venv is written to, instead of
    unset PYTHONDONTWRITEBYTECODE # every process compiling what it imports, which takes seconds
    export PYTHONPYCACHEPREFIX=$VIRTUAL_ENV/pycache
fi
case $(cat "$VIRTUAL_ENV/stamps/mode") in
wheels*) # the virtual environment is the ROS 2 installation
    unset PYTHONPATH PYTHONHOME
    export AMENT_PREFIX_PATH=$VIRTUAL_ENV CMAKE_PREFIX_PATH=$VIRTUAL_ENV
    ;;
esac
export COLCON_DEFAULTS_FILE=$VIRTUAL_ENV/colcon_defaults.yaml
# what tests need of packages that this ROS 2 does not have, once `make test` has built it
if [ -f "$VIRTUAL_ENV/stamps/stand_ins" ]; then
    COLCON_CURRENT_PREFIX=$VIRTUAL_ENV/stand_ins . "$VIRTUAL_ENV/stand_ins/local_setup.bash"
fi
COLCON_CURRENT_PREFIX=$_rbd_root/install . "$_rbd_root/install/local_setup.bash"
unset _rbd_root
