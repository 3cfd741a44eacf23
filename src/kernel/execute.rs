//! `execute_request`: one input, from the message to its reply.
//!
//! In: the request; while it runs, the `input_reply` messages and the output of earlier cells. Out: the messages of the
//! run ([`EventMapper`]), `input_request`s to the sender, the reply. Invariants: the reply comes after all output, and
//! before the state `idle`; an open `input_request` ends with the run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::cell_output::CellOutput;
use super::channels::ExecuteReply;
use super::context::SessionContext;
use super::event_mapper::{EventMapper, RunResult, UserRequest};
use super::execute_request::{ExecuteRequest, NO_CODE, flag};
use super::input_request::{InputOutcome, InputRequest, InputTarget, discard_replies};
use super::messages::{Failure, mime_data};
use super::stream_buffer::sleep_until;
use crate::display::LineQuestion;
use crate::jupyter::{ClientRequest, IncomingMessage};
use crate::runtime::{InputReply, OutputStream, RuntimeReply, RuntimeRequest, Stdin};
use crate::session::{NextEvent, Reply, Run, SessionHandle, Submission};

pub(super) async fn execute(
    context: &mut SessionContext,
    request: &Arc<ClientRequest>,
) -> ExecuteReply {
    let Some(options) = ExecuteRequest::parse(&request.message) else {
        return ExecuteReply {
            content: error_reply(context, &Failure::new("ValueError", NO_CODE), None),
            aborts_queue: false,
            exits: false,
        };
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
    let aborts_queue = result.failure.is_some() && options.stop_on_error;
    let content = match result.failure.take() {
        Some(failure) => error_reply(context, &failure, result.line),
        None => {
            let expressions = evaluate_expressions(&context.session, &options.expressions).await;
            json!({
                "status": "ok",
                "execution_count": result.line.unwrap_or_else(|| context.execution_count()),
                "user_expressions": expressions,
                "payload": result.payload,
            })
        }
    };
    ExecuteReply {
        content,
        aborts_queue,
        exits: result.exits,
    }
}

/// The request as code in the cell sees it, without the text of the cell.
fn parent(message: &IncomingMessage) -> Arc<Value> {
    let mut content = message.content.clone();
    content.remove("code");
    Arc::new(json!({"header": message.header, "metadata": message.metadata, "content": content}))
}

fn error_reply(context: &SessionContext, failure: &Failure, line: Option<u32>) -> Value {
    let mut content = failure.content();
    content["status"] = "error".into();
    content["execution_count"] = line.unwrap_or_else(|| context.execution_count()).into();
    content["user_expressions"] = json!({});
    content["payload"] = json!([]);
    content
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
        stdin,
        comms,
        ..
    } = context;
    let parent = Some(Arc::clone(request));
    let mut output = CellOutput::new(server.clone(), parent, silent, is_console);
    let mut mapper = EventMapper::new(request.message.text("code"), comms);
    let mut open_request: Option<InputRequest> = None;
    loop {
        let event = match run.next_blocking(Some(Duration::ZERO)) {
            NextEvent::Event(event) => Some(*event),
            NextEvent::Ended => break,
            NextEvent::Nothing => None,
        };
        let event = match event {
            Some(event) => event,
            None => {
                output.send_due().await;
                let due = output.due();
                tokio::select! {
                    event = run.next() => match event {
                        Some(event) => event,
                        None => break,
                    },
                    event = background.next() => {
                        background.publish(mapper.comms(), event).await;
                        continue;
                    }
                    Some(reply) = stdin.recv() => {
                        if let Some(open) = open_request.take_if(|open| open.is_answered_by(&reply)) {
                            open_request = on_reply(open.resolve(&reply), session, &mut output).await;
                        }
                        continue;
                    }
                    () = sleep_until(due), if due.is_some() => continue,
                }
            }
        };
        for out in mapper.on(event, output.has_answer()) {
            match output.put(out).await {
                None => {}
                Some(UserRequest::Line { call, .. }) if !allow_stdin => {
                    session.reply_input(call, InputReply::Eof)
                }
                Some(UserRequest::Question(question)) if !allow_stdin => {
                    session.answer(question.id, Reply::Declined);
                }
                Some(UserRequest::Withdrawn(id)) => {
                    open_request.take_if(|open| open.is_question(id));
                }
                Some(UserRequest::Line {
                    call,
                    prompt,
                    password,
                }) => {
                    discard_replies(stdin);
                    let id = output.request_input(&prompt, password).await;
                    let target = InputTarget::Line(call);
                    open_request = id.map(|id| InputRequest { id, target });
                }
                Some(UserRequest::Question(question)) => {
                    discard_replies(stdin);
                    let spoken = Box::new(LineQuestion::new(*question));
                    let body = format!("{}\n", spoken.body());
                    output.print(OutputStream::Stdout, body.as_bytes()).await;
                    output.flush().await;
                    open_request = ask_question(spoken, &output).await;
                }
            }
        }
        output.send_due().await;
    }
    if let Some(open_request) = open_request {
        open_request.cancel(session);
    }
    output.finish().await;
    let (rest, result) = mapper.finish(output.answer_for_cells());
    for out in rest {
        output.put(out).await;
    }
    result
}

async fn ask_question(spoken: Box<LineQuestion>, output: &CellOutput) -> Option<InputRequest> {
    let id = output.request_input(&spoken.line(), spoken.secret()).await;
    let target = InputTarget::Question(spoken);
    id.map(|id| InputRequest { id, target })
}

/// Handles a reply; returns the next request where the question is asked again.
async fn on_reply(
    outcome: InputOutcome,
    session: &SessionHandle,
    output: &mut CellOutput,
) -> Option<InputRequest> {
    match outcome {
        InputOutcome::Line(call, reply) => {
            session.reply_input(call, reply);
            None
        }
        InputOutcome::Answered(question, reply, line) => {
            session.answer(question, reply);
            let line = format!("{line}\n");
            output.print(OutputStream::Stdout, line.as_bytes()).await;
            None
        }
        InputOutcome::AskAgain(spoken) => ask_question(spoken, output).await,
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
