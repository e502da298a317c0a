# SPDX-License-Identifier: Apache-2.0
"""Names of kernels' arguments: one table, and an error for a name that is not in it."""

import pytest
from helpers.models.arms import ARM

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.compiler.program import Argument
from rbd_dynamics.kernels.arguments import arguments, per_body, sizes_of
from rbd_dynamics.kernels.catalog import CATALOG
from rbd_dynamics.kernels.constrained import CONSTRAINED
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import specialise


def test_a_name_stands_for_one_shape():
    sizes = sizes_of(load_urdf(ARM), 2, 5)
    found = {argument.name: argument for argument in arguments("q tau M J inertia prescribed A parameters", sizes)}
    assert {name: argument.shape for name, argument in found.items()} == {
        "q": (3,), "tau": (3,), "M": (3, 3), "J": (6, 3), "inertia": (3, 10), "prescribed": (3,), "A": (2, 3),
        "parameters": (5,),
    }  # fmt: skip
    assert [name for name, argument in found.items() if argument.shared] == ["inertia", "parameters"]
    assert [name for name, argument in found.items() if argument.boolean] == ["prescribed"]


@pytest.mark.parametrize("name", ["taau", "data", "dqq", "inertia_J", "v_J"])
def test_an_unknown_name_is_an_error(name):
    with pytest.raises(KeyError, match=f"no argument named {name!r}; known: q, "):
        arguments(f"q {name}", sizes_of(load_urdf(ARM)))


def test_a_kernel_may_have_arguments_of_its_own():
    own = {"t": Argument("t", (1,))}
    assert arguments("q t", sizes_of(load_urdf(ARM)), own)[1] is own["t"]


def test_every_kernel_of_the_catalog_has_arguments_of_the_table():
    model = load_urdf(ARM)
    for name, entry in CATALOG.items():
        whole = name if entry.of == "robot" else f"{name}:{model.frame_names[-1]}"
        signature, _ = specialise(model, whole)
        assert [argument.name for argument in signature.inputs] == entry.inputs.split()
    for entry in CONSTRAINED.values():
        arguments(f"{entry.inputs} {entry.outputs}", sizes_of(model, 1, 3))
    sizes = sizes_of(model)
    assert [per_body(name, sizes) for name in ("inertia", "f_ext", "reactions_dq", "q")] == [10, 6, 6 * model.nv, 0]


def test_inputs_tell_what_a_kernel_does_not_have():
    x = Inputs(load_urdf(ARM), {"v": [0.0] * 3})
    with pytest.raises(AttributeError, match="the kernel has no input 'tau'"):
        _ = x.tau
    with pytest.raises(AssertionError, match="wrenches"):
        Inputs(load_urdf(ARM), {"wrenches": [0.0]})


@pytest.mark.parametrize("name", ["inverse_dynamic", "pose", "mass_matrix:tool0", "mass_matrix_f_ext"])
def test_an_unknown_kernel_is_named_with_those_that_there_are(name):
    with pytest.raises(KeyError, match="no algorithm named .*inverse_dynamics, .*pose:FRAME"):
        Robot(load_urdf(ARM)).compile(name)
