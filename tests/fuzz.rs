//! Bytes that nobody promised to be well-formed, given to everything that reads what others wrote.
//!
//! A target is a function over bytes that panics where a promise is broken. In: its corpus (`tests/data/fuzz/TARGET`
//! and what else it names), and what [`mutate`] makes of it, for a number of seconds; 0: the corpus and a few
//! inputs, the same in each run. Out: how many inputs were tried. Invariants: an input that breaks a promise is kept
//! in `target/fuzz`, and named; one that never ends, or overflows the stack, is there as `TARGET-PROCESS.running`. To
//! repeat it, and for ever: `cp` it into the corpus.

mod files;
mod history;
mod messages;
mod mutate;
mod texts;
mod wires;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use mutate::{mutate, number_of};

use crate::support::random::Random;

const SEED: u64 = 28;

struct Target {
    name: &'static str,
    /// How many inputs beside the corpus the short form has.
    short: u64,
    /// Files and folders of `tests/data` that are corpus, too.
    also: &'static [&'static str],
    /// What the format is made of.
    words: &'static [&'static str],
    promise: fn(&[u8]),
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let own = format!("fuzz/{}", target.name);
    let places = std::iter::once(own.as_str()).chain(target.also.iter().copied());
    let mut found: Vec<PathBuf> = Vec::new();
    for place in places.map(|place| data.join(place)) {
        match std::fs::read_dir(&place) {
            Ok(entries) => found.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => found.push(place),
        }
    }
    found.sort_unstable();
    found
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// Tries the corpus, and what is made of it for so many seconds.
fn run(target: &Target, seconds: u32) -> String {
    let corpus = corpus(target);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/fuzz");
    std::fs::create_dir_all(&kept).unwrap();
    let running = kept.join(format!("{}-{}.running", target.name, std::process::id()));
    let attempt = |input: &[u8], what: &str| {
        std::fs::write(&running, input).unwrap();
        if catch_unwind(AssertUnwindSafe(|| (target.promise)(input))).is_err() {
            let place = kept.join(format!("{}-{:016x}", target.name, number_of(input)));
            std::fs::rename(&running, &place).unwrap();
            panic!("{what} breaks a promise: {}", place.display());
        }
    };
    for (number, input) in corpus.iter().enumerate() {
        attempt(input, &format!("file {number} of the corpus"));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = match seconds {
        0 => SEED,
        _ => now.unwrap().as_secs(),
    };
    let (begin, budget) = (Instant::now(), Duration::from_secs(seconds.into()));
    let mut inputs = 0;
    while (seconds == 0 && inputs < target.short) || begin.elapsed() < budget {
        let mut random = Random::new(seed ^ (inputs << 32));
        let input = mutate(&corpus, target.words, &mut random);
        attempt(&input, &format!("input {inputs} of seed {seed}"));
        inputs += 1;
    }
    std::fs::remove_file(&running).unwrap();
    format!(
        "{} files and {inputs} inputs made of them, seed {seed}",
        corpus.len()
    )
}

macro_rules! targets {
    ($($name:ident: $short:literal, $also:expr, $words:expr, $promise:path;)+) => {$(
        pub fn $name(seconds: u32) -> String {
            let name = stringify!($name);
            run(&Target { name, short: $short, also: &$also, words: &$words, promise: $promise }, seconds)
        }
    )+};
}

targets! {
    classifier: 300, ["input"], [
        "\n", "    ", "\t", "\\\n", ".", "%%", "%", "!", ";", "(", ")", "[", "]", "{", "}", "\"", "'",
        "\"\"\"", "'''",
        "f\"", "r'", "\\N{", "\\u12", "#", "# %%", ":", "=", "if x:\n", "try:\n", "else:\n", "@d\n", "exit",
        "%ipycodex ",
        "%%ipycodex\n", "&`f`", "$`x`", "!`c`", "`", "@`a b`", "<<E\n", "fi\n", "do\n", "done\n", "%%bash\n",
        "?", "...",
    ], texts::classifier;
    markdown: 40, ["markdown/mixed.md", "markdown/tables.md"], [
        "# ", "- ", "* ", "1. ", "  - ", "> ", "    ", "\t", "| a | b |\n|---|--:|\n", "|", "```python\n",
        "```\n", "~~~",
        "---\n", "===\n", "<div>", "<!-- ", "-->", "[ref]: https://r.org\n", "[^1]: ", "- [ ] ", "**", "*",
        "_", "`", "~~",
        "[t](https://e.org)", "![p](a.png)", "[ref]", "&amp;", "&#x1b;", "\\", "$x_1$", "$$", "\\(", "\\[",
        "  \n", "\n\n",
        "👩\u{200d}💻", "\u{a0}", "\u{200b}", "<b>", "<https://e.org>", "1. x\n\n2. y\n", "```",
    ], texts::markdown;
    output: 60, [], [
        "\x1b[", "\x1b]", "\x1bP", "\x1b_", "\x1b\\", "\x07", "\x1b[A", "\x1b[2B", "\x1b[K", "\x1b[1K",
        "\x1b[2J", "\x1b[J",
        "\x1b[5G", "\x1b[2D", "\x1b[C", "\x1b[?1049h", "\x1b[?1049l", "\x1b]0;", "\x1b]8;;http://x\x1b\\",
        "\x1b(0", "\x1b(B",
        "\x0e", "\x0f", "\x08", "\x1b[38;5;1m", "\x1b[38:2::1:2:3m", "\x1b[0m", "\x1b[99A", "\x1b[999999999G",
        "\u{9b}",
        "\u{9d}", "\u{9c}", "\x1bc", "\x1bM", "\x1b7", "\x1b8", "\x1b[6n", "\x1b[>c", ";", ":", "m", "A",
    ], texts::output;
    skill: 100, [], [
        "---\n", "---", "name: ", "description: ", "allowed-tools: ", "metadata:\n  ", "compatibility: ",
        "- ", ": ", "|\n  ",
        ">-\n  ", "&a ", "*a", "!!str ", "!x ", "[", "]", "{", "}", ",", "? ", "# ", "'", "\"", "\\x1b",
        "%YAML 1.2\n", "...\n",
        "<<: *a\n", "~", "```python\n#| eval: true\n", "```\n", "\u{85}", "@", "`", "  ", "\t",
    ], files::skill;
    config: 300, [], [
        "{", "}", "[", "]", ",", ":", "//", "/*", "*/", "\n", "\"think\": ", "\"new\": ", "\"mcp_servers\": ",
        "\"a\"", "\\\"",
        "\\u00e9", "#", "'a'", "+1", "0x10", ".5", "Infinity", "\t", "\"think\"",
    ], files::config;
    notebook: 300, [], [
        "{", "}", "[", "]", ",", ":", "\"cells\": [", "\"cell_type\": \"code\"",
        "\"cell_type\": \"markdown\"", "\"raw\"",
        "\"source\": [", "\"source\": \"", "\"outputs\": [", "\"metadata\": {", "\"id\": \"", "\"execution_count\": ",
        "\"nbformat\": 4", "\"nbformat_minor\": ", "\"worksheets\": [", "\"text/html\": \"",
        "\"text/latex\": \"$", "\\n",
        "\\ud83d\\ude00", "\\\"", "\\\\", "\"tags\": [", "\"output_type\": \"stream\"", "\"data\": {",
        "\"image/png\": \"",
    ], files::notebook;
    marked_text: 200, [], [
        "# %% [code]\n", "# %% [markdown] cell:1\n", "# %% [raw] cell:", "# %%% [code]\n", "# %%", "#%%",
        "[code]", " cell:0",
        "\n\n", "\"\"\"", "# ", "%%",
    ], files::marked_text;
    history: 30, [], [
        "\0\u{2}\0\u{5}", "\u{3}\u{1}\u{1}\u{1}", "\u{6}", "\u{8}", "-1", "NaN", "{\"cwd\": 1}",
        "{\"text/plain\": ", "</cell>", "complete",
        "<!-- ", "\u{1}", "\u{2}", "\u{3}", "\u{4}", "\u{5}",
    ], history::rows;
    rpc: 200, ["fuzz/acp", "fuzz/codex", "fuzz/mcp"], [
        "\n", "\r\n", "\"jsonrpc\":\"2.0\",", "\"id\":1", "\"id\":\"a\"", "\"id\":null", "\"id\":1.5",
        "\"method\":\"m\"", "\"params\":{}", "\"params\":[]", "\"result\":null", "\"error\":{\"code\":1}",
        "\"error\":null", "{", "}", "[", "]", ",", "\\ud83d", "\\u0000", "\\n",
    ], messages::rpc;
    acp: 4, [], [
        "\n", "\n---\n", "\"sessionUpdate\":\"agent_message_chunk\"", "\"sessionUpdate\":\"tool_call\"",
        "\"sessionUpdate\":\"plan\"", "\"content\":{\"type\":\"text\",\"text\":\"x\"}", "\"status\":\"failed\"",
        "\"kind\":\"allow_always\"", "\"stopReason\":\"refusal\"", "\"stopReason\":\"cancelled\"",
        "\"toolCallId\":\"c\"",
        "\"method\":\"session/update\"", "\"method\":\"session/request_permission\"", "\"id\":3", "\"error\":{}",
        "\"type\":\"resource\"", "\"protocolVersion\":2", "\"sessionId\":\"other\"",
    ], messages::acp;
    codex: 6, [], [
        "\n", "\n---\n", "\"method\":\"item/agentMessage/delta\"", "\"method\":\"item/completed\"",
        "\"type\":\"plan\"",
        "\"method\":\"turn/completed\"", "\"status\":\"failed\"", "\"status\":\"interrupted\"",
        "\"turnId\":\"other\"",
        "\"itemId\":\"m\"", "\"delta\":\"x\"", "\"error\":{\"message\":\"m\"}", "\"willRetry\":false", "\"id\":4",
        "\"method\":\"item/tool/call\"", "\"method\":\"item/fileChange/requestApproval\"", "\"type\":\"webSearch\"",
    ], messages::codex;
    mcp: 12, [], [
        "\n", "\"method\":\"initialize\"", "\"method\":\"tools/list\"", "\"method\":\"tools/call\"",
        "\"method\":\"ping\"",
        "\"method\":\"subscriptions/listen\"", "\"protocolVersion\":\"2025-03-26\"", "\"name\":\"pyrun\"",
        "\"name\":\"notebook\"", "\"arguments\":{}", "\"id\":1", "\"id\":null", "\"jsonrpc\":\"1.0\"", "\"params\":7",
        "[{\"id\":1,\"method\":\"ping\"},{\"method\":\"x\"}]", "\"requestId\":1", "\"progressToken\":7",
    ], messages::mcp;
    kernel_wire: 40, [], [
        "\u{1}", "\u{0}", "\u{2}", "\u{4}", "\u{6}", "\u{7f}", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{1}\u{0}",
        "\u{2}\u{7f}",
        "<IDS|MSG>", "\u{1}\u{9}<IDS|MSG>", "\u{1}\u{0}", "\u{0}\u{2}{}", "\u{1}\u{2}{}",
        "\u{4}\u{5}\u{4}PING", "{\"msg_type\":\"status\"}",
        "{\"msg_id\":7}",
    ], wires::kernel;
    gateway_frames: 20, [], [
        "\u{1}\u{1}x", "\u{2}\u{0}", "\u{0}\u{0}", "\u{7f}", "~", "\u{9}\u{0}", "\u{8}\u{2}\u{3}",
        "\u{6}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
        "\"channel\":\"iopub\"", "\"header\":{}", "\"content\":[]", "iopub", "shell", "\u{0}\u{0}\u{0}\u{2}",
    ], wires::gateway;
}
