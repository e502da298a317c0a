# SPDX-License-Identifier: Apache-2.0
"""Tables of joint states, CSV, Parquet and MATLAB's: files in, the same messages out as those of a recording."""

from rbd_dynamics.replay.reading.tables.table_storage import TableStorage, is_table

__all__ = ["TableStorage", "is_table"]
