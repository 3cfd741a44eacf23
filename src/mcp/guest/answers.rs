//! What is said to a guest: notices, answers, those of a batch together.

use serde_json::Value;

use super::Guest;
use crate::rpc::{RpcError, RpcId, RpcMessage};

impl Guest {
    pub(super) fn notify(&self, method: &str, params: Value) {
        self.peer.send(RpcMessage::Notification {
            method: method.to_owned(),
            params,
        });
    }

    /// Answers a request that was open; one that was cancelled meanwhile gets no answer.
    pub(super) fn settle(&mut self, id: RpcId, outcome: Result<Value, RpcError>) {
        if let Some(open) = self.open.remove(&id) {
            self.answer(id, outcome, open.batch);
        }
    }

    pub(super) fn refuse(&mut self, (id, error): (RpcId, RpcError), batch: Option<u64>) {
        self.answer(id, Err(error), batch);
    }

    pub(super) fn answer(
        &mut self,
        id: RpcId,
        outcome: Result<Value, RpcError>,
        batch: Option<u64>,
    ) {
        let answer = RpcMessage::Response { id, outcome };
        match batch {
            None => self.peer.send(answer),
            Some(_) => self.settle_batch(batch, Some(answer)),
        }
    }

    pub(super) fn settle_batch(&mut self, batch: Option<u64>, answer: Option<RpcMessage>) {
        let whole = batch.map(|batch| self.batches.settle(batch, answer));
        if let Some(answers) = whole.filter(|answers| !answers.is_empty()) {
            self.peer.send_batch(answers);
        }
    }
}
