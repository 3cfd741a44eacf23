"""Markdown streamed in deltas of 4 characters through Rich's `Live`, drawn after each as in its documentation.

Argument: characters of markdown. Says `ready`, then for each line on standard input the CPU time in ms.
"""

import os
import sys
import time

from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown

PARAGRAPH = """## A heading

Some *emphasis*, `code` and a [link](https://example.com) in a paragraph that is longer than a line of the terminal.

- one item
- another item with **strong** words

```python
def f(x):
    return x + 1
```

| a | b |
|---|---|
| 1 | 2 |

"""


def main():
    size = int(sys.argv[1])
    text = (PARAGRAPH * (size // len(PARAGRAPH) + 1))[:size]
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.process_time()
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            console = Console(file=nowhere, force_terminal=True, width=100, height=30)
            with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
                for end in range(4, size + 4, 4):
                    live.update(Markdown(text[:end]), refresh=True)
        print((time.process_time() - begin) * 1e3, flush=True)


main()
