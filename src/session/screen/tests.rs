//! The writer: bytes that pass, bytes that are refused, and a closed reader.

use super::*;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

fn environment(variables: &[(&str, &str)], terminal: bool) -> Environment {
    Environment {
        variables: variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        stdout_is_terminal: terminal,
        stderr_is_terminal: terminal,
        ..Environment::default()
    }
}

fn piped() -> (Screen, OwnedFd, OwnedFd) {
    let (out_read, out) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let (err_read, err) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let screen = Screen::over(
        Sink::for_fd(&out).unwrap(),
        Sink::for_fd(&err).unwrap(),
        &environment(&[("COLUMNS", "33")], false),
        ColorChoice::Auto,
    );
    (screen, out_read, err_read)
}

fn all(fd: OwnedFd) -> String {
    let mut text = String::new();
    File::from(fd).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn trusted_untrusted_and_cell_bytes_are_filtered_differently() {
    let (screen, out, err) = piped();
    screen.write_trusted(b"\x1b[1mours\x1b[0m\n").unwrap();
    screen
        .write_untrusted("theirs\x1b[31m\x1b]52;c;x\x07\r\n")
        .unwrap();
    let mut filter = Filter::new(Policy::Cell);
    screen.write_cell(&mut filter, b"cell \x1b[3").unwrap();
    screen.write_cell(&mut filter, b"1mred\x1b[2J").unwrap();
    screen.end_cell(&mut filter, true).unwrap();
    screen.print_notice("odd \x1b[31m name").unwrap();
    screen
        .print_report(&Report::failure("it failed").hint("try"))
        .unwrap();
    let mut closed = Report::failure("closed");
    closed.kind = ReportKind::BrokenPipe;
    screen.print_report(&closed).unwrap();
    drop(screen);
    assert_eq!(
        all(out),
        "\x1b[1mours\x1b[0m\ntheirs\ncell \x1b[31mred\x1b[0m\n"
    );
    assert_eq!(all(err), "odd ^[[31m name\nerror: it failed\n  hint: try\n");
}

#[test]
fn a_closed_pipe_stays_closed() {
    let (screen, out, err) = piped();
    drop(out);
    screen.write_trusted(b"lost").unwrap();
    assert!(matches!(screen.flush(), Err(ScreenError::Closed)));
    assert!(matches!(
        screen.write_trusted(b"more"),
        Err(ScreenError::Closed)
    ));
    let report = Report::from(screen.flush().unwrap_err());
    assert_eq!(report.exit_code(), 0);
    screen.print_notice("still said").unwrap();
    drop(screen);
    assert_eq!(all(err), "still said\n");
}

#[test]
fn a_full_disk_is_an_error_of_its_own() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut sink = Sink::for_fd(&full).unwrap();
    sink.write(b"x").unwrap();
    assert!(matches!(sink.flush(), Err(ScreenError::Write(_))));
    assert!(matches!(
        sink.write(&vec![b'x'; 1 << 20]),
        Err(ScreenError::Write(_))
    ));
}

#[test]
fn a_pipe_that_does_not_block_is_waited_for() {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    rustix::io::ioctl_fionbio(&read, false).unwrap();
    let mut sink = Sink::for_fd(&write).unwrap();
    drop(write);
    let reader = std::thread::spawn(move || all(read).len());
    let bytes = vec![b'x'; 1 << 20];
    sink.write(&bytes).unwrap();
    drop(sink);
    assert_eq!(reader.join().unwrap(), bytes.len());
}

#[test]
fn who_gets_colours() {
    let check = |variables: &[(&str, &str)], terminal, choice, expected| {
        let environment = environment(variables, terminal);
        assert_eq!(
            wants_colour(&environment, choice, terminal),
            expected,
            "{variables:?} {terminal} {choice:?}"
        );
    };
    use ColorChoice::{Always, Auto, Never};
    check(&[("TERM", "xterm")], true, Auto, true);
    check(&[("TERM", "xterm")], false, Auto, false);
    check(&[("TERM", "dumb")], true, Auto, false);
    check(&[], true, Auto, false);
    check(&[("TERM", "xterm"), ("NO_COLOR", "1")], true, Auto, false);
    check(&[("TERM", "xterm"), ("NO_COLOR", "")], true, Auto, true);
    check(&[("CLICOLOR_FORCE", "1")], false, Auto, true);
    check(&[("CLICOLOR_FORCE", "0")], false, Auto, false);
    check(
        &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")],
        true,
        Auto,
        false,
    );
    check(&[("NO_COLOR", "1")], false, Always, true);
    check(&[("TERM", "xterm")], true, Never, false);
}

#[test]
fn a_size_is_always_known() {
    let (screen, _out, _err) = piped();
    let size = screen.size();
    assert!(size.columns > 0 && size.rows > 0);
}
