"""Tables of pandas as wide as the terminal.

In: pandas, right after its import and before each later cell; the size of the cells' terminal. Out: its option
`display.width`. Invariant: a width that the user has set stays. Absent on purpose: polars and others, which ask the
terminal themselves, and pipes, where the default is as good as any.
"""

import os

given = 80  # columns: pandas' own default, then what was set here


def fit(pandas):
    """Follows the terminal; a pandas that is half imported or broken is left alone."""
    global given
    try:
        columns = os.get_terminal_size(1).columns
        if columns > 0 and columns != given and pandas.get_option("display.width") == given:
            pandas.set_option("display.width", columns)
            given = columns
    except Exception:
        pass
