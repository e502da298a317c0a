"""Spatial algebra over any scalar: floats, NumPy arrays or tracing scalars."""
