//! Keys typed at lists of sessions.

use super::*;
use crate::record::HitKind;

fn row(id: i64, name: &str, prompt: &str) -> SessionRow {
    SessionRow {
        id,
        start: format!("2026-01-{id:02} 10:00:00.000000"),
        end: None,
        commands: 1,
        last_prompt: prompt.into(),
        name: (!name.is_empty()).then(|| name.into()),
        cwd: "/a".into(),
        first_prompt: prompt.into(),
        last_input: "x = 1".into(),
        once: false,
        fork: None,
    }
}

/// Sessions 9 to 5, all read.
fn picker() -> Picker {
    let mut picker = Picker::new(Scope::Directory("/a".into()));
    let rows = vec![
        row(9, "", "plot the data"),
        row(8, "rain", "why is the sky blue"),
        row(7, "", "fix the parser"),
        row(6, "", ""),
        row(5, "", "plot it again"),
    ];
    picker.add(rows, true);
    picker
}

/// Types a script: `<Down>`, `<C-x>` or the characters themselves.
fn typed(picker: &mut Picker, script: &str) -> PickerEffect {
    let mut wish = PickerEffect::Nothing;
    let mut rest = script;
    while let Some(first) = rest.chars().next() {
        let (code, modifiers, length) = match rest.strip_prefix('<').and_then(|r| r.split_once('>'))
        {
            Some((name, _)) => {
                let (code, modifiers) = named(name);
                (code, modifiers, name.len() + 2)
            }
            None => (KeyCode::Char(first), KeyModifiers::NONE, first.len_utf8()),
        };
        wish = picker.on_key(&KeyEvent::new(code, modifiers));
        rest = &rest[length..];
    }
    wish
}

fn named(name: &str) -> (KeyCode, KeyModifiers) {
    if let Some(control) = name.strip_prefix("C-") {
        return (
            KeyCode::Char(control.chars().next().unwrap()),
            KeyModifiers::CONTROL,
        );
    }
    let code = match name {
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "PageDown" => KeyCode::PageDown,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "Delete" => KeyCode::Delete,
        "Backspace" => KeyCode::Backspace,
        other => panic!("no key {other}"),
    };
    (code, KeyModifiers::NONE)
}

fn shown(picker: &Picker) -> Vec<i64> {
    (0..picker.shown.len())
        .map(|place| picker.at(place).id)
        .collect()
}

fn check(script: &str, expected: PickerEffect) {
    assert_eq!(typed(&mut picker(), script), expected, "{script}");
}

#[test]
fn enter_resumes_the_chosen_one_and_the_newest_is_chosen_first() {
    check("<Enter>", PickerEffect::Resume(9));
    check("<Down><Down><Up><Enter>", PickerEffect::Resume(8));
    check("<Up><Enter>", PickerEffect::Resume(9));
    check("<PageDown><Enter>", PickerEffect::Resume(5));
    check("<End><Enter>", PickerEffect::Resume(5));
    check("<End><Home><C-n><Enter>", PickerEffect::Resume(8));
    check("zzzz<Enter>", PickerEffect::Nothing);
    for leaving in ["<Esc>", "<C-c>", "<C-g>", "<C-d>", "abc<Esc>", "abc<C-c>"] {
        check(leaving, PickerEffect::Cancel);
    }
    check("abc<C-d>", PickerEffect::Nothing);
}

#[test]
fn typing_narrows_over_name_prompts_number_and_start() {
    check("sky<Enter>", PickerEffect::Resume(8));
    check("rain<Enter>", PickerEffect::Resume(8));
    check("prsr<Enter>", PickerEffect::Resume(7));
    check("7<Enter>", PickerEffect::Resume(7));
    check("2026-01-06<Enter>", PickerEffect::Resume(6));
    check("plot<Enter>", PickerEffect::Resume(9));
    check("plot<Down><Enter>", PickerEffect::Resume(5));
    check("plot agn<Enter>", PickerEffect::Resume(5));
    check("zz<Backspace><Backspace><Enter>", PickerEffect::Resume(9));
    check("<Down>plot<C-u><Enter>", PickerEffect::Resume(9));
}

#[test]
fn what_is_chosen_stays_chosen_while_rows_come() {
    let mut picker = Picker::new(Scope::All);
    assert_eq!(picker.next_page(), Some(i64::MAX));
    picker.add(vec![row(9, "", "plot"), row(8, "", "parse")], false);
    assert_eq!(picker.next_page(), Some(8));
    typed(&mut picker, "p<Down>");
    picker.add(vec![row(7, "", "p"), row(6, "", "zzz")], true);
    assert_eq!(picker.chosen().unwrap().id, 8);
    assert!(!picker.has_more());
    assert_eq!(picker.shown.len(), 3);
}

#[test]
fn a_deletion_is_asked_for_and_only_y_does_it() {
    check("<Down><C-x>y", PickerEffect::Delete(8));
    check("<Delete>Y", PickerEffect::Delete(9));
    for kept in ["<C-x>n", "<C-x><Enter>", "<C-x><Esc>", "<C-x><C-y>"] {
        let mut picker = picker();
        assert_eq!(typed(&mut picker, kept), PickerEffect::Nothing, "{kept}");
        assert_eq!(picker.message.as_deref(), Some("session 9 is kept"));
        assert_eq!(picker.mode, PickerMode::Choice);
    }
    let mut picker = picker();
    typed(&mut picker, "<Down><C-x>y");
    picker.on_deleted(8, Err(Report::failure("it is open")));
    assert_eq!(
        (shown(&picker).len(), picker.message.as_deref()),
        (5, Some("not deleted: it is open"))
    );
    picker.on_deleted(8, Ok(()));
    assert_eq!(
        (shown(&picker), picker.chosen().unwrap().id),
        (vec![9, 7, 6, 5], 7)
    );
}

#[test]
fn a_name_is_edited_and_shown() {
    check(
        "<Down><C-r>y<Enter>",
        PickerEffect::Rename(8, "rainy".into()),
    );
    check(
        "<C-r> new name <Enter>",
        PickerEffect::Rename(9, "new name".into()),
    );
    check("<C-r>x<Esc><Enter>", PickerEffect::Resume(9));
    let mut picker = picker();
    typed(&mut picker, "<Down><C-r><C-u>sunshine<Enter>");
    picker.on_renamed(8, "sunshine", Ok(()));
    assert_eq!(
        picker.message.as_deref(),
        Some("session 8 is named `sunshine`")
    );
    assert_eq!(
        typed(&mut picker, "sunshine<Enter>"),
        PickerEffect::Resume(8)
    );
    picker.on_renamed(8, "12", Err(Report::failure("no").because("why")));
    assert_eq!(picker.message.as_deref(), Some("not renamed: no: why"));
}

#[test]
fn tab_turns_between_this_directory_and_all() {
    let mut picker = picker();
    typed(&mut picker, "pl<Tab>");
    assert_eq!(
        (picker.scope(), picker.next_page()),
        (&Scope::All, Some(i64::MAX))
    );
    assert_eq!((shown(&picker), picker.filter.text()), (vec![], "pl"));
    picker.add(vec![row(12, "", "plum")], true);
    assert_eq!(typed(&mut picker, "<Enter>"), PickerEffect::Resume(12));
    typed(&mut picker, "<C-a>");
    assert_eq!(*picker.scope(), Scope::Directory("/a".into()));
}

#[test]
fn a_search_shows_the_sessions_that_hold_the_text() {
    let found = |session, text: &str| SearchHit {
        session,
        line: 1,
        start: String::new(),
        kind: HitKind::Cell,
        text: text.into(),
        at: 0..1,
    };
    let mut picker = picker();
    typed(&mut picker, "<C-f>");
    assert_eq!(
        picker.message.as_deref(),
        Some("type what to look for, then Ctrl-F")
    );
    typed(&mut picker, "needle<C-f>");
    let (needle, before) = picker.next_search().unwrap();
    assert_eq!((needle.text(), before), ("needle", i64::MAX));
    assert!(shown(&picker).is_empty());
    assert!(picker.add_found(vec![found(8, "a"), found(8, "b")], Some(7)));
    assert_eq!(picker.next_search().unwrap().1, 7);
    typed(&mut picker, "<Down>");
    assert!(picker.add_found(vec![found(5, "c")], Some(5)));
    assert!(picker.add_found(vec![], None), "the count changes");
    assert!(!picker.has_more());
    assert_eq!(shown(&picker), [8, 5]);
    assert_eq!(picker.found(8).unwrap().len(), 2);
    assert_eq!(typed(&mut picker, "<Enter>"), PickerEffect::Resume(8));
    typed(&mut picker, "<C-f>");
    assert!(picker.found(8).is_none(), "again: by the filter");
    typed(&mut picker, "<C-f><Backspace>");
    assert!(picker.next_search().is_none(), "another text ends it");
}
