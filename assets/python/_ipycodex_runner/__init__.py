"""The Python runner's parts. This file is never executed: `runner.py` makes the package object itself.

`wire` and `serve` speak the protocol, `cells` and `ipython` are the two engines, everything else is loaded on first use.
Layers, lowest first: wire <- loop, terminal, stdin <- mime, figures, tracebacks <- system, syntax, magics <- cells / ipython <- serve.
"""
