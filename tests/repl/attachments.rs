//! Files that a prompt names with `@`, completed with Tab and sent; prompts sent once more with `.!`.

use super::shell::Shell;
use crate::support::home::Home;

/// What went with the prompts, as the record has it.
fn expansions(shell: &Shell) -> Vec<String> {
    let record = shell.record();
    let mut rows = record
        .prepare("select expansion from ipycodex_turns order by id")
        .unwrap();
    let rows = rows.query_map([], |row| row.get::<_, Option<String>>(0));
    let rows = rows.unwrap().map(|row| row.unwrap().unwrap_or_default());
    rows.collect()
}

#[test]
fn a_file_is_completed_sent_and_recorded_and_the_prompt_repeated() {
    let home = Home::new();
    home.write("data one.csv", "a,b\n1,<2>\n");
    let shell = Shell::of(home);
    shell.pty.send(".what is in @da\t");
    shell.shows(r"what is in @data\ one.csv");
    shell.pty.send(" and @none/x.txt?\r");
    shell.shows("there is no file `none/x.txt?`: nothing is attached for it");
    shell.shows("In [2]:");
    shell.cell(2, ".!");
    shell.shows("again: what is in");
    let prompts: Vec<String> = shell
        .answers(2)
        .into_iter()
        .map(|(prompt, _)| prompt)
        .collect();
    let asked = r"what is in @data\ one.csv and @none/x.txt?";
    assert_eq!(prompts, [asked, asked]);
    let sent = "<file path=\"data one.csv\">a,b\n1,&lt;2&gt;\n</file>\n";
    assert_eq!(expansions(&shell), [sent, sent]);
}

#[test]
fn what_was_copied_is_attached_and_a_large_picture_made_smaller() {
    let home = Home::new();
    let wide = home.write("wide.png", png(3000, 2));
    let script = "#!/bin/sh\ncase $2 in image/png) exec cat '%';; *) exit 1;; esac\n";
    let script = script.replace('%', wide.to_str().unwrap());
    home.install_script("wl-paste", &script);
    let shell = Shell::of(home);
    shell.pty.send_line(".what is @clipboard?");
    // The picture is all the prompt has, and this agent sees none.
    shell.pty.wait_for("▸ n no");
    shell.pty.send("y");
    shell.at(2);
    shell.shows("`clipboard` is too large for the model: 3000×2, made smaller: 2048×1");
    shell.answers(1);
    let sent = "<file path=\"clipboard\">[image/png 3000×2, made smaller: 2048×1]</file>\n";
    assert_eq!(expansions(&shell), [sent]);
    let count = "select count(*) from ipycodex_outputs where picture is not null";
    let kept: i64 = shell
        .record()
        .query_row(count, [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 1);
}

#[test]
fn a_clipboard_that_does_not_answer_is_not_waited_for() {
    let home = Home::new();
    home.install_script("xclip", "#!/bin/sh\nexec sleep 600\n");
    home.install_script("wl-paste", "#!/bin/sh\nexit 1\n");
    let shell = Shell::of(home);
    shell.cell(1, ".what is @clipboard?");
    shell.shows("`clipboard` is not attached: `xclip` did not answer within 2 s");
    shell.answers(1);
}

/// A grey picture.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    let data = vec![128; (width * height) as usize];
    writer.write_image_data(&data).unwrap();
    writer.finish().unwrap();
    file
}
