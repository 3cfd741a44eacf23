"""The runner behind a kernel of Jupyter: what libraries look for, the loop that cells find, debuggers that ask.

`IPYCODEX_TEST_IPYTHON` names an interpreter that has IPython; without it those cases are skipped, loudly.
"""

import os
import unittest

from harness import Engine

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
PARENT = {"header": {"msg_id": "m1"}, "metadata": {"cellId": "c"}, "content": {"silent": False}}


class Both(Engine):
    def kernel(self):
        return self.host(options=["--kernel", "/connection.json"])

    def test_code_sees_its_kernel_and_the_message_it_came_in(self):
        host = self.kernel()
        for source, seen in [
            ("get_ipython().kernel.shell is get_ipython()", "True"),
            ("get_ipython().config['IPKernelApp']['connection_file']", "'/connection.json'"),
            ("get_ipython().parent_header['header']['msg_id']", "'m1'"),
            ("get_ipython().get_parent()['metadata']", "{'cellId': 'c'}"),
            ("get_ipython().kernel.get_parent()['content']['code'][:3]", "'get'"),
        ]:
            self.assertEqual(host.run(source, parent=PARENT).value, seen, source)
        nobody = host.run("get_ipython().kernel.get_parent()['header']").value
        self.assertEqual(nobody, "{'msg_id': 'ipycodex:this-request'}")
        other = self.host()
        self.assertEqual(other.run("'IPKernelApp' in get_ipython().config").value, "False")
        self.assertEqual(other.run("getattr(get_ipython(), 'kernel', None)").of("result"), [])

    def test_code_without_await_finds_the_loop_running_and_runs_others(self):
        host = self.kernel()
        # the first cell imports it, where it is not there yet
        work = "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.01); return n\n"
        host.run(work + "task = asyncio.create_task(f(1))")
        self.until(lambda: host.run("task.done()").value == "True")
        for source, value in [
            ("asyncio.get_running_loop() is asyncio.get_event_loop()", "True"),
            ("asyncio.run(f(2)) + asyncio.get_running_loop().is_closed()", "2"),
            ("asyncio.get_event_loop().run_until_complete(f(3))", "3"),
            ("await f(4)", "4"),
            ("later = asyncio.create_task(f(5)); await later", "5"),
            ("asyncio.new_event_loop().run_until_complete(f(6)) + (asyncio.get_running_loop() is None)", "6"),
        ]:
            cell = host.run(source)
            self.assertTrue(cell.of("result"), (source, cell.frames))
            self.assertEqual(cell.value, value, source)
        other = self.host()
        cell = other.run("import asyncio\nasyncio.get_running_loop()")
        self.assertEqual(cell.error, "RuntimeError")

    def test_what_is_asked_of_a_client_is_told_whole(self):
        host = self.kernel()
        for source, told in [
            ("quit(keep_kernel=True)", {"type": "exit_requested", "keepKernel": True}),
            ("quit(True)", {"type": "exit_requested", "keepKernel": True}),
            ("quit()", {"type": "exit_requested", "code": None}),
            ("get_ipython().set_next_input('x', replace=True)", {"type": "next_input", "text": "x", "replace": True}),
            ("get_ipython().set_next_input('x')", {"type": "next_input", "text": "x", "replace": False}),
        ]:
            [frame] = host.run(source).of(told["type"])
            frame = {key: frame[key] for key in frame if key not in ("id", "sync")}
            self.assertEqual(frame, told, source)
        with open(os.path.join(self.folder(), "loaded.py"), "w") as file:
            file.write("1 + 1\n")
        [frame] = host.run("%%load %s" % file.name).of("next_input")
        self.assertTrue(frame["replace"] and frame["text"].endswith("1 + 1\n"), frame)

    def folder(self):
        import tempfile

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def test_an_interrupt_ends_what_asks_for_a_line(self):
        host = self.kernel()
        for source in [
            "def f():\n    breakpoint()\nf()",
            "import pdb\ndef f():\n    pdb.set_trace()\n    return 1\nf()",
            "try: 1 / 0\nexcept Exception: import pdb; pdb.post_mortem()",
            "input('a? ')",
            "import getpass; getpass.getpass()",
            "import asyncio; await asyncio.sleep(0); input('a? ')",
        ]:
            host.send(code=source, stdin="ask")
            host.frame("input_request")
            host.interrupt()
            host.finish()
            self.assertEqual([frame for frame in host.pending if frame["type"] == "input_request"], [], source)
            self.assertEqual(host.run("6 * 7").value, "42", source)
        host.run("1 / 0")
        host.send(code="%debug", stdin="ask")
        host.frame("input_request")
        host.interrupt()
        host.finish()
        self.assertEqual(host.run("6 * 7").value, "42")


class BuiltIn(Both, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class OfIPython(Both, unittest.TestCase):
    ipython = IPYTHON

    def test_libraries_go_by_the_shell(self):
        host = self.kernel()
        for source, value in [
            ("type(get_ipython()).__name__", "'ZMQInteractiveShell'"),
            ("type(get_ipython()).__module__", "'ipykernel.zmqshell'"),
            ("import sys; isinstance(get_ipython(), sys.modules['ipykernel.zmqshell'].ZMQInteractiveShell)", "True"),
            # The class goes by the name that ipykernel has for it, so pickle finds it where ipykernel is installed.
            (
                "import pickle, importlib.util; importlib.util.find_spec('ipykernel') is None"
                " or pickle.loads(pickle.dumps(type(get_ipython()))) is type(get_ipython())",
                "True",
            ),
        ]:
            cell = host.run(source)
            self.assertTrue(cell.of("result"), (source, cell.frames))
            self.assertEqual(cell.value, value, source)
        other = self.host()
        self.assertEqual(other.run("import sys; 'ipykernel.zmqshell' in sys.modules").value, "False")


if __name__ == "__main__":
    unittest.main()
