//! A program on a pseudo-terminal with a virtual screen in front of it.
//!
//! In: keys. Out: what a person would see ([`Pty::screen_text`], [`Pty::all_text`]), what was written
//! ([`Pty::raw`]), how it ended ([`Pty::exit_status`]).
//!
//! Invariants: every wait is for a state of the screen and ends the moment it is reached (a condition variable, no
//! sleeping); a wait that fails shows the screen. Like a real terminal it answers `CSI 6 n` (where the cursor is),
//! `CSI 5 n` (alive) and `CSI c` (which terminal), and for its background when it has been given one; other colours and
//! kitty's keyboard are not answered for. On drop the
//! program and all it left behind are killed, those that made a session of their own included.
//!
//! Absent on purpose: timing. A bench reads its own clock around these calls.

mod answers;
mod text;

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal};
use rustix::termios::Termios;

use super::await_true;
use super::home::{Home, PATIENCE};
use answers::Answers;
pub use text::cursor_line;
use text::{all_lines, all_text, framed, shown};

/// Lines kept above the screen.
const SCROLLBACK: usize = 10_000;

/// Asks where the cursor is.
const QUERY: &[u8] = b"\x1b[6n";

/// Marks every process that came from one [`Pty`], whatever became of its parents.
const MARK: &str = "IPYCODEX_TEST_PTY";

/// 80 columns, 24 rows.
pub const SIZE: (u16, u16) = (80, 24);

/// A running program and its terminal.
pub struct Pty {
    shared: Arc<Shared>,
    writer: Writer,
    master: Box<dyn MasterPty + Send>,
    device: PathBuf,
    process: u32,
    mark: String,
    /// How long the waits below wait; [`PATIENCE`] unless a test sets it.
    pub patience: Duration,
}

type Writer = Arc<Mutex<Box<dyn Write + Send>>>;

struct Shared {
    terminal: Mutex<Terminal>,
    changed: Condvar,
}

struct Terminal {
    parser: vt100::Parser<Answers>,
    raw: Vec<u8>,
    /// Sizes, behind how many bytes each was set.
    sizes: Vec<(usize, (u16, u16))>,
    /// What is written is kept, not drawn.
    undrawn: bool,
    /// No process holds the other side any more.
    closed: bool,
    exit: Option<ExitStatus>,
}

/// What was written to a terminal by some moment, and what it showed then.
pub struct Written {
    pub bytes: Vec<u8>,
    /// Sizes, behind how many bytes each was set; the first is that of the start.
    pub sizes: Vec<(usize, (u16, u16))>,
    /// Rows without the blanks at their ends.
    pub rows: Vec<String>,
    /// Row and column.
    pub cursor: (u16, u16),
}

impl Pty {
    /// Starts the program under test; `size` is columns and rows.
    pub fn spawn<S: AsRef<OsStr>>(home: &Home, arguments: &[S], size: (u16, u16)) -> Pty {
        Pty::spawn_program(
            home,
            Path::new(env!("CARGO_BIN_EXE_ipycodex")),
            arguments,
            size,
        )
    }

    /// Starts the program on a terminal that says that its background is this colour (`rgb:ffff/ffff/ffff`).
    pub fn spawn_on<S: AsRef<OsStr>>(
        home: &Home,
        arguments: &[S],
        size: (u16, u16),
        background: &str,
    ) -> Pty {
        let program = Path::new(env!("CARGO_BIN_EXE_ipycodex"));
        let background = Some(background.to_owned());
        Pty::start(home, program, arguments, size, background)
    }

    /// Starts any program in a home.
    pub fn spawn_program<S: AsRef<OsStr>>(
        home: &Home,
        program: &Path,
        arguments: &[S],
        size: (u16, u16),
    ) -> Pty {
        Pty::start(home, program, arguments, size, None)
    }

    fn start<S: AsRef<OsStr>>(
        home: &Home,
        program: &Path,
        arguments: &[S],
        size: (u16, u16),
        background: Option<String>,
    ) -> Pty {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.env_clear();
        for (name, value) in home.variables() {
            command.env(name, value);
        }
        command.env(MARK, &mark);
        command.cwd(home.work());

        let pair = native_pty_system()
            .openpty(pty_size(size))
            .unwrap_or_else(|error| panic!("no pseudo-terminal: {error}"));
        let device = pair.master.tty_name().expect("a new terminal has a name");
        let reader = pair
            .master
            .try_clone_reader()
            .expect("a new terminal can be read");
        let writer = pair.master.take_writer().expect("taken once");
        let writer: Writer = Arc::new(Mutex::new(writer));
        let shared = Arc::new(Shared {
            terminal: Mutex::new(Terminal {
                parser: vt100::Parser::new_with_callbacks(
                    at_least_one(size.1),
                    at_least_one(size.0),
                    SCROLLBACK,
                    Answers {
                        background,
                        ..Answers::default()
                    },
                ),
                raw: Vec::new(),
                sizes: vec![(0, size)],
                undrawn: false,
                closed: false,
                exit: None,
            }),
            changed: Condvar::new(),
        });
        let child = pair
            .slave
            .spawn_command(command)
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        // Our copy of the program's side goes, or its end could not be seen.
        drop(pair.slave);
        let process = child.process_id().expect("it has been started");
        let (answer, answers) = channel();
        thread::spawn({
            let shared = Arc::clone(&shared);
            move || read(&shared, &answer, reader)
        });
        // Not the reader's work: who writes keys may hold the writer until the program has written what it has to.
        thread::spawn({
            let writer = Arc::clone(&writer);
            move || {
                answers
                    .iter()
                    .for_each(|bytes: Vec<u8>| write(&writer, &bytes))
            }
        });
        thread::spawn({
            let shared = Arc::clone(&shared);
            move || wait(&shared, child)
        });
        Pty {
            shared,
            writer,
            master: pair.master,
            device,
            process,
            mark,
            patience: PATIENCE,
        }
    }

    /// Types text or key sequences, as they are.
    pub fn send(&self, keys: &str) {
        write(&self.writer, keys.as_bytes());
    }

    /// Sends keys, and returns once the program has read them: what is sent next comes in a read of its own.
    #[track_caller]
    pub fn send_and_await_read(&self, keys: &str) {
        self.send(keys);
        let device = self.open_device();
        await_true("the program reads", || {
            rustix::io::ioctl_fionread(&device).is_ok_and(|waiting| waiting == 0)
        });
    }

    /// Types text and Enter.
    pub fn send_line(&self, text: &str) {
        self.send(&format!("{text}\r"));
    }

    /// Waits until the screen shows `text`. A line the terminal wrapped counts as one.
    ///
    /// # Panics
    /// After [`Pty::patience`], or when the program ends without having shown it; the screen is shown.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("{text:?} on the screen"), |screen| {
            screen.contents().contains(text)
        });
    }

    /// Waits until the row of the cursor shows this and nothing else, see [`cursor_line`]; the cursor is not at the
    /// start of it, as it is while the program asks for its place.
    ///
    /// # Panics
    /// As [`Pty::wait_for`].
    #[track_caller]
    pub fn at_line(&self, line: &str) {
        self.wait_until(&format!("{line:?} at the cursor"), |screen| {
            let drawn = line.is_empty() || screen.cursor_position().1 > 0;
            drawn && cursor_line(screen).trim_end() == line.trim_end()
        });
    }

    /// Waits until the screen does not show `text`.
    ///
    /// # Panics
    /// As [`Pty::wait_for`].
    #[track_caller]
    pub fn wait_gone(&self, text: &str) {
        self.wait_until(&format!("{text:?} gone from the screen"), |screen| {
            !screen.contents().contains(text)
        });
    }

    /// Waits until `text` stands on the screen or has scrolled off above it; a line the terminal wrapped counts as one.
    ///
    /// # Panics
    /// As [`Pty::wait_for`].
    #[track_caller]
    pub fn wait_for_anywhere(&self, text: &str) {
        self.wait(&format!("{text:?} on the screen or above"), |terminal| {
            all_lines(&mut terminal.parser).contains(text)
        });
    }

    /// Waits until the screen is as `reached` wants it; `what` names it in a failure.
    ///
    /// # Panics
    /// As [`Pty::wait_for`].
    #[track_caller]
    pub fn wait_until(&self, what: &str, reached: impl Fn(&vt100::Screen) -> bool) {
        self.wait(what, |terminal| reached(terminal.parser.screen()));
    }

    /// Waits until these bytes have been written, at or after byte `from` of [`Pty::raw`]; returns where they end.
    ///
    /// # Panics
    /// As [`Pty::wait_for`].
    #[track_caller]
    pub fn wait_raw(&self, bytes: &[u8], from: usize) -> usize {
        let mut end = 0;
        self.wait(
            &format!("the bytes {:?}", String::from_utf8_lossy(bytes)),
            |terminal| {
                let found =
                    memchr::memmem::find(terminal.raw.get(from..).unwrap_or_default(), bytes);
                end = found.map_or(0, |start| from + start + bytes.len());
                found.is_some()
            },
        );
        end
    }

    #[track_caller]
    fn wait(&self, what: &str, mut reached: impl FnMut(&mut Terminal) -> bool) {
        let deadline = Instant::now() + self.patience;
        let mut terminal = self.terminal();
        loop {
            if reached(&mut terminal) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let over = terminal.closed && terminal.exit.is_some();
            if over || left.is_zero() {
                let reason = match &terminal.exit {
                    Some(status) => format!("the program ended ({status})"),
                    None => format!("{:?} have passed", self.patience),
                };
                let screen = framed(&mut terminal.parser);
                drop(terminal);
                panic!("waited for {what}, but {reason}. The terminal shows:\n{screen}");
            }
            let waited = self.shared.changed.wait_timeout(terminal, left);
            terminal = waited.expect("no reader panics").0;
        }
    }

    /// From now on what is written is kept, not drawn, so that a bench leaves the processor to what it measures: the
    /// screen stays as it is, and the cursor is said to be at the beginning of its last row.
    pub fn stop_drawing(&self) {
        self.terminal().undrawn = true;
    }

    /// Keeps back what the terminal says by itself until `act` has ended.
    pub fn unanswered<T>(&self, act: impl FnOnce() -> T) -> T {
        let _held = self.writer.lock();
        act()
    }

    /// What the screen shows, without blank lines at its end.
    pub fn screen_text(&self) -> String {
        self.terminal().parser.screen().contents()
    }

    /// What has scrolled off above the screen, and the screen.
    pub fn all_text(&self) -> String {
        all_text(&mut self.terminal().parser)
    }

    /// Asks the screen something: colours, cursor, modes.
    pub fn look<T>(&self, question: impl FnOnce(&vt100::Screen) -> T) -> T {
        question(self.terminal().parser.screen())
    }

    /// As [`Pty::all_text`]; a line that the terminal wrapped counts as one.
    pub fn all_lines(&self) -> String {
        all_lines(&mut self.terminal().parser)
    }

    /// The program's side of the terminal. While it is held the terminal keeps its mode, whoever leaves.
    pub fn open_device(&self) -> std::fs::File {
        let no_control = rustix::fs::OFlags::NOCTTY.bits();
        std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(i32::try_from(no_control).expect("a flag of open(2)"))
            .open(&self.device)
            .expect("our own terminal")
    }

    /// All bytes written so far.
    pub fn raw(&self) -> Vec<u8> {
        self.terminal().raw.clone()
    }

    /// All that was written so far, and what it left on the screen.
    pub fn written(&self) -> Written {
        let terminal = self.terminal();
        let (rows, cursor) = shown(terminal.parser.screen());
        Written {
            bytes: terminal.raw.clone(),
            sizes: terminal.sizes.clone(),
            rows,
            cursor,
        }
    }

    /// How many bytes were written so far.
    pub fn raw_length(&self) -> usize {
        self.terminal().raw.len()
    }

    /// Changes the size, as dragging a window does.
    pub fn resize(&self, columns: u16, rows: u16) {
        // Held over both, so that nothing drawn for the new size meets the old screen.
        let mut terminal = self.terminal();
        let behind = terminal.raw.len();
        terminal.sizes.push((behind, (columns, rows)));
        terminal
            .parser
            .set_size(at_least_one(rows), at_least_one(columns));
        let resized = self.master.resize(pty_size((columns, rows)));
        resized.unwrap_or_else(|error| panic!("cannot resize: {error}"));
    }

    /// From now on the terminal tells how large a cell is: its width and height in pixels.
    pub fn tell_cell(&self, (width, height): (u16, u16)) {
        let (rows, columns) = self.look(vt100::Screen::size);
        let size = PtySize {
            pixel_width: columns.get() * width,
            pixel_height: rows.get() * height,
            ..pty_size((columns.get(), rows.get()))
        };
        let told = self.master.resize(size);
        told.unwrap_or_else(|error| panic!("cannot tell the size of a cell: {error}"));
    }

    /// Waits for the end of the program.
    ///
    /// # Panics
    /// As [`Pty::wait_for`].
    pub fn exit_status(&self) -> ExitStatus {
        let mut status = None;
        self.wait("the end of the program", |terminal| {
            status.clone_from(&terminal.exit);
            status.is_some()
        });
        status.expect("the wait has seen it")
    }

    /// Waits until the program has ended and all that it wrote has been read.
    ///
    /// # Panics
    /// As [`Pty::wait_for`].
    pub fn read_to_end(&self) {
        self.wait("its last bytes", |terminal| {
            terminal.closed && terminal.exit.is_some()
        });
    }

    /// Where the terminal is found.
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// True once the program has ended.
    pub fn ended(&self) -> bool {
        self.terminal().exit.is_some()
    }

    /// How the terminal treats input at this moment.
    pub fn termios(&self) -> Termios {
        let device = self.open_device();
        rustix::termios::tcgetattr(&device).expect("our own terminal")
    }

    /// The process group the terminal belongs to at this moment.
    pub fn foreground(&self) -> u32 {
        let group = self.master.process_group_leader();
        group.map_or(0, |group| u32::try_from(group).expect("ids are positive"))
    }

    /// The process id of the program.
    pub fn pid(&self) -> u32 {
        self.process
    }

    /// Sends the program (alone) a signal; nothing once it has ended.
    pub fn signal(&self, signal: Signal) {
        let terminal = self.terminal();
        if terminal.exit.is_none() {
            let _ = rustix::process::kill_process(pid(self.process), signal);
        }
    }

    /// Every process that descends from the program, the program included, by id.
    pub fn processes(&self) -> Vec<u32> {
        let mark = format!("{MARK}={}", self.mark);
        marked_processes(mark.as_bytes())
    }

    fn terminal(&self) -> MutexGuard<'_, Terminal> {
        self.shared.terminal.lock().expect("no reader panics")
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // Until none is left: what forked while the list was read is in the next one. Bounded, because a process in an
        // uninterruptible sleep dies later.
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let left = self.processes();
            if left.is_empty() || Instant::now() > deadline {
                return;
            }
            for process in left {
                let _ = rustix::process::kill_process(pid(process), Signal::KILL);
            }
            thread::yield_now();
        }
    }
}

fn write(writer: &Writer, bytes: &[u8]) {
    let mut writer = writer.lock().expect("no writer panics");
    // A program that has left takes no keys; the wait that follows says so.
    let _ = writer.write_all(bytes).and_then(|()| writer.flush());
}

fn read(shared: &Shared, answer: &Sender<Vec<u8>>, mut reader: Box<dyn Read + Send>) {
    let mut buffer = [0; 65536];
    loop {
        let count = reader.read(&mut buffer).unwrap_or(0);
        let mut terminal = shared
            .terminal
            .lock()
            .expect("no waiter panics while it holds the lock");
        if count == 0 {
            terminal.closed = true;
            shared.changed.notify_all();
            return;
        }
        let bytes = &buffer[..count];
        terminal.raw.extend_from_slice(bytes);
        let answers = match terminal.undrawn {
            false => {
                terminal.parser.process(bytes);
                std::mem::take(&mut terminal.parser.callbacks_mut().pending)
            }
            true => {
                let behind = terminal.raw.len().saturating_sub(count + QUERY.len() - 1);
                let asked = memchr::memmem::find_iter(&terminal.raw[behind..], QUERY).count();
                let rows = terminal.parser.screen().size().0;
                format!("\x1b[{rows};1R").repeat(asked).into_bytes()
            }
        };
        drop(terminal);
        shared.changed.notify_all();
        if !answers.is_empty() {
            // Nobody takes it when the terminal is gone.
            let _ = answer.send(answers);
        }
    }
}

fn wait(shared: &Shared, mut child: Box<dyn Child + Send + Sync>) {
    let status = child.wait().expect("our own child");
    let mut terminal = shared
        .terminal
        .lock()
        .expect("no waiter panics while it holds the lock");
    terminal.exit = Some(status);
    drop(terminal);
    shared.changed.notify_all();
}

fn marked_processes(mark: &[u8]) -> Vec<u32> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    let is_marked = |process: &u32| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark)
    };
    numbers.filter(is_marked).collect()
}

fn pid(process: u32) -> Pid {
    let raw = i32::try_from(process).expect("process ids are positive");
    Pid::from_raw(raw).expect("process ids are positive")
}

fn at_least_one(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN)
}

fn pty_size((columns, rows): (u16, u16)) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

#[cfg(test)]
mod tests;
