//! Pictures of cells on the terminal: which bytes are written where, what the screen shows of half blocks.

use super::shell::Shell;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::SIZE;
use crate::support::tmux::Tmux;

/// A cell that shows a PNG of two by two pixels (red, green, blue, white), made without any library.
pub(super) const SHOW: &str = "import zlib, struct; \
c = lambda k, d: struct.pack('>I', len(d)) + k + d + struct.pack('>I', zlib.crc32(k + d)); \
png = b'\\x89PNG\\r\\n\\x1a\\n' + c(b'IHDR', struct.pack('>IIBBBBB', 2, 2, 8, 2, 0, 0, 0)) \
+ c(b'IDAT', zlib.compress(b'\\0\\xff\\0\\0\\0\\xff\\0\\0\\0\\0\\xff\\xff\\xff\\xff')) + c(b'IEND', b''); \
P = type('P', (), {'_repr_png_': lambda self: png}); P()";

/// A shell whose terminal is told to be what these variables say.
pub(super) fn shell(variables: &[(&str, &str)]) -> Shell {
    Shell::of(Home::with(variables))
}

pub(super) fn raw(shell: &Shell) -> String {
    String::from_utf8_lossy(&shell.pty.raw()).into_owned()
}

#[test]
fn kitty_gets_its_sequence() {
    let shell = shell(&[("KITTY_WINDOW_ID", "1")]);
    shell.cell(1, SHOW);
    let raw = raw(&shell);
    let (_, picture) = raw.split_once("\x1b_Ga=T,i=").expect("a picture");
    assert!(
        picture.contains(",f=100,q=2,C=1,c=1,r=1,m=0;iVBORw0KGgo"),
        "{picture:?}"
    );
    shell.shows("Out[1]:");
    shell.lacks("[image/png");
}

#[test]
fn iterm2_gets_its_sequence() {
    let shell = shell(&[("TERM_PROGRAM", "iTerm.app")]);
    shell.cell(1, SHOW);
    assert!(raw(&shell).contains("\x1b]1337;File=inline=1;size="));
}

#[test]
fn half_blocks_have_the_pictures_colours() {
    let shell = shell(&[("COLORTERM", "truecolor")]);
    shell.cell(1, SHOW);
    let cell = |row, column| {
        shell.pty.look(|screen| {
            let cell = screen.cell(row, column).expect("on the screen");
            (cell.contents().to_owned(), cell.fgcolor(), cell.bgcolor())
        })
    };
    let label = shell.pty.look(|screen| {
        let lines: Vec<String> = screen.rows(0, 80).collect();
        lines.iter().position(|line| line.starts_with("Out[1]:"))
    });
    let row = u16::try_from(label.expect("the label is shown") + 1).unwrap();
    let rgb = vt100::Color::Rgb;
    assert_eq!(cell(row, 0), ("▀".into(), rgb(255, 0, 0), rgb(0, 0, 255)));
    assert_eq!(
        cell(row, 1),
        ("▀".into(), rgb(0, 255, 0), rgb(255, 255, 255))
    );
}

#[test]
fn pictures_can_be_switched_off() {
    let shell = shell(&[("KITTY_WINDOW_ID", "1")]);
    shell.cell(1, "%ipycodex images off");
    shell.shows("images is off");
    shell.cell(2, SHOW);
    shell.shows("Out[2]: [image/png 2x2]");
    assert!(!raw(&shell).contains("\x1b_G"));
    shell.cell(3, "%ipycodex images sharp");
    shell.shows("images must be one of auto/blocks/iterm2/kitty/off/sixel, got 'sharp'");
    shell.cell(4, "%ipycodex images blocks");
    shell.cell(5, "P()");
    assert!(raw(&shell).contains('▀'));
    shell.cell(6, "png = png[:50]; P()");
    shell.shows("[image/png: the picture is damaged]");
}

#[test]
fn answers_and_tools_show_pictures() {
    let shell = shell(&[("KITTY_WINDOW_ID", "1")]);
    let pictures = || raw(&shell).matches("\x1b_Ga=T").count();
    shell.cell(1, SHOW);
    shell.cell(2, "n = open('a dot.png', 'wb').write(png); f = lambda: png");
    shell.pty.send_line(
        ".see ![here](<a dot.png>), not ![there](https://e.invalid/a.png) or ![this](/etc/passwd)",
    );
    shell.at(4);
    assert_eq!(pictures(), 2, "{}", shell.text());
    shell.pty.send_line(".call &`f` now");
    shell.at(5);
    assert_eq!(pictures(), 3, "{}", shell.text());
}

#[test]
fn without_colours_there_is_text() {
    let shell = shell(&[("KITTY_WINDOW_ID", "1"), ("NO_COLOR", "1")]);
    shell.cell(1, SHOW);
    shell.shows("Out[1]: [image/png 2x2]");
}

#[test]
fn updates_take_the_place_of_the_last_picture_without_a_flood() {
    let shell = shell(&[]);
    shell.cell(1, SHOW);
    let before = raw(&shell).matches('▀').count();
    shell.cell(
        2,
        "h = display(P(), display_id=True); [h.update(P()) for _ in range(200)]; None",
    );
    let after = raw(&shell).matches('▀').count();
    let drawn = (after - before) / 2;
    assert!((2..100).contains(&drawn), "{drawn} pictures");
    shell.cell(3, "'above'");
    // On the screen there are the two of the first cell and the two of the last update.
    assert_eq!(shell.pty.all_text().matches('▀').count(), 4);
}

fn in_tmux(passthrough: &str) -> Option<(Tmux, String)> {
    let home = Home::with(&[("KITTY_WINDOW_ID", "1")]);
    let tmux = Tmux::start(&home, &["--agent", "demo"], SIZE)?;
    let at = |number: u32| tmux.pty.wait_for(&format!("In [{number}]:"));
    at(1);
    tmux.pty
        .send_line(&format!("!tmux set -p allow-passthrough {passthrough}"));
    at(2);
    tmux.pty.send_line(SHOW);
    at(3);
    let raw = String::from_utf8_lossy(&tmux.pty.raw()).into_owned();
    Some((tmux, raw))
}

#[test]
fn tmux_hands_pictures_through_when_it_may() {
    let Some((tmux, raw)) = in_tmux("on") else {
        return;
    };
    assert!(raw.contains("\x1b_Ga=T,U=1,i="), "{raw:?}");
    assert!(tmux.pane().contains('\u{10EEEE}'));
    assert!(!tmux.pane().contains("Ga=T"));
}

#[test]
fn a_closed_tmux_gets_half_blocks() {
    let Some((tmux, raw)) = in_tmux("off") else {
        return;
    };
    assert!(!raw.contains("\x1b_G"));
    assert!(tmux.pane().contains("▀▀"));
}

/// Both engines, in an environment with matplotlib, pandas and sympy.
fn with_libraries(check: impl Fn(&Shell)) {
    let Some(python) = peers::figures() else {
        return;
    };
    let python = python.to_str().expect("a plain path");
    for engine in [&[][..], &["--no-ipython"][..]] {
        let mut arguments = vec!["--agent", "demo", "--python", python];
        arguments.extend(engine);
        let home = Home::with(&[("KITTY_WINDOW_ID", "1")]);
        let shell = Shell::start(home, &arguments, SIZE);
        shell.at(1);
        check(&shell);
    }
}

#[test]
fn plots_are_shown_without_asking() {
    with_libraries(|shell| {
        let pictures = || raw(shell).matches("\x1b_Ga=T").count();
        shell.cell(1, "import matplotlib.pyplot as plt; plt.plot([1, 2]);");
        assert_eq!(pictures(), 1, "{}", shell.text());
        shell.cell(2, "plt.get_fignums()");
        shell.shows("Out[2]: []");
        // In place, and not again at the end.
        shell.cell(3, "plt.plot([2, 1]); plt.show(); print('after')");
        assert_eq!(pictures(), 2);
        let raw = raw(shell);
        let (_, rest) = raw.rsplit_once("\x1b_Ga=T").expect("a picture");
        assert!(rest.contains("after"), "the picture comes first");
        shell.cell(4, "%matplotlib agg");
        shell.cell(5, "plt.plot([3, 1]);");
        assert_eq!(pictures(), 3, "{}", shell.text());
        shell.cell(6, "%matplotlib inline");
        shell.cell(7, "plt.plot([3, 1]);");
        assert_eq!(pictures(), 4, "{}", shell.text());
    });
}

#[test]
fn tables_have_the_width_of_the_terminal() {
    with_libraries(|shell| {
        shell.cell(
            1,
            "import pandas as pd; df = pd.DataFrame({f'column{i}': [i * 10**6] for i in range(9)})",
        );
        shell.cell(2, "df");
        // Nine columns of 9 to 10 characters do not fit into 80.
        shell.shows("...");
        shell.lacks("\\");
        shell.pty.resize(140, 24);
        shell.cell(3, "df.columns = [f'wide{i}' for i in range(9)]");
        shell.cell(4, "df");
        shell.pty.wait_until("one row of nine columns", |screen| {
            screen
                .rows(0, 140)
                .any(|row| row.contains("wide0") && row.contains("wide8"))
        });
    });
}

#[test]
fn formulas_and_pages_are_readable() {
    with_libraries(|shell| {
        shell.cell(
            1,
            "L = type('L', (), {'_repr_latex_': lambda s: r'$\\frac{x^2}{2} \\leq \\sqrt{\\pi}$', \
             '__repr__': lambda s: '<L>'})",
        );
        shell.cell(2, "L()");
        shell.shows("Out[2]: x²/2 ≤ √π");
        shell.cell(
            3,
            "H = type('H', (), {'_repr_html_': lambda s: \
             '<table><tr><th>n<th>size<tr><td>a<td>10<tr><td>bc<td>2</table>', '__repr__': lambda s: '<H>'})",
        );
        shell.cell(4, "H()");
        shell.shows("n   size\na     10\nbc     2");
    });
}

/// The colours of the half blocks on the screen.
fn colours(shell: &Shell) -> Vec<vt100::Color> {
    shell.pty.look(|screen| {
        let (rows, columns) = screen.size();
        let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |x| (row, x)));
        let cells = cells.filter_map(|(row, column)| screen.cell(row, column));
        let blocks = cells.filter(|cell| matches!(cell.contents(), "▀" | "▄"));
        blocks
            .flat_map(|cell| [cell.fgcolor(), cell.bgcolor()])
            .collect()
    })
}

#[test]
fn plots_fit_a_dark_terminal_and_are_recorded_as_they_are() {
    let Some(python) = peers::figures() else {
        return;
    };
    let python = python.to_str().unwrap();
    let white = vt100::Color::Rgb(255, 255, 255);
    // `clear` first: what is looked at is the last plot alone.
    let plot = |shell: &Shell, number: u32, code: &str| {
        shell.cell(number, "!clear");
        shell.cell(number + 1, &format!("{code} plt.plot([1, 2]);"));
        colours(shell)
    };
    let fresh = "fig = plt.figure(figsize=(3, 2));";
    for engine in [&[][..], &["--no-ipython"][..]] {
        for (variable, is_dark) in [("15;0", true), ("0;15", false)] {
            let mut arguments = vec!["--agent", "demo", "--python", python];
            arguments.extend(engine);
            let mut home = Home::with(&[("COLORTERM", "truecolor")]);
            home.set("COLORFGBG", variable);
            let shell = Shell::start(home, &arguments, SIZE);
            shell.cell(1, "import matplotlib.pyplot as plt");
            let shown = plot(&shell, 2, fresh);
            assert!(shown.len() > 100, "it is drawn: {}", shell.text());
            assert_eq!(!shown.contains(&white), is_dark, "{engine:?} {variable}");
            if !is_dark {
                continue;
            }
            assert!(
                shown.contains(&vt100::Color::Default),
                "no ground of its own"
            );
            let light = |colour: &vt100::Color| matches!(colour, vt100::Color::Rgb(r, g, b) if *r.min(g).min(b) > 100);
            assert!(shown.iter().any(light), "light text and axes");
            // What the user has stays what it was, and so does what is kept.
            shell.cell(4, "fig.get_facecolor(), fig.axes[0].title.get_color()");
            shell.shows("Out[4]: ((1.0, 1.0, 1.0, 1.0), 'black')");
            shell.cell(5, "%ipycodex save kept.ipynb");
            shell.cell(
                6,
                "import json, base64, io; from matplotlib import image; \
                 kept = [o['data']['image/png'] for c in json.load(open('kept.ipynb'))['cells'] \
                 for o in c.get('outputs', []) if 'image/png' in o.get('data', {})]; \
                 print(len(kept), image.imread(io.BytesIO(base64.b64decode(kept[0])))[0, 0].tolist())",
            );
            shell.shows("1 [1.0, 1.0, 1.0, 1.0]");
            // A value, a look of somebody's choice, and the setting.
            shell.cell(7, &format!("{fresh} _ = fig.add_subplot().plot([1, 2])"));
            shell.cell(8, "!clear");
            shell.cell(9, "fig");
            assert!(!colours(&shell).contains(&white), "{engine:?}: a value");
            let chosen = "fig = plt.figure(figsize=(3, 2), facecolor=(1, 1, .5));";
            let yellow = vt100::Color::Rgb(255, 255, 128);
            assert!(plot(&shell, 10, chosen).contains(&yellow));
            shell.cell(12, "%ipycodex fit_plots off");
            assert!(plot(&shell, 13, fresh).contains(&white));
        }
    }
}

#[test]
fn a_plot_without_a_background_can_be_read_on_dark_and_light() {
    let Some(python) = peers::figures() else {
        return;
    };
    let plot = "import matplotlib.pyplot as plt; plt.figure(figsize=(3, 2), facecolor='none'); \
                _ = plt.plot([1, 2]); plt.gca().set_facecolor('none')";
    let colours = |variable: (&str, &str)| {
        let mut home = Home::with(&[("COLORTERM", "truecolor")]);
        home.set(variable.0, variable.1);
        let python = python.to_str().unwrap();
        let shell = Shell::start(home, &["--agent", "demo", "--python", python], SIZE);
        shell.cell(1, plot);
        colours(&shell)
    };
    let white = vt100::Color::Rgb(255, 255, 255);
    let dark = colours(("COLORFGBG", "15;0"));
    assert!(dark.contains(&white), "black labels stand on white");
    let light = colours(("COLORFGBG", "0;15"));
    assert!(
        light.contains(&vt100::Color::Default),
        "on a light terminal they stand on its own background"
    );
}

#[test]
fn the_flag_for_matplotlib_chooses_the_backend_in_both_engines() {
    let Some(python) = peers::figures() else {
        return;
    };
    let python = python.to_str().expect("a plain path");
    let home = Home::new();
    let backend = |flags: &[&str]| {
        let common = ["--agent", "demo", "--python", python];
        let code = "import matplotlib.pyplot as plt; print(plt.get_backend())";
        home.run(&[&common[..], flags, &["-c", code]].concat(), "")
    };
    for engine in [&[][..], &["--no-ipython"][..]] {
        for (flag, chosen) in [("--matplotlib=svg", "svg"), ("--matplotlib=agg", "agg")] {
            let ran = backend(&[engine, &[flag]].concat());
            assert_eq!(ran.stdout.trim_end().to_lowercase(), chosen, "{ran:?}");
        }
        let ran = backend(&[engine, &["--matplotlib"]].concat());
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{ran:?}");
        let ran = backend(&[engine, &["--matplotlib=nosuch"]].concat());
        assert!(
            ran.code() == 0 && ran.stderr.contains("'nosuch'"),
            "{ran:?}"
        );
    }
}
