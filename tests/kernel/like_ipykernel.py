"""Conversations about what the kernel does as ipykernel does it, a function each; the one named is held."""

import sys

from client import LIMIT, kernel


def printing():
    """What is printed in a loop is a few messages, whole and in order; what comes first comes at once."""
    with kernel() as (k, _):
        told = k.run("for n in range(30_000): print(n, flush=True)")
        assert told.text() == "".join(f"{n}\n" for n in range(30_000)), len(told.text())
        assert len(told.of("stream")) < 300, len(told.of("stream"))
        told = k.run("import sys\nfor n in range(5000): print(n, flush=True); print(n, file=sys.stderr, flush=True)")
        whole = "".join(f"{n}\n" for n in range(5000))
        assert told.text() == whole == told.text("stderr")
        assert len(told.of("stream")) < 1000, len(told.of("stream"))
        # Everything else comes behind what was printed before it.
        told = k.run("print('a'); display('d'); print('b', file=sys.stderr); display('e'); print('c'); 1 / 0")
        shown = [one["content"].get("text") or one["content"].get("data", {}).get("text/plain") or "error"
                 for one in told.messages if one["msg_type"] != "execute_input"]
        assert shown == ["a\n", "'d'", "b\n", "'e'", "c\n", "error"], shown
        request = k.send("import time; print('first', flush=True)\nwhile True: time.sleep(0.01)")
        while k.client.get_iopub_msg(timeout=LIMIT)["msg_type"] != "stream":
            pass
        k.client.session.send(k.client.control_channel.socket, k.client.session.msg("interrupt_request"))
        assert k.wait(request).reply["ename"] == "KeyboardInterrupt"
        # Threads of cells that have ended print in the same way.
        k.run("import threading\ndef work():\n    time.sleep(0.2)\n    for n in range(5000): print(n, flush=True)\n"
              "thread = threading.Thread(target=work); thread.start()")
        texts = []
        while "4999\n" not in "".join(texts):
            message = k.client.get_iopub_msg(timeout=LIMIT)
            if message["msg_type"] == "stream":
                texts.append(message["content"]["text"])
        assert len(texts) < 500, len(texts)


def as_ipykernel():
    """What code and libraries find in ipykernel."""
    with kernel() as (k, manager):
        told = k.run("get_ipython().parent_header['header']['msg_id'], get_ipython().kernel.comm_manager is not None")
        [result] = told.of("execute_result")
        assert result["data"]["text/plain"] == f"('{told.messages[0]['parent_header']['msg_id']}', True)", result
        told = k.run("get_ipython().config['IPKernelApp']['connection_file']")
        assert manager.connection_file in told.of("execute_result")[0]["data"]["text/plain"], told.messages
        told = k.run("from tqdm.auto import tqdm\nfor _ in tqdm(range(3)): pass")
        assert "jupyter.widget" in [one["target_name"] for one in told.of("comm_open")], told.messages
        # A task goes on between the cells.
        k.run("import asyncio\nasync def work():\n    await asyncio.sleep(0.1)\n    display('done')")
        request = k.send("task = asyncio.create_task(work())")
        assert k.wait(request).reply["status"] == "ok"
        while True:
            message = k.client.get_iopub_msg(timeout=LIMIT)
            if message["msg_type"] == "display_data":
                break
        assert message["parent_header"]["msg_id"] == request, message
        assert k.run("asyncio.run(work())").reply["status"] == "ok"
        told = k.run("get_ipython().set_next_input('x', replace=True)")
        assert told.reply["payload"] == [{"source": "set_next_input", "text": "x", "replace": True}], told.reply
        told = k.run("quit(keep_kernel=True)")
        assert told.reply["payload"] == [{"source": "ask_exit", "keepkernel": True}], told.reply
        # An interrupt ends a debugger that asks.
        for code in ["def f():\n    breakpoint()\nf()", "import pdb; pdb.set_trace()", "input('a? ')"]:
            request = k.send(code)
            k.client.get_stdin_msg(timeout=LIMIT)
            manager.interrupt_kernel()
            k.wait(request)
            assert k.run("print('on')").text() == "on\n"
        told = k.run("quit()")
        assert told.reply["payload"] == [{"source": "ask_exit", "keepkernel": False}], told.reply


globals()[sys.argv[1]]()
