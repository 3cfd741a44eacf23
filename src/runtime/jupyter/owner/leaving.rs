//! The end of a kernel that is ours, and of the connection to one that is not.

use super::{Order, Owner, Stage};
use crate::runtime::{RequestId, RuntimeRequest};

impl Owner {
    /// As [`Owner::leave`], until somebody does not want to wait: then one of ours is killed. What else was asked for
    /// meanwhile, and whether nobody listens any more.
    pub(super) async fn shut_down(&mut self) -> (Vec<(RequestId, RuntimeRequest)>, bool) {
        if self.kernel.attached() {
            return (Vec::new(), false);
        }
        let up = matches!(self.stage, Stage::Up);
        let ours = self.kernel.process().is_some();
        let mut held = Vec::new();
        let orders = &mut self.orders;
        let hurried = async {
            loop {
                match orders.recv().await {
                    Some(Order::Request(id, request)) => held.push((id, *request)),
                    Some(Order::Interrupt | Order::Kill) => return false,
                    Some(Order::Leave) | None => return true,
                }
            }
        };
        let left = tokio::select! {
            () = self.kernel.end(up) => None,
            left = hurried, if ours => Some(left),
        };
        if left.is_some() {
            self.kernel.end(false).await;
        }
        self.stage = Stage::Away;
        (held, left == Some(true))
    }

    /// Ends what is ours, and leaves what is not.
    pub(super) async fn leave(&mut self) {
        if self.kernel.attached() {
            return;
        }
        let up = matches!(self.stage, Stage::Up);
        self.kernel.end(up).await;
        self.stage = Stage::Away;
    }
}
