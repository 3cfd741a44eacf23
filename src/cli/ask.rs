//! `ask`: one prompt, the answer on standard output.
//!
//! In: the prompt, piped text, files and pictures. Out: the answer as text or JSON, and the exit code.

use std::path::Path;

use serde_json::Value;

use crate::agent::InputPart;
use crate::assemble::{Assembly, SessionOptions, assemble};
use crate::batch;
use crate::cli::args::{Arguments, Ask};
use crate::cli::resume;
use crate::cli::session::{self, LEAVE, open_socket};
use crate::environment::Environment;
use crate::input::Mode;
use crate::picture::for_model;
use crate::schema::AnswerSchema;
use crate::session::Submission;
use crate::text::escape::xml_text;
use crate::text::report::Report;

/// Maximum size in bytes of a file given as context; an agent accepts about 1,000,000 characters.
const LARGEST_FILE: u64 = 1 << 20;

/// Maximum size of a picture in bytes.
const LARGEST_IMAGE: u64 = 64 << 20;

pub(super) fn run(
    ask: &Ask,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let schema = schema(ask)?;
    let (mut prompt, said) = submission(ask, environment)?;
    let schema = schema.map(|(given, schema)| {
        prompt.schema = Some(given);
        schema
    });
    let usual = session::options(&arguments.common, false)?;
    let wanted = SessionOptions {
        resume: match &ask.session {
            Some(name) => Some(resume::number(name, arguments, environment)?),
            None => resume::named(arguments, environment)?,
        },
        runtime_at_once: false,
        ..usual
    };
    let Assembly {
        session,
        background,
        screen,
        appearance,
        pictures,
        reports,
        settings,
        ..
    } = assemble(environment, wanted)?;
    let _socket = open_socket(&session, &settings, environment);
    session.warm_agent();
    reports
        .iter()
        .try_for_each(|report| screen.print_report(report))?;
    for line in said {
        screen.print_notice(&format!("note: {line}"))?;
    }
    let options = batch::BatchOptions {
        silent: false,
        timeout: None,
        set_up: !arguments.common.ipython().is_empty(),
        load: Vec::new(),
        screen,
        appearance,
        pictures,
        terminal: environment.stdout_is_terminal,
        stop: true,
        may_raise: Vec::new(),
        stdin_is_free: false,
    };
    let status = batch::ask(&session, prompt, schema.as_ref(), ask.json, &options);
    session.close(LEAVE);
    batch::drain(&background, &options)?;
    options.screen.flush()?;
    status
}

/// Returns the prompt with its attachments, and notices about them.
fn submission(ask: &Ask, environment: &Environment) -> Result<(Submission, Vec<String>), Report> {
    let piped = if environment.stdin_is_terminal {
        String::new()
    } else {
        batch::standard_input()?
    };
    let (prompt, context) = match &ask.prompt {
        Some(prompt) => (prompt.clone(), piped),
        None => (piped, String::new()),
    };
    if prompt.trim().is_empty() {
        return Err(
            Report::usage("there is nothing to ask").hint("ipycodex ask \"why is the sky blue?\"")
        );
    }
    let mut attached = Vec::new();
    if !context.trim().is_empty() {
        attached.push(InputPart::Text(format!(
            "<stdin>{}</stdin>\n",
            xml_text(&context)
        )));
    }
    for path in &ask.files {
        let text = batch::as_text(read(path, LARGEST_FILE)?, &format!("`{}`", path.display()))?;
        let path = path.display().to_string();
        attached.push(InputPart::File { path, text });
    }
    let mut said = Vec::new();
    for path in &ask.images {
        let (url, smaller) = image(path)?;
        attached.push(InputPart::Image(url));
        said.extend(smaller);
    }
    // The dot makes the text a prompt whatever its first character; in prompt mode it causes no notice about dots.
    let submission = Submission {
        text: format!(".{}", prompt.trim_end()),
        mode: Mode::Prompts,
        attached,
        ..Submission::default()
    };
    Ok((submission, said))
}

fn schema(ask: &Ask) -> Result<Option<(Value, AnswerSchema)>, Report> {
    let Some(path) = &ask.schema else {
        return Ok(None);
    };
    let schema: Value = serde_json::from_slice(&read(path, LARGEST_FILE)?).map_err(|error| {
        Report::failure(format!("`{}` is not JSON", path.display())).because(error)
    })?;
    if !schema.is_object() {
        return Err(Report::failure(format!(
            "`{}` is not a JSON schema: it must be an object",
            path.display()
        )));
    }
    match AnswerSchema::new(&schema) {
        Ok(read) => Ok(Some((schema, read))),
        Err(why) => {
            Err(Report::usage(format!("`{}` is not a JSON schema", path.display())).because(why))
        }
    }
}

/// Returns the picture as a `data:` URL, and a notice if it was scaled down.
fn image(path: &Path) -> Result<(String, Option<String>), Report> {
    let shown = path.display();
    let (url, smaller) = for_model(&read(path, LARGEST_IMAGE)?).map_err(|why| {
        Report::failure(format!("`{shown}` is not a picture an agent takes"))
            .because(why)
            .hint("give a PNG, JPEG, GIF or WebP file")
    })?;
    let said = smaller.map(|made| format!("`{shown}` is too large for the model: {made}"));
    Ok((url, said))
}

fn read(path: &Path, largest: u64) -> Result<Vec<u8>, Report> {
    let failed =
        |error| Report::failure(format!("cannot read `{}`", path.display())).because(error);
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > largest {
        return Err(Report::failure(format!(
            "`{}` is too large: {size} bytes, at most {largest} are sent",
            path.display()
        )));
    }
    std::fs::read(path).map_err(failed)
}
