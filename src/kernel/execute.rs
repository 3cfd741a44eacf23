//! `execute_request`: one input, from the message to its reply.
//!
//! In: the request; while it runs, the `input_reply` messages and the output of earlier cells. Out: the messages of the
//! run ([`EventMapper`]), `input_request`s to the sender, the reply. Invariants: the reply comes after all output, and
//! before the state `idle`; an open `input_request` ends with the run.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::background_output::BackgroundOutput;
use super::cell_output::CellOutput;
use super::channels::{ExecuteReply, ExecuteRequest, flag};
use super::event_mapper::{EventMapper, Out, RunResult, UserRequest};
use super::inputs::{InputOutcome, Inputs, Wake, refused};
use super::messages::{Comms, Failure, mime_data};
use crate::jupyter::{ClientRequest, IncomingMessage, KernelServer};
use crate::record::RecordHandle;
use crate::runtime::{OutputStream, RuntimeReply, RuntimeRequest, Stdin};
use crate::session::{Run, SessionHandle, Submission};

/// The state that the shell channel of a session works with.
pub(super) struct SessionContext {
    pub(super) session: SessionHandle,
    pub(super) record: RecordHandle,
    pub(super) server: KernelServer,
    pub(super) inputs: Inputs,
    pub(super) comms: Comms,
    pub(super) background: BackgroundOutput,
    /// The run before the first cell, until it was published.
    pub(super) startup: Option<Run>,
    /// Sessions of clients that print output as it arrives: those that asked for earlier inputs, as consoles do.
    pub(super) consoles: HashSet<String>,
}

impl SessionContext {
    /// True if the client appends output and cannot replace any: a console, whose requests name no cell.
    pub(super) fn is_console(&self, request: &ClientRequest) -> bool {
        self.consoles.contains(request.session())
            && request.message.metadata.get("cellId").is_none()
    }

    pub(super) fn execution_count(&self) -> u32 {
        self.session.next_line().saturating_sub(1)
    }
}

pub(super) async fn execute(
    context: &mut SessionContext,
    request: &Arc<ClientRequest>,
) -> ExecuteReply {
    let options = match ExecuteRequest::parse(&request.message) {
        Ok(options) => options,
        Err(failure) => return ExecuteReply::new(context.execution_count(), Err(failure), false),
    };
    let run = context.session.submit(Submission {
        text: options.code.clone(),
        silent: options.silent,
        store_history: options.store_history,
        counts: options.store_history,
        stdin: Some(if options.allow_stdin {
            Stdin::Ask
        } else {
            Stdin::Refuse
        }),
        asks: Some(options.allow_stdin),
        parent: Some(parent(&request.message)),
        ..Submission::default()
    });
    let mut result = publish_run(context, &run, request, options.silent).await;
    if let Some(line) = result.line {
        context.background.remember_cell(line, Arc::clone(request));
    }
    let outcome = match result.failure.take() {
        Some(failure) => Err(failure),
        None => {
            let expressions = evaluate_expressions(&context.session, &options.expressions).await;
            Ok((expressions, std::mem::take(&mut result.payload)))
        }
    };
    let line = result.line.unwrap_or_else(|| context.execution_count());
    ExecuteReply {
        exits: result.exits,
        ..ExecuteReply::new(line, outcome, options.stop_on_error)
    }
}

/// The request as code in the cell sees it, without the text of the cell.
fn parent(message: &IncomingMessage) -> Arc<Value> {
    let mut content = message.content.clone();
    content.remove("code");
    Arc::new(json!({"header": message.header, "metadata": message.metadata, "content": content}))
}

pub(super) async fn publish_run(
    context: &mut SessionContext,
    run: &Run,
    request: &Arc<ClientRequest>,
    silent: bool,
) -> RunResult {
    let is_console = context.is_console(request);
    let allow_stdin = flag(&request.message, "allow_stdin", true);
    let SessionContext {
        server,
        session,
        background,
        inputs,
        comms,
        ..
    } = context;
    let parent = Some(Arc::clone(request));
    let mut output = CellOutput::new(server.clone(), parent, silent, is_console);
    let mut mapper = EventMapper::new(request.message.text("code"), comms);
    loop {
        let woken = inputs.next(&mut output, run.next(), background.next());
        let event = match woken.await {
            Wake::First(Some(event)) => event,
            Wake::First(None) => break,
            Wake::Second(event) => {
                background.publish(mapper.comms(), event).await;
                continue;
            }
            Wake::Input(outcome) => {
                if let Some(line) = pass_on(outcome, session) {
                    output.print(OutputStream::Stdout, &line).await;
                }
                continue;
            }
        };
        for out in mapper.on(event, output.has_answer()) {
            match out {
                Out::Ask(asked) if !allow_stdin => drop(pass_on(refused(&asked), session)),
                Out::Ask(asked) => {
                    if let UserRequest::Question(spoken) = &asked {
                        output.print(OutputStream::Stdout, &spoken.body()).await;
                    }
                    inputs.ask(&mut output, asked).await;
                }
                Out::Withdraw(id) => inputs.withdraw(id),
                out => output.put(out).await,
            }
        }
    }
    if let Some(outcome) = inputs.cancel() {
        pass_on(outcome, session);
    }
    output.finish().await;
    let (rest, result) = mapper.finish(output.answer_for_cells());
    for out in rest {
        output.put(out).await;
    }
    result
}

/// Gives the session what the user has typed; returns the line to print for an answer.
fn pass_on(outcome: InputOutcome, session: &SessionHandle) -> Option<String> {
    match outcome {
        InputOutcome::Line(call, reply) => {
            session.reply_input(call, reply);
            None
        }
        InputOutcome::Answered(question, reply, line) => {
            session.answer(question, reply);
            Some(line)
        }
    }
}

async fn evaluate_expressions(
    session: &SessionHandle,
    wanted: &Map<String, Value>,
) -> Map<String, Value> {
    if wanted.is_empty() {
        return Map::new();
    }
    let text = |expression: &Value| expression.as_str().unwrap_or_default().to_owned();
    let answer = session.ask(RuntimeRequest::EvaluateExpressions {
        expressions: wanted.values().map(text).collect(),
    });
    let failed = |failure: &Failure| {
        let mut content = failure.content();
        content["status"] = "error".into();
        content
    };
    let values: Vec<Value> = match answer.await {
        Ok(RuntimeReply::Expressed(values)) => {
            let results = values.iter().map(|value| match value {
                Ok(bundle) => {
                    json!({"status": "ok", "data": mime_data(bundle), "metadata": bundle.metadata()})
                }
                Err(error) => failed(&Failure::from_error(error)),
            });
            results.collect()
        }
        Ok(RuntimeReply::Unsupported(why)) => {
            vec![failed(&Failure::new("NotImplementedError", why))]
        }
        Ok(RuntimeReply::Failed(why)) => vec![failed(&Failure::new("RuntimeError", why))],
        Ok(_) | Err(_) => Vec::new(),
    };
    let unanswered = failed(&Failure::new(
        "RuntimeError",
        "the interpreter did not answer",
    ));
    // A failure of the whole request is the result of each expression.
    let last = values.last().cloned().unwrap_or(unanswered);
    let values = values.into_iter().chain(std::iter::repeat(last));
    wanted.keys().cloned().zip(values).collect()
}
