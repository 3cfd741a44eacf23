//! `%ipycodex output`: people read the whole of what was shortened for the agent.

use super::deed::{Deed, tell, warn};
use crate::output::mime::MimeBundle;
use crate::session::events::{Notice, ToldEvent};
use crate::session::outputs::Outputs;

/// Reads the output `id`, or says which there are.
pub(super) async fn show(outputs: Outputs, id: String) -> Vec<Deed> {
    match tokio::task::spawn_blocking(move || outputs.whole(&id)).await {
        Ok(Ok(text)) => tell(ToldEvent::Page(MimeBundle::plain(text))),
        Ok(Err(why)) => tell(Notice::note(why)),
        Err(error) => warn(format!("the output could not be read: {error}")),
    }
}
