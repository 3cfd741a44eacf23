//! The command line describes itself: completions for shells, manual pages, the version and how it was built.
//!
//! The first two are generated from the table of arguments, which is their only source; the last comes from variables
//! of the build. Absent on purpose: a build script.

use std::env::consts::{ARCH, OS};
use std::sync::LazyLock;

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

/// Returns the version and the facts of the build. Packagers set the commit in `IPYCODEX_COMMIT`.
pub(super) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let kind = match cfg!(debug_assertions) {
            true => "debug",
            false => "release",
        };
        let (version, rust) = (env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_RUST_VERSION"));
        let commit = option_env!("IPYCODEX_COMMIT").map(|commit| format!(", commit {commit}"));
        format!(
            "{version}\nbuild: {kind} for {ARCH}-{OS}, Rust {rust} or later{}",
            commit.unwrap_or_default()
        )
    });
    &VERSION
}
