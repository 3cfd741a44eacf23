"""Conversations with the `agentclient` kernel, a function each; the one named on the command line is held."""

import os
import signal
import sys
import time

import client
from client import LIMIT, flood, kernel


def prompts():
    with kernel() as (k, _):
        k.client.kernel_info()
        info = k.client.get_shell_msg(timeout=LIMIT)["content"]
        assert info["language_info"] == {
            "name": "agent", "version": info["implementation_version"], "mimetype": "text/plain",
            "file_extension": ".agent"}, info
        assert info["implementation"] == "agent_client_kernel", info
        assert info["protocol_version"] == "5.5" and info["supported_features"] == [], info
        assert info["banner"] == "Agent Client Protocol Kernel v" + info["implementation_version"], info
        # An empty cell starts nothing and does not count.
        told = k.run(" \n")
        assert told.messages == [] and told.reply == {
            "status": "ok", "execution_count": 0, "user_expressions": {}, "payload": []}, told.reply
        assert "Session ID: (not started)" in k.run("%session").text()
        told = k.run("hello there")
        assert told.text() == "hello there \n", told.messages
        assert told.reply["status"] == "ok" and told.reply["execution_count"] == 2
        assert told.of("execute_input") == [{"code": "hello there", "execution_count": 2}]
        told = k.run("think plan run edit done")
        err = told.text("stderr")
        for line in ["💭 hm\n", "📋 Plan:\n  🔄 look\n  ⏳ tell\n", "📋 Plan:\n  ✅ look\n", "🖥️ Running: echo out",
                     "🔧 echo (in_progress)\n", "❌ echo (exit 3)\n", "📝 update /p/a.py\n"]:
            assert line in err, (line, err)
        assert "out\n" in told.text() and "done" in told.text(), told.text()
        told = k.run("long then picture later end")
        [fold, picture] = told.of("display_data")
        html = fold["data"]["text/html"]
        assert html.startswith("<details><summary>✅ Look</summary><pre>Look\nfirst &lt;line&gt;\nxxx"), html
        assert "first <line>" in fold["data"]["text/plain"], fold
        assert "image/png" in picture["data"] and "[image]" not in told.text(), told.messages
        assert "🔧 Look (completed)\n" in told.text("stderr") and "📨 of_the_future\n" in told.text("stderr")
        kinds = told.kinds()
        behind = told.messages[kinds.index("display_data") + 1]["content"]
        assert behind == {"name": "stdout", "text": ""}, behind
        # A slash command goes as it is; what is not listed is said.
        told = k.run("all commands")
        assert "📜 /review" in told.text("stderr"), told.messages
        assert k.run("/review all").text().startswith("/review "), told.messages
        assert "'/nothing' is not in the agent's" in k.run("/nothing").text("stderr")
        told = k.run("limit")
        assert "⚠️ the answer was cut" in told.text("stderr") and told.reply["status"] == "ok"
        told = k.run("hidden", silent=True)
        assert told.messages == [] and told.reply["status"] == "ok", told.messages


def markdown():
    with kernel() as (k, _):
        told = k.run("%agent env ACP_OUTPUT=markdown\nthink plan hello there picture **end**")
        assert told.reply["status"] == "ok" and told.text() == "ACP_OUTPUT set to: markdown\n", told.messages
        first, plan, text, picture, last = told.shown()
        assert first["text/markdown"].startswith("<details><summary>💭 reasoning"), first
        assert plan["text/markdown"] == "- [x] look\n- [ ] tell", plan
        assert "hello there" in text["text/markdown"], text
        assert "image/png" in picture and "**end**" in last["text/markdown"], (picture, last)
        assert told.of("update_display_data")
        told = k.run("permission done")
        assert "🔐 Allowed (allow once): touch x\n" == told.text("stderr"), told.text("stderr")
        assert "chosen: o-allow_once" in told.shown()[-1]["text/markdown"], told.shown()
        assert k.run("die").reply["status"] == "error"


def permissions():
    with kernel() as (k, _):
        assert "Permission mode: auto" in k.run("%agent permissions").text()
        assert k.run("%agent permissions history").text() == "No permission requests recorded\n"
        # Yes, each time, and no further than it needs to be.
        told = k.run("permission")
        assert "chosen: o-allow_once" in told.text() and told.asked == [], told.messages
        assert "🔐 Allowed (allow once): touch x\n" in told.text("stderr"), told.text("stderr")
        # The user is asked, by the client; a line that is no answer is asked again.
        assert k.run("%agent permissions manual").text() == "Permission mode set to: manual\n"
        told = k.run("permission", ["maybe", "2"])
        assert len(told.asked) == 2 and "allow once" in told.asked[0]["prompt"], told.asked
        assert "touch x" in told.text("stderr") and "chosen: o-allow_once" in told.text(), told.messages
        told = k.run("permission", ["3"])
        assert "chosen: o-reject_once" in told.text(), told.messages
        assert "touch x" in told.text("stderr").rsplit("🔐", 1)[1], told.text("stderr")
        told = k.run("permission then permission", ["2", "3"])
        assert len(told.asked) == 2 and told.reply["status"] == "ok", told.asked
        # A command through us is one, too.
        told = k.run("run", ["n"])
        assert len(told.asked) == 1 and "did not allow" in told.text(), (told.asked, told.messages)
        told = k.run("run", ["y"])
        assert "out\n" in told.text(), told.messages
        # One that is withdrawn needs no answer.
        request = k.send("withdraw")
        told = k.wait(request, ["never"])
        assert "-32800" in told.text(), told.messages
        # Nobody can be asked: no, and it is said.
        told = k.run("permission", allow_stdin=False)
        assert told.asked == [] and "chosen: None" in told.text(), told.messages
        assert "🔐 Denied (nobody can be asked here" in told.text("stderr"), told.text("stderr")
        k.run("%agent permissions deny")
        told = k.run("permission run write")
        assert told.asked == [] and "chosen: None" in told.text() and "do not allow writing" in told.text()
        assert told.text("stderr").count("🔐 Denied (permission mode is deny): ") == 2, told.text("stderr")
        past = k.run("%agent permissions history").text().splitlines()
        assert past[0] == "Permission History:" and len(past) == 11, past
        assert "mode=deny" in past[-1] and "mode=manual" in past[-3], past
        told = k.run("%agent permissions loose")
        assert told.reply["status"] == "error" and "Unknown permission mode: loose" in told.reply["evalue"]
        # A question that is open ends with an interrupt.
        k.run("%agent permissions manual")
        request = k.send("permission")
        k.client.get_stdin_msg(timeout=LIMIT)
        k.client.session.send(k.client.control_channel.socket, k.client.session.msg("interrupt_request"))
        assert k.wait(request).reply["ename"] == "KeyboardInterrupt"
        assert k.run("here").text() == "here \n"


def ends():
    with kernel() as (k, manager):
        def slowly(word):
            request = k.send(word)
            while k.client.get_iopub_msg(timeout=LIMIT)["msg_type"] != "stream":
                pass
            return request
        for stop in [manager.interrupt_kernel, lambda: os.kill(manager.provisioner.process.pid, signal.SIGINT)]:
            request = slowly("slow")
            began = time.monotonic()
            stop()
            told = k.wait(request)
            assert told.reply["ename"] == "KeyboardInterrupt" and time.monotonic() - began < 2, told.reply
            assert len(told.of("error")) == 1
        # Cells behind one that was stopped are not run; an interrupt of nothing stops nothing.
        requests = [slowly("slow"), k.send("one"), k.send("two")]
        manager.interrupt_kernel()
        replies = [k.client.get_shell_msg(timeout=LIMIT) for _ in requests]
        replies = {one["parent_header"]["msg_id"]: one["content"]["status"] for one in replies}
        assert [replies[one] for one in requests] == ["error", "aborted", "aborted"], replies
        # It is told when it has been heard: one under way would stop a later cell.
        k.client.session.send(k.client.control_channel.socket, k.client.session.msg("interrupt_request"))
        assert k.client.get_control_msg(timeout=LIMIT)["msg_type"] == "interrupt_reply"
        assert (session := k.run("session").text()).startswith("s"), session
        # What dies in a cell fails it; the next one starts it again, and goes on with the session.
        told = k.run("die")
        [error] = told.of("error")
        assert told.reply["status"] == "error" and error["evalue"] == told.reply["evalue"], told.messages
        assert "Traceback: why" in error["evalue"], error
        err = told.text("stderr")
        assert err.startswith("Error: ") and "Make sure the ACP agent is configured correctly." in err, err
        assert "Current agent: /" in err, err
        assert "Connected: False" in k.run("%agent session").text()
        assert k.run("session").text() == session
        told = k.run("fail")
        assert told.reply["status"] == "error" and "the model is away" in told.reply["evalue"], told.reply
        assert k.run("on").text() == "on \n"
        # A long message resets nothing.
        assert len(k.run("big").text()) == 100_000_001
        manager.restart_kernel(now=False)
        k.client.wait_for_ready(timeout=LIMIT)
        told = k.run("session")
        assert told.reply["execution_count"] == 1 and told.text() != session
        process = manager.provisioner.process
        agent = int(told.text()[1:].split("-")[0])
        manager.shutdown_kernel(now=False)
        assert process.poll() == 0, process.poll()
        end = time.monotonic() + LIMIT
        while os.path.exists(f"/proc/{agent}") and time.monotonic() < end:
            time.sleep(0.05)
        assert not os.path.exists(f"/proc/{agent}")


def missing():
    with kernel() as (k, _):
        told = k.run("hello")
        assert told.reply["ename"] == "AgentError" and "was not found" in told.reply["evalue"], told.reply
        assert "Current agent: /nowhere/agent\n" in told.text("stderr") and "%agent config" in told.text("stderr")
        told = k.run(f"%agent config {sys.executable} {os.environ['ACP_AGENT_ARGS']}\nhello")
        assert told.text().endswith("starts it.\nhello \n") and told.reply["status"] == "ok", told.messages


def commands():
    with kernel() as (k, _):
        def said(line):
            told = k.run(line)
            assert told.reply["status"] == "ok" and not told.of("error"), (line, told.messages)
            return told.text()

        def refused(line):
            told = k.run(line)
            [error] = told.of("error")
            assert told.reply["status"] == "error" and error["evalue"] == told.reply["evalue"], (line, told.messages)
            assert told.text() == "", told.messages
            return error["evalue"]
        assert "%agent mcp add NAME" in said("%agent")
        assert refused("%agent foo") == "Unknown subcommand: foo\n\nUse %agent for help."
        assert refused("%foo") == "Unknown magic command: %foo"
        assert said("%agent commands").startswith("No slash commands advertised by the agent yet.")
        assert said("%agent mcp") == "No MCP servers configured\n" == said("%mcp list")
        assert refused("%agent mcp add x").startswith("Usage: %agent mcp add NAME")
        soon = "It will be available when the session starts."
        assert said("%agent mcp add web uvx web-server --port 1") == f"Added MCP server 'web'. {soon}\n"
        assert said("%mcp add web -e A=1 -e B=x=y -- uvx 'web server'") == f"Updated MCP server 'web'. {soon}\n"
        assert said("%agent mcp") == "Configured MCP servers:\n  - web [user]: uvx web server\n"
        assert "MCP Servers: 1 active / 1 total" in said("%session info")
        servers = said("servers")
        for part in ['"name": "web"', '"command": "uvx"', '"args": ["web server"]', '{"name": "B", "value": "x=y"}']:
            assert part in servers, (part, servers)
        # A session that is open is told of what changes, and stays.
        session = said("session")
        assert said("%mcp add more -- more-server") == "Added MCP server 'more'. Session updated.\n"
        assert '"more-server"' in said("servers") and said("session") == session
        assert said("%mcp disable web") == "Disabled MCP server 'web'. Session updated.\n"
        assert "  - web [user (disabled)]: uvx" in said("%mcp") and '"web"' not in said("servers")
        assert "MCP Servers: 1 active / 2 total" in said("%session")
        assert said("%mcp enable web") == "Enabled MCP server 'web'. Session updated.\n"
        assert "is not disabled" in refused("%mcp enable web")
        assert said("%mcp remove web") == "Removed MCP server 'web'. Session updated.\n"
        assert refused("%mcp remove web") == "No MCP server named 'web' found"
        assert refused("%mcp disable web") == "No MCP server named 'web' found"
        assert said("%mcp clear") == "Removed 1 MCP server(s). Session updated.\n"
        assert said("%mcp clear") == "Removed 0 MCP server(s)\n"
        # Codex's own, the nearer ones first; its files stay as they are.
        home = os.environ["CODEX_HOME"]
        os.makedirs(home, exist_ok=True)
        os.makedirs(".codex", exist_ok=True)
        both = "[mcp_servers.a]\ncommand = 'ga'\n[mcp_servers.b]\ncommand = 'gb'\n"
        files = {os.path.join(home, "config.toml"): both,
                 ".codex/config.toml": "[mcp_servers.b]\ncommand = 'pb'\n[mcp_servers.u]\nurl = 'http://x'\n"}
        for path, text in files.items():
            with open(path, "w") as file:
                file.write(text)
        assert said("%mcp") == "Configured MCP servers:\n  - b [codex-project]: pb\n  - a [codex-global]: ga\n"
        said("%mcp add a mine")
        assert said("%mcp").splitlines()[1] == "  - a [user]: mine"
        assert "'b' is preconfigured (codex-project); use '%agent mcp disable b'" in refused("%mcp remove b")
        assert said("%agent mcp ignore-codex-config on") == "ignore-codex-config set to on. Session updated.\n"
        assert said("%mcp").splitlines()[1:] == ["  - a [user]: mine", "",
                                                 "(ignore-codex-config is ON; codex-* entries are not loaded)"]
        for path, text in files.items():
            with open(path) as file:
                assert file.read() == text
        # Configuration.
        assert "Agent Args: " in said("%agent config") and "acp.py" in said("%agent config")
        shown = said("%agent env")
        assert "ACP_AGENT_COMMAND: /" in shown and "OPENAI_API_KEY: ***" in shown and "hush" not in shown, shown
        assert "ACP_LOG_LEVEL: (not set)" in shown
        assert said("%agent env X=7").startswith("X set to: 7")
        assert "hush" not in said("%agent env SOME_TOKEN=hush")
        # Several in a cell, and a prompt between them.
        told = said("%agent permissions deny\none\n%agent permissions\ntwo")
        assert told == ("Permission mode set to: deny\none \nPermission mode: deny\n\n"
                        "Use: %agent permissions [auto|manual|deny]\ntwo \n"), told


def sessions():
    with kernel() as (k, _):
        def said(line):
            told = k.run(line)
            assert told.reply["status"] == "ok", (line, told.messages)
            return told.text()
        first = said("session")
        assert f"Session ID: {first}" in said("%session") and "Connected: True" in said("%session")
        os.makedirs("other", exist_ok=True)
        here = os.path.join(os.getcwd(), "other")
        assert said("%agent session new other") == f"Created new session with working directory: {here}\n"
        second = said("session")
        assert second != first and f"Working Directory: {here}\n" in said("%session")
        told = k.run("%session new nowhere")
        assert told.reply["evalue"] == "Directory does not exist: " + os.path.join(os.getcwd(), "nowhere")
        assert said("session") == second
        restarted = said("%agent session restart")
        third = said("session")
        assert restarted == f"Session restarted. Session ID: {third}" and third.split("-")[0] != first.split("-")[0]
        assert "s1  2026-11-21  hello there" in said("%session list")
        assert said("%session load s1") == "Going on with session: s1\n"
        assert said("session") == "s1\n"
        # Options of the agent.
        assert "No options" in said("%session option") or "mode: " in said("%session option")
        said("%session new")
        assert "mode: code (one of code, plan)" in said("%session option")
        assert "mode set to: plan" in said("%session option mode plan")
        assert said("mode") == "plan\n"
        told = k.run("%session option colour red")
        assert told.reply["status"] == "error" and "colour" in told.reply["evalue"], told.reply


def asides():
    with kernel() as (k, _):
        def asked(kind, **content):
            message = k.client.session.send(k.client.shell_channel.socket, k.client.session.msg(kind, content))
            return k.wait(message["header"]["msg_id"])

        def completed(code, at=None):
            reply = asked("complete_request", code=code, cursor_pos=len(code) if at is None else at).reply
            assert reply["status"] == "ok"
            return reply["matches"], reply["cursor_start"], reply["cursor_end"]
        assert completed("%agent ") == (["mcp", "session", "permissions", "config", "env", "commands"], 7, 7)
        assert completed("%agent se", 8) == (["session"], 7, 8)
        assert completed("é\n%agent mcp re") == (["remove"], 13, 15)
        assert completed("%agent mcp ")[0] == ["add", "list", "remove", "disable", "enable", "clear",
                                               "ignore-codex-config"]
        assert completed("hello")[0] == []
        k.run("commands")
        assert completed("/re") == (["/review"], 0, 3)
        found = asked("inspect_request", code="%mcp add", cursor_pos=3, detail_level=0).reply
        assert found["found"] and "NAME" in found["data"]["text/plain"], found
        found = asked("inspect_request", code="/review x", cursor_pos=2, detail_level=0).reply
        assert "look over it" in found["data"]["text/plain"], found
        assert asked("inspect_request", code="hello", cursor_pos=2).reply["found"] is False
        assert asked("is_complete_request", code="hello").reply["status"] == "complete"
        assert asked("is_complete_request", code="see\n```\nx").reply["status"] == "incomplete"
        k.run("two")
        k.run("hidden", store_history=False)
        tail = asked("history_request", hist_access_type="tail", n=2, output=False, raw=True).reply["history"]
        assert tail == [[1, 1, "commands"], [1, 2, "two"]], tail
        found = asked("history_request", hist_access_type="search", pattern="t*", n=5).reply["history"]
        assert found == [[1, 2, "two"]], found
        found = asked("history_request", hist_access_type="range", session=0, start=1, stop=2).reply["history"]
        assert found == [[1, 1, "commands"]], found
        assert asked("comm_info_request").reply["comms"] == {}
        socket, session = k.client.shell_channel.socket, k.client.session
        message = session.send(socket, session.msg("comm_open", {"comm_id": "c", "target_name": "t", "data": {}}))
        closed = k.until_idle(message["header"]["msg_id"])
        assert [one["comm_id"] for one in closed.of("comm_close")] == ["c"], closed.messages
        message = session.send(socket, session.msg("comm_msg", {"comm_id": "c", "data": {}}))
        assert k.until_idle(message["header"]["msg_id"]).messages == []
        told = k.run("x", user_expressions={"a": "1"})
        assert told.reply["user_expressions"]["a"]["status"] == "error"


def logins():
    with kernel() as (k, _):
        assert "no way to log in" in k.run("%session login").text()
        told = k.run("hello")
        assert told.reply["status"] == "error" and "you are not logged in" in told.reply["evalue"], told.reply
        assert "%agent session login" in told.text("stderr"), told.text("stderr")
        assert "  key  A key" in k.run("%session login").text()
        told = k.run("%session login kay")
        assert told.reply["evalue"].startswith("Unknown way to log in: kay"), told.reply
        assert k.run("%session login key").text() == "Logged in with key: the next prompt uses it.\n"
        assert k.run("hello").text() == "hello \n"


def bare():
    """An agent that can do nothing but answer."""
    with kernel() as (k, _):
        session = k.run("session").text()
        told = k.run("%mcp add web -- web-server")
        assert told.text() == "Added MCP server 'web'. Run %agent session restart to apply.\n", told.messages
        assert k.run("session").text() == session and k.run("servers").text() == "[]\n"
        told = k.run("%session load s1")
        assert told.reply["status"] == "error" and "`s1`" in told.reply["evalue"], told.reply
        assert "lists no conversations" in k.run("%session list").reply["evalue"]
        assert k.run("session").text() == session
        assert k.run("%session restart").reply["status"] == "ok"
        assert "web-server" in k.run("servers").text()
        # What is gone with the agent is said.
        k.run("die")
        told = k.run("hello")
        assert told.text() == "hello \n" and "does not know what was said before" in told.text("stderr"), told.messages


def pictures():
    """What a prompt names goes with it, as the agent can take it."""
    import base64
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    with open("dot.png", "wb") as file:
        file.write(base64.b64decode(dot))
    with open("a b.txt", "w") as file:
        file.write("in a file")
    able = "bare" not in os.environ["ACP_AGENT_ARGS"]
    with kernel() as (k, _):
        told = k.run("blocks @dot.png")
        kinds = '["text", "text", "image"]' if able else '["text", "text"]'
        assert told.text() == kinds + "@dot.png \n", told.messages
        left_out = "⚠️ 1 picture was left out: the agent does not take it\n"
        assert told.text("stderr") == ("" if able else left_out), told.messages
        told = k.run('blocks all @"a b.txt"')
        assert told.text().startswith('["text", "%s"]' % ("resource" if able else "text")), told.messages
        assert able or "in a file" in told.text(), told.text()
        told = k.run("blocks @no/dot.png and @property")
        assert told.text().startswith('["text"]') and told.reply["status"] == "ok", told.messages
        assert told.text("stderr") == "⚠️ there is no file `no/dot.png`: nothing is attached for it\n", told.messages
        # To the letter, where nothing is named.
        assert k.run("all  me@example.com ").text().startswith("all  me@example.com"), told.messages


def floods():
    with kernel() as (k, manager):
        k.run("hello")
        wanted = [("execute_request", {"code": f"hello {number}"}) for number in range(200)]
        flood(k, manager, wanted, "\n".join(["loud", "%agent permissions"] * 150), 150)


def logged():
    with kernel() as (k, _):
        assert k.run("think hello").text() == "hello \n"


def killed():
    with kernel() as (k, manager):
        agent = int(k.run("session").text()[1:].split("-")[0])
        k.send("slow")
        while "begun" not in str(k.client.get_iopub_msg(timeout=LIMIT)["content"]):
            pass
        os.kill(manager.provisioner.process.pid, signal.SIGKILL)
        end = time.monotonic() + LIMIT
        while os.path.exists(f"/proc/{agent}"):
            assert time.monotonic() < end
            time.sleep(0.05)


def real():
    """codex-acp and Codex on a scripted model: the words of a prompt say what it does."""
    with kernel() as (k, manager):
        assert k.run("%session new\n%mcp add early -- cat").text().endswith("'early'. Session updated.\n")
        assert k.run("%mcp remove early").text() == "Removed MCP server 'early'. Session updated.\n"
        told = k.run("hello")
        assert told.text() == "good *morning*\n" and told.reply["status"] == "ok", told.messages
        assert "Connected: True" in k.run("%session").text()
        told = k.run("use the shell")
        assert "from-shell\n" in told.text() and told.text().endswith("it ran\n"), told.text()
        err = told.text("stderr")
        assert "🔧 echo from-shell (in_progress)" in err and "✅ echo from-shell" in err, err
        # A mode in which it asks; then the user's answer is what happens.
        assert "workspace-write" in k.run("%session option").text()
        k.run("%session option mode workspace-write\n%agent permissions manual")
        told = k.run("use more", ["1"])
        assert len(told.asked) == 1 and "touch outside" in told.text("stderr"), (told.asked, told.messages)
        assert os.path.exists("outside"), told.messages
        os.remove("outside")
        k.run("%agent permissions deny")
        told = k.run("use more")
        assert "🔐 Denied (permission mode is deny): touch outside" in told.text("stderr"), told.messages
        assert not told.asked and not os.path.exists("outside") and told.reply["status"] == "ok", told.reply
        assert k.run("%agent permissions auto\nhello").reply["status"] == "ok"
        # What is added to the session that is open is started in it.
        started = os.path.join(os.getcwd(), "started")
        told = k.run(f"%mcp add probe -e WHERE={started} -- sh -c 'touch $WHERE; cat'")
        assert told.text() == "Added MCP server 'probe'. Session updated.\n", told.messages
        k.run("hello")
        end = time.monotonic() + 5
        while not os.path.exists(started):
            assert time.monotonic() < end, k.run("/mcp").messages
            time.sleep(0.05)
        request = k.send("hold")
        while k.client.get_iopub_msg(timeout=LIMIT)["msg_type"] != "stream":
            pass
        began = time.monotonic()
        manager.interrupt_kernel()
        assert k.wait(request).reply["ename"] == "KeyboardInterrupt" and time.monotonic() - began < 5
        # The conversation is one: what was said is known.
        told = k.run("what was first?")
        assert told.text() == "hello\n", told.messages
        assert "good" in k.run("%session list").text() or "hello" in k.run("%session list").text()


client.NAME = "agentclient"
globals()[sys.argv[1]]()
