"""Matplotlib figures in colours for a dark terminal.

In: a figure that has been drawn once, and the function that draws it. Out: the picture without a background, its text
and axes light; None when somebody chose its colours (a style sheet, a face that is not white). Invariants: afterwards
every field of the figure has its old value; colours of data change only if they would be invisible; artists over an
image or a colour map keep theirs, which were chosen for it. Absent on purpose: which terminal is dark, and the record,
which stores the figure as the user made it (`mime`).
"""

import sys
from colorsys import hls_to_rgb, rgb_to_hls

LIGHTEST = 0.92  # what black becomes
GREY = 0.06  # between the channels of a colour that is none
UNSEEN = 0.1  # brightness, of 1, below which a colour is invisible on a dark background
CHOICES = """
figure.facecolor savefig.facecolor axes.facecolor axes.edgecolor axes.labelcolor axes.titlecolor text.color xtick.color
ytick.color xtick.labelcolor ytick.labelcolor grid.color legend.facecolor legend.edgecolor
""".split()
CLEAR = (0.0, 0.0, 0.0, 0.0)


def draw_dark(figure, draw):
    """Calls `draw` with the figure in dark colours; returns its picture, or None."""
    kept = []
    try:
        if not has_default_colours(figure):
            return None
        recolour(figure, kept)
        return draw()
    except Exception:
        return None  # an artist of a kind of its own: it is shown as it is
    finally:
        for artist, fields in reversed(kept):
            vars(artist).clear()
            vars(artist).update(fields)


def has_default_colours(figure):
    """Nobody has chosen colours for its ground, text and axes."""
    matplotlib = sys.modules["matplotlib"]
    chosen, usual = matplotlib.rcParams, matplotlib.rcParamsDefault
    if any(chosen[name] != usual[name] for name in CHOICES if name in usual):
        return False
    rgba = sys.modules["matplotlib.colors"].to_rgba
    if rgba(figure.patch.get_facecolor()) != rgba(usual["figure.facecolor"]):
        return False
    faces = [rgba(axes.patch.get_facecolor()) for axes in figure.axes if axes.patch.get_visible()]
    return all(face == rgba(usual["axes.facecolor"]) or face[3] == 0 for face in faces)


def recolour(figure, kept):
    """Gives every artist its colours, and to `kept` what it was before."""
    modules = sys.modules
    rgba = modules["matplotlib.colors"].to_rgba
    text, line = modules["matplotlib.text"].Text, modules["matplotlib.lines"].Line2D
    patch, collection = modules["matplotlib.patches"].Patch, modules["matplotlib.collections"].Collection
    grounds = {id(each.patch) for each in [figure] + list(getattr(figure, "subfigs", ())) + figure.axes}
    stays = {id(each) for axes in figure.axes for each in artists_over_image(axes, collection)}
    artists = figure.findobj(lambda each: isinstance(each, (text, line, patch, collection)) and id(each) not in stays)
    for artist in artists:
        kept.append((artist, dict(vars(artist))))
    for artist in artists:
        if id(artist) in grounds:
            artist.set_facecolor(CLEAR)
        elif isinstance(artist, text):
            box = artist.get_bbox_patch()
            if box is None or is_grey(rgba(box.get_facecolor())):
                artist.set_color(dark_colour(rgba(artist.get_color())))
        elif isinstance(artist, line):
            # Marker colours are read first: they follow the line's colour unless they were set.
            marker = rgba(artist.get_markerfacecolor()), rgba(artist.get_markeredgecolor())
            for change, colour in (
                (artist.set_color, rgba(artist.get_color())),
                (artist.set_markerfacecolor, marker[0]),
                (artist.set_markeredgecolor, marker[1]),
            ):
                if colour[3]:
                    change(dark_colour(colour))
        else:
            # Many colours, or the colour of one level of many, are data.
            several = isinstance(artist, collection)
            if several and artist.get_array() is not None:
                continue
            edge = artist.get_edgecolor()
            for change, colours in ((artist.set_facecolor, artist.get_facecolor()), (artist.set_edgecolor, edge)):
                colours = [rgba(each) for each in (colours if several else [colours])]
                if len(colours) == 1 and colours[0][3] and (is_grey(colours[0]) or not several):
                    change(dark_colour(colours[0]))


def artists_over_image(axes, collection):
    """Artists drawn over an image or a colour map; coloured points cover too little to count."""
    points = getattr(sys.modules["matplotlib.collections"], "PathCollection", ())
    maps = [each for each in axes.collections if each.get_array() is not None and not isinstance(each, points)]
    covered = axes.images or maps
    return list(axes.texts) + list(axes.lines) + list(axes.patches) if covered else []


def is_grey(colour):
    return max(colour[:3]) - min(colour[:3]) < GREY


def dark_colour(colour):
    """A colour chosen for white, as it is seen as well on dark: greys the other way round, dark ones lighter."""
    red, green, blue, alpha = colour
    if is_grey(colour):
        value = (1 - (red + green + blue) / 3) * LIGHTEST
        return value, value, value, alpha
    if 0.2126 * red + 0.7152 * green + 0.0722 * blue >= UNSEEN:
        return colour
    hue, lightness, saturation = rgb_to_hls(red, green, blue)
    return hls_to_rgb(hue, max(1 - lightness, 0.7), saturation) + (alpha,)
