"""Tests of the checks in checks/onnxruntime."""
