"""The flow of VS Code's Jupyter extension, message for message, as its public sources have it: `kernel.ts`,
`helpers.ts`, `execution/cellExecution.ts` and `raw/session` below `src/kernels` of microsoft/vscode-jupyter.

It starts the command of the kernelspec itself, opens the sockets, greets, finds out about widgets, runs its own set-up
without counting it, greets again, and only then runs cells. What the kernel must do for it to go on is asserted after
each step.
"""

import os
import queue
import time

from client import LIMIT, Told, kernel

SILENT = {"silent": False, "stop_on_error": False, "allow_stdin": True, "store_history": False}

WIDGETS = """try:
    import ipywidgets as _VSCODE_ipywidgets
    print("e976ee50-99ed-4aba-9b6b-9dcd5634d07d:IPyWidgets:" + _VSCODE_ipywidgets.__version__)
    del _VSCODE_ipywidgets
except:
    pass"""

SET_UP = r"""import os as _VSCODE_os
import sys as _VSCODE_sys
%cd "FOLDER"
if _VSCODE_os.getcwd() not in _VSCODE_sys.path:
    _VSCODE_sys.path.insert(0, _VSCODE_os.getcwd())

del _VSCODE_sys
del _VSCODE_os
__vsc_ipynb_file__ = "FOLDER/book.ipynb"
%config Completer.use_jedi = False
try:
    import matplotlib
    %matplotlib inline
    _VSCode_defaultMatplotlib_Params = dict(matplotlib.rcParams)
    matplotlib.rcParams.update(_VSCode_defaultMatplotlib_Params)
    import matplotlib_inline.backend_inline
    _VSCode_matplotLib_FigureFormats = matplotlib_inline.backend_inline.InlineBackend.instance().figure_formats
    _VSCode_matplotLib_FigureFormats.add('svg')
    matplotlib_inline.backend_inline.set_matplotlib_formats(*_VSCode_matplotLib_FigureFormats)
except:
    print('Failed to initialize matplotlib startup code. Matplotlib might be missing.')"""


class Editor:
    def __init__(self, client):
        self.client, self.seen = client, []

    def send(self, channel, kind, content, metadata=None):
        """A message as @jupyterlab/services makes it: no user name, version 5.2, and a subshell that is none."""
        session = self.client.session
        message = session.msg(kind, content, metadata=metadata)
        message["header"].update(username="", version="5.2", subshell_id=None)
        socket = getattr(self.client, channel + "_channel").socket
        session.send(socket, message)
        return message["header"]["msg_id"]

    def ask(self, channel, kind, content, metadata=None):
        """Until the reply and the state idle are there, as futures of the library are done then."""
        request, told, idle = self.send(channel, kind, content, metadata), Told(), False
        take = self.client.get_shell_msg if channel == "shell" else self.client.get_control_msg
        end = time.monotonic() + LIMIT
        while not (idle and told.reply):
            assert time.monotonic() < end, (kind, told.messages, told.reply)
            try:
                message = self.client.get_iopub_msg(timeout=0.02)
                # What the library reads of each message, whosever it is.
                assert isinstance(message["parent_header"], dict) and isinstance(message["metadata"], dict), message
                if message["parent_header"].get("msg_id") == request:
                    told.messages.append(message)
                    idle = idle or message["content"].get("execution_state") == "idle"
            except queue.Empty:
                pass
            try:
                message = take(timeout=0)
                if message["parent_header"].get("msg_id") == request:
                    told.reply = message["content"]
            except queue.Empty:
                pass
        assert told.messages[0]["content"] == {"execution_state": "busy"}, told.messages[0]
        return told


def flow():
    with kernel() as (k, manager):
        assert manager.kernel_spec.interrupt_mode == "message" and manager.kernel_spec.language == "python"
        assert "{connection_file}" in manager.kernel_spec.argv
        editor = Editor(k.client)
        # Two channels are asked who is there; the one that answers first is enough for it.
        for channel in ["shell", "control"]:
            about = editor.ask(channel, "kernel_info_request", {}).reply
            assert about["status"] == "ok" and about["language_info"]["name"] == "python", about
            assert about["language_info"]["file_extension"] == ".py" and about["protocol_version"] == "5.5"
        told = editor.ask("shell", "execute_request", {"code": WIDGETS, **SILENT})
        assert told.text().startswith("e976ee50-99ed-4aba-9b6b-9dcd5634d07d:IPyWidgets:8."), told.messages
        folder = os.getcwd()
        told = editor.ask("shell", "execute_request", {"code": SET_UP.replace("FOLDER", folder), **SILENT})
        assert told.reply["status"] == "ok" and not told.of("error"), told.messages
        assert "Failed" not in told.text() and not told.text("stderr"), told.messages
        editor.ask("shell", "kernel_info_request", {})
        assert editor.ask("shell", "comm_info_request", {"target_name": "jupyter.widget"}).reply["comms"] == {}
        # The first cell of the user is the first that counts.
        cell = {"silent": False, "stop_on_error": False, "allow_stdin": True, "store_history": True}
        here = {"cellId": "vscode-notebook-cell:/book.ipynb#W0sZmlsZQ%3D%3D"}
        first = "import os; os.path.basename(__vsc_ipynb_file__)"
        told = editor.ask("shell", "execute_request", {"code": first, **cell}, here)
        [result] = told.of("execute_result")
        assert result["execution_count"] == 1 and result["data"]["text/plain"] == "'book.ipynb'", told.messages
        # As its set-up wishes, plots are drawings and pictures.
        told = editor.ask("shell", "execute_request", {"code": "import matplotlib.pyplot as plt; plt.plot([1, 3, 2]);",
                                                       **cell}, here)
        [plot] = told.of("display_data")
        assert {"image/png", "image/svg+xml"} <= set(plot["data"]), plot["data"].keys()
        # An answer streams into one display of its cell.
        told = editor.ask("shell", "execute_request", {"code": ".what is it?", **cell}, here)
        [first], updates = told.of("display_data"), told.of("update_display_data")
        assert updates and {one["transient"]["display_id"] for one in updates} == {first["transient"]["display_id"]}
        assert told.reply["payload"][0]["source"] == "set_next_input", told.reply
        # Completion and hovering, with its positions in UTF-16 turned into code points by it.
        reply = editor.ask("shell", "complete_request", {"code": "os.path.basen", "cursor_pos": 13}).reply
        assert "basename" in str(reply["matches"]) and reply["metadata"]["_jupyter_types_experimental"], reply
        reply = editor.ask("shell", "inspect_request", {"code": "os.getcwd", "cursor_pos": 9, "detail_level": 0}).reply
        assert reply["found"] and "current working directory" in reply["data"]["text/plain"], reply
        # A cell that fails does not stop what waits, since it says so; what it shows is a link into the cell.
        told = editor.ask("shell", "execute_request", {"code": "1 / 0", **cell}, here)
        assert told.reply["ename"] == "ZeroDivisionError" and told.of("error")[0]["traceback"]
        # The button "interrupt", by the message that the spec names.
        request = k.client.execute("import time; print('on', flush=True); time.sleep(60)", stop_on_error=False)
        while k.client.get_iopub_msg(timeout=LIMIT)["msg_type"] != "stream":
            pass
        assert editor.ask("control", "interrupt_request", {}).reply == {"status": "ok"}
        assert k.wait(request).reply["ename"] == "KeyboardInterrupt"
        # Its set-up is not what the user typed, so it is not in the history.
        history = {"output": False, "raw": True, "hist_access_type": "tail", "n": 20}
        inputs = [text for _, _, text in editor.ask("shell", "history_request", history).reply["history"]]
        assert inputs[0].startswith("import os; os.path") and not any("_VSCODE" in text for text in inputs), inputs
        reply = editor.ask("control", "shutdown_request", {"restart": False}).reply
        assert reply == {"status": "ok", "restart": False}, reply
        process = manager.provisioner.process
        assert process.wait(LIMIT) == 0


flow()
