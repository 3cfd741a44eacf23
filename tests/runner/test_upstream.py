"""IPython's own tests of its magics, history and shell, against the engine that has IPython.

They are in IPython's source distribution (`pip download --no-deps --no-binary :all: ipython==9.18.1`):
`IPYCODEX_TEST_IPYTHON_SOURCES` names its unpacked folder, and `IPYCODEX_TEST_IPYTHON` an interpreter with IPython,
pytest and pytest-asyncio; `cargo test` fetches both. Each file runs inside a cell of the runner, on pipes, where
`get_ipython()` is the engine's shell.
"""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
SOURCES = os.environ.get("IPYCODEX_TEST_IPYTHON_SOURCES")
EDITOR = "the editor is the host's: IPython's prompt does not exist here"
FRAME = "values, errors and pages are frames, which the host shows; the test looks for text on standard output or error"
LEFT_OUT = {
    "test_alias.py": {"test_alias_args_error": FRAME},
    "test_history.py": {
        "test_magic_rerun": "reads `%rerun` without a range out of IPython's database, which the test expects to be "
                            "written",
        "test_timestamp_type": "asks for the running session, and this one is not recorded",
    },
    "test_macro.py": {},
    "test_magic.py": {
        "test_capture": FRAME,
        "test_config_print_class": "there is no `TerminalInteractiveShell` to be configured",
        "test_magic_magic": FRAME,
        "test_psearch": FRAME,
        "test_tb_syntaxerror": FRAME,
        "test_time_no_output_with_semicolon": FRAME,
    },
    "test_magic_terminal.py": {"test_cpaste": FRAME},
    "test_storemagic.py": {},
    "test_interactivshell.py": {
        "test_changing_provider": EDITOR,
        "test_inputtransformer_syntaxerror": EDITOR,
        "test_repl_not_plain_text": "every form of a value goes to the host, which chooses; IPython's terminal keeps "
                                    "the text only",
        "test_paste_magics_blankline": "the class of `%paste` is imported when it is used, and the test looks for it "
                                       "before",
    },
}

CELL = """
import builtins, os, sys, types
import IPython.core.history, IPython.core.page
ip = builtins._ip = builtins.ip = get_ipython()
builtins.get_ipython = get_ipython
os.chdir({sources!r})
sys.path.insert(0, os.getcwd())
from IPython.testing import globalipapp
globalipapp.start_ipython = globalipapp.get_ipython = get_ipython
def pager_page(text, start=0, screen_lines=0, pager_cmd=None):
    print(text.get("text/plain", "") if isinstance(text, dict) else text)

def system(self, command):
    print(self.getoutput(command, split=False, depth=1).rstrip(), end="", flush=True)

IPython.core.page.pager_page = pager_page
IPython.core.history.HistoryManager._max_inst = 1
ip.system = types.MethodType(system, ip)

class Results:
    failed, passed = {{}}, []

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.split("::", 1)[-1]
        if report.failed:
            self.failed[name] = str(report.longrepr)[-1500:]
        elif report.when == "call" and report.passed:
            self.passed.append(name)

    def pytest_sessionfinish(self):
        import json

        with open({report!r}, "w") as file:
            json.dump([self.failed, self.passed], file)

import pytest
pytest.main(
    ["-q", "--noconftest", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=short", "tests/" + {name!r}],
    plugins=[Results()],
)
"""


@unittest.skipUnless(IPYTHON and SOURCES, "IPYCODEX_TEST_IPYTHON_SOURCES is not set: IPython's own tests are NOT run")
class Upstream(Engine, unittest.TestCase):
    ipython = IPYTHON

    def test_files(self):
        for name, left_out in LEFT_OUT.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                os.environ["IPYTHONDIR"] = folder
                try:
                    host = self.host()
                finally:
                    del os.environ["IPYTHONDIR"]
                report = os.path.join(folder, "report.json")
                host.run(CELL.format(sources=SOURCES, name=name, report=report))
                with open(report) as file:
                    failed, passed = json.load(file)
                unexpected = [text for test, text in failed.items() if test not in left_out]
                self.assertEqual(unexpected, [], "\n".join(unexpected))
                self.assertEqual(set(left_out) - set(failed), set(), "left out, and passes or is gone")
                self.assertTrue(passed)


if __name__ == "__main__":
    unittest.main()
