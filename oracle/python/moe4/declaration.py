"""What a subject says of itself (docs/declaration.md), as a dict, as JSON text or as the path of a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Mapping, Union

Declaration = Union[Mapping[str, Any], str, "os.PathLike[str]"]


def declaration_json(declare: Declaration, name: str = "python") -> str:
    """Its JSON; `schema` and `name` may be left out of a dict."""
    if isinstance(declare, Mapping):
        return json.dumps({"schema": 1, "name": name, **declare})
    if isinstance(declare, str) and declare.lstrip().startswith("{"):
        return declare
    return Path(declare).read_text(encoding="utf-8")
