//! What cells ask of their session: `ipycodex.ask`, `tool`, `status`, from cells, threads and tasks; what cannot be
//! asked; and what a model then sees, at the endpoint of the real Codex.

use serde_json::{Value, json};

use crate::support::home::{Home, Ran};
use crate::support::peers;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply};

/// The offline agent, in a home with or without IPython.
fn demo(ipython: bool, text: &str) -> Ran {
    let home = Home::new();
    if let (true, Some(python)) = (ipython, peers::python()) {
        home.install("python3", &python);
    }
    home.demo(&[], text)
}

/// Runs cells; each tells what came of it in a line of its own.
#[track_caller]
fn check(cells: &str, expected: &[&str]) {
    for ipython in [false, true] {
        let ran = demo(ipython, cells);
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines, expected, "{ran:?}");
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
}

#[test]
fn a_cell_asks_and_goes_on_with_the_answer() {
    let ran = demo(
        false,
        "import ipycodex\nx = ipycodex.ask('one more')\nprint(x.splitlines()[0], len(In))\n\
         print(ipycodex.ask('again').count('1 prompt before'))\n",
    );
    assert_eq!(ran.stdout, "# Demo answer 5\n2\n", "{ran:?}");
    // The answer is shown, but it is no output of the cell.
    assert!(ran.stderr.contains("In [3] asks: one more"), "{ran:?}");
    assert!(ran.stderr.contains("> again"), "{ran:?}");
}

#[test]
fn the_turn_of_a_cell_calls_functions_of_the_waiting_interpreter() {
    check(
        "# %%
import ipycodex, threading, asyncio
ran = []
def f(a: int = 3):
    print('in f')
    ran.append(threading.current_thread() is threading.main_thread())
    return a * 2
async def g():
    await asyncio.sleep(0.01)
    ran.append('g')
    return 1
# %%
'f(' in ipycodex.ask('call &`f`', tools=f), ran
# %%
t = threading.Thread(target=ipycodex.ask, args=('call &`f`',), kwargs={'tools': ['f']})
t.start()
t.join()
ran
# %%
async def both():
    ipycodex.ask('from a loop, &`g`', tools=g)
    called = ran[-1]
    return called, len(await ipycodex.ask_async('&`g` and &`f`', tools=[f, g])) > 9
# %%
await both(), ran[-2:]
# %%
print('after')
",
        &[
            "in f",
            "(True, [True])",
            "in f",
            "[True, False]",
            "in f",
            "(('g', True), ['g', True])",
            "after",
        ],
    );
}

#[test]
fn many_ask_at_once_and_each_is_answered() {
    check(
        "# %%
import ipycodex, asyncio
from concurrent.futures import ThreadPoolExecutor
# %%
with ThreadPoolExecutor(50) as pool:
    said = list(pool.map(lambda n: ipycodex.ask(f'number <{n}>'), range(50)))
all(f'> number <{n}>' in text for n, text in enumerate(said))
# %%
async def ticks(done):
    n = 0
    while not done.is_set():
        await asyncio.sleep(0.002)
        n += 1
    return n
# %%
done = asyncio.Event()
counting = asyncio.ensure_future(ticks(done))
texts = await asyncio.gather(*(ipycodex.ask_async(f'slowly {n}') for n in range(3)))
done.set()
len(texts), await counting > 20
# %%
len([ipycodex.ask(f'loop {n}') for n in range(20)])
",
        &["True", "(3, True)", "20"],
    );
}

#[test]
fn data_fits_the_schema_or_it_is_said_what_does_not() {
    check(
        "# %%
import ipycodex, dataclasses
@dataclasses.dataclass
class Place:
    name: str
    size: float = 1.0
def said(**keys):
    try:
        return ipycodex.ask('data', **keys)
    except Exception as error:
        return type(error).__name__ + ': ' + str(error).splitlines()[0]
# %%
said(schema=list[int])
# %%
said(schema=Place)
# %%
said(schema={'type': 'object', 'properties': {'a': {'enum': ['x', 'y']}}})
# %%
print(said(schema={'type': 'string', 'minLength': 100}))
# %%
print(said(schema={'type': 'int'}))
# %%
print(said(schema=3))
# %%
print(said(schema={'enum': [{1}]}))
",
        &[
            "[1]",
            "Place(name='demo', size=1.0)",
            "{'a': 'x'}",
            "Error: the answer does not fit the schema, at the second try either: answer: expected at least 100 \
             characters, got 4",
            "ValueError: schema: expected a JSON type (object, array, string, number, integer, boolean, null), got \
             'int'",
            "TypeError: ask(): schema: expected a JSON schema (a dict) or a type such as list[str], got 3",
            "TypeError: ask(): schema: not JSON: Object of type set is not JSON serializable",
        ],
    );
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_reason() {
    let cells = "# %%
import ipycodex, threading, os, atexit
heard = []
def said(what, *args, **keys):
    try:
        return '~' + what(*args, **keys)
    except Exception as error:
        return '~' + type(error).__name__ + ': ' + str(error)
def h():
    heard.append(said(ipycodex.ask, 'in a turn'))
    t = threading.Thread(target=lambda: heard.append(said(ipycodex.ask, 'in its thread')))
    t.start()
    t.join()
# %%
print(said(ipycodex.ask, ' '), said(ipycodex.ask, 3), said(ipycodex.ask, 'x', tools=3), sep='\\n')
# %%
print(said(ipycodex.ask, 'x', tools='nope'), said(ipycodex.tool, 'nope'), sep='\\n')
# %%
print(said(ipycodex.tool, 'run_cells', cells=[{'code': '1'}])[:68])
# %%
_ = ipycodex.ask('&`h`', tools=h)
print(*heard, sep='\\n')
# %%
.&`h`
# %%
print(heard[-1])
# %%
if not os.fork():
    print(said(ipycodex.ask, 'forked'), flush=True)
    os._exit(0)
_ = os.wait()
# %%
_ = atexit.register(lambda: print(said(ipycodex.ask, 'bye')))
";
    let nobody = "cannot be called here: the agent is waiting for this function to return";
    let none = "works only while a cell is running, and not in a function that the agent calls";
    for ipython in [false, true] {
        let ran = demo(ipython, cells);
        let lines = ran.stdout.lines();
        let told: Vec<&str> = lines.filter_map(|line| line.strip_prefix('~')).collect();
        assert_eq!(
            told,
            [
                "ValueError: ask(): the prompt is empty",
                "TypeError: ask(): expected a prompt, got 3",
                "TypeError: 'int' object is not iterable",
                "Error: NameError: Missing tool(s) in user_ns: nope",
                "Error: there is no tool `nope` in this session: it has pyrun, look_back, run_cells, \
                 read_output, notebook, load_skill",
                "Error: no cell was run: a cell of the user has asked this and waits",
                &format!("Error: ask() {nobody}"),
                &format!("Error: ask() {nobody}"),
                &format!("Error: ask() {none}"),
                "Error: ask() cannot be called in a forked process: only the cell's own process is connected to the \
                 session",
                &format!("Error: ask() {none}"),
            ],
            "{ran:?}"
        );
    }
}

/// The text a request ends with.
pub(super) fn last_input(request: &Value) -> String {
    let items = request["input"].as_array().into_iter().flatten();
    items
        .last()
        .map_or(String::new(), |item| match &item["content"] {
            Value::Array(parts) => parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect(),
            _ => item["output"].to_string(),
        })
}

#[test]
fn the_model_sees_the_cell_that_asks_and_the_functions_it_may_call() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let endpoint = Endpoint::answering(|index, request| match index {
        0 => Reply::calls(&[("c1", "twice", json!({"n": 21}))]),
        1 => Reply::text(&format!("told {}", last_input(request))),
        2 => Reply::text(r#"{"value": "x"}"#),
        3 => Reply::text(r#"{"value": 7}"#),
        _ => Reply::text("at last"),
    });
    let home = Home::new();
    endpoint.write_home(&home.codex(), "gpt-5.5");
    home.install("codex", &codex);
    let cells = "# %%\nimport ipycodex\ndef twice(n: int):\n    return n * 2\n\
         # %%\nsecret = ipycodex.ask('why $`oops` !`touch gone` ?', tools=twice)\nprint('got', secret)\n\
         # %%\nprint('data', ipycodex.ask('a number', schema=int) + 1)\n# %%\n.and now?\n";
    let ran = home.run(&["--agent", "codex"], cells);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(
        ran.stdout.contains("got told \"42\"") && ran.stdout.contains("data 8\n"),
        "{ran:?}"
    );
    assert!(ran.stdout.ends_with("at last\n"), "{ran:?}");
    assert!(
        !home.work().join("gone").exists(),
        "marks in it refer to nothing"
    );
    let seen = endpoint.requests();
    let first = last_input(&seen[0]);
    let asking = "<code>secret = ipycodex.ask('why $`oops` !`touch gone` ?', tools=twice)\nprint('got', secret)</code>";
    assert!(first.contains(asking), "{first}");
    assert!(
        first.ends_with("<user-request>why $`oops` !`touch gone` ?</user-request>"),
        "{first}"
    );
    let held = &seen[2]["text"]["format"];
    assert_eq!(
        held["schema"]["properties"]["value"],
        json!({"type": "integer"}),
        "{held}"
    );
    let again = last_input(&seen[3]);
    assert!(
        again.contains("answer: expected integer, got \"x\""),
        "{again}"
    );
    // Each turn is counted: two requests for the first, the second that was asked again in a turn of its own.
    let record = crate::repl::shell::record(&home.history());
    let mut rows = record
        .prepare("select usage from ipycodex_turns order by id")
        .unwrap();
    let rows = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let counted =
        rows.map(|usage| serde_json::from_str::<Value>(&usage.unwrap()).unwrap()["input"].clone());
    assert_eq!(counted.collect::<Vec<_>>(), [200, 100, 100, 100]);
    // What the cell printed is told with the next prompt.
    let all = seen[4].to_string();
    assert!(
        all.contains("<output>got told") && all.contains("<output>data 8"),
        "{all}"
    );
}

/// Cells the agent runs in this kernel.
fn in_kernel(kernel: &str, code: &str) -> Reply {
    let cells = json!({"kernel": kernel, "cells": [{"code": code}]});
    Reply::calls(&[("c1", "run_cells", cells)])
}

#[test]
fn code_of_the_agent_asks_beside_its_turn_and_calls_tools() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let code = "import ipycodex, threading
said = []
def ask(n): said.append(ipycodex.ask(f'beside {n}', schema=int))
threads = [threading.Thread(target=ask, args=[n]) for n in range(5)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print('said', said, await ipycodex.ask_async('beside too'))
ipycodex.status('a step')
def tell(what, *args, **keys):
    try:
        print('got', what(*args, **keys))
    except Exception as error:
        print(type(error).__name__, error)
tell(ipycodex.tool, 'pyrun', code='secret * 2')
tell(ipycodex.output, 1)
tell(ipycodex.tool, 'read_output', id='cell-1')
tell(ipycodex.tool, 'twice', n=4)
tell(ipycodex.tool, 'run_cells', cells=[{'code': '1'}])
tell(ipycodex.tool, 'nope')
tell(ipycodex.ask, 'beside with', tools=['twice'])
tell(ipycodex.env, 'HOME')
ipycodex.write('made.txt', 'one line\\nand more\\n')
tell(ipycodex.read, 'made.txt', limit=1)
ipycodex.display('shown beside')";
    for kernel in ["live", "scratch", "fresh"] {
        let asks = code.to_owned();
        let endpoint = Endpoint::answering(move |_, request| {
            let input = last_input(request);
            match request["input"].to_string() {
                text if text.contains("beside") && !text.contains("<user-request>") => {
                    match request["text"]["format"].is_object() {
                        true => Reply::text(r#"{"value": 7}"#),
                        false => Reply::text("beside it"),
                    }
                }
                text if text.contains("call_output") => Reply::text(&input),
                _ => in_kernel(kernel, &asks),
            }
        });
        let home = Home::new();
        endpoint.write_home(&home.codex(), "gpt-5.5");
        home.install("codex", &codex);
        let settings = r#"{"run_cells": "auto", "sandbox": "danger-full-access"}"#;
        home.write_config("config.json", settings);
        let cells = "# %%\nprint('out' + 'put'); secret = 21\ndef twice(n: int): return n * 2\n\
                     # %%\n.do it with &`twice`\n";
        let ran = home.run(&["--agent", "codex"], cells);
        assert_eq!(ran.code(), 0, "{ran:?}");
        let seen = ran.stdout.replace("\\n", "\n");
        for said in [
            "said [7, 7, 7, 7, 7] beside it",
            "got 42",
            "got output",
            "got 8",
            "got one line",
            "shown beside",
            "Error no cell can be run for a cell that waits for it: run the code here",
            "Error there is no tool `nope` for code that the agent runs: it has pyrun, look_back, \
             read_output, notebook",
            "Error ask() offers no functions to the agent here",
        ] {
            assert!(seen.contains(said), "{kernel}: {said}: {ran:#?}");
        }
        // All of it is kept with the answer, and counted: two requests of the turn, six beside it.
        let record = crate::repl::shell::record(&home.history());
        let kept = |query: &str| record.query_row(query, [], |row| row.get::<_, String>(0));
        let answer = kept("select response from ai_prompts").unwrap();
        assert!(
            answer.contains("ipycodex.ask(prompt='beside 3')"),
            "{answer}"
        );
        let usage: Value =
            serde_json::from_str(&kept("select usage from ipycodex_turns").unwrap()).unwrap();
        assert_eq!(usage["input"], 800, "{usage}");
    }
}

#[test]
fn what_code_of_the_agent_asks_ends_with_the_code() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let endpoint = Endpoint::answering(move |_, request| {
        let input = last_input(request);
        match request["input"].to_string() {
            text if !text.contains("<user-request>") => Reply::Stream(vec![Event::Hold]),
            text if text.contains("call_output") => Reply::text(&input),
            _ => {
                let code = "import ipycodex\nipycodex.ask('never answered')";
                let cells = json!({"kernel": "scratch", "timeout": 2, "cells": [{"code": code}]});
                Reply::calls(&[("c1", "run_cells", cells)])
            }
        }
    });
    let home = Home::new();
    endpoint.write_home(&home.codex(), "gpt-5.5");
    home.install("codex", &codex);
    let settings = r#"{"run_cells": "auto", "sandbox": "danger-full-access"}"#;
    home.write_config("config.json", settings);
    let ran = home.run(&["--agent", "codex"], ".do it\n6 * 7\n");
    assert!(
        ran.stdout
            .contains("timed out after 2 s; it was interrupted"),
        "{ran:?}"
    );
    assert!(ran.stdout.ends_with("42\n"), "{ran:?}");
}
