# SPDX-License-Identifier: Apache-2.0
"""Elements and attributes of SDFormat 1.2 to 1.12 (sdformat.org/spec), and what the reader makes of each.

Those without a version are in all of them.
"""

from __future__ import annotations

from rbd_dynamics.common.markup.vocabulary import Row, Vocabulary

#: names of the root element, the second one up to version 1.3
ROOTS = ("sdf", "gazebo")
_OFF = ("0", "false")

_FILES = [
    Row("sdf"),
    Row("sdf", "version", note="an older version is read as its successors convert it"),
    Row("sdf/world"),
    Row("sdf/model"),
    Row("sdf/actor|light", use="aside"),
]

_WORLDS = [
    Row("world", "name"),
    Row("world/model", note="`model=` chooses one; another is read where a joint of the world ties it to that one"),
    Row("world/include", since="1.4"),
    Row("world/joint"),
    Row("world/frame", since="1.7"),
    Row("world/gravity", since="1.6", note="without one -9.8 along z, as specified"),
    Row("world/physics", use="aside", note="but for its `gravity`, up to version 1.5"),
    Row("world/wind", use="aside", since="1.6", note="acts on links with `enable_wind`"),
    Row("world/population", use="left out", since="1.5"),
    Row("world/audio|spherical_coordinates", use="aside", since="1.4"),
    Row("world/atmosphere|magnetic_field", use="aside", since="1.6"),
    Row("world/gui|scene|light|road|actor|state|plugin", use="aside"),
]

_MODELS = [
    Row("model", "name"),
    Row("model", "canonical_link", since="1.7"),
    Row("model", "placement_frame", since="1.8"),
    Row("model", "namespace", use="aside", since="1.11"),
    Row("model/static", note="it stands, whatever side of a joint it is on; a joint in it that moves is reported"),
    Row("model/link"),
    Row("model/joint"),
    Row("model/frame", since="1.5"),
    Row("model/model", since="1.5", note="names in it begin with its own and `::`"),
    Row("model/include", since="1.5", note="of an SDF or a URDF"),
    Row("model/enable_wind", use="left out", since="1.6", neutral=_OFF),
    Row("model/self_collide", use="aside", since="1.5"),
    Row("model/allow_auto_disable", use="aside"),
    Row("model/plugin|gripper", use="aside", note="forces of a plugin are not in the model"),
    Row("model|include/model_state", use="aside", since="1.12", note="where a simulation starts"),
    Row("include", "merge", since="1.9"),
    Row("include/uri", since="1.4"),
    Row("include/name|static", since="1.5"),
    Row("include/placement_frame", since="1.8"),
    Row("include/namespace", use="aside", since="1.11"),
    Row("include/plugin", use="aside", since="1.5"),
]

_FRAMES = [
    Row("frame", "name", since="1.5"),
    Row("frame", "attached_to", since="1.7"),
    Row("model|link|inertial|collision|joint/pose"),
    Row("include|frame/pose", since="1.5"),
    Row("pose", "frame", use="converted", since="1.5", until="1.6", note="to `relative_to`"),
    Row("pose", "relative_to", since="1.7"),
    Row("pose", "rotation_format", since="1.9"),
    Row("pose", "degrees", since="1.9"),
    Row("link|inertial|collision|joint/frame", use="left out", since="1.5", until="1.6"),
]

_LINKS = [
    Row("link", "name"),
    Row("link/gravity", note="a link that feels none is reported: here it does"),
    Row("link/kinematic", use="left out", neutral=_OFF),
    Row("link/enable_wind", use="left out", since="1.6", neutral=_OFF),
    Row("link/velocity_decay", note="its parts are left out"),
    Row("velocity_decay/linear|angular", use="left out", neutral=("0",)),
    Row("link/self_collide|must_be_base_link", use="aside"),
    Row("link/visual|sensor|projector", use="aside"),
    Row("link/audio_sink|audio_source", use="aside", since="1.4"),
    Row("link/battery", use="aside", since="1.5"),
    Row("link/light|particle_emitter", use="aside", since="1.6"),
    Row("link/inertial", note="1 kg, 1 kg m² where nothing is given, as specified"),
    Row("inertial", "auto", since="1.11", note="of the collisions' shapes"),
    Row("inertial/mass"),
    Row("inertial/density", since="1.11", note="of `auto`, in kg/m³; 1000 by default"),
    Row("inertial|collision/auto_inertia_params", use="aside", since="1.11", note="of meshes"),
    Row("inertial/fluid_added_mass", use="left out", since="1.10"),
    Row("inertial/inertia"),
    Row("inertia/ixx|ixy|ixz|iyy|iyz|izz"),
]

_SHAPES = [
    Row("link/collision", note="for `auto` inertias only"),
    Row("collision", "name"),
    Row("collision/density", since="1.11"),
    Row("collision/laser_retro|max_contacts|surface", use="aside"),
    Row("collision/geometry"),
    Row("geometry/box|sphere|cylinder"),
    Row("geometry/capsule|ellipsoid", since="1.8"),
    Row("geometry/cone", since="1.11"),
    Row("geometry/empty", since="1.3"),
    Row("geometry/mesh|plane|image|heightmap", use="aside", note="an error where `auto` asks for its inertia"),
    Row("geometry/polyline", use="aside", since="1.5", note="likewise"),
    Row("box/size"),
    Row("sphere|cylinder/radius"),
    Row("cylinder/length"),
    Row("capsule/radius|length", since="1.8"),
    Row("ellipsoid/radii", since="1.8"),
    Row("cone/radius|length", since="1.11"),
]

_JOINTS = [
    Row("joint", "name"),
    Row("joint", "type"),
    Row(
        "joint/parent|child",
        note="met from its child's side, it is turned round; q and v keep their signs",
    ),
    Row("joint/thread_pitch", use="converted", note="rad/m of a left-handed thread; to a pitch in m/rad"),
    Row("joint/screw_thread_pitch", use="converted", since="1.10", note="m/turn; without either 1, as specified"),
    Row("joint/gearbox_ratio", use="converted", since="1.4", note="to a mimic joint"),
    Row("joint/gearbox_reference_body", use="converted", since="1.4"),
    Row("joint/axis|axis2"),
    Row("axis|axis2/xyz"),
    Row("xyz", "expressed_in", since="1.7"),
    Row("axis|axis2/use_parent_model_frame", use="converted", since="1.5", until="1.6", note="to `expressed_in`"),
    Row("axis|axis2/initial_position", use="aside", since="1.6", until="1.8", note="where a simulation starts"),
    Row("axis|axis2/limit", note="an `axis2` has those of `axis`: a difference is reported"),
    Row(
        "limit/lower|upper|effort|velocity",
        note="1e16 and more, and a negative effort or velocity, mean that there is no limit",
    ),
    Row("limit/stiffness", use="left out", since="1.4", neutral=("1e8",)),
    Row("limit/dissipation", use="left out", since="1.4", neutral=("1",)),
    Row("axis|axis2/dynamics"),
    Row("dynamics/damping|friction"),
    Row("dynamics/spring_reference|spring_stiffness", since="1.5"),
    Row("axis/mimic", since="1.11"),
    Row("axis2/mimic", use="left out", since="1.11"),
    Row("mimic", "joint", since="1.11"),
    Row("mimic", "axis", use="left out", since="1.11", neutral=("axis",)),
    Row("mimic/multiplier|offset|reference", since="1.11"),
    Row("joint/physics", use="aside", note="of one simulator or another"),
    Row("joint/sensor", use="aside", since="1.4"),
]

_DRAKE = [
    Row("joint/drake:rotor_inertia|drake:gear_ratio", use="converted", note="to the armature"),
    Row("joint/drake:controller_gains", use="aside"),
    Row("joint/drake:mimic", use="converted", note="to a mimic joint"),
    Row("drake:mimic", "joint"),
    Row("drake:mimic", "multiplier"),
    Row("drake:mimic", "offset"),
    Row("limit/drake:acceleration", use="aside"),
    Row("link/drake:deformable_properties", use="left out"),
    Row("link/drake:visual", use="aside"),
    Row("model/drake:joint|drake:ball_constraint|drake:tendon_constraint", use="left out"),
    Row("model/drake:linear_bushing_rpy|drake:linear_spring_damper", use="left out"),
    Row("model|world/drake:collision_filter_group", use="aside"),
    Row("collision/drake:proximity_properties", use="aside"),
    Row("geometry/drake:capsule|drake:ellipsoid", use="aside", note="an error where `auto` asks for its inertia"),
]

SDF = Vocabulary(
    "SDFormat",
    [*_FILES, *_WORLDS, *_MODELS, *_FRAMES, *_LINKS, *_SHAPES, *_JOINTS, *_DRAKE],
    prefixes={"drake": "drake"},
)
