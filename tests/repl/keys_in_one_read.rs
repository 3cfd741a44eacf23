//! Keys that come in one read: with one that hands over to us, with Enter, with Ctrl-C. None is lost, all stay in
//! order.

use crate::support::pty::cursor_line;

use super::shell::Shell;

#[test]
fn keys_behind_one_that_hands_over_are_not_lost() {
    let shell = Shell::new();
    shell.pty.send("a\x1bpb\x1bpc");
    shell.at_with(1, "abc");
    shell.pty.send("\x15");
    shell.at(1);
    // Nothing to recall: what is typed goes on.
    shell.pty.send("1\x1br + 1\x0f\x1b!\r");
    shell.pty.wait_for("Out[1]: 2");
    shell.at(2);
}

#[test]
fn keys_behind_enter_come_before_what_is_typed_later() {
    let shell = Shell::new();
    for number in 1..6 {
        shell.at(number);
        let go = shell.home.work().join("go");
        let _ = std::fs::remove_file(&go);
        shell.pty.send(
            "import os, time; print('be' + 'gun'); [time.sleep(0.01) for _ in iter(lambda: os.path.exists('go'), \
             True)]\r.he\x1b[D\x1b[Dl",
        );
        shell.pty.wait_until("the cell at work", |screen| {
            cursor_line(screen).is_empty() && screen.contents().trim_end().ends_with("begun")
        });
        shell.pty.send("lo");
        shell.home.write("go", "");
        shell.at_with(number + 1, ".llohe");
        shell.pty.send("\x05\x15");
    }
}

#[test]
fn whole_cells_behind_enter_run_in_order() {
    let shell = Shell::new();
    shell.pty.send("a = 1\rif a:\ra += 1\r\ra * 21\rx");
    shell.pty.wait_for("Out[3]: 42");
    shell.at_with(4, "x");
    assert_eq!(shell.inputs(3).len(), 3);
}

#[test]
fn ctrl_c_behind_enter_interrupts_what_was_begun() {
    let shell = Shell::new();
    shell.pty.send("while True: pass\rlost\x03kept");
    shell.pty.wait_for("KeyboardInterrupt");
    shell.at_with(2, "kept");
}
