//! The command line describes itself: completions for shells, manual pages.
//!
//! Both are generated from the table of arguments, which is their only source.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::args::Arguments;
use crate::environment::Environment;
use crate::screen::{ColorChoice, Screen};
use crate::text::report::Report;

const NAME: &str = "ipycodex";

pub(super) fn completions(shell: Shell, environment: &Environment) -> Result<i32, Report> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), NAME, &mut text);
    print(&text, environment)
}

/// Prints the manual page of the program, or of the command that these words name.
pub(super) fn manual(words: &[String], environment: &Environment) -> Result<i32, Report> {
    let mut command = Arguments::command();
    command.build();
    let mut page: &Command = &command;
    for word in words {
        let known = page.get_subcommands().filter(|known| !known.is_hide_set());
        let names: Vec<&str> = known.map(Command::get_name).collect();
        page = page.find_subcommand(word).ok_or_else(|| {
            let report = Report::usage(format!("there is no command `{word}`"));
            match names.is_empty() {
                true => report,
                false => report.hint(format!("the commands are {}", names.join(", "))),
            }
        })?;
    }
    let mut text = Vec::new();
    Man::new(page.clone())
        .render(&mut text)
        .map_err(|error| Report::failure("the page cannot be made").because(error))?;
    print(&text, environment)
}

fn print(text: &[u8], environment: &Environment) -> Result<i32, Report> {
    let screen = Screen::open(environment, ColorChoice::Auto)?;
    screen.write_trusted(text)?;
    screen.flush()?;
    Ok(0)
}
