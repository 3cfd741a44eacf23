//! The final state of a run's widgets, as a notebook keeps it: a page shows them from that, without a kernel.
//!
//! In: the messages of their comms. Out: `metadata.widgets` of the notebook. Documents: the state format 2.0 of
//! `@jupyter-widgets/schema`; the choice of messages follows nbclient.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::runtime::CommMessage;
use crate::session::{CellEvent, SessionEvent};

const STATE: &str = "application/vnd.jupyter.widget-state+json";

/// Widgets by comm id.
#[derive(Debug, Default)]
pub(super) struct Widgets(BTreeMap<String, Widget>);

#[derive(Debug, Default)]
struct Widget {
    state: Map<String, Value>,
    /// Binary parts of the state, by their paths in it.
    buffers: BTreeMap<String, Value>,
}

impl Widgets {
    pub(super) fn on(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Cell(CellEvent::Late { event, .. }) => self.cell(event),
            SessionEvent::Cell(event) => self.cell(event),
            _ => {}
        }
    }

    fn cell(&mut self, event: &CellEvent) {
        if let CellEvent::Comm(message) = event {
            self.comm(message);
        }
    }

    fn comm(&mut self, message: &CommMessage) {
        let Some(Value::Object(state)) = message.data.get("state") else {
            return;
        };
        let widget = self.0.entry(message.comm_id.clone()).or_default();
        widget.state.extend(state.clone());
        let paths = message.data.get("buffer_paths").and_then(Value::as_array);
        for (path, bytes) in paths.into_iter().flatten().zip(&message.buffers) {
            let buffer =
                json!({"data": STANDARD.encode(bytes), "encoding": "base64", "path": path});
            widget.buffers.insert(path.to_string(), buffer);
        }
    }

    /// Returns the entry of the notebook's metadata; `None` without widgets.
    pub(super) fn metadata(&self) -> Option<(String, Value)> {
        let mut states = Map::new();
        for (comm, Widget { state, buffers }) in &self.0 {
            // A state without a model is no widget's.
            if !state.contains_key("_model_name") {
                continue;
            }
            let of = |key: &str| state.get(key).cloned().unwrap_or_default();
            let mut widget = json!({
                "model_module": of("_model_module"),
                "model_module_version": of("_model_module_version"),
                "model_name": of("_model_name"),
                "state": state,
            });
            if !buffers.is_empty() {
                widget["buffers"] = buffers.values().cloned().collect();
            }
            states.insert(comm.clone(), widget);
        }
        if states.is_empty() {
            return None;
        }
        let all = json!({STATE: {"state": states, "version_major": 2, "version_minor": 0}});
        Some(("widgets".to_owned(), all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::CommOp;

    #[test]
    fn the_last_state_of_each_widget_is_kept() {
        let mut widgets = Widgets::default();
        let said = |comm: &str, act, data: Value, buffers: &[&[u8]]| {
            CellEvent::Comm(CommMessage {
                comm_id: comm.into(),
                op: act,
                data,
                metadata: Map::new(),
                buffers: buffers.iter().map(|bytes| bytes.to_vec()).collect(),
            })
        };
        let open = CommOp::Open {
            target: "jupyter.widget".into(),
        };
        assert_eq!(widgets.metadata(), None);
        let model =
            json!({"state": {"_model_name": "IntSlider", "_model_module": "m", "value": 1}});
        widgets.on(&SessionEvent::Cell(said("a", open.clone(), model, &[])));
        let more = json!({"method": "update", "state": {"value": 7}, "buffer_paths": [["image"]]});
        let event = Box::new(said("a", CommOp::Msg, more, &[b"\xff"]));
        widgets.on(&SessionEvent::Cell(CellEvent::Late { line: 1, event }));
        let custom = json!({"method": "custom", "content": 1});
        widgets.on(&SessionEvent::Cell(said("a", CommOp::Msg, custom, &[])));
        widgets.on(&SessionEvent::Cell(said(
            "b",
            open,
            json!({"state": {"x": 1}}),
            &[],
        )));
        let (key, value) = widgets.metadata().unwrap();
        assert_eq!(key, "widgets");
        let expected = json!({STATE: {"version_major": 2, "version_minor": 0, "state": {"a": {
            "model_name": "IntSlider", "model_module": "m", "model_module_version": null,
            "state": {"_model_name": "IntSlider", "_model_module": "m", "value": 7},
            "buffers": [{"data": "/w==", "encoding": "base64", "path": ["image"]}],
        }}}});
        assert_eq!(value, expected);
    }
}
