# SPDX-License-Identifier: Apache-2.0
"""Fast DDS over UDP on this machine alone, without shared memory.

ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST would have the transports of rmw_fastrtps, which include shared memory whatever
FASTDDS_BUILTIN_TRANSPORTS says.
"""

from __future__ import annotations

from pathlib import Path

PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com">
  <profiles>
    <transport_descriptors>
      <transport_descriptor>
        <transport_id>loopback</transport_id>
        <type>UDPv4</type>
        <maxInitialPeersRange>32</maxInitialPeersRange>
        <interfaceWhiteList><address>127.0.0.1</address></interfaceWhiteList>
      </transport_descriptor>
    </transport_descriptors>
    <participant profile_name="loopback" is_default_profile="true">
      <rtps>
        <useBuiltinTransports>false</useBuiltinTransports>
        <userTransports><transport_id>loopback</transport_id></userTransports>
        <builtin>
          <metatrafficUnicastLocatorList><locator/></metatrafficUnicastLocatorList>
          <initialPeersList>
            <locator><udpv4><address>127.0.0.1</address></udpv4></locator>
          </initialPeersList>
        </builtin>
      </rtps>
    </participant>
  </profiles>
</dds>
"""


def udp_on_this_machine(folder: Path) -> dict[str, str]:
    """Variables of the environment; folder: for the profile that they name."""
    file = folder / "loopback.xml"
    file.write_text(PROFILE)
    names = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")  # since Fast DDS 3, and before
    return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT", **dict.fromkeys(names, str(file))}
