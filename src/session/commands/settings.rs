//! `%ipycodex set`: the settings file read, changed and written on another thread; then the value is in force here.

use std::path::Path;

use serde_json::Value;

use crate::config::{ConfigFile, Setting, When};
use crate::magics::kept;
use crate::report::Report;
use crate::session::events::{Notice, ToldEvent};
use crate::session::run::RunSender;
use crate::session::task::{Session, notice};

impl Session {
    /// Writes a setting, or tells what stands in the file.
    pub(super) fn keep_setting(
        &mut self,
        name: &'static str,
        value: Option<Value>,
        out: &RunSender,
    ) {
        if let Some(trouble) = self.no_such_agent(name, value.as_ref()) {
            return out.send(notice(&trouble));
        }
        let file = self.setup.config_file.clone();
        let wanted = value.clone();
        let work = tokio::task::spawn_blocking(move || write(&file, name, wanted));
        self.firmly_later(out, work, move |session, written, out| {
            let failed = || Report::failure(format!("`{name}` could not be written"));
            match written.unwrap_or_else(|_| Err(failed())) {
                Err(report) => out.send(notice(&report)),
                Ok(stands) => {
                    out.send(ToldEvent::Text(kept(
                        name,
                        stands.as_ref(),
                        &session.setup.config_file,
                    )));
                    if let Some(value) = value {
                        session.put_into_force(name, &value, out);
                    }
                }
            }
        });
    }

    /// Why an agent of this choice cannot be had, when `agent` is what is set.
    fn no_such_agent(&self, name: &str, value: Option<&Value>) -> Option<Report> {
        let choice = value.filter(|_| name == "agent")?.as_str()?.parse().ok()?;
        (self.setup.agents)(&choice).err()
    }

    fn put_into_force(&mut self, name: &str, value: &Value, out: &RunSender) {
        let mut choices = self.choices.clone();
        let row = Setting::named(name).filter(|row| row.when == When::Now);
        if row.is_none_or(|row| row.set_from(&mut choices, value).is_err()) {
            let message = "from the next start on";
            return out.send(Notice::note(message));
        }
        if name == "agent" {
            self.use_agent(choices.agent, out);
        } else {
            self.choices = choices;
        }
    }
}

/// Sets `name` in the file of this moment; what stands there then.
fn write(file: &Path, name: &str, value: Option<Value>) -> Result<Option<Value>, Report> {
    let (mut file, broken) = ConfigFile::read(file);
    match (value, broken) {
        (None, Some(report)) => return Err(report),
        // A file that is not understood is not written, and the reason is said.
        (Some(value), _) => file.save(name, value)?,
        (None, None) => {}
    }
    Ok(file.get(name).cloned())
}
