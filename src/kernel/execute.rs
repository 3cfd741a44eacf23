//! `execute_request`: one input, from the message to its reply.
//!
//! In: the request; while it runs, what the user types and what cells that ended before still show. Out: what it shows
//! (`telling`), questions to whoever sent it, the reply. Invariants: the reply comes after everything it shows, and
//! before the state `idle`; a wait for an answer ends with the run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::Receiver;

use super::asking::{Asked, Heard, What};
use super::desk::Desk;
use super::forms::{Failure, data};
use super::front::Done;
use super::sheet::Sheet;
use super::telling::{Outcome, Telling, Wanted};
use super::wish::{NO_CODE, Wish, flag};
use crate::display::Spoken;
use crate::jupyter::{Incoming, Request};
use crate::runtime::{InputReply, OutputStream, RuntimeAnswer, RuntimeRequest, Stdin};
use crate::session::{Next, Reply, Run, SessionHandle, Submission};

/// Runs an input; what is to be answered.
pub(super) async fn execute(desk: &mut Desk, request: &Arc<Request>) -> Done {
    let Some(wish) = Wish::of(&request.message) else {
        return Done {
            content: failed(desk, &Failure::new("ValueError", NO_CODE), None),
            stops: false,
            leaves: false,
        };
    };
    let run = desk.session.submit(Submission {
        text: wish.code.clone(),
        silent: wish.silent,
        store_history: wish.store_history,
        counts: wish.store_history,
        stdin: Some(if wish.allow_stdin {
            Stdin::Ask
        } else {
            Stdin::Refuse
        }),
        asks: Some(wish.allow_stdin),
        parent: Some(parent(&request.message)),
        ..Submission::default()
    });
    let mut outcome = follow(desk, &run, request, wish.silent).await;
    if let Some(line) = outcome.line {
        desk.late.ran(line, Arc::clone(request));
    }
    let stops = outcome.failure.is_some() && wish.stop_on_error;
    let content = match outcome.failure.take() {
        Some(failure) => failed(desk, &failure, outcome.line),
        None => {
            let expressions = evaluate(&desk.session, &wish.expressions).await;
            json!({
                "status": "ok",
                "execution_count": outcome.line.unwrap_or_else(|| desk.last_line()),
                "user_expressions": expressions,
                "payload": outcome.payload,
            })
        }
    };
    Done {
        content,
        stops,
        leaves: outcome.leaves,
    }
}

/// The request as code in the cell sees it; its text is the cell's.
fn parent(message: &Incoming) -> Arc<Value> {
    let mut content = message.content.clone();
    content.remove("code");
    Arc::new(json!({"header": message.header, "metadata": message.metadata, "content": content}))
}

/// Content of the reply to a request that failed.
fn failed(desk: &Desk, failure: &Failure, line: Option<u32>) -> Value {
    let mut content = failure.content();
    content["status"] = "error".into();
    content["execution_count"] = line.unwrap_or_else(|| desk.last_line()).into();
    content["user_expressions"] = json!({});
    content["payload"] = json!([]);
    content
}

/// Tells a run to its end.
pub(super) async fn follow(
    desk: &mut Desk,
    run: &Run,
    request: &Arc<Request>,
    silent: bool,
) -> Outcome {
    let prints = desk.prints(request);
    let answers = flag(&request.message, "allow_stdin", true);
    let Desk {
        voice,
        session,
        background,
        stdin,
        comms,
        late,
        ..
    } = desk;
    let sheet = Sheet::new(voice, Arc::clone(request), silent, prints);
    let mut telling = Telling::new(sheet, comms);
    let mut asked: Option<Asked> = None;
    loop {
        let event = match run.next_blocking(Some(Duration::ZERO)) {
            Next::Event(event) => Some(*event),
            Next::Ended => break,
            Next::Nothing => None,
        };
        let event = match event {
            Some(event) => event,
            None => {
                telling.sheet.send_due().await;
                let due = telling.sheet.due();
                let late_due = late.due();
                tokio::select! {
                    event = run.next() => match event {
                        Some(event) => event,
                        None => break,
                    },
                    Some(event) = background.next() => {
                        late.tell(voice, telling.comms(), event).await;
                        continue;
                    }
                    Some(reply) = stdin.recv() => {
                        if let Some(open) = asked.take_if(|asked| asked.is_answered_by(&reply)) {
                            asked = heard(open.answer(&reply), session, &mut telling).await;
                        }
                        continue;
                    }
                    () = sleep_until(due), if due.is_some() => continue,
                    () = sleep_until(late_due), if late_due.is_some() => {
                        late.flush(voice).await;
                        continue;
                    }
                }
            }
        };
        match telling.on(event).await {
            None => {}
            Some(Wanted::Line { call, .. }) if !answers => {
                session.reply_input(call, InputReply::Eof)
            }
            Some(Wanted::Question(question)) if !answers => {
                session.answer(question.id, Reply::Declined);
            }
            Some(Wanted::Over(id)) => {
                asked.take_if(|asked| asked.is_question(id));
            }
            Some(Wanted::Line {
                call,
                prompt,
                password,
            }) => {
                forget(stdin);
                asked = Some(Asked {
                    id: telling.sheet.ask(&prompt, password).await,
                    what: What::Line(call),
                });
            }
            Some(Wanted::Question(question)) => {
                forget(stdin);
                let spoken = Box::new(Spoken::new(*question));
                let body = format!("{}\n", spoken.body());
                telling.sheet.print(OutputStream::Stdout, &body).await;
                telling.sheet.flush().await;
                asked = Some(ask(spoken, &mut telling).await);
            }
        }
        telling.sheet.send_due().await;
    }
    if let Some(asked) = asked {
        asked.nobody(session);
    }
    telling.finish().await
}

/// What was typed for an earlier question is no answer to the next one.
fn forget(stdin: &mut Receiver<Request>) {
    while stdin.try_recv().is_ok() {}
}

/// `None`: never.
pub(super) async fn sleep_until(due: Option<tokio::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Asks the user.
async fn ask(spoken: Box<Spoken>, telling: &mut Telling<'_>) -> Asked {
    Asked {
        id: telling.sheet.ask(&spoken.line(), spoken.secret()).await,
        what: What::Question(spoken),
    }
}

/// What comes of an answer: maybe another question.
async fn heard(heard: Heard, session: &SessionHandle, telling: &mut Telling<'_>) -> Option<Asked> {
    match heard {
        Heard::Line(call, reply) => {
            session.reply_input(call, reply);
            None
        }
        Heard::Answered(question, reply, said) => {
            session.answer(question, reply);
            telling
                .sheet
                .print(OutputStream::Stdout, &format!("{said}\n"))
                .await;
            None
        }
        Heard::Again(spoken) => Some(ask(spoken, telling).await),
    }
}

/// What a client wants to know with the reply.
async fn evaluate(session: &SessionHandle, wanted: &Map<String, Value>) -> Map<String, Value> {
    if wanted.is_empty() {
        return Map::new();
    }
    let text = |expression: &Value| expression.as_str().unwrap_or_default().to_owned();
    let asked = session.ask(RuntimeRequest::Express {
        expressions: wanted.values().map(text).collect(),
    });
    let failed = |failure: &Failure| {
        let mut told = failure.content();
        told["status"] = "error".into();
        told
    };
    let values: Vec<Value> = match asked.await {
        Ok(RuntimeAnswer::Expressed(values)) => {
            let told = values.iter().map(|value| match value {
                Ok(bundle) => {
                    json!({"status": "ok", "data": data(bundle), "metadata": bundle.metadata()})
                }
                Err(error) => failed(&Failure::raised(error)),
            });
            told.collect()
        }
        Ok(RuntimeAnswer::Unable(why)) => vec![failed(&Failure::new("NotImplementedError", why))],
        Ok(RuntimeAnswer::Failed(why)) => vec![failed(&Failure::new("RuntimeError", why))],
        Ok(_) | Err(_) => Vec::new(),
    };
    let unanswered = failed(&Failure::new(
        "RuntimeError",
        "the interpreter did not answer",
    ));
    // What failed as a whole has one answer, which is that of each.
    let last = values.last().cloned().unwrap_or(unanswered);
    let values = values.into_iter().chain(std::iter::repeat(last));
    wanted.keys().cloned().zip(values).collect()
}
