//! Keys as a terminal sends them.

/// What a terminal sends for a chord, as people write it: `ctrl-x ctrl-e`.
pub fn bytes(chord: &str) -> String {
    chord.split(' ').map(stroke).collect()
}

/// True for a chord that tmux, as it is installed, keeps to itself: there are no bytes for it but those of the enhanced
/// protocols. From Ctrl-/ it makes Ctrl-_, as terminals always did.
pub(super) fn is_enhanced(chord: &str) -> bool {
    let bytes = bytes(chord);
    bytes.starts_with("\x1b[") && bytes.ends_with('u') && chord != "ctrl-/"
}

fn stroke(stroke: &str) -> String {
    let (modifiers, key) = parts(stroke);
    let has = |name: &str| modifiers.contains(&name);
    let number = 1 + u8::from(has("shift")) + 2 * u8::from(has("alt")) + 4 * u8::from(has("ctrl"));
    let csi = |code: &str, end: char| match number {
        1 if code == "1" => format!("\x1b[{end}"),
        1 => format!("\x1b[{code}{end}"),
        number => format!("\x1b[{code};{number}{end}"),
    };
    match key {
        "up" => csi("1", 'A'),
        "down" => csi("1", 'B'),
        "right" => csi("1", 'C'),
        "left" => csi("1", 'D'),
        "home" => csi("1", 'H'),
        "end" => csi("1", 'F'),
        "f2" => "\x1bOQ".into(),
        "delete" => csi("3", '~'),
        "tab" if has("shift") => "\x1b[Z".into(),
        "tab" => "\t".into(),
        "enter" if number == 1 => "\r".into(),
        "enter" if number == 3 => "\x1b\r".into(),
        "enter" => csi("13", 'u'),
        "backspace" if number == 1 => "\x7f".into(),
        "backspace" if number == 3 => "\x1b\x7f".into(),
        "backspace" => csi("127", 'u'),
        key => {
            let c = key.chars().next().unwrap();
            match number {
                1 => key.into(),
                3 => format!("\x1b{c}"),
                4 if c.is_ascii_lowercase() => format!("\x1b{}", c.to_ascii_uppercase()),
                5 if c.is_ascii_lowercase() || c == '_' => char::from(c as u8 & 0x1f).into(),
                7 if c.is_ascii_lowercase() => format!("\x1b{}", char::from(c as u8 & 0x1f)),
                // No terminal has a byte for it: as kitty's protocol says it.
                _ => csi(&u32::from(c).to_string(), 'u'),
            }
        }
    }
}

fn parts(stroke: &str) -> (Vec<&str>, &str) {
    let (mut modifiers, mut key) = (Vec::new(), stroke);
    while let Some((modifier, rest)) = key.split_once('-').filter(|(_, rest)| !rest.is_empty()) {
        modifiers.push(modifier);
        key = rest;
    }
    (modifiers, key)
}

/// Keys one by one, as they are pressed; letters together.
pub(super) fn pieces(keys: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for c in keys.chars() {
        let goes_on = pieces.last().is_some_and(|last| {
            let (first, ends) = (last.chars().next().unwrap(), last.chars().last().unwrap());
            match first {
                '\x1b' if last.len() == 1 => true,
                '\x1b' => {
                    last.starts_with("\x1b[") && (last.len() == 2 || !ends.is_ascii_alphabetic())
                }
                first => !first.is_control() && !c.is_control(),
            }
        });
        match pieces.last_mut() {
            Some(last) if goes_on => last.push(c),
            _ => pieces.push(c.into()),
        }
    }
    pieces
}
