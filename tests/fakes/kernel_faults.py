"""Faults of `kernel.py`: at its first start, and as words of a cell. Each function gets the kernel and the header of
the request; what it does not leave out (`kernel.omits`) is said afterwards."""
import json, os, signal, sys, threading, time

BAD = [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000, b"7", b"null", b"[]", b'"\\ud800"', b"\0"]
ODD = [None, 7, -1, 2**70, 1.5, True, "", "x", [], [7], {}, {"a": 7}]
KINDS = ["stream", "display_data", "update_display_data", "execute_result", "execute_input", "error", "clear_output",
         "comm_open", "comm_msg", "comm_close", "iopub_welcome", "debug_event", "of_the_future", ""]
FIELDS = ["name", "text", "data", "metadata", "transient", "execution_count", "ename", "evalue", "traceback", "wait",
          "comm_id", "target_name", "code"]


def is_text(data):
    try:
        return data.decode() is not None
    except UnicodeDecodeError:
        return False


def played():
    """True but for the first kernel that is started here."""
    try:
        open("played", "x").close()
    except FileExistsError:
        return True
    return False


def before(fault):
    """What goes wrong before the kernel listens; ends it, or returns the fault that is left."""
    if fault and played():
        return ""
    if fault == "gone at once":
        sys.exit("no home")
    if fault == "loud":
        os.write(2, b"\x1b[31mWARN\x1b[0m a line\n" * 500_000)
    if fault == "no sockets":
        time.sleep(1000)
    return fault


def greet(wire, name, peer):
    fault = wire.kernel.fault
    if fault == "http":
        peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"x" * 100)
        time.sleep(1000)
    elif fault == "half a greeting":
        peer.sendall(b"\xff" + bytes(8) + b"\x7f")
        time.sleep(1000)
    elif fault == "old greeting":
        peer.sendall(b"\xff" + bytes(8) + b"\x7f\x01\x00" + bytes(52))
        time.sleep(1000)
    elif fault == "secure greeting":
        peer.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + bytes(32))
        time.sleep(1000)
    elif fault == "closed greeting":
        peer.close()


def at_start(kernel, channel, header):
    """Plays a fault of the first start at its `kernel_info_request`; true when that is answered by it."""
    fault = kernel.fault
    info = {"empty info": {}, "number info": 7, "list info": [7],
            "error info": {"status": "error", "ename": 7, "evalue": "no"},
            "odd info": {"status": 7, "protocol_version": 7, "language_info": [7], "banner": 7, "help_links": 7}}
    if fault == "exit at info":
        kernel.die(3)
    elif fault == "silent":
        return True
    elif fault == "unsigned info":
        kernel.wire.out(channel, kernel.parts("kernel_info_reply", {}, header), sign=b"0" * 64)
        return True
    elif fault == "quiet iopub":
        kernel.answer(channel, "kernel_info_request", header, {})
        return True
    elif fault == "broken info":
        kernel.fault = ""
        broken_parts(kernel, header, channel)
        return True
    elif fault in info:
        kernel.status("busy", header)
        kernel.say(channel, "kernel_info_reply", info[fault], header)
        kernel.status("idle", header)
        return True
    return False


def broken_parts(kernel, header, channel="iopub"):
    for at in range(4):
        for bad in BAD:
            parts = kernel.parts("stream", {"name": "stdout", "text": ""}, header)
            parts[at] = bad
            kernel.out(channel, parts)


def unsigned(kernel, header):
    for sign in [b"", b"0" * 64, b"\xff", b"x" * 100_000]:
        kernel.wire.out("iopub", kernel.parts("stream", {"name": "stdout", "text": "forged"}, header), sign=sign)
        kernel.wire.out("shell", kernel.parts("execute_reply", {"status": "error"}, header), sign=sign)


def short(kernel, header):
    parts = [b"<IDS|MSG>", b""] + kernel.parts("stream", {"name": "stdout", "text": "forged"}, header)
    for channel in ["iopub", "shell", "control", "stdin"]:
        for most in range(len(parts)):
            kernel.wire.frames(channel, parts[:most] or [b""])
            kernel.wire.frames(channel, parts[1:most] or [b"<IDS|MSG>"] * 3)


def buffers(kernel, header):
    kernel.wire.out("iopub", kernel.parts("comm_msg", {"comm_id": "c", "data": {}}, header) + [b"x"] * 20_000)


def huge(kernel, header):
    data = {"text/plain": "shown", "application/x-large": "x" * (100 << 20)}
    kernel.say("iopub", "display_data", {"data": data, "metadata": {}}, header)


def commands(kernel, header):
    for body in [b"\x04NOPE", b"", b"\x04PING\0\0x", b"\xff", b"\x05ERROR\x02no"]:
        kernel.wire.raw("iopub", bytes([4, len(body)]) + body)


def length(size):
    def play(kernel, header):
        kernel.wire.raw("iopub", b"\x02" + size.to_bytes(8, "big") + b"x" * 1000)
    return play


def close(channel):
    def play(kernel, header):
        kernel.wire.close(channel)
    return play


def types(kernel, header):
    for kind in KINDS:
        for odd in ODD:
            kernel.say("iopub", kind, odd, header)
            kernel.say("iopub", kind, {field: odd for field in FIELDS}, header)
    for odd in ODD:
        kernel.out("iopub", kernel.parts("stream", {"text": ""}, header, msg_type=odd, msg_id=odd, session=odd))
        kernel.say("iopub", "status", {"execution_state": odd}, header)
        kernel.say("iopub", "stream", {"name": "stdout", "text": "of nobody\n"}, {"msg_id": odd})


def channels(kernel, header):
    for channel in ["shell", "control", "stdin", "iopub"]:
        for kind in ["execute_request", "kernel_info_request", "input_reply", "interrupt_reply", "execute_reply.",
                     "shutdown_reply", "comm_info_reply", "of_the_future_reply", "kernel_info_reply"]:
            kernel.say(channel, kind, {"status": "error"}, {"msg_id": "of another"})
        kernel.say(channel, "stream", {"name": "stdout", "text": ""}, header)


def twice(kernel, header):
    for _ in range(3):
        kernel.say("shell", "execute_reply", {"status": "ok"}, header)
    kernel.omits.add("idle")
    threading.Timer(0.1, lambda: [kernel.status("idle", header) for _ in range(3)]).start()


def omit(*parts):
    def play(kernel, header):
        kernel.omits.update(parts)
    return play


def replies(kernel, header):
    """A reply of odd types, in place of the right one."""
    kernel.omits.add("reply")
    payloads = [{"source": odd, "data": odd, "text": odd, "replace": odd} for odd in ODD]
    payloads += [{"source": source, "data": 7, "text": 7} for source in ["page", "set_next_input"]]
    kernel.say("shell", "execute_reply", {"status": "ok", "execution_count": "x", "payload": payloads + ODD,
                                          "user_expressions": {"cwd": 7}}, header)


def number_reply(kernel, header):
    kernel.omits.add("reply")
    kernel.say("shell", "execute_reply", {"status": 7, "ename": 7, "traceback": 7}, header)


def questions(kernel, header):
    for parent in [{}, {"msg_id": "of another"}, None]:
        kernel.say("stdin", "input_request", {"prompt": "who? ", "password": False}, parent)


def sleeps(kernel, header):
    kernel.text("begun\n", header)
    kernel.sleep()
    kernel.omits.add("reply")
    kernel.say("shell", "execute_reply", {"status": "error", "ename": "KeyboardInterrupt", "evalue": "",
                                          "traceback": []}, header)


def mute(kernel, header):
    kernel.text("begun\n", header)
    kernel.sleep()
    kernel.omits.update(["reply", "idle"])


def past_an_interrupt(kernel, header):
    kernel.deaf = True
    kernel.text("begun\n", header)
    while True:
        time.sleep(0.05)
        kernel.text("more\n", header)


def deaf(kernel, header):
    kernel.deaf = True
    kernel.text("begun\n", header)
    kernel.sleep()


def stop(kernel, header):
    kernel.text("begun\n", header)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGSTOP)


def at_an_interrupt(kernel, header):
    kernel.text("begun\n", header)
    kernel.sleep()
    kernel.die(3)


def dies(kernel, header):
    kernel.text("begun\n", header)
    kernel.die(3)


def dies_asking(kernel, header):
    kernel.say("stdin", "input_request", {"prompt": "who? ", "password": False}, header)
    time.sleep(0.3)
    kernel.die(3)


def dies_replied(kernel, header):
    kernel.say("shell", "execute_reply", {"status": "ok"}, header)
    kernel.die(3)


def killed(kernel, header):
    os.kill(os.getpid(), signal.SIGKILL)


def restarts(kernel, header):
    kernel.status("restarting")
    os.environ["FAKE_AGAIN"] = "1"
    os.execv(sys.executable, [sys.executable, *sys.argv])


def leaves_a_child(kernel, header):
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)


def stays(kernel, header):
    kernel.stays = True
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def flood(kernel, header):
    for _ in range(20_000):
        kernel.text(".", header)
    for _ in range(5_000):
        kernel.status("busy", header)


def displays(kernel, header):
    for _ in range(300):
        shown = {"data": {"text/plain": "d"}, "metadata": {}, "transient": {"display_id": "d"}}
        kernel.say("iopub", "update_display_data", shown, header)
        kernel.say("iopub", "clear_output", {"wait": True}, header)


def late(kernel, header):
    threading.Timer(0.3, kernel.text, ("late\n", header)).start()


def loud(kernel, header):
    for _ in range(1000):
        os.write(2, b"\x1b[31mERROR\x1b[0m log line\n" * 400)


WORDS = {"broken-parts": broken_parts, "unsigned": unsigned, "short": short, "buffers": buffers, "huge": huge,
         "commands": commands, "gigabytes": length(8 << 30), "terabyte": length(1 << 40), "endless": length(1 << 62),
         "negative": length((1 << 64) - 1), "close-shell": close("shell"), "close-control": close("control"),
         "close-stdin": close("stdin"), "close-iopub": close("iopub"), "types": types, "channels": channels,
         "twice": twice, "no-idle": omit("idle"), "no-reply": omit("reply"), "neither": omit("idle", "reply"),
         "replies": replies, "number-reply": number_reply, "questions": questions, "sleeps": sleeps, "mute": mute,
         "past-an-interrupt": past_an_interrupt, "deaf": deaf, "stop": stop, "at-an-interrupt": at_an_interrupt,
         "dies": dies, "dies-asking": dies_asking, "dies-replied": dies_replied, "killed": killed,
         "restarts": restarts, "leaves-a-child": leaves_a_child, "stays": stays, "flood": flood,
         "displays": displays, "late": late, "loud": loud}
