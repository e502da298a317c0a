# SPDX-License-Identifier: Apache-2.0
"""SDFormat: `reader.read_sdf` brings the rest together; its table is `formats.sdf_vocabulary`."""
