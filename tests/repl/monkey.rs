//! Random keys, pastes, resizes and signals: no harm comes of them.
//!
//! In: how many seconds. Out: what was done. Invariants, each looked at again and again: Ctrl-C brings an empty prompt
//! back; a second emulator has the same screen; text that is typed among resizes and stops is recorded as it was typed;
//! a program that leaves or is ended by a signal gives the terminal back. What was drawn for another width stands
//! differently in terminals that wrap it again and those that cut it off, so screens are compared from a cleared one
//! to the next change of the width.

mod actions;

use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustix::termios::Termios;

use super::exit::{given_back, held_in};
use super::shell::{CTRL_C, CTRL_D, Shell, with_settings};
use crate::support::await_true;
use crate::support::home::PATIENCE;
use crate::support::pty::{SIZE, cursor_line};
use crate::support::random::Random;
use crate::support::second_terminal::SecondTerminal;

const SEED: u64 = 28;

/// How long a Ctrl-C may take before the next one is typed.
const NEXT_CTRL_C: Duration = Duration::from_secs(2);

/// Nothing is on its way any more.
const QUIET: Duration = Duration::from_millis(30);

struct Monkey {
    random: Random,
    shell: Shell,
    device: std::fs::File,
    before: Termios,
    second: Option<SecondTerminal>,
    /// Until the width changes, both terminals have to show the same.
    same: bool,
    probes: u32,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    actions: u32,
    resizes: u32,
    signals: u32,
    compared: u32,
    starts: u32,
}

pub fn monkey(seconds: u32) -> String {
    let begin = Instant::now();
    let mut monkey = Monkey::new();
    while begin.elapsed() < Duration::from_secs(u64::from(seconds)) {
        monkey.round();
    }
    monkey.leave();
    let Counts {
        actions,
        resizes,
        signals,
        compared,
        starts,
    } = monkey.counts;
    let probes = monkey.probes;
    format!(
        "{actions} actions, {resizes} resizes, {signals} signals, {starts} starts: no panic; {probes} texts kept; \
         {compared} screens as tmux has them"
    )
}

impl Monkey {
    fn new() -> Monkey {
        let mut home = with_settings(r#"{"approvals": "ask", "sandbox": "danger-full-access"}"#);
        home.install_script("my-editor", "#!/bin/sh\necho edited >\"$1\"\n");
        home.set("VISUAL", "my-editor");
        // Ours: Ctrl-C leaves it, and it starts no programs.
        home.set("PAGER", "no-such-pager");
        let second = SecondTerminal::start(SIZE);
        let (shell, device, before) = held_in(home);
        Monkey {
            random: Random::new(SEED),
            shell,
            device,
            before,
            second,
            same: true,
            probes: 0,
            counts: Counts::default(),
        }
    }

    fn round(&mut self) {
        let size = (self.random.within(20, 160), self.random.within(6, 50));
        self.resize(size);
        self.recover();
        self.clear();
        for _ in 0..self.random.within(3, 20) {
            self.act(false);
        }
        self.recover();
        self.compare();
        for _ in 0..self.random.within(3, 20) {
            self.act(true);
        }
        self.resize(SIZE);
        self.recover();
        self.probe();
    }

    fn act(&mut self, resizes: bool) {
        self.counts.actions += 1;
        self.revive();
        match self.random.within(0, 99) {
            0..=7 if resizes => {
                let size = (self.random.within(1, 200), self.random.within(1, 60));
                self.resize(size);
            }
            8..=11 => self.disturb(),
            12 if self.random.percent(20) => self.end_by_signal(),
            _ => {
                let keys = actions::typed(&mut self.random);
                self.shell.pty.send(&keys);
            }
        }
        if self.random.percent(30) {
            self.await_quiet(QUIET);
        }
    }

    fn resize(&mut self, size: (u16, u16)) {
        self.counts.resizes += 1;
        self.same = false;
        self.shell.pty.resize(size.0, size.1);
    }

    /// A signal that changes nothing.
    fn disturb(&mut self) {
        self.counts.signals += 1;
        let signal = *self
            .random
            .pick(&[Signal::WINCH, Signal::CONT, Signal::STOP]);
        self.shell.pty.signal(signal);
        if signal == Signal::STOP {
            await_true("it has stopped", || {
                self.stopped() || self.shell.pty.ended()
            });
        }
        self.revive();
    }

    /// Lets a stopped program go on.
    fn revive(&self) {
        if self.stopped() {
            self.shell.pty.signal(Signal::CONT);
        }
    }

    fn stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.shell.pty.pid()));
        stat.is_ok_and(|stat| stat.contains(") T "))
    }

    /// Waits until nothing was written for so long.
    fn await_quiet(&self, quiet: Duration) {
        let mut written = self.shell.pty.raw_length();
        let mut since = Instant::now();
        let begin = Instant::now();
        while since.elapsed() < quiet && begin.elapsed() < Duration::from_secs(1) {
            std::thread::sleep(Duration::from_millis(2));
            let now = self.shell.pty.raw_length();
            if now != written {
                (written, since) = (now, Instant::now());
            }
        }
    }

    /// Brings an empty prompt for cells back, whatever goes on.
    fn recover(&mut self) {
        let begin = Instant::now();
        loop {
            self.revive();
            if self.shell.pty.ended() {
                self.left(None);
                return;
            }
            let sent = Instant::now();
            self.shell.pty.send(CTRL_C);
            while sent.elapsed() < NEXT_CTRL_C {
                self.revive();
                match self.prompt().as_deref() {
                    // All that was typed before is through when a word stands there.
                    Some("In") if self.answers() => return,
                    Some("In") => break,
                    Some("Pr") => self.leave_mode("Pr", "\x1bp"),
                    Some("$") => self.leave_mode("$", "\x1bs"),
                    _ => {}
                }
                self.await_quiet(QUIET);
            }
            if begin.elapsed() > PATIENCE {
                self.fail("the prompt");
            }
        }
    }

    /// Leaves a mode by its key, once: a second one would enter it again.
    fn leave_mode(&self, mode: &str, key: &str) {
        self.shell.pty.send(key);
        let sent = Instant::now();
        while self.prompt().as_deref() == Some(mode) && sent.elapsed() < NEXT_CTRL_C {
            self.revive();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The kind of the empty prompt at the cursor.
    fn prompt(&self) -> Option<String> {
        let line = self.shell.pty.look(cursor_line);
        let (kind, number) = line.trim_end().strip_suffix("]:")?.split_once(" [")?;
        let numbered = number.bytes().all(|byte| byte.is_ascii_digit());
        numbered.then(|| kind.to_owned())
    }

    /// Types a word at the prompt, which appears there and is taken back.
    fn answers(&mut self) -> bool {
        let word = format!("w{}", self.counts.actions);
        self.shell.pty.send(&word);
        let begin = Instant::now();
        let stands = |monkey: &Monkey| {
            let line = monkey.shell.pty.look(cursor_line);
            line.starts_with("In [") && line.trim_end().ends_with(&format!("]: {word}"))
        };
        while !stands(self) {
            if begin.elapsed() > NEXT_CTRL_C || self.shell.pty.ended() {
                return false;
            }
            self.revive();
            std::thread::sleep(Duration::from_millis(2));
        }
        self.shell.pty.send(CTRL_C);
        while self.prompt().as_deref() != Some("In") {
            if begin.elapsed() > NEXT_CTRL_C * 2 || self.shell.pty.ended() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Clears the screen; from here on both terminals are alike. A notice that is taken away meanwhile leaves its rows,
    /// so it may take another key.
    fn clear(&mut self) {
        let begin = Instant::now();
        let clear = |screen: &vt100::Screen| {
            screen.cursor_position().0 == 0 && cursor_line(screen).trim_end().ends_with("]:")
        };
        while !self.shell.pty.look(clear) {
            if begin.elapsed() > PATIENCE {
                self.fail("a prompt on a screen that is clear");
            }
            self.shell.pty.send("\x0c");
            let sent = Instant::now();
            while !self.shell.pty.look(clear) && sent.elapsed() < NEXT_CTRL_C {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        self.same = true;
        self.compare();
    }

    fn compare(&mut self) {
        self.await_quiet(QUIET);
        let Some(second) = self.second.as_mut().filter(|_| self.same) else {
            return;
        };
        let written = self.shell.pty.written();
        let (mut rows, cursor) = second.follow(&written);
        rows.resize(written.rows.len(), String::new());
        self.counts.compared += 1;
        assert!(
            rows == written.rows && cursor == written.cursor,
            "{}: two terminals show different things.\nvt100, cursor {:?}:\n{}\ntmux, cursor {cursor:?}:\n{}",
            self.told("compare"),
            written.cursor,
            written.rows.join("\n"),
            rows.join("\n")
        );
    }

    /// Types text among resizes and stops, enters it, and finds it in the record.
    fn probe(&mut self) {
        self.probes += 1;
        let text = format!(
            "probe{} = 'päivää 漢字 {:x}'",
            self.probes,
            self.random.next()
        );
        let ahead = self.random.percent(30);
        if ahead {
            self.shell.pty.send("import time; time.sleep(0.1)\r");
        }
        let letters: Vec<char> = text.chars().collect();
        let mut rest = letters.as_slice();
        while !rest.is_empty() {
            let count = usize::from(self.random.within(1, 6)).min(rest.len());
            let (now, later) = rest.split_at(count);
            self.shell.pty.send(&now.iter().collect::<String>());
            rest = later;
            match self.random.within(0, 9) {
                0..=2 => {
                    let size = (self.random.within(1, 200), self.random.within(1, 60));
                    self.resize(size);
                }
                3 => self.disturb(),
                4 if !ahead => self.shell.pty.send("\x0c"),
                _ => {}
            }
        }
        self.resize(SIZE);
        self.shell.pty.send("\r");
        let begin = Instant::now();
        while !self.has_recorded(&text) {
            self.revive();
            if begin.elapsed() > PATIENCE {
                let last = super::shell::inputs(&self.shell.record()).pop();
                self.fail(&format!("{text} in the record, where {last:?} is last"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn has_recorded(&self, text: &str) -> bool {
        let record = self.shell.record();
        let select = "select count(*) from history where source_raw = ?";
        let count = record.query_row(select, [text], |row| row.get::<_, i64>(0));
        count.is_ok_and(|count| count == 1)
    }

    /// Fails, and shows the screen.
    fn fail(&mut self, what: &str) {
        let what = self.told(what);
        self.shell.pty.patience = Duration::ZERO;
        self.shell.pty.wait_until(&what, |_| false);
    }

    /// A signal that ends the program.
    fn end_by_signal(&mut self) {
        self.counts.signals += 1;
        let signals = [
            (Signal::TERM, "Terminated"),
            (Signal::HUP, "Hangup"),
            (Signal::INT, "Interrupt"),
            (Signal::QUIT, "Quit"),
        ];
        let (signal, name) = *self.random.pick(&signals);
        self.shell.pty.signal(signal);
        self.shell.pty.exit_status();
        self.left(Some(name));
    }

    /// The program has ended: it did so as it should, and another is started.
    fn left(&mut self, signal: Option<&str>) {
        let status = self.shell.pty.exit_status();
        let what = self.told(&format!("the end of the program by {signal:?}"));
        match signal {
            Some(name) => assert_eq!(status.signal(), Some(name), "{what}\n{}", self.shell.text()),
            None => assert_eq!(status.exit_code(), 0, "{what}\n{}", self.shell.text()),
        }
        given_back(&what, &self.shell, &self.before, &self.device);
        self.check_raw();
        let home = std::mem::take(&mut self.shell.home);
        (self.shell, self.device, self.before) = held_in(home);
        self.counts.starts += 1;
        if let Some(second) = &mut self.second {
            second.restart();
        }
        self.same = false;
    }

    fn leave(&mut self) {
        self.recover();
        self.shell.pty.send(CTRL_D);
        let what = self.told("the end");
        assert_eq!(self.shell.pty.exit_status().exit_code(), 0, "{what}");
        given_back(&what, &self.shell, &self.before, &self.device);
        self.check_raw();
    }

    fn check_raw(&self) {
        let raw = self.shell.pty.raw();
        let panicked = memchr::memmem::find(&raw, b"panicked");
        assert_eq!(
            panicked,
            None,
            "{}\n{}",
            self.told("a panic"),
            self.shell.text()
        );
    }

    fn told(&self, what: &str) -> String {
        let Counts { actions, .. } = self.counts;
        format!(
            "seed {SEED}, action {actions}, probe {}: {what}",
            self.probes
        )
    }
}
