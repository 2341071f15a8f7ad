# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

"""A stand-in for SGLang 0.5.11: it replays recorded logs and loads no model. Only for tests."""

from sglang.version import __version__

__all__ = ["__version__"]
