//! All actions of the editor: name in `config.json`, default chords, one line of help.
//!
//! The single source for `%ipycodex help keys` and for the check of the setting `keys`. The chords are those of emacs
//! mode and of vi's insert mode, as in IPython; in vi's normal mode, those that vi itself does not use.
//!
//! Absent on purpose: the implementation of the actions (in the editor).

macro_rules! actions {
    ($($title:literal {
        $($action:ident $name:literal [$($chord:literal)*] $(shares $when:ident)? $help:literal)*
    })*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum KeyAction {
            $($(#[doc = $help] $action,)*)*
        }

        /// The actions in the order in which they are listed, under their headlines.
        pub const GROUPS: &[(&str, &[ActionRow])] = &[
            $(($title, &[$(ActionRow {
                action: KeyAction::$action,
                name: $name,
                chords: &[$($chord),*],
                shares: [$(ChordPriority::$when,)? ChordPriority::Never][0],
                help: $help,
            }),*]),)*
        ];
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionRow {
    pub action: KeyAction,
    /// The name in the setting `keys`.
    pub name: &'static str,
    pub chords: &'static [&'static str],
    /// When it takes precedence on a chord that it shares with another action.
    pub shares: ChordPriority,
    /// One line.
    pub help: &'static str,
}

/// When an action takes precedence over another with the same chord.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChordPriority {
    Never,
    /// Where the action applies.
    WhereItCan,
    /// Where the input is empty.
    WhereNothingIsTyped,
    /// While a cell runs, when there is no editor.
    WhileACellRuns,
}

actions! {
    "Entering" {
        Enter "enter" ["enter" "ctrl-j"] "run, or begin a new line"
        Newline "newline" ["alt-enter" "shift-enter"] "begin a new line"
        Submit "submit" ["ctrl-x enter" "ctrl-enter"] "run the text as it is"
        Cancel "cancel" ["ctrl-c"] "drop the text"
        Leave "leave" ["ctrl-d"] "leave, or delete right"
        Suspend "suspend" ["ctrl-z"] "suspend the program"
        ClearScreen "clear_screen" ["ctrl-l"] "clear the screen"
        PromptMode "prompt_mode" ["alt-p"] "prompt mode on or off"
        ShellMode "shell_mode" ["alt-s"] "shell mode on or off"
        Background "background" ["ctrl-b"] shares WhileACellRuns "let the running cell go on behind the prompt"
        PlanMode "plan_mode" ["shift-tab"] shares WhereNothingIsTyped "plan mode on or off"
        OpenEditor "open_editor" ["f2" "ctrl-x ctrl-e"] "edit in $VISUAL or $EDITOR"
    }
    "The agent" {
        Suggest "suggest" ["alt-."] "ask the model to continue"
        AcceptSuggestion "accept_suggestion" ["right" "ctrl-f" "end" "ctrl-e"] shares WhereItCan "take the grey text"
        AcceptWord "accept_word" ["alt-f" "alt-right" "ctrl-right"] shares WhereItCan "take a word of it"
        Blocks "blocks" ["alt-shift-w"] "insert the answer's Python"
        Block1 "block_1" ["alt-!" "alt-shift-1"] "insert its block 1"
        Block2 "block_2" ["alt-@" "alt-shift-2"] "insert its block 2"
        Block3 "block_3" ["alt-#" "alt-shift-3"] "insert its block 3"
        Block4 "block_4" ["alt-$" "alt-shift-4"] "insert its block 4"
        Block5 "block_5" ["alt-%" "alt-shift-5"] "insert its block 5"
        Block6 "block_6" ["alt-^" "alt-shift-6"] "insert its block 6"
        Block7 "block_7" ["alt-&" "alt-shift-7"] "insert its block 7"
        Block8 "block_8" ["alt-*" "alt-shift-8"] "insert its block 8"
        Block9 "block_9" ["alt-(" "alt-shift-9"] "insert its block 9"
        BlockNext "block_next" ["alt-shift-down"] "use its next block instead"
        BlockPrevious "block_previous" ["alt-shift-up"] "use its previous block"
        Recall "recall" ["alt-r"] "edit the last prompt again"
        Copy "copy" ["alt-c"] shares WhereNothingIsTyped "copy the last answer"
        Unfold "unfold" ["ctrl-o"] "show the shortened output"
        Answer "answer" ["alt-a"] "answer an MCP client"
    }
    "Completing" {
        Complete "complete" ["tab"] "complete, or indent"
        Inspect "inspect" ["shift-tab"] "signature, doc; or dedent"
    }
    "Earlier inputs" {
        Up "up" ["up" "ctrl-p"] "line up, or earlier inputs"
        Down "down" ["down" "ctrl-n"] "line down, or later inputs"
        PreviousEntry "previous_entry" ["alt-up"] "the previous input"
        NextEntry "next_entry" ["alt-down"] "the next input"
        SearchHistory "search_history" ["ctrl-r"] "search earlier inputs"
    }
    "Moving" {
        Left "left" ["left" "ctrl-b"] "a character left"
        Right "right" ["right" "ctrl-f"] "a character right"
        WordLeft "word_left" ["alt-b" "alt-left" "ctrl-left"] "a word left"
        WordRight "word_right" ["alt-f" "alt-right" "ctrl-right"] "a word right"
        LineStart "line_start" ["home" "ctrl-a"] "start of the line"
        LineEnd "line_end" ["end" "ctrl-e"] "end of the line"
        TextStart "text_start" ["alt-<" "alt-shift-," "ctrl-home"] "start of the text"
        TextEnd "text_end" ["alt->" "alt-shift-." "ctrl-end"] "end of the text"
    }
    "Selecting" {
        SelectLeft "select_left" ["shift-left"] "a character to the left"
        SelectRight "select_right" ["shift-right"] "a character to the right"
        SelectUp "select_up" ["shift-up"] "a line up"
        SelectDown "select_down" ["shift-down"] "a line down"
        SelectWordLeft "select_word_left" ["ctrl-shift-left"] "a word to the left"
        SelectWordRight "select_word_right" ["ctrl-shift-right"] "a word to the right"
        SelectLineStart "select_line_start" ["shift-home"] "to the start of the line"
        SelectLineEnd "select_line_end" ["shift-end"] "to the end of the line"
        SelectAll "select_all" ["ctrl-shift-a" "ctrl-x h"] "everything"
    }
    "Changing" {
        Backspace "backspace" ["backspace" "ctrl-h" "shift-backspace"] "delete to the left"
        Delete "delete" ["delete"] "delete to the right"
        KillLine "kill_line" ["ctrl-k"] "cut to the line's end"
        KillLineStart "kill_line_start" ["ctrl-u"] "cut to the line's start"
        KillText "kill_text" ["ctrl-x ctrl-k"] "cut all of the text"
        KillBlankWord "kill_blank_word" ["ctrl-w"] "cut back to a space"
        KillWordLeft "kill_word_left" ["alt-backspace" "ctrl-backspace" "alt-ctrl-h"] "cut the word to the left"
        KillWordRight "kill_word_right" ["alt-d" "alt-delete" "ctrl-delete"] "cut the word to the right"
        Yank "yank" ["ctrl-y"] "insert what was cut last"
        YankPop "yank_pop" ["alt-y"] "replace it by an older cut"
        Undo "undo" ["ctrl-_" "ctrl-/" "ctrl-x ctrl-u"] "undo"
        Redo "redo" ["alt-_" "ctrl-x ctrl-r"] "redo"
        Transpose "transpose" ["ctrl-t"] "swap two characters"
        Uppercase "uppercase" ["alt-u"] "make the word upper case"
        Lowercase "lowercase" ["alt-l"] "make the word lower case"
        Capitalize "capitalize" ["alt-c"] "capitalize the word"
    }
}

impl KeyAction {
    pub fn rows() -> impl Iterator<Item = &'static ActionRow> {
        GROUPS.iter().flat_map(|(_, rows)| rows.iter())
    }

    pub fn from_name(name: &str) -> Option<Self> {
        KeyAction::rows()
            .find(|row| row.name == name)
            .map(|row| row.action)
    }

    pub fn name(self) -> &'static str {
        KeyAction::rows()
            .find(|row| row.action == self)
            .map_or("", |row| row.name)
    }

    pub fn shares(self) -> ChordPriority {
        KeyAction::rows()
            .find(|row| row.action == self)
            .map_or(ChordPriority::Never, |row| row.shares)
    }

    /// True for an action that may share a chord with another, which then runs where this one does not apply.
    pub fn gives_way(self) -> bool {
        self.shares() != ChordPriority::Never
    }
}
