"""Conversations with the kernel, a function each; the one named on the command line is held."""

import contextlib
import os
import signal
import subprocess
import sys
import time

from client import LIMIT, flood, kernel


def introduces():
    """What clients go by is said, and what is not there is not pretended."""
    with kernel() as (k, _):
        request = k.client.kernel_info()
        message = k.client.get_shell_msg(timeout=LIMIT)
        info = message["content"]
        assert info["protocol_version"] == "5.5" == message["header"]["version"], message
        assert info["supported_features"] == [] and info["debugger"] is False, info
        assert message["parent_header"]["msg_id"] == request, message
        # No feature, no answer; the kernel goes on.
        socket, session = k.client.control_channel.socket, k.client.session
        message = session.send(socket, session.msg("create_subshell_request"))
        assert k.until_idle(message["header"]["msg_id"]).messages == []
        told = k.run("1")
        assert {one["header"]["version"] for one in told.messages} == {"5.5"}, told.messages
        # A subscriber is welcomed to its topic, and not to others'.
        import zmq
        with zmq.Context.instance().socket(zmq.SUB) as late:
            late.setsockopt(zmq.SUBSCRIBE, b"st")
            late.connect(f"tcp://127.0.0.1:{k.client.iopub_channel.socket.LAST_ENDPOINT.decode().rsplit(':')[-1]}")
            assert late.poll(LIMIT * 1000)
            identities, parts = session.feed_identities(late.recv_multipart())
            welcome = session.deserialize(parts)
            assert identities == [b"st"] and welcome["msg_type"] == "iopub_welcome", welcome
            assert welcome["content"] == {"subscription": "st"}, welcome
            told = k.run("print('here')")
            assert "iopub_welcome" not in told.kinds()
            kinds = set()
            while "stream" not in kinds:
                assert late.poll(LIMIT * 1000)
                identities, _ = session.feed_identities(late.recv_multipart())
                kinds.add(identities[0].decode())
            assert kinds <= {"status", "stream"}, kinds


def cells():
    with kernel() as (k, _):
        told = k.run("print('é'); 6 * 7")
        assert told.text() == "é\n", told.messages
        [result] = told.of("execute_result")
        assert result["data"]["text/plain"] == "42" and result["execution_count"] == 1
        assert told.of("execute_input") == [{"code": "print('é'); 6 * 7", "execution_count": 1}]
        assert told.reply["status"] == "ok" and told.reply["execution_count"] == 1
        told = k.run("from IPython.display import display\nh = display('a', display_id='d'); h.update('b')")
        assert [one["transient"]["display_id"] for one in told.of("display_data")] == ["d"]
        assert told.of("update_display_data")[0]["data"]["text/plain"] == "'b'"
        told = k.run("import sys; print('e', file=sys.stderr); 1 / 0")
        assert told.text("stderr") == "e\n"
        [error] = told.of("error")
        assert error["ename"] == "ZeroDivisionError" == told.reply["ename"] and told.reply["status"] == "error"
        assert "1 / 0" in "\n".join(error["traceback"])
        assert k.run('"a *note*"').reply["status"] == "ok"
        before = k.run("1").reply["execution_count"]
        assert k.run("  \n ").reply["execution_count"] == before
        told = k.run("print('x'); hidden = 3; 5", silent=True)
        assert told.messages == [] and told.reply["status"] == "ok", told.messages
        told = k.run("hidden", store_history=False)
        assert told.of("execute_result")[0]["data"]["text/plain"] == "3"
        assert k.run("2").reply["execution_count"] == before + 1
        told = k.run("v = 'text'", user_expressions={"a": "v", "b": "nobody", "c": "1 / 0", "d": "v.upper() + '!'"})
        found = told.reply["user_expressions"]
        assert found["a"]["data"]["text/plain"] == "'text'", found
        assert found["d"]["data"]["text/plain"] == "'TEXT!'", found
        assert found["b"]["ename"] == "NameError" and found["c"]["ename"] == "ZeroDivisionError", found
        # All their forms, of what happened before; they may change what there is, and nothing is put out or counted.
        k.run("class Rich:\n    def _repr_html_(self): return '<b>é</b>'\n"
              "    def _repr_png_(self): return b'\\x89PNG'")
        wanted = {"a": "Rich()", "b": "seen.append(3)", "c": "seen", "d": "1 +", "e": " v"}
        told = k.run("seen = []", user_expressions=wanted)
        found = told.reply["user_expressions"]
        assert found["a"]["data"]["text/html"] == "<b>é</b>" and found["a"]["data"]["image/png"] == "iVBORw==", found
        assert "Rich" in found["a"]["data"]["text/plain"] and found["a"]["metadata"] == {}, found
        assert found["b"]["data"] == {"text/plain": "None"} and found["c"]["data"] == {"text/plain": "[3]"}, found
        assert found["d"]["ename"] == "SyntaxError" and found["e"]["data"] == {"text/plain": "'text'"}, found
        assert "1 +" in "\n".join(found["d"]["traceback"]) and not told.messages[1:], (found, told.messages)
        told = k.run("", silent=True, user_expressions={"a": "6 * 7"})
        assert told.reply["user_expressions"]["a"]["data"] == {"text/plain": "42"}, told.reply
        told = k.run("len?")
        [page] = told.reply["payload"]
        assert page["source"] == "page" and "Return the number" in page["data"]["text/plain"]
        k.client.comm_info()
        assert k.client.get_shell_msg(timeout=LIMIT)["content"]["comms"] == {}


def prompts():
    with kernel() as (k, _):
        k.run("x = 41")
        told = k.run(".slowly, what is $`x`?")
        assert told.reply["status"] == "ok", told.reply
        [first], updates = told.of("display_data"), told.of("update_display_data")
        assert updates and all(one["transient"] == first["transient"] for one in updates)
        came = [one["came"] for one in told.messages if "display" in one["msg_type"]]
        for at in came:
            assert sum(1 for one in came if at <= one < at + 1) <= 15, came
        markdown = updates[-1]["data"]["text/markdown"]
        assert markdown.startswith("<details><summary>💭 reasoning</summary>"), markdown
        plain = updates[-1]["data"]["text/plain"]
        assert "reasoning" not in plain and plain.strip() in markdown, (plain, markdown)
        stored = k.run("%ipycodex history").text()
        assert "x" in stored
        # A command that fails says so in the reply, once.
        told = k.run("%ipycodex nonsense")
        assert told.reply["status"] == "error" and "Unknown command" in told.reply["evalue"]
        assert len(told.of("error")) == 1 and not told.text("stderr")
        told = k.run("%ipycodex help")
        assert "text/markdown" in told.of("display_data")[0]["data"]


def plans():
    with kernel() as (k, _):
        k.run("%ipycodex run_cells auto")
        k.run("%ipycodex plan on")
        told = k.run(".run `made = 6`", ["y"])
        assert told.reply["status"] == "ok" and "[y] yes, act on it" in told.asked[0]["prompt"], told.asked
        # The steps are one display, also where a cell of the agent stands between them.
        shown = [one for one in told.of("display_data") + told.of("update_display_data")
                 if one["data"].get("text/markdown", "").startswith("- [")]
        assert len(shown) == 4 and len({one["transient"]["display_id"] for one in shown}) == 1, shown
        done = "- [x] look at what the context holds\n- [x] run `made = 6`\n- [x] tell you about it"
        assert done in [one["data"]["text/markdown"] for one in shown], shown
        assert k.run("made").of("execute_result")[0]["data"]["text/plain"] == "6"
        assert "plan mode is off" in k.run("%ipycodex plan").text("stderr")


def questions():
    with kernel() as (k, _):
        told = k.run("print(input('name? ').upper())", ["né"])
        assert told.text() == "NÉ\n" and told.asked == [{"prompt": "name? ", "password": False}]
        told = k.run("import getpass; len(getpass.getpass('p: '))", ["secret"])
        assert told.asked == [{"prompt": "p: ", "password": True}]
        assert told.of("execute_result")[0]["data"]["text/plain"] == "6"
        told = k.run("input('x')", allow_stdin=False)
        assert told.reply["status"] == "error" and not told.asked
        assert "input" in told.reply["evalue"] or "input" in told.text("stderr"), told.reply
        k.run("%ipycodex approvals ask")
        told = k.run(".approve it", ["maybe", "y"])
        assert len(told.asked) == 2 and "[y]" in told.asked[0]["prompt"], told.asked
        assert "echo hello" in told.text(), told.text()
        assert told.reply["status"] == "ok"
        told = k.run(".approve it", allow_stdin=False)
        assert not told.asked and told.reply["status"] == "ok", told.reply
        assert "echo hello" in str(told.messages), told.messages
        # An exchange that ran a cell is taken back: the interpreter steps back, too, if the user agrees.
        k.run("%ipycodex run_cells auto")
        k.run("a = [1]")
        time.sleep(1)
        k.run(".run `a.append(2)`")
        time.sleep(1)
        told = k.run("%ipycodex undo", allow_stdin=False)
        assert "the interpreter keeps what In [" in str(told.messages) and not told.asked, told.messages
        k.run(".run `a.append(3)`")
        time.sleep(1)
        told = k.run("%ipycodex undo", ["y"])
        assert "Step the interpreter back" in told.asked[0]["prompt"], told.asked
        assert "Back before In [" in str(told.messages), told.messages
        assert k.run("a").of("execute_result")[0]["data"]["text/plain"] == "[1, 2]"
        # A prompt is brought back: the next input replaces it, if that is a prompt and the user agrees.
        time.sleep(1)
        k.run(".run `a.append(4)`")
        time.sleep(1)
        for answer, found in (("n", "[1, 2, 4]"), ("y", "[1, 2, 5]")):
            [payload] = k.run("%ipycodex edit").reply["payload"]
            assert payload == {"source": "set_next_input", "text": ".run `a.append(4)`", "replace": False}, payload
            told = k.run(".run `a.append(5)`", [answer])
            assert "Send the prompt in their place" in told.asked[0]["prompt"], told.asked
            assert "steps back to before In [" in str(told.messages), told.messages
            assert k.run("a").of("execute_result")[0]["data"]["text/plain"] == found
        k.run("%ipycodex edit")
        told = k.run(".run `a.append(6)`", allow_stdin=False)
        assert "the interpreter keeps what In [" in str(told.messages) and not told.asked, told.messages
        # A wait for an answer ends with an interrupt.
        request = k.send("input('never')")
        k.client.get_stdin_msg(timeout=LIMIT)
        k.client.session.send(k.client.control_channel.socket, k.client.session.msg("interrupt_request"))
        assert k.wait(request).reply["ename"] == "KeyboardInterrupt"


def interrupts():
    with kernel() as (k, manager):
        def sleeping():
            request = k.send("import time; print('on', flush=True); time.sleep(60)")
            while k.client.get_iopub_msg(timeout=LIMIT)["msg_type"] != "stream":
                pass
            return request
        request = sleeping()
        began = time.monotonic()
        manager.interrupt_kernel()
        told = k.wait(request)
        assert told.reply["ename"] == "KeyboardInterrupt" and time.monotonic() - began < 5
        request = sleeping()
        os.kill(manager.provisioner.process.pid, signal.SIGINT)
        assert k.wait(request).reply["ename"] == "KeyboardInterrupt"
        k.run("x = 1")
        request = k.send(".slowly tell me something long")
        while k.client.get_iopub_msg(timeout=LIMIT)["msg_type"] != "display_data":
            pass
        manager.interrupt_kernel()
        assert k.wait(request).reply["status"] == "error"
        assert k.run("x").of("execute_result")[0]["data"]["text/plain"] == "1"
        manager.restart_kernel(now=False)
        k.client.wait_for_ready(timeout=LIMIT)
        assert k.run("x").reply["ename"] == "NameError"
        process = manager.provisioner.process
        manager.shutdown_kernel(now=False)
        assert process.poll() == 0, process.poll()


def stops():
    with kernel() as (k, _):
        requests = [k.send("1 / 0")] + [k.send(f"print({n})") for n in range(5)]
        replies = [k.client.get_shell_msg(timeout=LIMIT) for _ in requests]
        assert [one["parent_header"]["msg_id"] for one in replies] == requests
        assert [one["content"]["status"] for one in replies] == ["error"] + ["aborted"] * 5
        requests = [k.send("1 / 0", stop_on_error=False), k.send("1")]
        replies = [k.client.get_shell_msg(timeout=LIMIT)["content"]["status"] for _ in requests]
        assert replies == ["error", "ok"]


def tampered():
    with kernel() as (k, _):
        session, socket = k.client.session, k.client.shell_channel.socket
        key, session.key = session.key, b"wrong"
        session.send(socket, session.msg("execute_request", {"code": "print('never')"}))
        session.key = key
        for parts in [[b"x"], [b"<IDS|MSG>"], [b"<IDS|MSG>", b"", b"{}"], [b"<IDS|MSG>", b"00", b"[", b"", b"", b""]]:
            socket.send_multipart(parts)
        for content in [{}, {"code": 7}, {"code": None, "silent": "x"}]:
            message = session.send(socket, session.msg("execute_request", content))
            told = k.wait(message["header"]["msg_id"])
            assert told.reply["status"] == "error" and "code" in told.reply["evalue"], told.reply
        session.send(socket, session.msg("no_such_request", {}))
        for kind in ["complete_request", "inspect_request", "history_request", "is_complete_request"]:
            message = session.send(socket, session.msg(kind, {"code": 7, "cursor_pos": -3, "n": "x"}))
            assert k.wait(message["header"]["msg_id"]).reply is not None, kind
        for channel in ["comm_open", "comm_msg", "comm_close"]:
            session.send(socket, session.msg(channel, {"data": 1}))
        assert k.run("print('on')").text() == "on\n"


def orphaned():
    script = (
        "import sys; from jupyter_client.manager import start_new_kernel\n"
        "m, c = start_new_kernel(kernel_name='ipycodex'); print(m.provisioner.process.pid, flush=True)\n"
        "import time; time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    process = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    end = time.monotonic() + LIMIT
    while os.path.exists(f"/proc/{process}") and time.monotonic() < end:
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{process}")


def late():
    with kernel() as (k, _):
        request = k.send("import threading, time\n"
                         "def later():\n    time.sleep(0.5); display('late')\n"
                         "threading.Thread(target=later).start()")
        k.wait(request)
        told = k.run("2")
        assert not told.of("display_data")
        while True:
            message = k.client.get_iopub_msg(timeout=LIMIT)
            if message["msg_type"] == "display_data":
                break
        assert message["parent_header"]["msg_id"] == request, message



def objects():
    with kernel() as (k, _):
        told = k.run("import ipywidgets\nslider = ipywidgets.IntSlider(3)\nslider")
        opened = told.of("comm_open")
        assert [one["target_name"] for one in opened] == ["jupyter.widget"] * 3, opened
        view = told.of("execute_result")[0]["data"]["application/vnd.jupyter.widget-view+json"]
        assert view["model_id"] == opened[-1]["comm_id"], view
        # What the user drags is what the cell has.
        session, socket = k.client.session, k.client.shell_channel.socket

        def say(kind, buffers=(), **content):
            message = session.send(socket, session.msg(kind, content), buffers=list(buffers))
            told, request = [], message["header"]["msg_id"]
            while True:
                message = k.client.get_iopub_msg(timeout=LIMIT)
                if message["parent_header"].get("msg_id") != request:
                    continue
                if message["content"].get("execution_state") == "idle":
                    return told
                told.append(message)
        data = {"method": "update", "state": {"value": 17}, "buffer_paths": []}
        say("comm_msg", comm_id=view["model_id"], data=data)
        assert k.run("slider.value").of("execute_result")[0]["data"]["text/plain"] == "17"
        # A widget that takes what its function shows names the request by which it is shown.
        told = k.run("ipywidgets.interact(lambda n: print('n is', n), n=3);")
        states = [one["data"]["state"] for one in told.of("comm_msg") if "state" in one["data"]]
        takes = [state["msg_id"] for state in states if "msg_id" in state]
        assert takes == [told.messages[0]["parent_header"]["msg_id"], ""], takes
        kinds = [kind for kind in told.kinds() if kind in ("stream", "clear_output")]
        assert kinds == ["clear_output", "stream"], told.kinds()
        [slider] = [one["comm_id"] for one in told.of("comm_open")
                    if one["data"]["state"]["_model_name"] == "IntSliderModel"]
        told = say("comm_msg", comm_id=slider, data={"method": "update", "state": {"value": 4}, "buffer_paths": []})
        takes = [one["content"]["data"]["state"]["msg_id"] for one in told if "msg_id" in str(one["content"])]
        assert takes == [told[0]["parent_header"]["msg_id"], ""], told
        told = [one for one in told if one["msg_type"] in ("stream", "clear_output")]
        assert told[0]["content"] == {"wait": True} and told[1]["content"]["text"] == "n is 4\n", told
        told = k.run("from tqdm.notebook import tqdm\nfor _ in tqdm(range(3)): pass")
        values = [one["data"]["state"].get("value") for one in told.of("comm_msg")]
        assert 3.0 in values and "application/vnd.jupyter.widget-view+json" in told.of("display_data")[0]["data"]
        k.run("import comm\n"
              "def opened(c, _):\n"
              "    @c.on_msg\n"
              "    def heard(m): print('heard'); c.send(m['content']['data'], buffers=[bytes(m['buffers'][0])[::-1]])\n"
              "comm.get_comm_manager().register_target('t', opened)")
        say("comm_open", comm_id="c1", target_name="t", data={})
        told = say("comm_msg", [b"\x00\xff"], comm_id="c1", data={"a": 1})
        assert [one["msg_type"] for one in told if one["msg_type"] != "status"] == ["stream", "comm_msg"], told
        assert told[-1]["content"] == {"comm_id": "c1", "data": {"a": 1}}
        assert [bytes(one) for one in told[-1]["buffers"]] == [b"\xff\x00"]
        told = say("comm_open", comm_id="c2", target_name="nobody", data={})
        assert told[-1]["msg_type"] == "comm_close", told
        k.client.comm_info(target_name="t")
        assert k.client.get_shell_msg(timeout=LIMIT)["content"]["comms"] == {"c1": {"target_name": "t"}}


def offers():
    with kernel() as (k, _):
        told = k.run(".say something")
        [payload] = told.reply["payload"]
        assert payload == {"source": "set_next_input", "text": "sum(range(10))", "replace": False}
        # A console has no cells: it prints the answer as it comes.
        k.client.history(hist_access_type="tail", n=5)
        k.client.get_shell_msg(timeout=LIMIT)
        told = k.run(".say it again")
        assert told.reply["payload"] == [] and not told.of("display_data")
        assert "# Demo answer" in told.text() and told.text().endswith("\n"), told.text()


def deaths():
    with kernel() as (k, manager):
        told = k.run("x = 1\nimport os; print('last words', flush=True); os._exit(3)")
        assert told.reply["ename"] == "DeadKernel" and "exit code 3" in told.reply["evalue"], told.reply
        assert told.text() == "last words\n"
        assert k.run("x").reply["ename"] == "NameError"
        # Killed in the middle of an answer: the record has what came.
        k.send(".slowly tell me what will be lost")
        began = time.monotonic()
        while True:
            message = k.client.get_iopub_msg(timeout=LIMIT)
            assert message["content"].get("execution_state") != "idle", "the answer is over"
            # The record follows an answer once a second.
            if "# Demo" in str(message["content"]) and time.monotonic() > began + 1.3:
                break
        os.kill(manager.provisioner.process.pid, signal.SIGKILL)
        manager.provisioner.process.wait()
        manager.provisioner.process = None


def floods():
    with kernel() as (k, manager):
        wanted = [("execute_request", {"code": str(number)}) for number in range(500)]
        wanted += [("is_complete_request", {"code": "("})] * 500
        flood(k, manager, wanted, "for _ in range(150): print('x' * 100_000)", 150)


def failing():
    with kernel() as (k, _):
        told = k.run(".is anybody there?")
        assert told.reply["status"] == "error" and told.reply["ename"] == "AgentError", told.reply
        assert len(told.of("error")) == 1
        assert k.run("6 * 7").of("execute_result")[0]["data"]["text/plain"] == "42"



def dying():
    with kernel() as (k, _):
        told = k.run(".first?")
        assert told.reply["ename"] == "AgentError" and "signal: 9" in str(told.reply), told.reply
        assert len(told.of("error")) == 1 and "par" in str(told.shown()), told.messages
        # Cells go on, and the next prompt has a fresh one.
        assert k.run("6 * 7").of("execute_result")[0]["data"]["text/plain"] == "42"
        told = k.run(".second?")
        assert told.reply["status"] == "ok" and "fine" in str(told.shown()), told.messages


def projects():
    os.makedirs(".ipycodex")
    with open(".ipycodex/startup.py", "w") as file:
        file.write("greeting = 'hello'")
    with kernel() as (k, _):
        told = k.run("'greeting' in globals()", allow_stdin=False)
        assert told.of("execute_result")[0]["data"]["text/plain"] == "False"
        assert "nobody can be asked" in told.text("stderr"), told.messages
    with kernel() as (k, _):
        told = k.run("greeting", ["y"])
        assert len(told.asked) == 1 and "greeting = 'hello'" in told.text(), told.messages
        assert told.of("execute_result")[0]["data"]["text/plain"] == "'hello'"


def conversations():
    with kernel() as (k, _):
        k.run("x = 1")
        k.run(".the first talk")
        k.run("%ipycodex rename first")
    with kernel() as (k, _):
        k.run(".the second talk")
        told = k.run("%ipycodex resume first")
        assert told.reply["status"] == "ok" and "the first talk" in str(told.of("display_data")), told.messages
        told = k.run("%ipycodex history").text()
        assert "the first talk" in told and "the second talk" not in told, told
    # Begun, named, listed and changed between in one kernel; each knows what was said in it, and the variables stay.
    with kernel() as (k, _):
        def said(line):
            told = k.run(line)
            assert told.reply["status"] == "ok", (line, told.reply)
            return told.text() + str(told.of("display_data")) + str(told.reply["payload"])
        said("x = 41")
        said("%ipycodex rename plots")
        said(".plot the first talk of plots")
        begun = said("%ipycodex new tables")
        assert "`tables` begins here" in begun and "resume" in begun, begun
        assert "plots" not in said("%ipycodex history")
        told = k.run("x + 1")
        assert told.of("execute_result")[0]["data"]["text/plain"] == "42", told.messages
        assert told.reply["execution_count"] == 2, told.reply
        said(".the talk of tables")
        said("%ipycodex new")
        listed = said("%ipycodex sessions")
        assert "[plots]" in listed and "[tables]" in listed, listed
        assert "the first talk of plots" in said("%ipycodex resume plots")
        there = said("%ipycodex history")
        assert "the first talk of plots" in there and "the talk of tables" not in there, there
        assert "the talk of tables" in said("%ipycodex resume tables")
        context = said(".and what was that?") + said("%ipycodex history")
        assert "the talk of tables" in context and "the first talk of plots" not in context, context
        assert said("x") and k.run("x").of("execute_result")[0]["data"]["text/plain"] == "41"
        assert "is a fork of session" in said("%ipycodex fork")
        assert "the talk of tables" in said("%ipycodex history")
        assert "└ before [" in said("%ipycodex sessions")
        told = k.run("%ipycodex resume nowhere")
        assert told.reply["status"] == "error" and "not found" in told.reply["evalue"], told.reply


globals()[sys.argv[1]]()
