"""Markdown streamed in deltas of 4 characters through Rich's `Live`, drawn after each as in its documentation.

Arguments: a file of markdown, and how many characters of it (over and over) are played. Says `ready`, then for each
line on standard input the CPU time in ms.
"""

import os
import sys
import time

from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown

def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        sample = file.read()
    size = int(sys.argv[2])
    text = (sample * (size // len(sample) + 1))[:size]
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.process_time()
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            console = Console(file=nowhere, force_terminal=True, width=80, height=24)
            with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
                for end in range(4, size + 4, 4):
                    live.update(Markdown(text[:end]), refresh=True)
        print((time.process_time() - begin) * 1e3, flush=True)


main()
