//! The sequences we write ourselves, and those nobody may make us write.
//!
//! In: everything written to a terminal. Out: what is not on our list. The list is by form: a movement of any length is
//! one entry. What has the form of an entry but came from outside is found by its bytes ([`ATTACKS`] avoids the exact
//! sequences of ours).

/// What is no plain text of ours, as readable text; empty when all is on the list.
pub fn foreign(raw: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        let rest = &raw[at..];
        let length = match rest[0] {
            0x1b => match escape(rest) {
                Ok(length) => length,
                Err(length) => {
                    found.push(rest[..length].escape_ascii().to_string());
                    length
                }
            },
            b'\n' | b'\r' | b'\t' | 0x08 | 0x20..=0x7e => 1,
            0xc2 if matches!(rest.get(1), Some(0x80..=0x9f)) => {
                found.push(rest[..2].escape_ascii().to_string());
                2
            }
            0x80.. => 1,
            control => {
                found.push(control.escape_ascii().to_string());
                1
            }
        };
        at += length;
    }
    if let Err(error) = std::str::from_utf8(raw) {
        found.push(format!("no UTF-8 at byte {}", error.valid_up_to()));
    }
    found
}

/// Our questions for the background and for which terminal this is: each asked once at most.
const QUESTIONS: [&[u8]; 2] = [b"\x1b]11;?\x07", b"\x1b[c"];

/// The same without our questions. Where one stands a second time, somebody else asked.
pub fn without_question(raw: &[u8]) -> Vec<u8> {
    let mut rest = raw.to_vec();
    for question in QUESTIONS {
        if let Some(at) = memchr::memmem::find(&rest, question) {
            rest.drain(at..at + question.len());
        }
    }
    rest
}

/// The length of the sequence that starts here: `Ok` when it is on the list.
fn escape(rest: &[u8]) -> Result<usize, usize> {
    match rest.get(1) {
        // The cursor is saved and restored.
        Some(b'7' | b'8') => return Ok(2),
        Some(b'[') => {}
        _ => return Err(rest.len().min(2)),
    }
    let end = rest
        .iter()
        .skip(2)
        .position(|byte| (0x40..=0x7e).contains(byte));
    let Some(end) = end else {
        return Err(rest.len());
    };
    let parameters = std::str::from_utf8(&rest[2..2 + end]).unwrap_or("?");
    let numbers = parameters
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'));
    let listed = match rest[2 + end] {
        b'm' => numbers,
        b'A' | b'B' | b'C' | b'D' | b'E' | b'G' | b'S' => {
            numbers && !parameters.contains([';', ':'])
        }
        b'H' => numbers,
        b'J' => matches!(parameters, "" | "0"),
        b'K' => matches!(parameters, "" | "0" | "1" | "2"),
        b'n' => parameters == "6",
        b'h' | b'l' => matches!(parameters, "?7" | "?25" | "?1004" | "?2004" | "?2026"),
        _ => false,
    };
    if listed { Ok(3 + end) } else { Err(3 + end) }
}

/// Sequences that do harm or that we do not let through; none has the exact bytes of one of ours.
pub const ATTACKS: &[&[u8]] = &[
    b"\x1b]0;title\x07",
    b"\x1b]2;title\x1b\\",
    b"\x1b]52;c;ZWNobyBoaQ==\x07",
    b"\x1b]52;c;?\x1b\\",
    b"\x1b]8;;http://evil.example/\x1b\\link\x1b]8;;\x1b\\",
    b"\x1b]9;notice\x07",
    b"\x1b]777;notify;a;b\x07",
    b"\x1b]133;A\x07",
    b"\x1b]1337;File=inline=1:AAAA\x07",
    b"\x1b]4;1;#ffffff\x07",
    b"\x1b]10;?\x07",
    b"\x1b]11;?\x1b\\",
    b"\x1b]104\x07",
    b"\x1b]50;font\x07",
    b"\x1b]7;file:///tmp\x07",
    b"\x1bP+q544e\x1b\\",
    b"\x1bP$qm\x1b\\",
    b"\x1bPtmux;\x1b\x1b]52;c;AA==\x07\x1b\\",
    b"\x1b_Ga=T,f=100;AAAA\x1b\\",
    b"\x1b^private\x1b\\",
    b"\x1bXstring\x1b\\",
    b"\x1bc",
    b"\x1b[!p",
    b"\x1b[2J",
    b"\x1b[3J",
    b"\x1b[1J",
    b"\x1b[7;7H",
    b"\x1b[7;7f",
    b"\x1b[7d",
    b"\x1b[?1049h",
    b"\x1b[?47h",
    b"\x1b[?1000h",
    b"\x1b[?1003h",
    b"\x1b[?1006h",
    b"\x1b[?1005h",
    b"\x1b[?2004;1h",
    b"\x1b[?25;7l",
    b"\x1b[5n",
    b"\x1b[c",
    b"\x1b[>c",
    b"\x1b[>q",
    b"\x1b[=c",
    b"\x1b[21t",
    b"\x1b[8;10;10t",
    b"\x1b[3;5r",
    b"\x1b[7L",
    b"\x1b[7M",
    b"\x1b[7P",
    b"\x1b[7@",
    b"\x1b[7X",
    b"\x1b[7T",
    b"\x1b[77S",
    b"\x1b[5i",
    b"\x1b[4h",
    b"\x1b[20h",
    b"\x1b[>1u",
    b"\x1b[?1u",
    b"\x1b[6 q",
    b"\x1b[0\"q",
    b"\x1b[7b",
    b"\x1b[7g",
    b"\x1b[s",
    b"\x1b[u",
    b"\x1bM",
    b"\x1bD",
    b"\x1bE",
    b"\x1bH",
    b"\x1b#8",
    b"\x1b(0",
    b"\x1b)B",
    b"\x1b=",
    b"\x1b>",
    b"\x1bZ",
    b"\x1bn",
    b"\xc2\x9b2J",
    b"\xc2\x9d0;title\xc2\x9c",
    b"\xc2\x90q\xc2\x9c",
    b"\xc2\x85",
    b"\x9b2J",
    b"\x9d0;t\x9c",
    b"\x07",
    b"\x7f",
    b"\x00",
    b"\x05",
    b"\x0e",
    b"\x0f",
    b"\x0b",
    b"\x0c",
    b"\x1b",
    b"\x1b[",
    b"\x1b[31",
    b"\x1b]52;c;never ended",
    b"\x1bP never ended",
    b"\x18",
    b"\x1a",
    b"\x1b[1;2;3;4;5;6;7;8;9999999999999999999999Z",
    b"\x1b[38;2;1;2;3m\x1b]0;t\x07\x1b[0m",
];

#[test]
fn the_checker_finds_what_is_not_ours() {
    let unseen: Vec<_> = ATTACKS
        .iter()
        .filter(|attack| {
            foreign(attack).is_empty() && !matches!(attack, [0x1b, b'[', .., b'H' | b'S'])
        })
        .collect();
    assert!(unseen.is_empty(), "{unseen:?}");
    assert!(foreign("\x1b[?25l\x1b[1;2Hå\r\n\x1b[0;31mred\x1b[0m\x1b[6n".as_bytes()).is_empty());
}
