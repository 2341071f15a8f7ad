# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

"""The release whose recorded behaviour is replayed."""

__version__ = "0.5.11"
