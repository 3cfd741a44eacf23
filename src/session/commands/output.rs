//! `%ipycodex output`: shows the whole of an output that was shortened for the agent.

use crate::effect::{Effect, emit, warn};
use crate::events::{Notice, TextEvent};
use crate::output::mime::MimeBundle;
use crate::outputs::Outputs;

pub(super) async fn show(outputs: Outputs, id: String) -> Vec<Effect> {
    match tokio::task::spawn_blocking(move || outputs.whole(&id)).await {
        Ok(Ok(text)) => emit(TextEvent::Page(MimeBundle::plain(text))),
        Ok(Err(why)) => emit(Notice::note(why)),
        Err(error) => warn(format!("the output could not be read: {error}")),
    }
}
