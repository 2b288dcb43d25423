"""onearena inside an export script: the step from an edge program to a planned ``.pte``.

Importing these modules needs ExecuTorch only where a module says so; `import onearena` never does.

- :mod:`onearena.exporting.convert`: `to_executorch`, in place of the edge program's own.
- :mod:`onearena.exporting.etrecord`: ETRecords of programs that the command line optimized.
- :mod:`onearena.exporting.planning_pass`: for those who stay inside ExecuTorch's memory planning.
- :mod:`onearena.exporting.planning`: its algorithm alone.
"""
