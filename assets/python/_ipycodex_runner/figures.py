"""Open Matplotlib figures, shown at the end of a cell.

In: figures. Out: `display` frames. Invariant: a figure is shown once, and none stays open after its cell.
Absent on purpose: back ends; the default comes from `MPLBACKEND`.
"""

import sys


def publish(host):
    """Shows the figures still open and closes them; those displayed in the cell are not repeated."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not hasattr(pyplot, "get_fignums"):
        return
    from . import mime

    if not is_inline():
        return  # the user chose windows
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        try:
            if id(figure) not in mime.displayed_figures and figure.get_axes():
                data = {"image/png": mime.render_figure(figure), "text/plain": mime.safe_repr(figure)}
                mime.publish(host, data, {})
        finally:
            pyplot.close(figure)
    mime.displayed_figures.clear()


def open_numbers():
    """Numbers of the figures that pyplot keeps open."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set(pyplot.get_fignums()) if hasattr(pyplot, "get_fignums") else set()


def close_except(kept):
    """Closes the others: what code beside the cells has drawn is its result or nothing, the next cell is not to show
    it."""
    for number in open_numbers() - kept:
        try:
            sys.modules["matplotlib.pyplot"].close(number)
        except Exception:
            pass


def is_inline():
    backend = str(sys.modules["matplotlib"].rcParams.get("backend", "")).lower()
    return backend in ("agg", "") or "inline" in backend


def is_shown_by_ipython():
    """True if `matplotlib_inline` is the back end in use, which shows open figures itself."""
    return (
        "inline" in str(sys.modules["matplotlib"].rcParams.get("backend", "")).lower()
        and "matplotlib_inline.backend_inline" in sys.modules
    )


def replace_show(pyplot, host):
    """Makes `show()` publish what is open, at that place in the output."""
    show = pyplot.show

    def show_inline(*arguments, **options):
        if is_inline():
            publish(host)
            return None
        return show(*arguments, **options)

    show_inline.__doc__, show_inline.__name__, show_inline.__wrapped__ = show.__doc__, "show", show
    pyplot.show = show_inline
