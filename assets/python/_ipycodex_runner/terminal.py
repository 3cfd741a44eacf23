"""The inner terminal, seen from the runner: its settings before and after a cell, and what was typed ahead.

In: fd 0, the slave side. Out: the bytes a cell did not read, and those typed before it began: no cell reads what was
not meant for it. Invariant: after `restore` the terminal is as it was at the start.
Absent on purpose: raw mode for the user's own terminal and the window size, which are the host's.
"""

import os
import termios

saved = None


def save_settings():
    global saved
    try:
        saved = termios.tcgetattr(0)
    except (termios.error, OSError):
        saved = None


def restore():
    """Restores the settings and the foreground group; returns unread input."""
    if saved is None:
        return b""
    data = b""
    try:
        claim_foreground()
        grabbing = list(saved)
        grabbing[3] &= ~(termios.ICANON | termios.ECHO)
        grabbing[6] = list(saved[6])
        grabbing[6][termios.VMIN] = grabbing[6][termios.VTIME] = 0
        termios.tcsetattr(0, termios.TCSANOW, grabbing)
        try:
            while len(data) < 1 << 20:
                part = os.read(0, 65536)
                if not part:
                    break
                data += part
        finally:
            termios.tcsetattr(0, termios.TCSANOW, saved)
    except (termios.error, OSError):
        pass
    return data


def encode_typeahead(data):
    """Bytes as a frame carries them."""
    if not data:
        return ""
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode("ascii")


def claim_foreground():
    """A job-control shell in a cell may have kept the terminal for a group of its own."""
    own = os.getpgrp()
    if os.tcgetpgrp(0) != own:
        import _signal

        previous = _signal.signal(_signal.SIGTTOU, _signal.SIG_IGN)
        try:
            os.tcsetpgrp(0, own)
        finally:
            _signal.signal(_signal.SIGTTOU, previous)
