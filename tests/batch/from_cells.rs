//! What cells ask of their session: `ipycodex.ask`, `tool`, `status`, from cells, threads and tasks; what cannot be
//! asked; and what a model then sees, at the endpoint of the real Codex.

use serde_json::{Value, json};

use crate::support::home::{Home, Ran};
use crate::support::peers;
use crate::support::responses::{Endpoint, Reply};

/// The offline agent, in a home with or without IPython.
fn demo(ipython: bool, text: &str) -> Ran {
    let home = Home::new();
    if let (true, Some(python)) = (ipython, peers::python()) {
        home.install("python3", &python);
    }
    home.run(&["--agent", "demo"], text)
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
            "ValueError: schema: expected a type of JSON (object, array, string, number, integer, boolean, null), got \
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
    let nobody = "cannot be called here: the agent waits for this function, and answers nobody before it returns";
    let none = "works in a cell that runs: none does, or this is a function that the agent calls";
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
                "Error: there is no tool `nope` in this session: it has pyrun, run_cells, read_output, notebook, \
                 load_skill",
                "Error: no cell was run: a cell of the user has asked this and waits",
                &format!("Error: ask() {nobody}"),
                &format!("Error: ask() {nobody}"),
                &format!("Error: ask() {none}"),
                "Error: ask() cannot be called in a forked process: it is the cell's own process that has a session",
                &format!("Error: ask() {none}"),
            ],
            "{ran:?}"
        );
    }
}

/// The text a request ends with.
fn last_input(request: &Value) -> String {
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
    // What the cell printed is told with the next prompt.
    let all = seen[4].to_string();
    assert!(
        all.contains("<output>got told") && all.contains("<output>data 8"),
        "{all}"
    );
}
