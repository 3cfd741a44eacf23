//! The real peers, fetched once by whoever needs them first: Codex from npm, IPython and its kin from PyPI.
//!
//! In: `npm`, `python3` and the package registries, through their ordinary clients and their own caches and mirrors.
//! Out: paths of programs in `target/peers`.
//!
//! Invariants: versions are pinned; one process fetches at a time (a lock file); a peer counts as fetched when its
//! stamp has been written, which is the last step, so a fetch cut short is taken up again. Python peers are
//! byte-compiled, or they look slower than they are.
//!
//! What cannot be had skips its tests and says so; with `CI=true` it fails them.

pub mod jupyter;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const CODEX: &str = "0.169.0";

const PYTHON: [&str; 4] = [
    "ipython==9.18.1",
    "ipykernel==7.4.0",
    "jupyter_client==8.10.0",
    "rich==15.0.0",
];

/// What draws pictures and tables, with IPython for the engine that has it.
const FIGURES: [&str; 5] = [
    "ipython==9.18.1",
    "matplotlib==3.11.2",
    "pandas==3.1.1",
    "pillow==13.0.0",
    "sympy==1.14.0",
];

/// Kernels of two languages, and what serves them over HTTP.
const KERNELS: [&str; 4] = [
    "ipykernel==7.4.0",
    "ipython==9.18.1",
    "bash_kernel==0.10.0",
    "jupyter_kernel_gateway==3.0.1",
];

/// An agent of the Agent Client Protocol that works with the pinned Codex.
const CODEX_ACP: &str = "@agentclientprotocol/codex-acp@2.6.0";

/// What IPython's own tests run in; they are in its source distribution only.
const IPYTHONS_TESTS: [&str; 4] = [
    "ipython==9.18.1",
    "pytest==9.2.0",
    "pytest-asyncio==1.5.0",
    "testpath==0.6.0",
];

/// What reads, checks and runs notebooks.
const NOTEBOOKS: [&str; 4] = [
    "nbformat==5.11.1",
    "nbclient==0.11.0",
    "ipykernel==7.4.0",
    "ipython==9.18.1",
];

/// What speaks to kernels: the reference library, its conformance tests, a console, and objects with messages.
const CLIENTS: [&str; 8] = [
    "jupyter_kernel_test==0.7.0",
    "jupyter_console==6.6.3",
    "nbclient==0.11.0",
    "ipykernel==7.4.0",
    "ipython==9.18.1",
    "ipywidgets==8.1.9",
    "tqdm==4.70.1",
    "nbconvert==7.17.2",
];

/// What opens notebooks as people do, and what they use there.
const LAB: [&str; 6] = [
    "jupyterlab==4.6.6",
    "ipykernel==7.4.0",
    "ipywidgets==8.1.9",
    "ipympl==0.10.0",
    "matplotlib==3.11.2",
    "tqdm==4.70.1",
];

/// Chromium without a screen, what drives it, and a font for what its own lack.
const BROWSER: [&str; 3] = [
    "@sparticuz/chromium@147.0.0",
    "puppeteer-core@24.43.1",
    "@fontsource/noto-emoji@5.3.2",
];

/// The reference library of agent skills, whose command is `agentskills`.
const SKILLS: [&str; 2] = ["skills-ref==0.1.1", "strictyaml==1.7.3"];

/// The reference client of the Model Context Protocol.
const MCP: [&str; 1] = ["mcp==2.3.0"];

/// A validator of schemas, and what has types with schemas of their own.
const SCHEMAS: [&str; 6] = [
    "jsonschema==4.26.0",
    "pydantic==2.14.4",
    "attrs==26.1.0",
    "msgspec==0.22.0",
    "numpy==2.4.6",
    "pandas==3.1.1",
];

/// What brings notebooks along, in its wheel.
const STRANGERS: [&str; 4] = [
    "holoviews==1.15.4",
    "hvplot==0.8.2",
    "nbdime==4.0.2",
    "geoviews==1.9.6",
];

/// Codex as npm ships it: the native program where it is found, else npm's wrapper.
pub fn codex() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(fetch_codex);
    have("the pinned Codex", &FOUND)
}

/// codex-acp as npm ships it, without a Codex of its own: it takes the one `CODEX_PATH` names.
pub fn codex_acp() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let folder = peers_folder().join("codex-acp");
        fetched(&folder, CODEX_ACP, || {
            install_packages(&folder, &["--omit=optional", CODEX_ACP])
        })?;
        Ok(folder.join("node_modules/.bin/codex-acp"))
    });
    have("codex-acp", &FOUND)
}

/// The Python of an environment with IPython, ipykernel, jupyter_client and Rich.
pub fn python() -> Option<PathBuf> {
    have("Python with IPython", ipython_environment())
}

/// The Python of an environment with an older IPython.
pub fn ipython_8() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| fetch_environment("ipython-8", &["ipython==8.37.0"], "IPython"));
    have("Python with IPython 8", &FOUND)
}

/// The Python of an environment that can run IPython's own tests, and the folder of IPython's sources they are in.
pub fn ipythons_tests() -> Option<(PathBuf, PathBuf)> {
    static FOUND: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| fetch_environment("ipython-tests", &IPYTHONS_TESTS, "IPython, pytest"));
    static SOURCES: LazyLock<Result<PathBuf, String>> = LazyLock::new(fetch_ipythons_sources);
    Some((
        have("Python with pytest", &FOUND)?,
        have("the sources of IPython", &SOURCES)?,
    ))
}

/// The Python of an environment with matplotlib, pandas, Pillow, SymPy and IPython.
pub fn figures() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let modules = "IPython, matplotlib.pyplot, pandas, PIL, sympy";
        fetch_environment("figures", &FIGURES, modules)
    });
    have("Python with matplotlib", &FOUND)
}

/// The Python of an environment with nbformat, nbclient and ipykernel.
pub fn notebook_python() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        fetch_environment("notebooks", &NOTEBOOKS, "nbformat, nbclient, ipykernel")
    });
    have("Python with nbformat", &FOUND)
}

/// The Python of an environment with maturin, which builds wheels, and uv, which runs them.
pub fn maturin() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        fetch_environment("maturin", &["maturin==1.16.0", "uv==0.13.9"], "maturin, uv")
    });
    have("maturin and uv", &FOUND)
}

/// A command of Cargo that compiles C for other systems with zig, which is beside it.
pub fn zigbuild() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let packages = ["cargo-zigbuild==0.24.1", "ziglang==0.17.1"];
        fetch_environment("zig", &packages, "ziglang")
    });
    let python = have("cargo-zigbuild", &FOUND)?;
    Some(python.with_file_name("cargo-zigbuild"))
}

/// The Python of an environment with JupyterLab and widgets.
pub fn lab() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| fetch_environment("lab", &LAB, "jupyterlab, ipykernel, ipympl, tqdm"));
    have("JupyterLab", &FOUND)
}

/// A folder of packages of npm that drive a browser, and the browser.
pub fn browser() -> Option<(PathBuf, PathBuf)> {
    static PACKAGES: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let folder = peers_folder().join("browser");
        fetched(&folder, &BROWSER.join(" "), || {
            install_packages(&folder, &BROWSER)
        })?;
        Ok(folder)
    });
    static UNPACKED: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let folder = peers_folder().join("chromium");
        fetched(&folder, BROWSER[0], || {
            let unpack = "import('@sparticuz/chromium').then((it) => it.default.executablePath())";
            run(Command::new("node")
                .args(["-e", unpack])
                .current_dir(PACKAGES.as_ref()?)
                .env("TMPDIR", &folder))
        })?;
        Ok(folder.join("chromium"))
    });
    Some((
        have("what drives a browser", &PACKAGES)?,
        have("a browser", &UNPACKED)?,
    ))
}

/// The Python of an environment with clients of kernels.
pub fn clients() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let modules = "jupyter_kernel_test, jupyter_console, nbclient, ipywidgets, tqdm";
        fetch_environment("clients", &CLIENTS, modules)
    });
    have("clients of kernels", &FOUND)
}

/// The Python of an environment with the kernels `python3` and `bash`.
pub fn kernels() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let python = fetch_environment("kernels", &KERNELS, "ipykernel, bash_kernel")?;
        let folder = peers_folder().join("kernels/share");
        fetched(&folder, "bash", || {
            let install = ["-m", "bash_kernel.install", "--sys-prefix"];
            run(Command::new(&python).args(install))
        })?;
        Ok(python)
    });
    have("the kernels of Python and Bash", &FOUND)
}

/// The Python of an environment with the reference validator of agent skills.
pub fn skills_reference() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| fetch_environment("skills-ref", &SKILLS, "skills_ref"));
    have("the validator of agent skills", &FOUND)
}

/// The Python of an environment with the reference client of the Model Context Protocol.
pub fn mcp_reference() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| fetch_environment("mcp", &MCP, "mcp"));
    have("the reference client of MCP", &FOUND)
}

/// The Python of an environment with a validator of JSON schemas, and what makes some.
pub fn schemas() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let modules = "jsonschema, pydantic, attr, msgspec, numpy, pandas";
        fetch_environment("schemas", &SCHEMAS, modules)
    });
    have("a validator of schemas", &FOUND)
}

/// Notebooks that other people wrote, in order.
pub fn strangers() -> Option<Vec<PathBuf>> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(fetch_strangers);
    let mut found = Vec::new();
    let mut folders = vec![have("notebooks of other packages", &FOUND)?];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(suffix) if suffix == "ipynb" => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    Some(found)
}

/// As [`python`], or why it cannot be had.
pub fn ipython_environment() -> &'static Result<PathBuf, String> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(fetch_python);
    &FOUND
}

/// The pinned versions of those who are measured.
pub fn versions() -> String {
    let mut all: Vec<String> = PYTHON
        .iter()
        .chain(&NOTEBOOKS)
        .map(|pin| pin.replace("==", " "))
        .collect();
    all.push(format!("codex {CODEX}"));
    all.sort_unstable();
    all.dedup();
    all.join(", ")
}

/// A Python that has no IPython.
///
/// # Panics
/// When there is no `python3` at all: nothing can be tested without one.
pub fn plain_python() -> PathBuf {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(find_plain_python);
    FOUND
        .clone()
        .unwrap_or_else(|why| panic!("no Python without IPython: {why}"))
}

fn have(what: &str, found: &Result<PathBuf, String>) -> Option<PathBuf> {
    match found {
        Ok(path) => Some(path.clone()),
        Err(why) if std::env::var("CI").is_ok_and(|value| value == "true") => {
            panic!("{what} cannot be had, and CI skips nothing: {why}")
        }
        Err(why) => {
            eprintln!("skipped: {what} cannot be had: {why}");
            None
        }
    }
}

fn fetch_codex() -> Result<PathBuf, String> {
    let folder = peers_folder().join(format!("codex-{CODEX}"));
    fetched(&folder, CODEX, || {
        install_packages(&folder, &[&format!("@openai/codex@{CODEX}")])
    })?;
    let packages = folder.join("node_modules");
    let native = native_codex(&packages.join("@openai"));
    let program = native.unwrap_or_else(|| packages.join(".bin/codex"));
    let version = output(Command::new(&program).arg("--version"))?;
    if version.contains(CODEX) {
        Ok(program)
    } else {
        Err(format!("{} says it is {version:?}", program.display()))
    }
}

/// Packages of npm, below `folder`.
fn install_packages(folder: &Path, packages: &[&str]) -> Result<(), String> {
    let options = ["--no-audit", "--no-fund", "--loglevel=error", "--prefix"];
    run(Command::new("npm")
        .arg("install")
        .args(options)
        .arg(folder)
        .args(packages))
}

/// `codex-PLATFORM/vendor/TRIPLE/{bin,codex}/codex`, beside or inside the package of the wrapper.
fn native_codex(scope: &Path) -> Option<PathBuf> {
    let nested = scope.join("codex/node_modules/@openai");
    let packages = entries(scope).into_iter().chain(entries(&nested));
    let triples = packages.flat_map(|package| entries(&package.join("vendor")));
    let mut programs =
        triples.flat_map(|triple| [triple.join("bin/codex"), triple.join("codex/codex")]);
    programs.find(|program| program.is_file())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn fetch_python() -> Result<PathBuf, String> {
    fetch_environment(
        "python",
        &PYTHON,
        "IPython, ipykernel, jupyter_client, rich",
    )
}

/// A virtual environment with `packages`; `modules` can be imported in it.
fn fetch_environment(name: &str, packages: &[&str], modules: &str) -> Result<PathBuf, String> {
    let folder = peers_folder().join(name);
    let python = folder.join("bin/python");
    fetched(&folder, &packages.join(" "), || {
        if !python.exists() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        }
        run(Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args(packages))?;
        run(Command::new(&python)
            .args(["-m", "compileall", "-q", "-j", "0"])
            .arg(folder.join("lib"))
            .env_remove("PYTHONDONTWRITEBYTECODE"))
    })?;
    output(Command::new(&python).args(["-c", &format!("import {modules}")]))?;
    Ok(python)
}

fn fetch_ipythons_sources() -> Result<PathBuf, String> {
    let folder = peers_folder().join("ipython-sources");
    let package = IPYTHONS_TESTS[0];
    let name = package.replace("==", "-");
    fetched(&folder, package, || {
        run(Command::new("python3")
            .args(["-m", "pip", "download", "--quiet"])
            .args(["--disable-pip-version-check", "--no-deps"])
            .args(["--no-binary", ":all:", "--dest"])
            .args([&folder.display().to_string(), package]))?;
        run(Command::new("tar")
            .current_dir(&folder)
            .args(["-xzf", &format!("{name}.tar.gz")]))
    })?;
    Ok(folder.join(name))
}

/// The wheels unpacked, and nothing they would need to run.
fn fetch_strangers() -> Result<PathBuf, String> {
    let folder = peers_folder().join("strangers");
    let (venv, unpacked) = (folder.join("venv"), folder.join("packages"));
    fetched(&folder, &STRANGERS.join(" "), || {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        run(Command::new(venv.join("bin/python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args([
                "--no-deps",
                "--no-compile",
                "--only-binary",
                ":all:",
                "--upgrade",
            ])
            .arg("--target")
            .arg(&unpacked)
            .args(STRANGERS))
    })?;
    Ok(unpacked)
}

fn find_plain_python() -> Result<PathBuf, String> {
    let lacks_ipython = "import sys, importlib.util as u; print(sys.executable if not u.find_spec('IPython') else '')";
    let mut seen = Vec::new();
    for program in ["python3", "/usr/bin/python3", "/usr/local/bin/python3"] {
        match output(Command::new(program).args(["-c", lacks_ipython])) {
            Ok(path) if !path.is_empty() => return Ok(PathBuf::from(path)),
            Ok(_) => seen.push(format!("{program} has IPython")),
            Err(why) => seen.push(why),
        }
    }
    let folder = peers_folder().join("plain-python");
    fetched(&folder, "bare", || {
        run(Command::new("python3")
            .args(["-m", "venv", "--without-pip"])
            .arg(&folder))
    })
    .map_err(|why| format!("{}; {why}", seen.join("; ")))?;
    Ok(folder.join("bin/python"))
}

/// Runs `fetch` unless the stamp beside `folder` says it has been done for this `version`.
fn fetched(
    folder: &Path,
    version: &str,
    fetch: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let say = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(say)?;
    let stamp = folder.join("complete.stamp");
    let lock = File::create(folder.join("fetch.lock")).map_err(say)?;
    lock.lock().map_err(say)?;
    if std::fs::read_to_string(&stamp).is_ok_and(|text| text == version) {
        return Ok(());
    }
    fetch()?;
    std::fs::write(&stamp, version).map_err(say)
}

/// `target/peers`, wherever Cargo puts `target`: kept over `cargo test`, gone with `cargo clean`.
fn peers_folder() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    target.expect("tmp lies in target").join("peers")
}

fn run(command: &mut Command) -> Result<(), String> {
    output(command).map(drop)
}

fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.trim().lines().collect();
        let last = lines[lines.len().saturating_sub(5)..].join(" | ");
        Err(format!("{name}: {}: {last}", output.status))
    }
}

#[test]
fn peers_are_what_they_should_be() {
    let version =
        |program: &Path, arguments: &[&str]| output(Command::new(program).args(arguments));
    let ipython = "import IPython; print(IPython.__version__)";
    if let Some(python) = python() {
        assert_eq!(version(&python, &["-c", ipython]).as_deref(), Ok("9.18.1"));
    }
    assert!(version(&plain_python(), &["-c", ipython]).is_err());
    if let Some(codex) = codex() {
        let said = version(&codex, &["--version"]);
        assert!(
            said.as_ref().is_ok_and(|said| said.contains(CODEX)),
            "{said:?}"
        );
    }
}
