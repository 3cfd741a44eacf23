"""Values that are pictures, as a model can see them.

In: any object. Out: (MIME type, base64) or None. Invariants: nothing is drawn for a value that is no picture; a picture
is at most `SIDE` pixels wide and high where something can shrink it, and never larger than `LARGEST` on the wire.
Absent on purpose: choosing a picture over a text for the user's own screen (`mime`).
"""

import sys

from . import mime

SIDE = 2048  # pixels: models use no more
LARGEST = 8 << 20  # bytes
SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
ENCODED = ("image/png", "image/jpeg")


class TooLarge(Exception):
    """A picture that the wire does not carry; the text says how large."""


def render(value):
    """(MIME type, base64 text) of a value that is a picture, else None. What drawing raises comes out."""
    kind, data = raw_image(value)
    if kind is None:
        return None
    if not isinstance(data, bytes):
        from binascii import a2b_base64

        data = a2b_base64(data)
    if len(data) > LARGEST or max(image_size(kind, data)) > SIDE:
        kind, data = shrink(kind, data)
    return kind, mime.encode(kind, data)


def image_size(kind, data):
    """Width and height in pixels, where the format tells at once."""
    if kind == "image/png" and len(data) > 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    return 0, 0


def limit_images(bundle):
    """A bundle made elsewhere, its picture no larger than ours."""
    from binascii import a2b_base64

    bundle = dict(bundle)
    for kind in SHOWN:
        if isinstance(bundle.get(kind), str):
            data = a2b_base64(bundle.pop(kind))
            try:
                if len(data) > LARGEST or max(image_size(kind, data)) > SIDE:
                    kind, data = shrink(kind, data)
                bundle[kind] = mime.encode(kind, data)
            except TooLarge as error:
                bundle["text/plain"] = "%s\n[%s]" % (bundle.get("text/plain", ""), error)
    return bundle


def is_picture(value):
    """True if `render` would return a picture, judged by the value's type without drawing it."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return mime.image_type(bytes(value[:16])) is not None
    if isinstance(value, (type, str, int, float, list, tuple, dict, set)) or value is None:
        return False
    image = sys.modules.get("PIL.Image")
    if find_figure(value) is not None or (image is not None and isinstance(value, getattr(image, "Image", ()))):
        return True
    return image_repr(value)[0] is not None


def raw_image(value):
    """(MIME type, bytes or base64 text), or (None, None)."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        kind = mime.image_type(bytes(value[:16]))
        return (kind, bytes(value)) if kind else (None, None)
    if isinstance(value, (type, str, int, float, list, tuple, dict, set)) or value is None:
        return None, None
    figure = find_figure(value)
    if figure is not None:
        return "image/png", render_figure(figure)
    image = sys.modules.get("PIL.Image")
    if image is not None and isinstance(value, getattr(image, "Image", ())):
        return "image/png", encode_image(value)
    return image_repr(value)


def find_figure(value):
    """The matplotlib figure that a value is or belongs to."""
    module = sys.modules.get("matplotlib.figure")
    if module is None:
        return None
    for name in (None, "figure", "fig"):
        try:
            found = value if name is None else getattr(value, name, None)
        except Exception:
            continue
        if isinstance(found, getattr(module, "FigureBase", module.Figure)):
            return getattr(found, "figure", found) if not isinstance(found, module.Figure) else found
    if type(value).__name__ == "ndarray" and getattr(value, "dtype", None) == object and getattr(value, "size", 0):
        return find_figure(value.flat[0])  # what `plt.subplots(2, 2)` and `df.hist()` give
    return None


def render_figure(figure):
    from io import BytesIO

    width, height = figure.get_size_inches()
    dpi = min(float(figure.dpi), SIDE / max(width, height, 1e-3))
    buffer = BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight", dpi=max(dpi, 1.0))
    return buffer.getvalue()


def encode_image(image):
    from io import BytesIO

    if max(image.size) > SIDE:
        image = image.copy()
        image.thumbnail((SIDE, SIDE))
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"):
        image = image.convert("RGB")
    buffer = BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def image_repr(value):
    """The picture of an object with `_repr_mimebundle_`, `_repr_png_` or `_repr_jpeg_`."""
    if mime.has_method(value, "_repr_mimebundle_"):
        found = mime.split_metadata(value._repr_mimebundle_(include=set(SHOWN), exclude=None))[0]
        for kind in SHOWN if isinstance(found, dict) else ():
            if found.get(kind):
                return kind, found[kind]
    for kind, name in zip(ENCODED, ("_repr_png_", "_repr_jpeg_")):
        if mime.has_method(value, name):
            found = mime.split_metadata(getattr(value, name)())[0]
            if found:
                return kind, found
    return None, None


def shrink(kind, data):
    try:
        from io import BytesIO

        from PIL import Image

        kind, small = "image/png", encode_image(Image.open(BytesIO(data)))
    except Exception:
        small = data
    if len(small) > LARGEST:
        raise TooLarge("%s of %.1f MB: too large to show" % (kind, len(data) / 1e6))
    return kind, small


def data_url(value):
    """A picture as a `data:` URL, or None."""
    found = render(value)
    return None if found is None else "data:%s;base64,%s" % found
