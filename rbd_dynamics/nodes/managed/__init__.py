# SPDX-License-Identifier: Apache-2.0
"""What every node is: life cycle, entities, parameters, description, diagnostics."""
