//! The kernels' entries in Jupyter's lists: kernelspecs that start this program.
//!
//! Invariant: what is taken away is ours; a kernelspec of the same name that starts something else stays.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::files::{FileMode, write_whole};
use crate::report::Report;

/// The kernels there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelKind {
    /// Cells of Python and prompts.
    Cells,
    /// Prompts to an agent of the Agent Client Protocol.
    AgentClient,
}

impl KernelKind {
    /// The name of its folder, by which clients ask for it.
    pub fn name(self) -> &'static str {
        match self {
            KernelKind::Cells => "ipycodex",
            KernelKind::AgentClient => "agentclient",
        }
    }

    /// What it is called in lists, and its language.
    pub fn shown(self) -> (&'static str, &'static str) {
        match self {
            KernelKind::Cells => ("ipycodex (Python + AI)", "python"),
            KernelKind::AgentClient => ("Agent Client Protocol", "agent"),
        }
    }
}

/// Where kernelspecs lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelPlace(pub PathBuf);

/// An installed kernel of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledKernel {
    /// Its folder.
    pub folder: PathBuf,
    /// What starts it.
    pub argv: Vec<String>,
}

/// Writes the kernelspec: this program, with these arguments; the folder it lies in.
///
/// # Errors
/// The folder cannot be written, or holds a kernel that is not ours.
pub fn install(
    place: &KernelPlace,
    kind: KernelKind,
    program: &Path,
    arguments: &[String],
) -> Result<PathBuf, Report> {
    let folder = place.folder(kind);
    if folder.join("kernel.json").exists() && ours(&folder).is_none() {
        let what = format!("`{}` starts another program", folder.display());
        return Err(Report::failure(what).hint("move it away, or install with another `--prefix`"));
    }
    let failed = |error: std::io::Error| {
        let report = Report::failure(format!("cannot write `{}`", folder.display()));
        let report = match error.kind() {
            ErrorKind::PermissionDenied => report.hint("`--user` installs it for you alone"),
            _ => report,
        };
        report.because(error)
    };
    let mut argv = vec![program.display().to_string(), "kernel".to_owned()];
    argv.extend(arguments.iter().cloned());
    argv.extend(["-f".to_owned(), "{connection_file}".to_owned()]);
    let (display_name, language) = kind.shown();
    let spec = json!({
        "argv": argv,
        "display_name": display_name,
        "language": language,
        "interrupt_mode": "message",
        "env": {},
        "metadata": {"debugger": false},
    });
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let text = format!("{spec:#}\n");
    write_whole(&folder.join("kernel.json"), text.as_bytes(), FileMode::Keep)?;
    Ok(folder)
}

/// Takes it away; false when there was none.
///
/// # Errors
/// It is not ours, or cannot be removed.
pub fn uninstall(place: &KernelPlace, kind: KernelKind) -> Result<bool, Report> {
    let folder = place.folder(kind);
    if !folder.join("kernel.json").exists() {
        return Ok(false);
    }
    if ours(&folder).is_none() {
        let what = format!("`{}` starts another program: it stays", folder.display());
        return Err(Report::failure(what));
    }
    std::fs::remove_dir_all(&folder).map_err(|error| {
        Report::failure(format!("cannot remove `{}`", folder.display())).because(error)
    })?;
    Ok(true)
}

/// Those of these places.
pub fn installed(places: &[KernelPlace]) -> Vec<InstalledKernel> {
    let kinds = [KernelKind::Cells, KernelKind::AgentClient];
    let folders = places
        .iter()
        .flat_map(|place| kinds.map(|kind| place.folder(kind)));
    folders
        .filter_map(|folder| {
            let argv = ours(&folder)?;
            Some(InstalledKernel { folder, argv })
        })
        .collect()
}

impl KernelPlace {
    fn folder(&self, kind: KernelKind) -> PathBuf {
        self.0.join("kernels").join(kind.name())
    }
}

/// What the kernelspec in a folder starts, if that is a program of our name.
fn ours(folder: &Path) -> Option<Vec<String>> {
    let text = std::fs::read(folder.join("kernel.json")).ok()?;
    let spec: Value = crate::text::json::parse(&text).ok()?;
    let words = spec.get("argv")?.as_array()?;
    let words: Vec<String> = words
        .iter()
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect();
    let kernel = words.get(1).is_some_and(|word| word == "kernel");
    kernel.then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_comes_and_goes_and_what_is_not_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = KernelPlace(folder.path().join("jupyter"));
        let program = Path::new("/bin/ipycodex");
        let arguments = ["--python".to_owned(), "/p".to_owned()];
        let written = install(&place, KernelKind::Cells, program, &arguments).unwrap();
        let argv = [
            "/bin/ipycodex",
            "kernel",
            "--python",
            "/p",
            "-f",
            "{connection_file}",
        ];
        let found = installed(std::slice::from_ref(&place));
        assert_eq!(
            (found[0].folder.as_path(), found[0].argv.as_slice()),
            (written.as_path(), &argv.map(str::to_owned)[..])
        );
        let cells = KernelKind::Cells;
        let of_agent = install(&place, KernelKind::AgentClient, program, &[]).unwrap();
        assert!(of_agent.ends_with("kernels/agentclient"));
        assert_eq!(installed(std::slice::from_ref(&place)).len(), 2);
        assert_eq!(uninstall(&place, KernelKind::AgentClient).ok(), Some(true));
        assert!(install(&place, cells, program, &[]).is_ok());
        assert_eq!(uninstall(&place, cells).ok(), Some(true));
        assert_eq!(uninstall(&place, cells).ok(), Some(false));
        std::fs::create_dir_all(&written).unwrap();
        std::fs::write(
            written.join("kernel.json"),
            r#"{"argv": ["python", "-m", "x"]}"#,
        )
        .unwrap();
        assert!(install(&place, cells, program, &[]).is_err());
        assert!(uninstall(&place, cells).is_err());
        assert!(installed(&[place]).is_empty());
    }
}
