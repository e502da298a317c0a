# SPDX-License-Identifier: Apache-2.0
"""Torques that were measured against those of the model: comparison, energy, external torques and contacts."""
