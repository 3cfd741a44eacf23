//! ipycodex: an IPython-style shell where Python cells and an AI agent share one live session.
//!
//! For users: [`guide`] is the reference, the README the tour. For those who work on it: this page is the map. For
//! those who use it as a library: a front-end's parts, and crates that stand alone.
//!
//! | to | take |
//! |---|---|
//! | tell what a typed text is | [`input::classify`] |
//! | read and change notebooks, every other byte kept | [`notebook::document`] |
//! | render markdown on a terminal, also while it streams | [`markdown`] |
//! | make foreign bytes safe for a terminal, or plain | [`output`] |
//! | run Python, or a kernel of Jupyter, behind one contract | [`runtime::connect`] |
//! | talk to Codex or an agent of the Agent Client Protocol | [`agent::connect`] |
//! | put a front-end onto a session | [`assemble::assemble`], then [`session::SessionHandle`] |
//!
//! ```
//! use ipycodex::input::{Input, Mode, classify};
//!
//! assert!(matches!(classify("sum(range(10))", Mode::Cells), Input::Cell { .. }));
//! assert!(matches!(classify(".why is this slow?", Mode::Cells), Input::Prompt(_)));
//! assert!(matches!(classify("'the cutoff is arbitrary'", Mode::Cells), Input::Note { .. }));
//! assert!(matches!(classify("%ipycodex undo", Mode::Cells), Input::Command { .. }));
//! ```
//!
//! A front-end is a function: it submits texts to a [`session::SessionHandle`] and shows the [`session::Run`] that each
//! of them gives, a stream of [`session::SessionEvent`]s. `batch` is the smallest one to read.
//!
//! # The flow
//!
//! ```text
//!  keys ──> terminal/ ──submit(text)──> session/ ──RuntimeRequest──> runtime/python ──NDJSON──> assets/python
//!  text ──> batch/    <──SessionEvent── (one loop) <──RuntimeEvent── (reads the cell's fds 1-2 itself)
//!              │                         │    └─────TurnRequest──> agent/codex, agent/acp ──JSON-RPC──> their process
//!           display/ ──> screen/         │    <─────AgentEvent───
//!                  (one writer)       record/ (one thread, one SQLite file)
//! ```
//!
//! A submitted text is classified once, by `input`. A cell goes to the runtime and comes back as bytes, values and an
//! end; a prompt is built from the record (never from memory), goes to the agent and comes back as a stream. Both are
//! recorded when they happen. What a front-end sees is one [`session::Run`] of [`session::SessionEvent`]s per input.
//!
//! The session is a loop around machines, each with fields of its own and without channel, clock or file
//! (`session/state.rs`; what they reach is in `session/io.rs`):
//!
//! - the numbering, and the scheduler (which job runs, which wait);
//! - a prompt (`session/prompt`: preparing, queued, running, stopping, settled);
//! - the tools (`session/tools`, a file and a row each), and the agent's own kernels (`session/kernels`);
//! - host calls (`session/host_calls`). A cell that sends a prompt is suspended beneath its turn, and the interpreter
//!   serves that turn meanwhile; code of the agent is answered beside the turn, which waits for it;
//! - approvals (`session/approvals`): questions go to the front-end one at a time, the answers to the record and to the
//!   requester. Where nobody can be asked, the answer is the one that changes nothing.
//!
//! An event goes to the machine that owns it (`session/route.rs`); the loop carries out the effects that come back.
//! What one machine wants of another is an event, too (`session/effect.rs`), in a queue that is empty before the loop
//! waits for anything (`session/queue.rs`). Runtimes have roles: the user's, the session's shell (the interpreter
//! follows its directory), and the agent's own. Functions of the user run in the user's runtime. Requests that only a
//! line editor can serve are a stream of their own, [`session::EditorRequests`].
//!
//! External calls (`session/external_calls`) are tool calls from outside of any turn: MCP clients that attach to a
//! running shell, whose user is asked, and the agent's own programs in the middle of its turn.
//!
//! What stands at the cursor is asked beside the runs: Tab asks the live interpreter (`RuntimeRequest`) or files and
//! the record, `session/suggest` the agent; none of it takes a number, is recorded, or waits for what runs. A session
//! is resumed by `-r` or by `%ipycodex resume`: its end is shown from the record, `session/replay` runs its cells
//! again. Files go the same way: `notebook` makes a session of their text, and text of a session; a notebook file
//! itself is a `notebook/document`, which keeps the bytes of all that is not changed, whoever changes it.
//!
//! # From file to file
//!
//! - **A cell**: `terminal/mod.rs` reads a line, `session/handle.rs` submits it, `session/dispatch.rs` classifies it
//!   (`input`), `session/jobs.rs` numbers it and starts a job of `session/scheduler.rs`; `session/io.rs` sends the
//!   `Execute` to `runtime/python/supervisor.rs`, which writes it to `assets/python/runner.py`; output comes back
//!   through `runtime/python/sequencer.rs` and `session/runtime_events.rs` to `session/cell.rs`, whose effects
//!   `session/io.rs` carries out: it records (`record`) and publishes events; `terminal/run_view.rs` and `display/`
//!   show them.
//! - **A prompt**: as above to `session/jobs.rs`; `session/prompt/mod.rs` with `preparation.rs` and `request.rs` builds
//!   the request from the record (`dialog/context.rs`), `session/io.rs` carries out its effects; `agent/driver.rs`
//!   speaks to the agent with `codex/client.rs` or `acp/client.rs`; its events come through
//!   `session/prompt_events.rs` to `session/prompt/turn.rs`. The answer grows by `dialog/blocks.rs`, for the record in
//!   `dialog/answer.rs`, for front-ends in `session/answer.rs`; `display/answer.rs` and `kernel/answer.rs` render it.
//! - **`run_cells`**: the driver's `ToolCalled` goes through `session/prompt/turn.rs` to `session/tools/driver.rs`;
//!   `tools/run_cells/mod.rs` decides; `session/approvals/` asks; `tools/driver.rs` starts the code
//!   (`session/cell.rs`); its end comes back through `session/runtime_events.rs`, and the reply goes to the agent.
//! - **`execute_request`**: `jupyter/server.rs` receives, `kernel/channels.rs` queues, `kernel/handler.rs` takes it,
//!   `kernel/execute.rs` submits it and follows the run through `kernel/event_mapper.rs` and `kernel/cell_output.rs`
//!   to `jupyter/server.rs` and `jupyter/iopub.rs`.
//!
//! # Glossary
//!
//! One word for one thing, in code, in messages and in the guide. Words of a protocol (`turn/steer`, `iopub`,
//! `execute_request`, `session/update`) are kept as their documents spell them.
//!
//! | term | meaning |
//! |---|---|
//! | agent | a program that answers prompts and calls tools: Codex, one that speaks ACP, the offline demo |
//! | approval | the user's yes or no to what an agent wants to do; a *grant* is one that lasts for the session |
//! | aside | a turn beside the prompt, in a session of its own; what it leaves is an *offer* to the user |
//! | artifact | a text too long for the model, kept whole in a file, which the agent can read piece by piece |
//! | branch | a fork beside the interpreter at the prompt: for an agent's code, an aside, or a cell in the background |
//! | cell | code that was submitted, with its In number, its outputs and how it ended |
//! | checkpoint | a fork of the interpreter that waits, made between two cells; `back` lets it go on, `when` asks it |
//! | command | a line of `%ipycodex`; its row stands in [`magics`] |
//! | context | the XML the model reads: the cells, notes and outputs since the previous prompt |
//! | document | a notebook file as it is on disk: edits replace spans of it, every other byte stays |
//! | driver | the thread that speaks to one agent; in `session`, the file that carries out a machine's effects |
//! | dry run | cells that need an approval, run in a branch first so that the user sees what they would do |
//! | effect | a value that says what a machine wants done; the loop carries it out |
//! | entry | one line of the record: a cell, a prompt with its answer, a note, a shell command |
//! | event | what happened, as a value: to a machine, or from a runtime, an agent or the session to its reader |
//! | external call | a tool call from outside of any turn: an MCP client, or a program of the agent's |
//! | fork | a session that began with copies of another one's entries; of a thread, the agent's own copy up to a turn |
//! | front-end | who submits inputs and shows runs: the REPL, batch mode, a Jupyter kernel, the MCP server |
//! | guard | a forked process between us and a child; it ends what the child started when either is gone |
//! | host call | what running code asks of its session: a prompt, a tool, the status |
//! | input | what a user submitted, classified once: cell, prompt, note, command, shell command |
//! | job | what the scheduler runs: a cell, a prompt, a command, an external call; the others wait in its queue |
//! | kernel | a Jupyter kernel: one of ours, or a foreign one behind the runtime contract |
//! | lasting approval | one for a command or files in one directory, in every session, until it is revoked |
//! | marked text | a notebook as text: `# %%` lines between cells, `@output` lines below them |
//! | MIME bundle | one output in several formats, by MIME type |
//! | note | a string literal typed alone: kept for the model, not run as code |
//! | peer | the other side of a connection: a runtime, an agent, a client |
//! | plan mode | the agent looks and plans; what acts is refused until the user has said so |
//! | prompt | a text for the agent, typed after a dot; with its answer, one entry |
//! | question | what is asked of the user while something runs: an approval, a form, a choice |
//! | record | the SQLite file of all sessions, `history.sqlite`; *history* only names `%history` and the keys |
//! | reference | a piece of a prompt that names something: a variable, a function, a file |
//! | rewind | files put back as they were before a step, where nobody else has changed them since |
//! | replay | the recorded cells of a session, or those of a notebook, run again |
//! | requester | who asked for something and gets the reply: a front-end, a tool, a machine |
//! | run | one submitted input on its way: a stream of events with one end |
//! | runner | the Python package in `assets/python`, which runs cells inside the interpreter |
//! | runtime | what runs cells, behind one contract: the interpreter, a Jupyter kernel, a shell |
//! | scheduler | the machine that decides which job runs, which waits, and which is suspended beneath another |
//! | session | one conversation with one namespace and one numbering; it can be resumed |
//! | setting | a row of the table in [`config`], from a file, a variable, a flag or a command |
//! | skill | a folder with a `SKILL.md` that an agent can load |
//! | supervisor | the thread that owns one interpreter, shell or kernel and starts it again |
//! | thread | the agent's own memory of a conversation; used again, or forked, only where it equals the record |
//! | tool | a function that the agent may call: one of ours, or a function of the user; each use is a *tool call* |
//! | transcript | terminal bytes as the text that stays on the screen |
//! | turn | one prompt's work by the agent, from the request to the end of the answer |
//! | typeahead | keys typed while something runs, kept for the cell or the next prompt |
//!
//! # Crates
//!
//! A workspace: each folder of `src` with a `Cargo.toml` is a crate, so the compiler holds the arrows between them.
//! What lies in no such folder is the root crate, the front-ends and the start-up. `tests/tidy.rs` compares this table
//! with the manifests.
//!
//! | crate | needs | owns |
//! |---|---|---|
//! | [`text`] | | positions, widths, rows, styled lines, foreign text made safe; the error a user sees |
//! | [`notebook`] | text | notebook files; sessions as notebooks, scripts and pages, and such as steps to run |
//! | [`jupyter`] | text | the wire of Jupyter: kernelspecs, connection files, messages, sockets, gateways |
//! | [`process`] | text | child processes and their guards; the one crate with `unsafe` |
//! | [`rewind`] | process, text | the files below a directory, step by step: what changed, and the way back |
//! | [`runtime`] | jupyter, process, text | a contract, and Python, Jupyter kernels and shells behind it |
//! | [`agent`] | notebook, process, text | a contract, and Codex, ACP and the demo behind it |
//! | [`session`] | agent, notebook, process, rewind, runtime, text | the turn, the numbering, the queue |
//!
//! # Folders
//!
//! | folder | crate | owns |
//! |---|---|---|
//! | [`input`] | text | what a submitted text is; the one place that looks at leading characters |
//! | [`dialog`] | text | entries, context XML, answers as they grow and as they are stored |
//! | [`output`] | text | MIME bundles, terminal bytes made safe or plain, tracebacks |
//! | [`markdown`] | text | streamed markdown to styled lines |
//! | [`rpc`] | process | JSON-RPC with a child, over our own standard streams, over a socket |
//! | [`files`] | process | whole files or none; files as they were found, not overwritten when they have changed |
//! | [`environment`] | session | surroundings as values |
//! | [`schema`] | session | JSON schemas that answers are to fit: strict, and the answers read back and checked |
//! | [`picture`] | session | pixels: read, made smaller, written; pictures as models take them |
//! | [`record`] | session | the record, its list of sessions, the search in it |
//! | [`artifacts`] | session | texts too long for a model, in files: a record is read with every prompt |
//! | [`config`] | session | settings: a row each in one table |
//! | [`skills`] | session | agent skills: found, frozen, told, loaded; a project's start-up files; the user's answers |
//! | [`screen`] | session | the one writer to the terminal; gives the terminal back |
//! | [`magics`] | session | `%ipycodex` commands: a row each; the session carries them out |
//! | [`keys`] | | bytes of the keyboard as keys; a line being typed |
//! | [`display`] | | runs on a terminal: cells, streamed answers, questions, pictures, pages |
//! | [`terminal`] | | the REPL: keys, colours, completion, suggestions, the picker of sessions |
//! | [`batch`] | | `-c`, piped text, `ask`, `run` |
//! | [`kernel`] | | the kernels of Jupyter: sessions as its messages; `agentclient/`, an agent as one |
//! | [`mcp`] | | tools for MCP clients: over our own streams, over the socket of a running shell |
//! | [`trace`] | | a log of what passes, where one is asked for |
//! | [`guide`] | | the reference for users, a text |
//! | [`assemble`], [`cli`] | | wiring and subcommands; no front-end names them |
//! | `properties` | | tests only: how many cases a property test has, and from which seed |
//!
//! # Threads
//!
//! | thread | owner of | ended by |
//! |---|---|---|
//! | main | the editor, or the display while something runs | the user |
//! | `session` | the loop, both peers' handles | [`session::SessionHandle::close`] |
//! | `history` | the SQLite connection | the close of its session |
//! | `python` | the interpreter: spawns it, polls its pipes, outlives it | dropping the runtime |
//! | `branch` | the interpreter of a cell in the background or of an aside | its end, or that of the session |
//! | `session`, `history`, `mcp listener` of an aside | as below, for its session | its last use |
//! | `shell` | the user's shell, once a command was typed in shell mode: as above | as above |
//! | `short answer` | nothing: it reads what a program asked for one short thing writes | that program |
//! | `gateway` | nothing: one question to a gateway over HTTP | its answer |
//! | `gateway's keeper` | nothing: it waits for the process that keeps a gateway of ours | that process |
//! | `jupyter`, `kernel's end`, `kernel's words` | a kernel: its sockets, process, last words | dropping the runtime |
//! | agent driver, reader, writer, stderr | the agent's process | dropping the agent |
//! | `agent terminal` | a command an agent runs through us | its end, or that of the turn |
//! | `file history` | nothing: it reads files when nobody works; what it knows is behind one lock | the session |
//! | `skills` | nothing: it makes the list of skills | the list |
//! | `old agent`, `exact log`, `close` | nothing: they wait in place of the loop or of main | what they wait for |
//! | the session's blocking pool | nothing: one read or write of a file (a skill, a long output) each | that file |
//! | `colours` | the states between lines of the text being typed; it paints them | the end of the process |
//! | a second `colours` | nothing: it loads the colours of code in answers | their being loaded |
//! | `label` | nothing: it shows a prompt that the editor does not paint within 10 ms | that, or the paint |
//! | `completion` | nothing: one look-up of Tab that the interpreter is not asked for | its answer |
//! | `startup` | the runs before the first input, while one can type | its end, or the next input, which takes it |
//! | `memory` | nothing: a second after a cell that used much, it gives free memory back to the system | that |
//! | `timeout` | nothing: it waits for the end of a cell that may take so long | the cell |
//! | `signals`, `parent` of a kernel | signals; a look at whether who started it is there | the end of the process |
//! | `piped text` | standard input, a little ahead of what runs | the end of the text, or of the process |
//! | `typing` | standard input while something runs | the end of the run |
//! | `hang-up` | nothing: it waits for the end of the terminal | the end of the process |
//! | `incoming calls` | calls from outside, until they need the screen | the end of the process |
//! | `mcp listener` | the socket that MCP clients attach to | the end of the process |
//! | `mcp client`, reader, writer | one such client | its leaving |
//! | `background`, `signals` | what happens between runs; signals, the terminal after a stop | the end of the process |
//!
//! An interpreter leaves copies of itself between cells, processes that wait; one of them can take its place, and tells
//! the guard by us ([`runtime`], `assets/python/_ipycodex_runner/copies.py`). One can do so while a cell runs, too: it
//! gets pipes and a terminal of its own (`runtime/python/ends.rs`, `handoff.py`), and the process that runs the cell is
//! a runtime of its own from then on (`runtime/python/branch.rs`, `session/branches`). A third way: it forks an
//! interpreter that is confined (`aside.py`), for a turn of the agent beside the prompt, which is a session of its own
//! in this process (`session/asides.rs`, `assemble/aside.rs`).
//!
//! Between us and each child stands its guard, a process of one thread: a fork of ours that ends what the child started
//! when it or we are gone ([`process`]).
//!
//! A gateway that all our processes share is kept by a process of ours, which outlives whoever started it (`ipycodex
//! keep-gateway`, `runtime/jupyter/shared`).
//!
//! Pickers and the look back (Ctrl-R) are on main, between two keys of the editor or two reads of it; the picker reads
//! the record over a connection of its own. A suggestion comes on the agent's threads and is handed over on `session`.
//!
//! # Invariants
//!
//! - Control and output of the interpreter never share a descriptor; marks in the stream keep their order.
//! - Nothing waits inside the session loop; an interrupt goes beside the queue.
//! - Every byte for the terminal passes [`screen::Screen`]; foreign text passes a parser on its way.
//! - SQLite is the one truth of the conversation: the agent's thread is used only while it equals the record.
//! - Nothing the first prompt does not need is on the way to it: Python, agent, record and colours come later, and not
//!   beside it either where users wait for a prompt only (`assemble/prompt_gate`).
//!
//! # Where this departs from the usual layout of such a program
//!
//! - Crates lie in the folders of `src`, one below the root package: the folder of a layer is its crate.
//! - `process` is a crate of its own: runtime and agent both start children, and `unsafe` has one address.
//! - The runner is a folder of small Python files staged together, not one file: they are loaded as needed, from one
//!   precompiled file beside them, so that the first cell does not wait for what it does not use.
//! - `screen` stands below the session (the terminal is a device), and `display` is shared by front-ends that write to
//!   one.
//! - The thread decision (go on or seed anew) is the session's, by a digest in the contract: agents need not know how a
//!   record is kept.

pub mod assemble;
pub mod batch;
pub mod cli;
pub mod display;
pub mod guide;
pub mod kernel;
pub mod keys;
pub mod mcp;
#[cfg(test)]
pub mod properties;
pub mod terminal;
pub mod trace;

pub use ipycodex_agent as agent;
pub use ipycodex_jupyter as jupyter;
pub use ipycodex_notebook as notebook;
pub use ipycodex_process::{self as process, files, rpc};
pub use ipycodex_rewind as rewind;
pub use ipycodex_runtime as runtime;
pub use ipycodex_session::{
    self as session, artifacts, config, environment, magics, picture, record, schema, screen,
    skills,
};
pub use ipycodex_text::{self as text, dialog, input, markdown, output};
