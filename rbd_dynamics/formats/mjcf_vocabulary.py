# SPDX-License-Identifier: Apache-2.0
"""Elements and attributes of MJCF (mujoco.org, "XML reference") of MuJoCo 3.0 to 4.0, and what is made of each.

MuJoCo compiles a file, and refuses what it does not know. "used" is what has a part in the model that it makes of it,
and in what is read from there; without a version, all of them have it.
"""

from __future__ import annotations

from rbd_dynamics.common.markup.vocabulary import Row, Vocabulary

_ZERO = ("0", "0 0 0")
_POSE = "pos|quat|axisangle|euler|xyaxes|zaxis"
_TREE = "worldbody|body|frame|replicate"
_SHAPED = f"default|{_TREE}"
_ACTUATORS = (
    "general|motor|position|velocity|intvelocity|orientation|pid|damper|cylinder|muscle|adhesion|dcmotor|plugin"
)
_SECTIONS = "compiler|option|size|statistic|visual|default|asset|deformable|contact|tendon|equality|actuator|sensor"

_FILE = [
    Row("mujoco"),
    Row("mujoco", "model"),
    Row(
        f"mujocoinclude|{_SECTIONS}|custom|keyframe|extension|{_TREE}", note="of an included file, where it is included"
    ),
    Row(
        f"mujoco|mujocoinclude|{_SECTIONS}|custom|keyframe|extension|{_TREE}/include", note="the file is looked through"
    ),
    Row("include", "file"),
    Row("mujoco/compiler"),
    Row("compiler", "angle|autolimits|coordinate|eulerseq|conflict|assetdir|meshdir|texturedir|strippath"),
    Row("compiler", "alignfree|balanceinertia|boundinertia|boundmass|discardvisual|fusestatic|inertiafromgeom"),
    Row("compiler", "inertiagrouprange|settotalmass"),
    Row("compiler", "convexhull|exactmeshinertia", until="3.1"),
    Row("compiler", "fitaabb|savecanonical|savecompiled|saveinertial|usethread|passthrough", "aside"),
    Row("compiler/lengthrange", use="aside"),
    Row("mujoco/size|statistic|visual|custom|sensor|keyframe", use="aside"),
    Row("mujoco/contact", use="aside", note="contacts are given in Python"),
    Row("mujoco/extension", use="aside", note="what a plugin adds to a body is said there"),
    Row("mujoco/option"),
    Row("option", "gravity"),
    Row("option", "density|viscosity|wind", "left out", note="forces of a medium", neutral=_ZERO),
    Row("option", "actuatorgroupdisable", since="3.1", note="actuators that are disabled limit no effort"),
    Row("option", "timestep|integrator|cone|jacobian|solver|iterations|tolerance|ls_iterations|ls_tolerance", "aside"),
    Row("option", "noslip_iterations|noslip_tolerance|ccd_iterations|ccd_tolerance|sdf_initpoints", "aside"),
    Row("option", "sdf_iterations|impratio|o_friction|o_margin|o_solimp|o_solref|sleep_tolerance|magnetic", "aside"),
    Row("option", "mpr_iterations|mpr_tolerance|apirate|collision", "aside", until="3.2"),
    Row("option/flag"),
    Row("flag", "gravity|constraint|equality|frictionloss|limit|clampctrl"),
    Row("flag", "spring|damper", since="3.3"),
    Row("flag", "passive", until="3.3", note="springs, dampers, gravity compensation"),
    Row("flag", "actuation", note="that it is disabled is said: limits and inertia of actuators count all the same"),
    Row("flag", "autoreset|contact|diagexact|energy|eulerdamp|filterparent|fwdinv|invdiscrete|ipc|island", "aside"),
    Row("flag", "midphase|multiccd|nativeccd|override|refsafe|sensor|sensornoise|sleep|speculative|warmstart", "aside"),
]

_DEFAULTS = [
    Row("mujoco|default/default"),
    Row("default", "class"),
    Row("default/texture|material|camera|light|pair", use="aside"),
    Row("default/mesh|equality|tendon"),
]

_ASSETS = [
    Row("mujoco/asset"),
    Row("asset/texture|material|hfield|skin", use="aside"),
    Row("asset/model", since="3.2", note="the file is looked through"),
    Row("model", "name|file|content_type"),
    Row("asset/mesh", note="for its inertia"),
    Row("mesh", "name|class|file|content_type|builtin|params|vertex|face|scale|refpos|refquat|inertia|maxhullvert"),
    Row("mesh", "normal|texcoord|smoothnormal|material", "aside"),
    Row("mesh|geom/plugin", note="a signed distance function, for its inertia"),
    Row("plugin", "plugin|instance"),
    Row("plugin/config"),
    Row("config", "key|value"),
]

_BODIES = [
    Row("mujoco/worldbody"),
    Row(f"{_TREE}/body|frame|replicate"),
    Row("body|worldbody|frame", f"name|childclass|{_POSE}"),
    Row("body", "gravcomp", note="the same on all that moves: less gravity; otherwise it is said, and left out"),
    Row("body", "mocap", note="that it stays where it is is said"),
    Row("body", "simple|fuse"),
    Row("body", "sleep|user", "aside"),
    Row("replicate", "count|sep|offset|euler|childclass"),
    Row("body|frame|replicate/inertial"),
    Row("inertial", f"mass|diaginertia|fullinertia|{_POSE}"),
    Row(f"{_TREE}/attach", since="3.2"),
    Row("attach", "model|body|frame|prefix"),
    Row(f"{_TREE}/flexcomp", use="left out", note="its bodies are in the model, what holds them together is not"),
    Row(f"{_TREE}/composite", use="left out", until="3.17", note="its bodies are in the model, what it adds is not"),
    Row(f"{_TREE}/plugin", use="left out", note="a plugin that acts on a body"),
    Row(f"{_TREE}/camera|light", use="aside"),
]

_JOINTS = [
    Row(f"{_SHAPED}/joint"),
    Row(f"{_TREE}/freejoint"),
    Row("freejoint", "name|align"),
    Row("freejoint", "group", "aside"),
    Row("joint", "name|class|type|pos|axis|ref|limited|actuatorfrcrange|actuatorfrclimited|springdamper"),
    Row("joint", "range", note="of a ball it is said, and left out"),
    Row("joint", "stiffness|springref", note="with polynomials; of a ball or free joint it is said, and left out"),
    Row("joint", "damping", note="with polynomials"),
    Row("joint", "armature|frictionloss", note="of a free joint it is said: here along the body's axes"),
    Row("joint", "springyield", "left out", since="4.0", neutral=_ZERO),
    Row("joint", "actuatorgravcomp", note="then `gravcomp` is left out, and said"),
    Row("joint", "group|user", "aside"),
    Row("joint", "margin|solreflimit|solimplimit|solreffriction|solimpfriction", "aside", note="softness"),
]

_SHAPES = [
    Row(f"{_SHAPED}/geom", note="for the inertia of its body"),
    Row("geom", f"name|class|type|size|fromto|mass|density|shellinertia|mesh|fitscale|group|hfield|{_POSE}"),
    Row(
        "geom",
        "contype|conaffinity|condim|priority|friction|solmix|solref|solimp|margin|gap|adhesion|surfacevel",
        "aside",
    ),
    Row("geom", "material|rgba|castshadow|user", "aside"),
    Row("geom", "fluidshape|fluidcoef", "aside", note="of a medium, which is said"),
    Row(f"{_SHAPED}/site", note="a frame"),
    Row("site", f"name|class|fromto|{_POSE}"),
    Row("site", "type|size|mesh|group|material|rgba|user", "aside"),
]

_TENDONS = [
    Row("mujoco/tendon", note="what it does by itself is left out"),
    Row("tendon/spatial|fixed"),
    Row("spatial|fixed|tendon", "name|class"),
    Row("spatial|fixed|tendon", "stiffness|damping|armature|frictionloss|springyield", "left out", neutral=_ZERO),
    Row("spatial|fixed|tendon", "range", "left out"),
    Row("spatial|fixed|tendon", "limited|springlength|margin|solreflimit|solimplimit|solreffriction", "aside"),
    Row("spatial|fixed|tendon", "solimpfriction|group|material|rgba|width|user", "aside"),
    Row("spatial|fixed|tendon", "actuatorfrcrange|actuatorfrclimited", "aside"),
    Row("spatial/site|geom|pulley"),
    Row("spatial/site", "site"),
    Row("spatial/geom", "geom|sidesite"),
    Row("pulley", "divisor"),
    Row("fixed/joint"),
    Row("fixed/joint", "joint|coef"),
]

_EQUALITIES = [
    Row("mujoco/equality"),
    Row("equality/connect", note="becomes a loop"),
    Row("equality/weld", note="becomes a loop; with a torquescale of 0 that of a connect"),
    Row("equality/joint", note="becomes a mimic joint; what is not linear is said, and left out"),
    Row("equality|connect|weld", "name|class|active"),
    Row("equality/joint", "name|class|active|joint1|joint2|polycoef"),
    Row("connect|weld", "body1|body2|anchor"),
    Row("connect|weld", "site1|site2", since="3.2"),
    Row("weld", "relpose|torquescale"),
    Row("equality|connect|weld", "solref|solimp", "aside", note="it is held rigidly"),
    Row("equality/joint", "solref|solimp", "aside", note="it is held rigidly"),
    Row("equality/tendon|flex|flexvert|flexstrain|distance", use="left out"),
]

_FLEXES = [
    Row("mujoco/deformable"),
    Row("deformable/flex", use="left out"),
    Row("deformable/skin", use="aside"),
]

_DRIVES = [
    Row("mujoco/actuator", note="what it commands is not in the model, but its limit, inertia and damping"),
    Row(f"default|actuator/{_ACTUATORS}"),
    Row(_ACTUATORS, "name|class|joint|jointinparent|tendon|site|refsite|body|slidersite|cranksite|cranklength"),
    Row(_ACTUATORS, "gear|forcerange|forcelimited|ctrlrange|ctrllimited|group|gaintype|gainprm|biastype|dyntype"),
    Row(_ACTUATORS, "armature", since="3.7", note="of one that drives no joint it is said, and left out"),
    Row(_ACTUATORS, "damping", since="3.7", note="likewise; with polynomials"),
    Row(_ACTUATORS, "actdim|actearly|actlimited|actrange|biasprm|dynprm|lengthrange|inheritrange|user", "aside"),
    Row(_ACTUATORS, "delay|interp|nsample|input|velrange|ffrange|posrange|kp|ki|kv|imax|slewmax|dampratio", "aside"),
    Row(_ACTUATORS, "timeconst|area|diameter|bias|gain|force|scale|range|lmin|lmax|vmax|fpmax|fvmax", "aside"),
    Row(_ACTUATORS, "tausmooth", "aside"),
    Row("dcmotor", "saturation", since="3.7", note="the largest torque"),
    Row("dcmotor", "motorconst|resistance|inductance|controller|nominal|thermal", "aside", since="3.7"),
    Row("dcmotor", "cogging|lugre", "left out", since="3.7"),
    Row("actuator/plugin", "plugin|instance"),
]

MJCF = Vocabulary(
    "MJCF",
    [
        *_FILE,
        *_DEFAULTS,
        *_ASSETS,
        *_BODIES,
        *_JOINTS,
        *_SHAPES,
        *_TENDONS,
        *_EQUALITIES,
        *_FLEXES,
        *_DRIVES,
    ],
)
