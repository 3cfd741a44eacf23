//! The alternate screen, for a view that needs the whole terminal for a while.
//!
//! Invariant: the screen is restored on drop; on a signal, a stop or a panic the guard restores it.

use crate::screen::guard::TerminalGuard;
use crate::screen::{Screen, ScreenError};

/// The alternate screen, for the lifetime of this value.
pub struct Alternate<'a> {
    screen: &'a Screen,
    guard: Option<&'a TerminalGuard>,
}

impl<'a> Alternate<'a> {
    /// Switches to the alternate screen.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub fn open(screen: &'a Screen, guard: Option<&'a TerminalGuard>) -> Result<Self, ScreenError> {
        if let Some(guard) = guard {
            guard.alternate_screen(true);
        }
        let alternate = Alternate { screen, guard };
        screen.write_trusted(b"\x1b[?1049h")?;
        screen.flush()?;
        Ok(alternate)
    }
}

impl Drop for Alternate<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs no reset; the next write fails.
        let _ = self.screen.write_trusted(b"\x1b[0m\x1b[?25h\x1b[?1049l");
        let _ = self.screen.flush();
        if let Some(guard) = self.guard {
            guard.alternate_screen(false);
        }
    }
}
