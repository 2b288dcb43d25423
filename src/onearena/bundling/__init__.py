"""Bundled programs (``.bpte``): a program together with test inputs and what must come out.

ExecuTorch's runtime reads the format and compares (`devtools/bundled_program` of ExecuTorch 1.5.1);
nothing here imports it. Documentation: docs/bundle.md.
"""
