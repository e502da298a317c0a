# SPDX-License-Identifier: Apache-2.0
"""Tables of joint states, as text, Parquet, MATLAB's, HDF5 and NumPy's: files in, messages out as of a recording."""

from rbd_dynamics.replay.reading.tables.interpretation import is_table
from rbd_dynamics.replay.reading.tables.table_storage import TableStorage

__all__ = ["TableStorage", "is_table"]
