//! Items and notifications of the app-server as plans, activities and changes of files.
//!
//! Pure. `turn/plan/updated` and the item of an MCP call are read as the schema of 0.169.0 defines them: no tested
//! model produced either.

use serde_json::Value;

use super::wire::item::{FileUpdateChange, ThreadItem};
use super::wire::turn::TurnPlanUpdatedNotification;
use crate::dialog::call_line;
use crate::failure::one_line;
use crate::{
    Activity, ActivityKind, Change, FileChange, FileLocation, InputPart, PlanStep, WorkStatus,
};

pub(super) fn plan(notice: TurnPlanUpdatedNotification) -> Vec<PlanStep> {
    let steps = notice.plan.into_iter().map(|step| PlanStep {
        text: one_line(&step.step),
        status: status(&step.status),
    });
    steps.collect()
}

/// An item as an activity; `None` for items of other kinds. `over`: the item has completed.
pub(super) fn activity(item: ThreadItem, over: bool) -> Option<Activity> {
    let ended = match over {
        true => WorkStatus::Done,
        false => WorkStatus::Running,
    };
    Some(match item {
        ThreadItem::WebSearch { id, query, action } => {
            let text = |key: &str| action.get(key).and_then(Value::as_str).unwrap_or_default();
            let what = [query.as_str(), text("query"), text("url")]
                .into_iter()
                .find(|it| !it.is_empty())
                .unwrap_or("the web");
            let verb = if over { "searched" } else { "searching" };
            Activity {
                id,
                kind: ActivityKind::Search,
                title: format!("{verb}: {}", one_line(what)),
                status: ended,
                content: Vec::new(),
                denied: false,
                locations: Vec::new(),
            }
        }
        ThreadItem::McpToolCall {
            id,
            server,
            tool,
            arguments,
            status: word,
            result,
            error,
        } => {
            let mut content: Vec<InputPart> = result.content.iter().filter_map(block).collect();
            if !error.message.is_empty() {
                content.push(InputPart::Text(error.message));
            }
            Activity {
                id,
                kind: ActivityKind::Mcp,
                title: call_line(&format!("{server}.{tool}"), &arguments),
                status: match word.is_empty() {
                    true => ended,
                    false => status(&word),
                },
                content,
                denied: false,
                locations: Vec::new(),
            }
        }
        ThreadItem::ImageView { id, path } => Activity {
            id,
            kind: ActivityKind::Read,
            title: "looked at a picture".to_owned(),
            status: ended,
            content: Vec::new(),
            denied: false,
            locations: vec![FileLocation { path, line: None }],
        },
        ThreadItem::ContextCompaction { id } if over => Activity {
            id,
            kind: ActivityKind::Other,
            title: "shortened the conversation for the model".to_owned(),
            status: ended,
            content: Vec::new(),
            denied: false,
            locations: Vec::new(),
        },
        _ => return None,
    })
}

fn status(word: &str) -> WorkStatus {
    match word {
        "completed" => WorkStatus::Done,
        "inProgress" => WorkStatus::Running,
        "failed" => WorkStatus::Failed,
        _ => WorkStatus::Waiting,
    }
}

/// A content block of MCP that can be shown.
fn block(block: &Value) -> Option<InputPart> {
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    match text("type")? {
        "text" => Some(InputPart::Text(text("text")?.to_owned())),
        "image" => {
            let url = format!("data:{};base64,{}", text("mimeType")?, text("data")?);
            Some(InputPart::Image(url))
        }
        _ => None,
    }
}

/// Changes of files; a file that is moved is two, so that an approval is about both places.
pub(super) fn changes(told: Vec<FileUpdateChange>) -> Vec<FileChange> {
    let changes = told.into_iter().flat_map(|told| {
        let moved = told.kind.move_path.map(|path| FileChange {
            path,
            change: Change::Diff(format!("(moved from {})", told.path)),
        });
        let change = FileChange {
            path: told.path,
            change: match told.kind.name.as_str() {
                "add" => Change::Added(told.diff),
                "delete" => Change::Deleted(told.diff),
                _ => Change::Diff(told.diff),
            },
        };
        std::iter::once(change).chain(moved)
    });
    changes.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn of(item: Value, over: bool) -> Activity {
        let item: ThreadItem =
            from_value(item.clone()).unwrap_or_else(|error| panic!("{item}: {error}"));
        activity(item, over).expect("an activity")
    }

    #[test]
    fn a_moved_file_is_changed_in_both_places() {
        let told = json!([
            {"path": "/p/a", "kind": {"type": "update", "move_path": "/q/b"}, "diff": "@@"},
            {"path": "/p/c", "kind": {"type": "update", "move_path": null}, "diff": "@@"},
        ]);
        let changes = changes(from_value(told).unwrap());
        let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["/p/a", "/q/b", "/p/c"]);
        assert_eq!(changes[1].change.text(), "(moved from /p/a)");
    }

    #[test]
    fn a_plan_is_all_its_steps() {
        let steps = plan(
            from_value(json!({"explanation": null, "plan": [
                {"step": "read\nit", "status": "completed"},
                {"step": "write", "status": "inProgress"},
                {"step": "test", "status": "pending"},
                {"step": null, "status": null},
            ]}))
            .unwrap(),
        );
        let told: Vec<_> = steps
            .iter()
            .map(|step| (step.text.as_str(), step.status))
            .collect();
        assert_eq!(
            told,
            [
                ("read it", WorkStatus::Done),
                ("write", WorkStatus::Running),
                ("test", WorkStatus::Waiting),
                ("", WorkStatus::Waiting),
            ]
        );
    }

    #[test]
    fn a_call_of_a_server_tells_what_was_called_and_what_came() {
        let call = |more: Value| {
            let mut item = json!({
                "type": "mcpToolCall", "id": "m", "server": "w", "tool": "now", "arguments": {"city": "Oslo"},
                "status": "inProgress", "result": null, "error": null, "durationMs": null,
            });
            for (key, value) in more.as_object().unwrap() {
                item[key] = value.clone();
            }
            item
        };
        let begun = of(call(json!({})), false);
        assert_eq!(begun.title_with_locations(), "w.now(city='Oslo')");
        assert_eq!(
            (begun.kind, begun.status),
            (ActivityKind::Mcp, WorkStatus::Running)
        );
        let content = json!([
            {"type": "text", "text": "rain"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "audio"}, 7,
        ]);
        let done = of(
            call(json!({"status": "completed", "result": {"content": content}})),
            true,
        );
        assert_eq!(
            (done.status, done.text()),
            (WorkStatus::Done, "rain".to_owned())
        );
        assert_eq!(
            done.content[1],
            InputPart::Image("data:image/png;base64,AAAA".into())
        );
        let failed = of(
            call(json!({"status": "failed", "error": {"message": "no such city"}})),
            true,
        );
        assert_eq!(
            (failed.status, failed.text().as_str()),
            (WorkStatus::Failed, "no such city")
        );
    }

    #[test]
    fn a_search_and_a_look_name_what_they_are_about() {
        let search = json!({"type": "webSearch", "id": "s", "query": "",
            "action": {"type": "openPage", "url": "http://x"}});
        assert_eq!(
            of(search, true).title_with_locations(),
            "searched: http://x"
        );
        let begun = json!({"type": "webSearch", "id": "s", "query": ""});
        assert_eq!(
            of(begun, false).title_with_locations(),
            "searching: the web"
        );
        let look = json!({"type": "imageView", "id": "i", "path": "/p/a.png"});
        assert_eq!(
            of(look, true).title_with_locations(),
            "looked at a picture (/p/a.png)"
        );
    }
}
