"""Running programs on the stock ExecuTorch runtime: comparing them, measuring their memory.

Everything that runs a program does so in a child process, because a program can crash the
runtime. Importing these modules needs neither torch nor executorch nor numpy; running does
(``pip install 'onearena[run]'``).

- :mod:`onearena.runtime.compare`: do two programs give the same bits, how fast are they?
- :mod:`onearena.runtime.workspace`: the memory that XNNPACK takes at run time.
- :mod:`onearena.runtime.session`: one program loaded in this process.
"""
