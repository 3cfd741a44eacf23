//! Maps an action to reedline's event: one of its own, or a host command.
//!
//! Absent on purpose: actions that depend on the text typed (Enter, Tab, Backspace, cutting), which `keys` decides.

use reedline::{EditCommand, ReedlineEvent};

use crate::config::KeyAction;
use crate::terminal::blocks::BlockCommand;
use crate::terminal::host_command::HostCommand;
use crate::terminal::keys::edits;

/// Returns the event of an action that does not depend on the text.
pub(super) fn event(action: KeyAction) -> ReedlineEvent {
    use ReedlineEvent as Event;
    let select = true;
    let first_of = |events: &[Event]| Event::UntilFound(events.to_vec());
    match action {
        KeyAction::Cancel => Event::CtrlC,
        KeyAction::Leave => Event::CtrlD,
        KeyAction::ClearScreen => Event::ClearScreen,
        KeyAction::Submit | KeyAction::Enter => Event::Submit,
        KeyAction::Newline => edit(EditCommand::InsertNewline),
        KeyAction::Suspend => HostCommand::Suspend.event(),
        KeyAction::PromptMode => HostCommand::PromptMode.event(),
        KeyAction::ShellMode => HostCommand::ShellMode.event(),
        // The editor never sees it.
        KeyAction::Background => Event::None,
        KeyAction::PlanMode => HostCommand::PlanMode.event(),
        KeyAction::OpenEditor => HostCommand::OpenEditor.event(),
        KeyAction::Answer => HostCommand::Answer.event(),
        KeyAction::Suggest => HostCommand::Suggest.event(),
        KeyAction::Complete => HostCommand::Complete.event(),
        KeyAction::Inspect => HostCommand::Inspect.event(),
        KeyAction::AcceptSuggestion => Event::HistoryHintComplete,
        KeyAction::AcceptWord => Event::HistoryHintWordComplete,
        KeyAction::Blocks => wish(BlockCommand::All),
        KeyAction::Block1 => wish(BlockCommand::Nth(1)),
        KeyAction::Block2 => wish(BlockCommand::Nth(2)),
        KeyAction::Block3 => wish(BlockCommand::Nth(3)),
        KeyAction::Block4 => wish(BlockCommand::Nth(4)),
        KeyAction::Block5 => wish(BlockCommand::Nth(5)),
        KeyAction::Block6 => wish(BlockCommand::Nth(6)),
        KeyAction::Block7 => wish(BlockCommand::Nth(7)),
        KeyAction::Block8 => wish(BlockCommand::Nth(8)),
        KeyAction::Block9 => wish(BlockCommand::Nth(9)),
        KeyAction::BlockNext => wish(BlockCommand::Next),
        KeyAction::BlockPrevious => wish(BlockCommand::Previous),
        KeyAction::Recall => wish(BlockCommand::Recall),
        KeyAction::Copy => wish(BlockCommand::Copy),
        KeyAction::Unfold => wish(BlockCommand::Unfold),
        KeyAction::Up => first_of(&[Event::MenuUp, Event::Up]),
        KeyAction::Down => first_of(&[Event::MenuDown, Event::Down]),
        // From the end of a typed text the editor would search for entries that begin with it.
        KeyAction::PreviousEntry => Event::Multiple(vec![Event::ToStart, Event::PreviousHistory]),
        KeyAction::NextEntry => Event::NextHistory,
        KeyAction::SearchHistory => HostCommand::SearchHistory.event(),
        KeyAction::Left => first_of(&[Event::MenuLeft, Event::Left]),
        KeyAction::Right => first_of(&[Event::MenuRight, Event::Right]),
        KeyAction::WordLeft => edit(EditCommand::MoveWordLeft { select: false }),
        KeyAction::WordRight => edit(EditCommand::MoveWordRight { select: false }),
        KeyAction::LineStart => edit(EditCommand::MoveToLineStart { select: false }),
        KeyAction::LineEnd => edit(EditCommand::MoveToLineEnd { select: false }),
        KeyAction::TextStart => Event::ToStart,
        KeyAction::TextEnd => Event::ToEnd,
        KeyAction::SelectLeft => edit(EditCommand::MoveLeft { select }),
        KeyAction::SelectRight => edit(EditCommand::MoveRight { select }),
        KeyAction::SelectUp => edit(EditCommand::MoveLineUp { select }),
        KeyAction::SelectDown => edit(EditCommand::MoveLineDown { select }),
        KeyAction::SelectWordLeft => edit(EditCommand::MoveWordLeft { select }),
        KeyAction::SelectWordRight => edit(EditCommand::MoveWordRight { select }),
        KeyAction::SelectLineStart => edit(EditCommand::MoveToLineStart { select }),
        KeyAction::SelectLineEnd => edit(EditCommand::MoveToLineEnd { select }),
        KeyAction::SelectAll => edit(EditCommand::SelectAll),
        KeyAction::Backspace => edit(EditCommand::Backspace),
        KeyAction::Delete => edit(EditCommand::Delete),
        KeyAction::KillLine
        | KeyAction::KillLineStart
        | KeyAction::KillText
        | KeyAction::KillBlankWord
        | KeyAction::KillWordLeft
        | KeyAction::KillWordRight
        | KeyAction::Yank
        | KeyAction::YankPop => HostCommand::Change(action).event(),
        KeyAction::Undo => edit(EditCommand::Undo),
        KeyAction::Redo => edit(EditCommand::Redo),
        KeyAction::Transpose => edit(EditCommand::SwapGraphemes),
        KeyAction::Uppercase => edit(EditCommand::UppercaseWord),
        KeyAction::Lowercase => edit(EditCommand::LowercaseWord),
        KeyAction::Capitalize => edit(EditCommand::CapitalizeChar),
    }
}

/// Returns true for actions that select: later actions apply to the selection.
pub(super) fn selects(action: KeyAction) -> bool {
    matches!(
        action,
        KeyAction::SelectLeft
            | KeyAction::SelectRight
            | KeyAction::SelectUp
            | KeyAction::SelectDown
            | KeyAction::SelectWordLeft
            | KeyAction::SelectWordRight
            | KeyAction::SelectLineStart
            | KeyAction::SelectLineEnd
            | KeyAction::SelectAll
    )
}

/// Returns true for actions that vi handles itself outside its insert mode.
pub(super) fn is_for_insert_mode(action: KeyAction) -> bool {
    edits::cuts(action)
        || matches!(
            action,
            KeyAction::Newline
                | KeyAction::Complete
                | KeyAction::Backspace
                | KeyAction::Delete
                | KeyAction::Yank
                | KeyAction::YankPop
                | KeyAction::Transpose
                | KeyAction::Uppercase
                | KeyAction::Lowercase
                | KeyAction::Capitalize
        )
}

/// Returns true for actions that vi has keys of its own for.
pub(super) fn is_of_vi(action: KeyAction) -> bool {
    is_for_insert_mode(action)
        || selects(action)
        || matches!(
            action,
            KeyAction::Up
                | KeyAction::Down
                | KeyAction::PreviousEntry
                | KeyAction::NextEntry
                | KeyAction::Left
                | KeyAction::Right
                | KeyAction::WordLeft
                | KeyAction::WordRight
                | KeyAction::AcceptWord
                | KeyAction::AcceptSuggestion
                | KeyAction::LineStart
                | KeyAction::LineEnd
                | KeyAction::TextStart
                | KeyAction::TextEnd
                | KeyAction::Undo
                | KeyAction::Redo
        )
}

/// Returns true when reedline returns to us and parses no further key of this read.
pub(super) fn ends_reading(event: &ReedlineEvent, empty: bool) -> bool {
    match event {
        // The hints handle this one.
        ReedlineEvent::ExecuteHostCommand(name) => *name != HostCommand::Suggest.name(),
        ReedlineEvent::Submit | ReedlineEvent::Enter | ReedlineEvent::CtrlC => true,
        ReedlineEvent::CtrlD => empty,
        ReedlineEvent::Multiple(events) | ReedlineEvent::UntilFound(events) => {
            events.iter().any(|event| ends_reading(event, empty))
        }
        _ => false,
    }
}

/// Returns true when the text is submitted, whatever it is.
pub(super) fn submits(event: &ReedlineEvent) -> bool {
    match event {
        ReedlineEvent::Submit => true,
        ReedlineEvent::UntilFound(events) => events.iter().any(submits),
        _ => false,
    }
}

fn edit(command: EditCommand) -> ReedlineEvent {
    ReedlineEvent::Edit(vec![command])
}

fn wish(wish: BlockCommand) -> ReedlineEvent {
    HostCommand::Block(wish).event()
}
