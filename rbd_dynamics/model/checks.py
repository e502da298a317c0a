"""Preflight: is this a robot that could exist, and would its dynamics be well posed?"""
from __future__ import annotations
from rbd_dynamics.model.description import Description
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.model import Model

def check_inertials(description: Description, findings: Findings) -> None: ...

def check_motion(model: Model, findings: Findings) -> None: ...
