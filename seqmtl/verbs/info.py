"""Describe a model file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from seqmtl.request import Request, option
from seqmtl.verbs import _options


@dataclass(frozen=True, kw_only=True)
class Info(Request):
    """Describe a model: its tasks, task kernel, features and training."""

    model: str = _options.model_file(_options.STARTER_OR_FILE)
    json: bool = option("print JSON", default=False)

    def run(self) -> dict[str, Any]:
        """Read the model.

        Returns
        -------
        dict
            The description, with its ``text``.
        """
        from seqmtl.files.catalogue import model_path
        from seqmtl.models.saved import load_model

        model = load_model(self.model)
        size = os.path.getsize(model_path(self.model)) / 2**20
        text = "\n".join([*model.text(f"{self.model} ({size:.1f} MiB)"), ""])
        return {"schema_version": 1, "path": self.model, **model.describe(), "text": text}
