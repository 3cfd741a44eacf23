//! Homes with one engine or the other, and what `nbformat` and `nbclient` say of a notebook.

use std::path::Path;

use serde_json::Value;

use crate::support::home::{Home, finish};
use crate::support::peers;

/// A picture of one pixel.
pub const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg\
                           gg==";

/// A cell that shows it.
pub fn figure() -> String {
    format!(
        "import base64; F = type('F', (), {{'_repr_png_': lambda self: base64.b64decode('{PICTURE}')}}); F()"
    )
}

/// A home for each engine: the built-in one, and IPython where it can be had.
pub fn homes() -> Vec<Home> {
    let mut homes = vec![Home::new()];
    if let Some(ipython) = peers::python() {
        let home = Home::new();
        home.install("python3", ipython);
        homes.push(home);
    }
    homes
}

/// The notebook at `path`, as JSON.
pub fn notebook(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The sources of its cells, by type.
pub fn sources(notebook: &Value) -> Vec<(String, String)> {
    let cells = notebook["cells"].as_array().unwrap();
    let text = |cell: &Value| -> String {
        let lines = cell["source"].as_array().unwrap();
        lines.iter().map(|line| line.as_str().unwrap()).collect()
    };
    cells
        .iter()
        .map(|cell| (cell["cell_type"].as_str().unwrap().to_owned(), text(cell)))
        .collect()
}

/// Fails unless the script, given the path, prints `fine`.
pub fn ask_python(home: &Home, path: &Path, script: &str) {
    let Some(python) = peers::notebook_python() else {
        return;
    };
    let arguments = ["-W", "error", "-c", script, path.to_str().unwrap()];
    let ran = finish(home.foreign(&python, &arguments), b"");
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "fine\n"), "{ran:?}");
}

/// Fails unless `nbformat` finds it valid and writes it as we did.
pub fn is_valid(home: &Home, path: &Path) {
    let script = "import json, sys, nbformat\n\
        text = __import__('pathlib').Path(sys.argv[1]).read_text()\n\
        notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)\n\
        assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)\n\
        nbformat.validate(json.loads(text), relax_add_props=False)\n\
        import difflib\n\
        diff = '\\n'.join(difflib.unified_diff(text.split('\\n'), (nbformat.writes(notebook) + '\\n').split('\\n')))\n\
        assert not diff, diff\n\
        print('fine')";
    ask_python(home, path, script);
}

/// Fails unless every cell of it runs in a Jupyter kernel.
pub fn runs(home: &Home, path: &Path) {
    let script = "import sys, warnings\n\
        warnings.simplefilter('default')\n\
        import nbformat, nbclient\n\
        notebook = nbformat.read(sys.argv[1], as_version=4)\n\
        nbclient.NotebookClient(notebook, timeout=60).execute()\n\
        print('fine')";
    ask_python(home, path, script);
}
