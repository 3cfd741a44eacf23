"""A value as a MIME bundle, and `display()`.

In: any object. Out: {MIME: text, or base64 of bytes} and metadata. Invariants: `text/plain` is always there; a
`_repr_*_` that raises is skipped; a `__repr__` that raises does so here too, unless there is another form. Absent on
purpose: choosing a form for a reader, which is the host's.
"""

import sys
from binascii import b2a_base64

METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("application/pdf", "_repr_pdf_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
    ("text/latex", "_repr_latex_"),
)
WIDTH = 79  # columns, for containers
CONTAINERS = (dict, list, tuple, set, frozenset)
IMAGES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
displayed_figures = set()  # ids of the figures that the cell displayed: they are not shown again at its end
dark_variants = {}  # pictures of the cell's figures, as they are carried, and the same for a dark terminal


def format_repr(value):
    """`repr`, laid out over lines when a container is too wide for one. Raises what it raises."""
    text = repr(value)
    kind = type(value)
    if len(text) > WIDTH and kind in CONTAINERS and len(text) < 200_000:
        import pprint

        text = pprint.pformat(value, width=WIDTH, sort_dicts=False)
    return text


def safe_repr(value):
    """As `format_repr`; never raises."""
    try:
        return format_repr(value)
    except Exception as error:
        return "<%s: repr() raised %s>" % (type(value).__name__, type(error).__name__)


def encode(mime, value):
    """A MIME value as the wire carries it: bytes become base64."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b2a_base64(bytes(value), newline=False).decode("ascii")
    return value


def image_type(data):
    for magic, mime in IMAGES:
        if data.startswith(magic):
            return mime
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def build_bundle(value, include=None, exclude=None, failed=None):
    """({MIME: value}, metadata); (None, {}) when the object shows itself through `_ipython_display_`. What its
    `__repr__` raises goes to `failed`; without that it is raised, unless there is another form."""
    data, metadata = {}, {}
    if not isinstance(value, type) and has_method(value, "_ipython_display_"):
        try:
            value._ipython_display_()
            return None, {}
        except Exception:
            pass
    if not isinstance(value, type):
        collect_reprs(value, data, metadata, include, exclude)
    if "text/plain" not in data:
        try:
            data["text/plain"] = format_repr(value)
        except Exception as error:
            if failed is not None:
                failed(error)
            elif not data:
                raise
            if not data:
                return None, {}
            data["text/plain"] = safe_repr(value)
    for mime in list(data):
        if (include and mime not in include and mime != "text/plain") or (exclude and mime in exclude):
            del data[mime]
        else:
            data[mime] = encode(mime, data[mime])
    return data, metadata


def has_method(value, name):
    """True for a method of the object itself, not of one that answers to every name."""
    try:
        return callable(getattr(value, name, None)) and not callable(
            getattr(value, "_ipython_canary_method_should_not_exist_", None)
        )
    except Exception:
        return False


def split_metadata(result):
    return result if isinstance(result, tuple) and len(result) == 2 else (result, {})


def collect_reprs(value, data, metadata, include, exclude):
    if has_method(value, "_repr_mimebundle_"):
        try:
            found, extra = split_metadata(value._repr_mimebundle_(include=include, exclude=exclude))
            if isinstance(found, dict):
                data.update(found)
                metadata.update(extra or {})
        except Exception:
            pass
    for mime, name in METHODS:
        if mime in data or not has_method(value, name):
            continue
        try:
            found, extra = split_metadata(getattr(value, name)())
        except Exception:
            continue
        if found is not None:
            data[mime] = found
            if extra:
                metadata[mime] = extra
    if "image/png" not in data and is_figure(value):
        data["image/png"] = render_figure(value)
        displayed_figures.add(id(value))


def is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def render_figure(figure):
    """A Matplotlib figure as it is carried."""
    made = encode("image/png", render_png(figure))
    add_dark_variant(figure, lambda: render_png(figure), made)
    return made


def add_dark_variant(figure, draw, made):
    """On a dark terminal, renders a figure's picture a second time in dark colours."""
    if sys.modules[__package__].host.dark == "pictures":
        from . import dark_figures

        form = dark_figures.draw_dark(figure, draw)
        if form:
            dark_variants[made] = encode("image/png", split_metadata(form)[0])


def attach_dark_variant(frame):
    """A frame that shows, with what only a terminal shows instead."""
    form = dark_variants.pop(frame["bundle"].get("image/png"), None) if dark_variants else None
    if form is not None:
        frame["transient"] = dict(frame.get("transient") or {}, ipycodex={"image/png": form})
    return frame


def render_png(figure):
    """PNG bytes of a Matplotlib figure."""
    from io import BytesIO

    buffer = BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


class DisplayHandle:
    """What `display(..., display_id=...)` returns."""

    def __init__(self, host, name):
        self.host, self.display_id = host, name

    def __repr__(self):
        return "<DisplayHandle display_id=%s>" % self.display_id

    def display(self, value, **options):
        display(self.host, (value,), display_id=self.display_id, **options)

    def update(self, value, **options):
        display(self.host, (value,), display_id=self.display_id, update=True, **options)


handle_count = 0


def display(
    host,
    values,
    display_id=None,
    update=False,
    raw=False,
    include=None,
    exclude=None,
    metadata=None,
    clear=False,
    transient=None,
    **_ignored,
):
    global handle_count
    if clear:
        clear_output(host, True)
    if display_id is True:
        handle_count += 1
        display_id = "display-%d" % handle_count
    transient = dict(transient or {})
    if display_id is None:
        display_id = transient.get("display_id")
    else:
        transient["display_id"] = display_id
    for value in values:
        if raw:
            data, extra = {mime: encode(mime, item) for mime, item in value.items()}, {}
        else:
            data, extra = build_bundle(value, include, exclude, sys.modules[__package__].engine.fail)
        if data is None:
            continue
        if metadata:
            extra.update(metadata)
        publish(host, data, extra, transient, update)
    return DisplayHandle(host, display_id) if display_id is not None else None


def publish(host, data, metadata, transient=None, update=False):
    """`transient` is for those who show the display now; all of it but `display_id` goes with the frame as it is."""
    frame = {"type": "display", "bundle": data, "metadata": metadata or {}, "update": bool(update)}
    if transient:
        transient = dict(transient)
        frame["displayId"] = transient.pop("display_id", None)
        if transient:
            frame["transient"] = transient
    host.send(attach_dark_variant(frame))


def clear_output(host, wait=False):
    host.send({"type": "clear", "wait": bool(wait)})
