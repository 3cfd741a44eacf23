//! Renders a run silently: only notices are printed.
//!
//! The run's results go elsewhere, such as into a notebook.

use crate::display::RunRenderer;
use crate::screen::{Screen, ScreenError};
use crate::session::SessionEvent;

pub(super) struct Silent {
    screen: Screen,
}

impl Silent {
    pub(super) fn new(screen: Screen) -> Self {
        Silent { screen }
    }
}

impl RunRenderer for Silent {
    fn on_event(&mut self, event: SessionEvent) -> Result<(), ScreenError> {
        match event {
            SessionEvent::Notice(notice) => self.screen.print_notice(&notice.message),
            SessionEvent::Begin(_)
            | SessionEvent::Cell(_)
            | SessionEvent::Answer(_)
            | SessionEvent::Question(_)
            | SessionEvent::End(_)
            | SessionEvent::Text(_)
            | SessionEvent::After(_)
            | SessionEvent::RuntimeDied { .. } => Ok(()),
        }
    }

    fn is_live(&self) -> bool {
        false
    }

    fn tick(&mut self) -> Result<(), ScreenError> {
        Ok(())
    }

    fn settle(&mut self) -> Result<(), ScreenError> {
        Ok(())
    }
}
