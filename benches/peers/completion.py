"""Completion by IPython's own completer, in process, without jedi: says `ready`, then for each line on standard input
(a text, the cursor at its end) the median of 20, in ms.
"""

import statistics
import sys
import time

from IPython.core.completer import provisionalcompleter, rectify_completions
from IPython.core.interactiveshell import InteractiveShell

ROUND_TRIPS = 20


def main():
    shell = InteractiveShell.instance()
    shell.run_cell("import os, json; figure_one = figure_two = 1", store_history=False)
    shell.Completer.use_jedi = False

    def once(text):
        with provisionalcompleter():
            return list(rectify_completions(text, shell.Completer.completions(text, len(text))))

    print("ready", flush=True)
    for line in sys.stdin:
        text = line.rstrip("\n")
        for _ in range(5):
            assert once(text), text
        times = []
        for _ in range(ROUND_TRIPS):
            begin = time.perf_counter()
            once(text)
            times.append((time.perf_counter() - begin) * 1e3)
        print(statistics.median(times), flush=True)


main()
