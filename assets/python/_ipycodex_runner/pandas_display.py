"""The display width of pandas, set to the width of the terminal.

In: pandas, right after its import and before each later cell; the size of the cells' terminal. Out: its option
`display.width`. Invariant: a width that the user has set stays. Absent on purpose: polars and others, which ask the
terminal themselves, and pipes, where the default is good enough.
"""

import os

applied_width = 80  # columns: pandas' own default, then what was set here


def fit_width(pandas):
    """Follows the terminal; a pandas that is half imported or broken is left alone."""
    global applied_width
    try:
        columns = os.get_terminal_size(1).columns
        if columns > 0 and columns != applied_width and pandas.get_option("display.width") == applied_width:
            pandas.set_option("display.width", columns)
            applied_width = columns
    except Exception:
        pass
