"""Describe a model: tasks, task kernel, features, training.

examples:
  seqmtl info splice.seqmtl
  seqmtl info starter:donor
  seqmtl info splice.seqmtl --json - | jq .duality_gap

evidence of trust: the weight of each level of trust in the relatives (0 to 1), from the likelihood
of held-out labels. log-likelihood: that of these labels, for each set of features. See "Which
relatives to trust" on the page Method of the documentation.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from seqmtl.commands import _options
from seqmtl.commands._request import Document, Request
from seqmtl.files.catalogue import model_path
from seqmtl.files.write import check_outputs, write_json


@dataclass(frozen=True, kw_only=True)
class Info(Request):
    """Describe a model: its tasks, task kernel, features and training."""

    model: str = _options.model_file(_options.STARTER_OR_FILE)
    json: str | None = _options.summary_file("write JSON; - for standard output")

    def run(self) -> Document:
        """Read the model.

        Returns
        -------
        dict
            The description, with its ``text``.
        """
        from seqmtl.loading import load

        check_outputs([self.model], [self.json])
        model = load(self.model)
        size = os.path.getsize(model_path(self.model)) / 2**20
        text = "\n".join([*model.text(f"{self.model} ({size:.1f} MiB)"), ""])
        description = {"schema_version": 1, "path": self.model, **model.describe()}
        write_json(self.json, description)
        return {**description, "text": text}

    def show(self, description: Document) -> str:
        """Show the text of the model."""
        return str(description["text"])
