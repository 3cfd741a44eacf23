//! The past of a session, made again: its cells run in a confined interpreter of their own, which is asked after each.
//!
//! In: a planned runtime, recorded cells. Out: states, as checkpoints give them, and the cells that went another way
//! than they did. Invariants: nothing runs where nothing confines it; calls of cells to the session are refused; the
//! interpreter ends when the future does, without holding up whoever drops it.

use tokio::sync::mpsc::Receiver;

use crate::peers::PlannedRuntime;
use crate::record::RecordedCell;
use crate::runtime::{
    CellStep, Ending, Execute, HostReply, LookBack, LookBackRequest, PastState, RequestId, Runtime,
    RuntimeEvent, RuntimeReply, RuntimeRequest,
};
use crate::text::cut;

/// Characters of a cell that name it.
const LINE: usize = 60;

pub(crate) struct ReplayedPast {
    pub(crate) states: Vec<PastState>,
    /// In numbers of cells that failed here and not then, or then and not here.
    pub(crate) differs: Vec<u32>,
}

/// The interpreter of the replay.
struct ReplayRuntime {
    /// Taken when it is dropped.
    runtime: Option<Box<dyn Runtime>>,
    events: Receiver<RuntimeEvent>,
}

/// Runs the cells and looks after each.
///
/// # Errors
/// Returns why nothing ran, or how the interpreter ended.
pub(crate) async fn replayed(
    planned: PlannedRuntime,
    cells: Vec<RecordedCell>,
    look: &LookBackRequest,
) -> Result<ReplayedPast, String> {
    let (runtime, events) = (planned.connect)(&Vec::new());
    let mut replay = ReplayRuntime {
        runtime: Some(runtime),
        events,
    };
    replay.await_confined().await?;
    let mut past = ReplayedPast {
        states: vec![replay.look(None, look).await?],
        differs: Vec::new(),
    };
    for cell in cells {
        let ok = replay.run(&cell).await?;
        if ok != cell.succeeded {
            past.differs.push(cell.line);
        }
        let step = CellStep {
            number: cell.line,
            line: first_line(&cell.source),
            session: look.session,
            wrote: Vec::new(),
        };
        past.states.push(replay.look(Some(step), look).await?);
    }
    Ok(past)
}

fn first_line(source: &str) -> String {
    let source = source.trim();
    let line = source.lines().next().unwrap_or_default();
    let shown = cut(line, LINE).into_owned();
    match shown == line && line != source {
        true => shown + " …",
        false => shown,
    }
}

impl ReplayRuntime {
    async fn await_confined(&mut self) -> Result<(), String> {
        loop {
            match self.events.recv().await {
                Some(RuntimeEvent::Ready(info)) => {
                    return match info.unprotected {
                        None => Ok(()),
                        Some(why) => Err(format!(
                            "nothing was replayed: {why}, so nothing would keep the cells from changing files"
                        )),
                    };
                }
                Some(RuntimeEvent::StartFailed(failure)) => {
                    return Err(format!("{}; {}", failure.message, failure.hint));
                }
                Some(_) => {}
                None => return Err("the interpreter of the replay did not start".to_owned()),
            }
        }
    }

    /// Returns true when the cell did not fail.
    async fn run(&mut self, cell: &RecordedCell) -> Result<bool, String> {
        let execute = Execute::numbered(cell.source.clone(), cell.line);
        let id = self.submit(RuntimeRequest::Execute(execute));
        loop {
            match self.next().await? {
                RuntimeEvent::Finished { id: ended, finish } if ended == id => {
                    return match finish.ending {
                        Ending::Ok => Ok(true),
                        Ending::Error | Ending::Interrupted => Ok(false),
                        Ending::Died(death) => Err(format!(
                            "the interpreter of the replay ended in In [{}]: {death}",
                            cell.line
                        )),
                        Ending::Lost(why) => Err(why),
                    };
                }
                _ => {}
            }
        }
    }

    async fn look(
        &mut self,
        after: Option<CellStep>,
        look: &LookBackRequest,
    ) -> Result<PastState, String> {
        let now = LookBackRequest {
            from: None,
            to: None,
            ..look.clone()
        };
        let id = self.submit(RuntimeRequest::LookBack(now));
        loop {
            match self.next().await? {
                RuntimeEvent::Replied { id: ended, answer } if ended == id => {
                    return match answer {
                        RuntimeReply::LookedBack(LookBack::Looked(mut states)) => {
                            let now = states.pop().unwrap_or_default();
                            Ok(PastState {
                                after,
                                now: false,
                                ..now
                            })
                        }
                        RuntimeReply::LookedBack(LookBack::Unprotected(why))
                        | RuntimeReply::Failed(why)
                        | RuntimeReply::Unsupported(why) => Err(why),
                        _ => Err("the interpreter gave no result".to_owned()),
                    };
                }
                _ => {}
            }
        }
    }

    fn submit(&mut self, request: RuntimeRequest) -> RequestId {
        let runtime = self.runtime.as_mut();
        runtime.expect("taken only when dropped").submit(request)
    }

    /// Returns the next event; answers what cells ask of a session, which they do not have here.
    async fn next(&mut self) -> Result<RuntimeEvent, String> {
        let event = self.events.recv().await;
        let event = event.ok_or_else(|| "the interpreter of the replay ended".to_owned())?;
        match &event {
            RuntimeEvent::HostCalled { call, .. } => {
                let reply = HostReply::Refused("not in a replay of the past".to_owned());
                let call = call.call;
                self.submit(RuntimeRequest::ReplyCall { call, reply });
            }
            RuntimeEvent::RecordRequested { call, .. } => {
                let (call, place) = (*call, None);
                self.submit(RuntimeRequest::ReplyRecord { call, place });
            }
            _ => {}
        }
        Ok(event)
    }
}

impl Drop for ReplayRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.interrupter().kill();
            // Its end is waited for outside of the loop.
            tokio::task::spawn_blocking(move || drop(runtime));
        }
    }
}
