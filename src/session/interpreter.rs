//! What the session wants of its runtime: connected, asked, told, interrupted, ended.
//!
//! Invariant: nothing is asked that the runtime cannot do; where a user asks for it, the user is told.

use std::sync::PoisonError;

use crate::config::Images;
use crate::markdown::Background;
use crate::runtime::{Runtime, RuntimeRequest, Stdin};
use crate::session::events::{Notice, SessionEvent};
use crate::session::run::RunSender;
use crate::session::runtimes::Role;
use crate::session::slots::Waiter;
use crate::session::task::Session;

impl Session {
    /// The runtime, connected, with its interrupter where the handles find it.
    pub(super) fn connected_runtime(&mut self) -> &mut dyn Runtime {
        if !self.runtimes.user.is_connected() {
            self.runtimes.user.get();
            let killer = self.runtimes.user.interrupter();
            let killer = killer.filter(|_| self.runtimes.user.able().restart);
            *self
                .shared
                .killer
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = killer;
        }
        self.runtimes.user.get()
    }

    /// Asks the runtime for `waiter`, if it can answer that; says what stands for an answer otherwise.
    pub(super) fn ask_runtime(&mut self, request: RuntimeRequest, waiter: Waiter) {
        match self.runtimes.user.able().refusal(&request) {
            Some(answer) => self.on_answer_for(waiter, answer),
            None => {
                let id = self.connected_runtime().submit(request);
                self.asked.insert((Role::User, id), waiter);
            }
        }
    }

    /// Tells the runtime something nobody waits for, if there is one that can take it.
    pub(super) fn tell_runtime(&mut self, request: RuntimeRequest) {
        if self.runtimes.user.able().refusal(&request).is_none()
            && let Some(runtime) = self.runtimes.user.live()
        {
            runtime.submit(request);
        }
    }

    /// Interrupts what the interpreter does; the user is told where that cannot be done.
    pub(super) fn interrupt_runtime(&mut self) {
        if !self.interrupt_code() && self.runtimes.user.is_connected() {
            let language = &self.runtimes.user.able().language;
            let message =
                format!("the {language} runtime cannot interrupt what runs: it goes on to its end");
            let notice = SessionEvent::Notice(Notice::warning(message));
            self.out_or_background().send(notice);
        }
    }

    /// Interrupts what the interpreter does, where that can be done.
    pub(super) fn interrupt_code(&mut self) -> bool {
        let Some(runtime) = self.runtimes.of(self.toolbox.role()) else {
            return false;
        };
        let interrupter = runtime.interrupter();
        let interrupter = interrupter.filter(|_| runtime.able().interrupt);
        interrupter.inspect(|it| it.interrupt()).is_some()
    }

    /// Ends the interpreter at once; `out` is told where that cannot be done.
    pub(super) fn kill_runtime(&mut self, out: &RunSender) {
        let Some(interrupter) = self.runtimes.user.interrupter() else {
            return;
        };
        if self.runtimes.user.able().restart {
            return interrupter.kill();
        }
        let language = &self.runtimes.user.able().language;
        let message = format!("the {language} runtime cannot be restarted from here");
        out.send(Notice::warning(message));
    }

    /// Ends the interpreter, if one runs, and starts one; `out` is told where that cannot be done.
    pub(super) fn restart_runtime(&mut self, out: &RunSender) {
        self.kill_runtime(out);
        self.connected_runtime();
    }

    /// Who answers the `input()` of a cell; `wanted` rather than whoever usually does.
    pub(super) fn stdin(&self, wanted: Option<Stdin>) -> Stdin {
        let wanted = wanted.unwrap_or(self.setup.stdin);
        self.runtimes.user.able().stdin(wanted)
    }

    /// Whether what a cell shows is looked at on a dark terminal, as far as that is known, and is to fit it.
    pub(super) fn on_dark(&self) -> bool {
        let choices = &self.choices;
        let named = || Background::of_theme(&choices.code_theme);
        let background = self.terminal_is.or(choices.code_theme_chosen.then(named));
        self.setup.stdin == Stdin::Terminal
            && choices.images != Images::Off
            && choices.fit_plots
            && background == Some(Background::Dark)
    }

    /// Who answers the `input()` of a tool: it owns no terminal.
    pub(super) fn tool_stdin(&self) -> Stdin {
        match self.stdin(None) {
            Stdin::Refuse => Stdin::Refuse,
            Stdin::Terminal | Stdin::Ask => Stdin::Ask,
        }
    }
}
