//! Names of our tools as the app-server takes them, and back.
//!
//! Pure. A Python name is sent unchanged when possible; otherwise under an alias, and the description gives the
//! Python name. Invariants: sent names match `[A-Za-z_][A-Za-z0-9_]*`, have at most 128 characters and are
//! distinct, also after code mode has rewritten them (it turns `-` and a leading digit into `_`, and one of two
//! equal names is lost); the same tools have the same aliases in any order; a call under an alias comes back under
//! the Python name.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::wire::thread::DynamicToolSpec;
use crate::ToolSpec;

/// The longest name the app-server takes, in characters.
const MAX_NAME_CHARS: usize = 128;

/// The most of a Python name that an alias and a description show, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// Names of the agent's own tools. One of ours with such a name is accepted without an error and never called:
/// measured on 0.169.0 with gpt-5.5 and gpt-6.1-sol, including tools that features of the user's configuration
/// enable. `__proto__` is lost in code mode.
const RESERVED: [&str; 37] = [
    "__proto__",
    "apply_patch",
    "close_agent",
    "create_goal",
    "exec",
    "exec_command",
    "followup_task",
    "get_goal",
    "image_generation",
    "interrupt_agent",
    "js_repl",
    "js_repl_reset",
    "list_agents",
    "list_mcp_resource_templates",
    "list_mcp_resources",
    "local_shell",
    "read_mcp_resource",
    "report_agent_job_result",
    "request_permissions",
    "request_user_input",
    "request_user_input_async",
    "resume_agent",
    "send_input",
    "send_user_message_async",
    "shell",
    "shell_command",
    "spawn_agent",
    "spawn_agents_on_csv",
    "tool_search",
    "tool_suggest",
    "update_goal",
    "update_plan",
    "view_image",
    "wait",
    "wait_agent",
    "web_search",
    "write_stdin",
];

/// Reserved prefixes: `mcp__` is refused; in code mode the others are namespaces of the agent's own.
const RESERVED_PREFIXES: [&str; 4] = ["clock__", "collaboration__", "functions__", "mcp__"];

#[derive(Debug, Default)]
pub(super) struct ToolNames {
    aliases: HashMap<String, String>,
    pythons: HashMap<String, String>,
}

impl ToolNames {
    pub(super) fn new(tools: &[ToolSpec]) -> ToolNames {
        let mut names = ToolNames::default();
        let own: HashSet<&str> = tools
            .iter()
            .map(|tool| tool.name.as_str())
            .filter(|name| fits(name))
            .collect();
        let mut others: Vec<&str> = tools
            .iter()
            .map(|tool| tool.name.as_str())
            .filter(|name| !fits(name))
            .collect();
        others.sort_unstable();
        others.dedup();
        for name in others {
            let first = alias(name);
            let mut chosen = first.clone();
            let mut count = 1;
            while own.contains(chosen.as_str()) || names.pythons.contains_key(&chosen) {
                count += 1;
                chosen = format!("{first}_{count}");
            }
            names.aliases.insert(name.to_owned(), chosen.clone());
            names.pythons.insert(chosen, name.to_owned());
        }
        names
    }

    /// The tools as they are offered; of several with one name the first.
    pub(super) fn specs<'a>(&'a self, tools: &'a [ToolSpec]) -> Vec<DynamicToolSpec<'a>> {
        let mut seen = HashSet::new();
        tools
            .iter()
            .filter(|tool| seen.insert(tool.name.as_str()))
            .map(|tool| {
                let alias = self.aliases.get(&tool.name);
                DynamicToolSpec {
                    kind: "function",
                    name: alias.unwrap_or(&tool.name),
                    description: match alias {
                        None => Cow::Borrowed(tool.description.as_str()),
                        Some(_) => Cow::Owned(described(&tool.name, &tool.description)),
                    },
                    input_schema: &tool.schema,
                }
            })
            .collect()
    }

    /// The Python name of a tool that is called.
    pub(super) fn python_name(&self, called: String) -> String {
        self.pythons.get(&called).cloned().unwrap_or(called)
    }
}

fn fits(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let lead = name.chars().next();
    name.len() <= MAX_NAME_CHARS
        && lead.is_some_and(|c| !c.is_ascii_digit())
        && name.chars().all(plain)
        && RESERVED.binary_search(&name).is_err()
        && !RESERVED_PREFIXES.iter().any(|lead| name.starts_with(lead))
}

/// A valid name derived from an invalid one.
fn alias(name: &str) -> String {
    let plain: String = name
        .chars()
        .take(MAX_SHOWN_CHARS)
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if plain == name {
        return format!("py_{plain}");
    }
    let hash = Sha256::digest(name.as_bytes());
    format!(
        "py_{plain}_{:02x}{:02x}{:02x}{:02x}",
        hash[0], hash[1], hash[2], hash[3]
    )
}

fn described(name: &str, description: &str) -> String {
    let shown = match name.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}… ({} characters)", &name[..end], name.chars().count()),
        None => name.to_owned(),
    };
    let lead = format!("In Python its name is `{shown}`.");
    match description {
        "" => lead,
        description => format!("{lead}\n\n{description}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_NAME_CHARS, RESERVED, ToolNames, fits};
    use crate::ToolSpec;
    use crate::properties;
    use proptest::collection::vec;
    use proptest::prelude::{
        Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
    };
    use proptest::sample::select;
    use serde_json::json;
    use std::collections::HashSet;

    fn tools(names: &[String]) -> Vec<ToolSpec> {
        names
            .iter()
            .map(|name| ToolSpec {
                name: name.clone(),
                description: "d".into(),
                schema: json!({}),
            })
            .collect()
    }

    fn check(name: &str, offered: &str, description: &str) {
        let tools = tools(&[name.to_owned()]);
        let names = ToolNames::new(&tools);
        let specs = names.specs(&tools);
        assert_eq!(
            (specs[0].name, specs[0].description.as_ref()),
            (offered, description)
        );
        assert_eq!(names.python_name(offered.to_owned()), name);
    }

    #[test]
    fn only_names_that_do_not_fit_are_changed() {
        for name in [
            "weather",
            "_x",
            "A",
            "class",
            "run_cells",
            "py_exec_command",
            "mcp_x",
        ] {
            check(name, name, "d");
        }
        check(
            "exec_command",
            "py_exec_command",
            "In Python its name is `exec_command`.\n\nd",
        );
        check(
            "mcp__x",
            "py_mcp__x",
            "In Python its name is `mcp__x`.\n\nd",
        );
        check(
            "größe",
            "py_gr__e_d353a267",
            "In Python its name is `größe`.\n\nd",
        );
        let huge = "a".repeat(1_000_000);
        let tools = tools(&[
            huge.clone(),
            String::new(),
            "a-b".into(),
            "a_b".into(),
            "1a".into(),
        ]);
        let names = ToolNames::new(&tools);
        let specs = names.specs(&tools);
        assert!(specs[0].description.len() < 200, "{}", specs[0].description);
        assert!(specs.iter().all(|spec| fits(spec.name)));
        assert_eq!(names.python_name(specs[0].name.to_owned()), huge);
        assert_eq!(names.python_name("unknown".into()), "unknown");
    }

    #[test]
    fn an_alias_gives_way_to_a_function_of_that_name() {
        let given = ["py_exec", "exec", "py_exec_2"].map(str::to_owned);
        let tools = tools(&given);
        let names = ToolNames::new(&tools);
        let offered: Vec<_> = names.specs(&tools).iter().map(|spec| spec.name).collect();
        assert_eq!(offered, ["py_exec", "py_exec_3", "py_exec_2"]);
        assert_eq!(names.python_name("py_exec".into()), "py_exec");
    }

    #[test]
    fn reserved_names_are_sorted() {
        assert!(RESERVED.is_sorted());
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[a-zA-Z0-9_-]{0,130}",
            "[a-zäß_µ名]{1,8}",
            select(RESERVED.to_vec()).prop_map(str::to_owned),
            select(RESERVED.to_vec()).prop_map(|name| format!("py_{name}")),
            Just("mcp__a".to_owned()),
            Just("py_mcp__a".to_owned()),
        ]
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn every_set_of_names_can_be_offered(given in vec(name(), 0..12)) {
            let given_tools = tools(&given);
            let names = ToolNames::new(&given_tools);
            let specs = names.specs(&given_tools);
            let distinct: HashSet<_> = given.iter().collect();
            let offered: HashSet<_> = specs.iter().map(|spec| spec.name.to_owned()).collect();
            prop_assert_eq!(offered.len(), distinct.len(), "one each");
            for spec in &specs {
                prop_assert!(fits(spec.name) && spec.name.len() <= MAX_NAME_CHARS, "{}", spec.name);
            }
            let back: HashSet<_> = offered.iter().map(|name| names.python_name(name.clone())).collect();
            prop_assert_eq!(back, given.iter().cloned().collect::<HashSet<_>>());

            let mut turned = given.clone();
            turned.reverse();
            let turned_tools = tools(&turned);
            let turned_names = ToolNames::new(&turned_tools);
            let again = turned_names.specs(&turned_tools);
            let again: HashSet<_> = again.iter().map(|spec| spec.name.to_owned()).collect();
            prop_assert_eq!(again, offered, "in any order");
        }
    }
}
