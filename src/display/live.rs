//! The display as whoever follows a run drives it: event by event, tick by tick; what comes while a question is open
//! waits.

use std::sync::Arc;
use std::time::Duration;

use super::asking::{Ahead, Keyboard};
use super::follow::Showing;
use super::replay::ReplayView;
use super::{Display, TYPING};
use crate::screen::ScreenError;
use crate::session::SessionEvent;

impl Showing for Display {
    fn is_live(&self) -> bool {
        let replays = self.replay.as_ref().is_some_and(ReplayView::is_live);
        self.answer.is_some() || replays || self.talk.is_open() || self.cell.is_live()
    }

    fn rests(&self) -> Option<Duration> {
        self.elapsed.rests()
    }

    fn listens(&self) -> bool {
        let types = |keyboard: &Arc<dyn Keyboard>| {
            keyboard.quiet() < TYPING && keyboard.ahead() != Ahead::default()
        };
        self.talk.is_open() || (self.answer.is_some() && self.keyboard.as_ref().is_some_and(types))
    }

    fn is_full(&self) -> bool {
        self.held.is_full()
    }

    fn tick(&mut self) -> Result<(), ScreenError> {
        if self.talk.resumed()? {
            if let Some(answer) = &mut self.answer {
                answer.resumed();
            }
            if let Some(replay) = &mut self.replay {
                replay.resumed();
            }
        }
        if self.talk.is_open() {
            self.talk.tick()?;
            self.release()?;
        }
        let drawn = self.talk.is_open()
            || self.replay.is_some()
            || (self.answer.is_some() && !self.in_cell);
        let free = !drawn && self.cell.is_fresh();
        let ahead = self.keyboard.as_ref().map(|keyboard| keyboard.ahead());
        let ahead = ahead.unwrap_or_default();
        self.elapsed.tick(free, self.cell.is_lent(), &ahead)?;
        match &mut self.answer {
            Some(answer) if !self.in_cell && !self.talk.is_open() => answer.tick(ahead),
            _ => {
                if !self.talk.is_open() {
                    self.cell.tick()?;
                }
                self.replay.as_mut().map_or(Ok(()), ReplayView::tick)
            }
        }
    }

    fn on(&mut self, event: SessionEvent) -> Result<(), ScreenError> {
        if self.talk.is_open() {
            self.held.hold(event, &mut self.talk)?;
            self.release()
        } else {
            self.show(event)
        }
    }

    fn settle(&mut self) -> Result<(), ScreenError> {
        self.held.forget_questions(&mut self.talk)?;
        self.release()?;
        self.elapsed.end()?;
        self.settle_views()
    }
}
