//! The threads of the offline agent: the tools and the number of exchanges of each.

use std::collections::HashMap;

use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct ThreadTable {
    threads: HashMap<String, Thread>,
    started: u64,
}

#[derive(Debug, Default)]
pub(super) struct Thread {
    tools: Vec<Tool>,
    exchanges: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) schema: Value,
}

impl ThreadTable {
    /// Creates a thread from the params of `thread/start` and returns its id.
    pub(super) fn start(&mut self, params: &Value) -> String {
        self.started += 1;
        // The process id keeps threads of different processes apart.
        let id = format!("demo-{}-{}", std::process::id(), self.started);
        let tools = params
            .get("dynamicTools")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|tool| {
                Some(Tool {
                    name: tool.get("name")?.as_str()?.to_owned(),
                    schema: tool.get("inputSchema").cloned().unwrap_or(Value::Null),
                })
            })
            .collect();
        let thread = Thread {
            tools,
            exchanges: 0,
        };
        self.threads.insert(id.clone(), thread);
        id
    }

    pub(super) fn get(&mut self, id: &str) -> Option<&mut Thread> {
        self.threads.get_mut(id)
    }

    pub(super) fn forget(&mut self, id: &str) {
        self.threads.remove(id);
    }
}

impl Thread {
    pub(super) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    pub(super) fn exchanges(&self) -> usize {
        self.exchanges
    }

    /// Counts the exchanges in the items of `thread/inject_items`.
    pub(super) fn inject(&mut self, params: &Value) {
        let items = params.get("items").and_then(Value::as_array);
        let answers = items
            .into_iter()
            .flatten()
            .filter(|item| item.get("role").and_then(Value::as_str) == Some("assistant"))
            .count();
        self.exchanges += answers;
    }

    /// The texts of `turn/start`, joined; counts the exchange.
    pub(super) fn take_input(&mut self, params: &Value) -> String {
        self.exchanges += 1;
        input(params)
    }
}

pub(super) fn input(params: &Value) -> String {
    let parts = params.get("input").and_then(Value::as_array);
    parts
        .into_iter()
        .flatten()
        .map(|part| {
            part.get("text")
                .and_then(Value::as_str)
                .unwrap_or("[image]")
        })
        .collect()
}
