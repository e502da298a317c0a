# SPDX-License-Identifier: Apache-2.0
"""Controllers of ros2_control and a node of rbd_dynamics that commands through them:

    ros2 launch ./bringup.launch.py urdf:=robot.urdf                     # feedforward -> effort_controller
    ros2 launch ./bringup.launch.py urdf:=robot.urdf way:=trajectories   # MoveIt -> trajectory_proxy -> arm_controller

The description has a <ros2_control> element with effort command interfaces (docs/ros2_control.md). Needs
controller_manager, ros2_controllers and robot_state_publisher.
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription
from rbd_dynamics.nodes.tools.launching import outliving

HERE = Path(__file__).resolve().parent
WAYS = {"feedforward": "effort_controller", "trajectories": "arm_controller"}


def start(context: LaunchContext) -> list:
    value = context.launch_configurations
    controller = WAYS[value["way"]]
    description = {"robot_description": ParameterValue(Path(value["urdf"]).read_text(), value_type=str)}
    controllers = str(HERE / "controllers.yaml")
    spawned = ["joint_state_broadcaster", *value["sensors"].split()]
    share = FindPackageShare("rbd_dynamics").perform(context)
    if value["way"] == "feedforward":
        ours = "feedforward"
        arguments = {"guard": "true", "commands": f"/{controller}/commands", "joint_states": "/joint_states"}
        arguments["activate"] = "true"  # once torques arrive
        first = [WAYS["trajectories"], controller, "--inactive"]  # the other one is its fallback
    else:
        ours = "trajectory_proxy"
        arguments = {"controller": controller}
        first = [controller]
    return [
        Node(package="robot_state_publisher", executable="robot_state_publisher", parameters=[description]),
        Node(
            package="controller_manager",
            executable="ros2_control_node",
            parameters=[controllers],
            output="screen",
            prefix=outliving(),  # Ctrl-C reaches all at once: the torque node first leaves the robot safe
        ),
        Node(package="controller_manager", executable="spawner", arguments=[*spawned, "--param-file", controllers]),
        Node(package="controller_manager", executable="spawner", arguments=[*first, "--param-file", controllers]),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(f"{share}/launch/{ours}.launch.py"),
            launch_arguments={"params_file": str(HERE / f"{ours}.yaml"), **arguments}.items(),
        ),
    ]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument("urdf", description="file of the robot description, with <ros2_control>"),
            DeclareLaunchArgument("way", default_value="feedforward", choices=list(WAYS), description="who commands"),
            DeclareLaunchArgument(
                "sensors",
                default_value="",
                description="broadcasters besides, as in sensors:=force_torque_sensor_broadcaster",
            ),
            OpaqueFunction(function=start),
        ]
    )
