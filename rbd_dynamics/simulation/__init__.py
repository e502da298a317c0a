"""Simulation of a robot in time: integrators and what a real robot adds to its equation of motion."""
