//! Batches of requests whose answers go together, as one message, when the last of them is there.
//!
//! A table without IO. Invariant: a batch is answered once, and not at all where nothing in it wants an answer.

use std::collections::HashMap;

use crate::rpc::RpcMessage;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Batches {
    last: u64,
    open: HashMap<u64, Batch>,
}

#[derive(Debug)]
struct Batch {
    /// Answers that are still to come.
    left: usize,
    answers: Vec<RpcMessage>,
}

impl Batches {
    /// Begins one in which so many want an answer, at least one.
    pub(super) fn begin(&mut self, wanted: usize) -> u64 {
        self.last += 1;
        let batch = Batch {
            left: wanted,
            answers: Vec::new(),
        };
        self.open.insert(self.last, batch);
        self.last
    }

    /// Takes an answer to something of this batch; `None`: there will be none. All answers, once the last is there.
    pub(super) fn settle(&mut self, batch: u64, answer: Option<RpcMessage>) -> Vec<RpcMessage> {
        let Some(open) = self.open.get_mut(&batch) else {
            return Vec::new();
        };
        open.answers.extend(answer);
        open.left = open.left.saturating_sub(1);
        match open.left {
            0 => self.open.remove(&batch).map(|it| it.answers),
            _ => None,
        }
        .unwrap_or_default()
    }
}
