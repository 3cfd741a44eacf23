//! Vector drawings (SVG) to pixels, at the size they are shown.
//!
//! In: SVG source and a size. Out: pixels. Invariants: nothing is loaded, neither files nor addresses, except the
//! system's fonts, and those only for a drawing with text; the source is at most [`MOST_BYTES`], its elements as
//! many as `usvg` allows, and nested no deeper than `svg_depth` allows. Transparent parts become white, since
//! drawings are made for paper. Absent on purpose: filters, pictures within drawings, scripts, animation. Document:
//! SVG 1.1, as `resvg` reads it.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::roxmltree::{Document, ParsingOptions};
use resvg::usvg::{ImageHrefResolver, Options, Tree, fontdb};

use super::svg_depth::is_too_deep;
use crate::picture::{PictureError, Pixels, allowed};

/// Longest source that is read, in bytes.
const MOST_BYTES: usize = 8 << 20;

pub(super) struct Drawing {
    tree: Tree,
}

impl Drawing {
    pub(super) fn read(text: &str) -> Result<Self, PictureError> {
        if text.len() > MOST_BYTES {
            return Err(PictureError::Long(text.len() >> 20));
        }
        let mut options = Options {
            image_href_resolver: ImageHrefResolver {
                resolve_data: Box::new(|_, _, _| None),
                resolve_string: Box::new(|_, _| None),
            },
            font_family: "sans-serif".to_owned(),
            ..Options::default()
        };
        if text.contains("<text") || text.contains(":text") {
            options.fontdb = fonts();
        }
        let parsing = ParsingOptions {
            allow_dtd: true,
            ..ParsingOptions::default()
        };
        let document =
            Document::parse_with_options(text, parsing).map_err(|_| PictureError::Broken)?;
        if is_too_deep(&document) {
            return Err(PictureError::Deep);
        }
        let tree = Tree::from_xmltree(&document, &options).map_err(|_| PictureError::Broken)?;
        // Sizes in filters overflow in `resvg` 0.49 (`box_blur.rs`), which would end the program; plots have none.
        if !tree.filters().is_empty() {
            return Err(PictureError::Effects);
        }
        Ok(Drawing { tree })
    }

    /// The drawing's own size, in pixels.
    pub(super) fn size(&self) -> (u32, u32) {
        let size = self.tree.size().to_int_size();
        (size.width(), size.height())
    }

    pub(super) fn pixels(&self, width: u32, height: u32) -> Result<Pixels, PictureError> {
        allowed(width, height)?;
        let mut map = Pixmap::new(width, height).ok_or(PictureError::Broken)?;
        map.fill(Color::WHITE);
        let size = self.tree.size();
        let (across, down) = (width as f32 / size.width(), height as f32 / size.height());
        resvg::render(
            &self.tree,
            Transform::from_scale(across, down),
            &mut map.as_mut(),
        );
        let straight = map.pixels().iter().flat_map(|pixel| {
            let pixel = pixel.demultiply();
            [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]
        });
        Pixels::new(width, height, straight.collect()).ok_or(PictureError::Broken)
    }
}

fn fonts() -> Arc<fontdb::Database> {
    static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        // Where the usual families are missing, a similar one is better than none.
        let (sans, serif) = (like(&fonts, "Sans", false), like(&fonts, "Serif", false));
        let mono = like(&fonts, "Mono", true);
        if let Some(family) = sans.filter(|_| !has(&fonts, "Arial")) {
            fonts.set_sans_serif_family(family);
        }
        if let Some(family) = serif.filter(|_| !has(&fonts, "Times New Roman")) {
            fonts.set_serif_family(family);
        }
        if let Some(family) = mono.filter(|_| !has(&fonts, "Courier New")) {
            fonts.set_monospace_family(family);
        }
        Arc::new(fonts)
    });
    Arc::clone(&FONTS)
}

fn has(fonts: &fontdb::Database, name: &str) -> bool {
    let named = |face: &fontdb::FaceInfo| face.families.iter().any(|(family, _)| family == name);
    fonts.faces().any(named)
}

/// Returns the family with `word` in its name, the one with the shortest name; else any, monospaced or not as asked.
fn like(fonts: &fontdb::Database, word: &str, monospaced: bool) -> Option<String> {
    let fitting = fonts.faces().filter(|face| face.monospaced == monospaced);
    let names: Vec<&String> = fitting
        .filter_map(|face| face.families.first())
        .map(|(family, _)| family)
        .collect();
    let named = names.iter().filter(|name| name.contains(word));
    let found = named.min_by_key(|name| name.len()).or(names.first());
    found.map(|name| (*name).clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    const HEAD: &str = r#"<svg width="4" height="2"
        xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">"#;

    fn drawing(inside: &str) -> Drawing {
        Drawing::read(&format!("{HEAD}{inside}</svg>")).unwrap()
    }

    #[test]
    fn a_drawing_at_a_size() {
        let red = drawing(r#"<rect width="2" height="2" fill="red"/>"#);
        assert_eq!(red.size(), (4, 2));
        let pixels = red.pixels(2, 1).unwrap();
        assert_eq!(pixels.get(0, 0), Some([255, 0, 0, 255]));
        assert_eq!(pixels.get(1, 0), Some([255; 4]));
        assert!(red.pixels(1 << 16, 1 << 16).is_err());
    }

    #[test]
    fn nothing_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("red.svg");
        let red = format!(r#"{HEAD}<rect width="4" height="2" fill="red"/></svg>"#);
        std::fs::write(&path, &red).unwrap();
        let address = format!("file://{}", path.display());
        let data = format!(
            "data:image/svg+xml;base64,{}",
            base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &red)
        );
        for link in [path.to_str().unwrap(), &address, &data] {
            let shown = drawing(&format!(
                r#"<image width="4" height="2" xlink:href="{link}"/>"#
            ));
            let pixels = shown.pixels(4, 2).unwrap();
            assert_eq!(pixels.get(0, 0), Some([255; 4]), "{link}");
        }
    }

    #[test]
    fn what_is_no_drawing() {
        for text in [
            "",
            "<html/>",
            "<svg",
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="0" height="0"/>"#,
        ] {
            assert!(Drawing::read(text).is_err(), "{text}");
        }
        let blurred = format!(
            "{HEAD}<filter id='f'><feGaussianBlur stdDeviation='1e9'/></filter><rect filter='url(#f)' width='1' \
             height='1'/></svg>"
        );
        assert!(matches!(
            Drawing::read(&blurred),
            Err(PictureError::Effects)
        ));
        let long = " ".repeat(MOST_BYTES + 1);
        assert!(matches!(Drawing::read(&long), Err(PictureError::Long(8))));
        // Entities that multiply.
        let mut bomb = String::from("<!DOCTYPE svg [<!ENTITY a0 \"aaaaaaaaaa\">");
        for n in 1..12 {
            let inner = format!("&a{};", n - 1).repeat(10);
            bomb.push_str(&format!("<!ENTITY a{n} \"{inner}\">"));
        }
        bomb.push_str(&format!("]>{HEAD}<text>&a11;</text></svg>"));
        assert!(Drawing::read(&bomb).is_err());
    }

    #[test]
    fn what_is_nested_too_deep() {
        let within = |open: &str, close: &str, levels: usize| {
            let (open, close) = (open.repeat(levels), close.repeat(levels));
            Drawing::read(&format!(
                "{HEAD}{open}<rect width='1' height='1'/>{close}</svg>"
            ))
        };
        // A chain of elements that refer to the next.
        let chain = |element: &str, levels: usize| {
            let links: String = (0..levels)
                .map(|n| {
                    element
                        .replace("NEXT", &format!("a{}", n + 1))
                        .replace("THIS", &format!("a{n}"))
                })
                .collect();
            Drawing::read(&format!(
                "{HEAD}<g clip-path='url(#a0)' mask='url(#a0)' fill='url( \"#a0\")'>\
                <rect width='1' height='1'/><use xlink:href='#a0'/></g>{links}</svg>"
            ))
        };
        let chains = [
            "<clipPath id='THIS' clip-path='url(#NEXT)'><rect width='1' height='1'/></clipPath>",
            "<mask id='THIS' style='mask: url(#NEXT)'><rect width='1' height='1'/></mask>",
            "<pattern id='THIS' width='1' height='1'><rect fill='url(#NEXT)' width='1' height='1'/></pattern>",
            "<g id='THIS'><use xlink:href='#NEXT'/></g>",
        ];
        let work = move || {
            let opacity = within("<g opacity='0.9'>", "</g>", 90).unwrap();
            assert!(opacity.pixels(4, 2).is_ok());
            for levels in [110, 1_000, 100_000] {
                // Some are too long as well.
                let deep = |read: Result<Drawing, PictureError>| {
                    matches!(read, Err(PictureError::Deep | PictureError::Long(_)))
                };
                assert!(deep(within("<g>", "</g>", levels)), "{levels}");
                assert!(deep(within("<svg>", "</svg>", levels)), "{levels}");
                for element in chains {
                    assert!(deep(chain(element, levels)), "{element} {levels}");
                }
            }
            for element in chains {
                assert!(
                    chain(element, 40).unwrap().pixels(4, 2).is_ok(),
                    "{element}"
                );
            }
            let wide = "<g><rect clip-path='url(#c)' width='1' height='1'/></g>".repeat(1000);
            assert!(Drawing::read(&format!("{HEAD}<clipPath id='c'/>{wide}</svg>")).is_ok());
        };
        crate::properties::on_a_small_stack(work);
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_markup_is_read(parts in prop::collection::vec(prop::sample::select(vec![
            "<g>", "</g>", "<rect width='9' height='1e9'/>", "<path d='M0 0L", "1e39 ", "-5 ", "Z'/>",
            "<use xlink:href='#a'/>",
            "<g id='a' transform='scale(0)'>", "<circle r='nan'/>",
            "<filter id='f'><feGaussianBlur stdDeviation='1e9'/></filter>",
            "<rect filter='url(#f)' width='1' height='1'/>", "&amp;", "<", "\"", "<linearGradient id='l'/>",
        ]), 0..12)) {
            if let Ok(read) = Drawing::read(&format!("{HEAD}{}</svg>", parts.concat())) {
                let _ = read.pixels(20, 10);
            }
        }
    }
}
