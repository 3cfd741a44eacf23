//! The renderer of a run ([`RunRenderer`]), and [`follow`], which feeds it the events of a run in order until the end
//! and redraws its live rows in time.
//!
//! A change is drawn at once when the last drawing is a tick ago, else when it is; without changes the view is asked
//! now and then (a wait has to show that it goes on), and at every tick while the user is asked something. Written
//! bytes are flushed whenever nothing more is at hand.

use std::time::{Duration, Instant};

use crate::screen::{Screen, ScreenError};
use crate::session::{NextEvent, Run, SessionEvent};

/// The shortest time between two drawings: 60 a second.
const TICK: Duration = Duration::from_millis(16);

/// How often a view without changes is asked.
const IDLE: Duration = Duration::from_millis(100);

/// Renders a run to some destination.
pub trait RunRenderer {
    /// Renders an event.
    ///
    /// # Errors
    /// When nothing can be written any more.
    fn on_event(&mut self, event: SessionEvent) -> Result<(), ScreenError>;

    /// Something is shown that has to be redrawn from time to time.
    fn is_live(&self) -> bool;

    /// How long nothing has to be redrawn, though it is not live; `None`: until the next event.
    fn until_redraw(&self) -> Option<Duration> {
        None
    }

    /// The user is being asked: ticks must come often.
    fn awaits_user(&self) -> bool {
        false
    }

    /// No more events can be taken before a tick.
    fn is_full(&self) -> bool {
        false
    }

    /// What is live is redrawn.
    ///
    /// # Errors
    /// As [`RunRenderer::on_event`].
    fn tick(&mut self) -> Result<(), ScreenError>;

    /// Nothing more comes: everything shown becomes final.
    ///
    /// # Errors
    /// As [`RunRenderer::on_event`].
    fn settle(&mut self) -> Result<(), ScreenError>;
}

/// Shows `run` on `view` until it ends; `meet` sees each event first.
///
/// # Errors
/// When nothing can be written any more, or what `meet` says.
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
            // What is shown has to go on before more can be taken.
            std::thread::sleep(TICK);
            NextEvent::Nothing
        } else {
            run.next_blocking(Some(Duration::ZERO))
        };
        let next = match first {
            NextEvent::Nothing if view.is_full() => NextEvent::Nothing,
            NextEvent::Nothing => {
                screen.flush()?;
                let wait = if changed || view.awaits_user() {
                    TICK.saturating_sub(since)
                } else {
                    IDLE
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
        let due = drawn.is_none_or(|drawn| drawn.elapsed() >= TICK);
        let live = view.is_live() || view.until_redraw().is_some_and(|rest| rest.is_zero());
        if live && due && (changed || idle) {
            view.tick()?;
            drawn = Some(Instant::now());
            changed = false;
        }
    }
}
