//! The renderer of a run ([`RunRenderer`]), and [`follow`], which passes it the events of a run in order until the
//! end and redraws its live rows.
//!
//! A change is drawn at once when the last drawing is at least one tick old, else at the next tick; a key that was
//! typed meanwhile is drawn sooner ([`ECHO`]). Without changes the renderer is ticked every [`IDLE`] (a wait has to
//! show that it goes on), and at every tick while a question is open. Output is flushed whenever no event is pending.

use std::time::{Duration, Instant};

use crate::screen::{Screen, ScreenError};
use crate::session::{NextEvent, Run, SessionEvent};

/// Shortest time between two drawings: 60 a second.
const TICK: Duration = Duration::from_millis(16);

/// Shortest time between two drawings where a key was typed after the first.
const ECHO: Duration = Duration::from_millis(4);

/// Interval of ticks without changes.
const IDLE: Duration = Duration::from_millis(100);

pub trait RunRenderer {
    /// Renders an event.
    ///
    /// # Errors
    /// The destination cannot be written.
    fn on_event(&mut self, event: SessionEvent) -> Result<(), ScreenError>;

    /// True while something is shown that has to be redrawn from time to time.
    fn is_live(&self) -> bool;

    /// Time until the next redraw of a renderer that is not live; `None`: not before the next event.
    fn until_redraw(&self) -> Option<Duration> {
        None
    }

    /// True while a question is open, which needs frequent ticks.
    fn awaits_user(&self) -> bool {
        false
    }

    /// True when a key that is to be shown was typed within this time.
    fn typed_within(&self, _time: Duration) -> bool {
        false
    }

    /// True when no more events can be taken before a tick.
    fn is_full(&self) -> bool {
        false
    }

    /// Redraws the live rows.
    ///
    /// # Errors
    /// As [`RunRenderer::on_event`].
    fn tick(&mut self) -> Result<(), ScreenError>;

    /// Makes everything shown final, at the end of the run.
    ///
    /// # Errors
    /// As [`RunRenderer::on_event`].
    fn settle(&mut self) -> Result<(), ScreenError>;
}

/// Renders `run` on `view` until the run ends; `meet` gets each event first.
///
/// # Errors
/// The screen cannot be written, or `meet` failed.
pub fn follow<E: From<ScreenError>>(
    run: &Run,
    screen: &Screen,
    view: &mut dyn RunRenderer,
    mut meet: impl FnMut(&SessionEvent) -> Result<(), E>,
) -> Result<(), E> {
    let mut drawn: Option<Instant> = None;
    let mut changed = false;
    loop {
        let since = drawn.map_or(TICK, |drawn| drawn.elapsed());
        let first = if view.is_full() {
            // The view needs a tick before it can take more events.
            std::thread::sleep(TICK);
            NextEvent::Nothing
        } else {
            run.next_blocking(Some(Duration::ZERO))
        };
        let next = match first {
            NextEvent::Nothing if view.is_full() => NextEvent::Nothing,
            NextEvent::Nothing => {
                screen.flush()?;
                let wait = match changed || view.awaits_user() {
                    _ if view.typed_within(since) => ECHO.saturating_sub(since),
                    true => TICK.saturating_sub(since),
                    false => IDLE,
                };
                run.next_blocking(if view.is_live() {
                    Some(wait)
                } else {
                    view.until_redraw()
                })
            }
            next => next,
        };
        let idle = matches!(next, NextEvent::Nothing);
        match next {
            NextEvent::Ended => {
                view.settle()?;
                return Ok(());
            }
            NextEvent::Nothing => {}
            NextEvent::Event(event) => {
                meet(&event)?;
                view.on_event(*event)?;
                changed = true;
            }
        }
        let since = drawn.map_or(TICK, |drawn| drawn.elapsed());
        let due = since >= TICK || (since >= ECHO && view.typed_within(since));
        let live = view.is_live() || view.until_redraw().is_some_and(|rest| rest.is_zero());
        if live && due && (changed || idle) {
            view.tick()?;
            drawn = Some(Instant::now());
            changed = false;
        }
    }
}
