"""The conformance tests of Jupyter for the `agentclient` kernel: all that are about no language."""

import unittest

import jupyter_kernel_test


class T(jupyter_kernel_test.KernelTests):
    kernel_name = "agentclient"
    language_name = "agent"
    file_extension = ".agent"
    code_hello_world = "all hello, world"
    code_stderr = "think"
    completion_samples = [{"text": "%agent per", "matches": {"permissions"}}]
    complete_code_samples = ["hello", "%agent", "a\n\nb"]
    incomplete_code_samples = ["see\n```\nx"]
    code_generate_error = "%foo"
    code_display_data = [{"code": "long", "mime": "text/html"}, {"code": "picture", "mime": "image/png"}]
    code_history_pattern = "h?l*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "%agent mcp add"


unittest.main(verbosity=2)
