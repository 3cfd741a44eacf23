//! Every action of the editor: its name in `config.json`, the chords it has by default, one line of help.
//!
//! The one source for what keys do, for `%ipycodex help keys` and for the check of the setting `keys`. The chords are
//! those of emacs mode and of vi's insert mode, as in IPython; in vi's normal mode those that vi itself has no use for.
//!
//! Absent on purpose: how an action is done (the editor's business).

/// A headline, and the actions under it.
macro_rules! actions {
    ($($title:literal {
        $($action:ident $name:literal [$($chord:literal)*] $(shares $when:ident)? $help:literal)*
    })*) => {
        /// Something a key can do in the editor.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum KeyAction {
            $($(#[doc = $help] $action,)*)*
        }

        /// The actions in the order they are told, under their headlines.
        pub const GROUPS: &[(&str, &[ActionRow])] = &[
            $(($title, &[$(ActionRow {
                action: KeyAction::$action,
                name: $name,
                chords: &[$($chord),*],
                shares: [$(Shares::$when,)? Shares::Never][0],
                help: $help,
            }),*]),)*
        ];
    };
}

/// An action as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionRow {
    /// The action.
    pub action: KeyAction,
    /// Its name in the setting `keys`.
    pub name: &'static str,
    /// Its default chords.
    pub chords: &'static [&'static str],
    /// When it has its turn at a chord it shares with another action.
    pub shares: Shares,
    /// One line.
    pub help: &'static str,
}

/// When an action comes before another of the same chord.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shares {
    /// It shares none.
    Never,
    /// Where it has something to do.
    WhereItCan,
    /// Where nothing is typed.
    WhereNothingIsTyped,
}

actions! {
    "Entering" {
        Enter "enter" ["enter" "ctrl-j"] "run what is complete, else begin a new line"
        Newline "newline" ["alt-enter" "shift-enter"] "begin a new line"
        Submit "submit" ["ctrl-x enter" "ctrl-enter"] "run the text as it is"
        Cancel "cancel" ["ctrl-c"] "drop the text"
        Leave "leave" ["ctrl-d"] "leave when nothing is typed, else delete a character"
        Suspend "suspend" ["ctrl-z"] "suspend the program"
        ClearScreen "clear_screen" ["ctrl-l"] "clear the screen and keep the text"
        PromptMode "prompt_mode" ["alt-p"] "prompts instead of cells, and back"
        ShellMode "shell_mode" ["alt-s"] "commands of the shell instead of cells, and back"
        OpenEditor "open_editor" ["f2" "ctrl-x ctrl-e"] "edit the text with $VISUAL or $EDITOR"
    }
    "The agent" {
        Suggest "suggest" ["alt-."] "ask the model how the text goes on"
        AcceptSuggestion "accept_suggestion" ["right" "ctrl-f" "end" "ctrl-e"] shares WhereItCan
            "take the grey text; where there is none, the key's other meaning"
        AcceptWord "accept_word" ["alt-f" "alt-right" "ctrl-right"] shares WhereItCan "take a word of it"
        Blocks "blocks" ["alt-shift-w"] "insert all Python blocks of the last answer"
        Block1 "block_1" ["alt-!" "alt-shift-1"] "insert its first block"
        Block2 "block_2" ["alt-@" "alt-shift-2"] "insert its second block"
        Block3 "block_3" ["alt-#" "alt-shift-3"] "insert its third block"
        Block4 "block_4" ["alt-$" "alt-shift-4"] "insert its fourth block"
        Block5 "block_5" ["alt-%" "alt-shift-5"] "insert its fifth block"
        Block6 "block_6" ["alt-^" "alt-shift-6"] "insert its sixth block"
        Block7 "block_7" ["alt-&" "alt-shift-7"] "insert its seventh block"
        Block8 "block_8" ["alt-*" "alt-shift-8"] "insert its eighth block"
        Block9 "block_9" ["alt-(" "alt-shift-9"] "insert its ninth block"
        BlockNext "block_next" ["alt-shift-down"] "put its next block in place of the text"
        BlockPrevious "block_previous" ["alt-shift-up"] "put the block before in place of the text"
        Recall "recall" ["alt-r"] "edit the last prompt and replace its answer"
        Copy "copy" ["alt-c"] shares WhereNothingIsTyped
            "put the last answer into the clipboard; where the key has another meaning, when nothing is typed"
        Unfold "unfold" ["ctrl-o"] "show in full what was shown shortened"
        Answer "answer" ["alt-a"] "show what an MCP client asks, and answer it"
    }
    "Completing" {
        Complete "complete" ["tab"] "complete; in leading white space: indent"
        Inspect "inspect" ["shift-tab"] "signature and documentation; in leading white space: dedent"
    }
    "Earlier inputs" {
        Up "up" ["up" "ctrl-p"] "a line up; in the first line an earlier input that begins with the text"
        Down "down" ["down" "ctrl-n"] "a line down; in the last line a later input"
        PreviousEntry "previous_entry" ["alt-up"] "the input before"
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
        Backspace "backspace" ["backspace" "ctrl-h" "shift-backspace"] "delete a character; in leading white space a \
                                                                        level"
        Delete "delete" ["delete"] "delete the character at the cursor"
        KillLine "kill_line" ["ctrl-k"] "cut to the end of the line"
        KillLineStart "kill_line_start" ["ctrl-u"] "cut to the start of the line"
        KillText "kill_text" ["ctrl-x ctrl-k"] "cut all of the text"
        KillBlankWord "kill_blank_word" ["ctrl-w"] "cut back to the blank before"
        KillWordLeft "kill_word_left" ["alt-backspace" "ctrl-backspace" "alt-ctrl-h"] "cut the word to the left"
        KillWordRight "kill_word_right" ["alt-d" "alt-delete" "ctrl-delete"] "cut the word to the right"
        Yank "yank" ["ctrl-y"] "insert what was cut last"
        YankPop "yank_pop" ["alt-y"] "after `yank`: what was cut before that"
        Undo "undo" ["ctrl-_" "ctrl-/" "ctrl-x ctrl-u"] "undo"
        Redo "redo" ["alt-_" "ctrl-x ctrl-r"] "redo"
        Transpose "transpose" ["ctrl-t"] "swap two characters"
        Uppercase "uppercase" ["alt-u"] "make the word upper case"
        Lowercase "lowercase" ["alt-l"] "make the word lower case"
        Capitalize "capitalize" ["alt-c"] "capitalize the word"
    }
}

impl KeyAction {
    /// Every action with its row.
    pub fn rows() -> impl Iterator<Item = &'static ActionRow> {
        GROUPS.iter().flat_map(|(_, rows)| rows.iter())
    }

    /// The action of this name.
    pub fn named(name: &str) -> Option<Self> {
        KeyAction::rows()
            .find(|row| row.name == name)
            .map(|row| row.action)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        KeyAction::rows()
            .find(|row| row.action == self)
            .map_or("", |row| row.name)
    }

    /// When it has its turn at a chord it shares with another action.
    pub fn shares(self) -> Shares {
        KeyAction::rows()
            .find(|row| row.action == self)
            .map_or(Shares::Never, |row| row.shares)
    }

    /// True for what may share a chord with another action, which has its turn where this one has not.
    pub fn gives_way(self) -> bool {
        self.shares() != Shares::Never
    }
}
