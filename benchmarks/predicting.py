"""Predicts the XNNPACK workspace of a file for a version of ExecuTorch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from onearena.delegates.xnnpack.workspace import predict_workspace
from onearena.delegates.xnnpack.workspace_target import X86_64_AVX512, Revision
from onearena.payloads import read_payloads
from onearena.pte import open_pte

from .records import Prediction

NOTHING = Prediction(0, 0, 0)


def predict(path: Path, version: str) -> Prediction:
    """Return the prediction for the delegate that needs most; all delegates share one workspace."""
    target = replace(X86_64_AVX512, revision=_revision(version))
    with open_pte(path) as file:
        graphs = [
            payload.graph.source
            for plan in file.program.execution_plan or ()
            for payload in read_payloads(file, plan).values()
            if payload.graph is not None
        ]
        found = [predict_workspace(graph, target) for graph in graphs]
    every = [Prediction(p.tensors_bytes, p.operator_scratch_bytes, p.total_bytes) for p in found]
    return max(every, key=lambda prediction: prediction.total, default=NOTHING)


def _revision(version: str) -> Revision:
    is_old = version.startswith("1.4.")
    return Revision.EXECUTORCH_1_4 if is_old else Revision.EXECUTORCH_1_5
