"""IPython's line syntax turned into Python. In: cell text that is not Python. Out: Python text, or None when there is nothing of it."""


def transform(code, engine):
    return None


def ends_in_semicolon(text):
    return False
