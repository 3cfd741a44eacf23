//! The skills that come with the program: the files below `skills/`, inside the binary.
//!
//! Their path is `builtin:NAME/SKILL.md`. A new one is a folder there and a row here; a test compares the two.

/// Directory and `SKILL.md` of each, in name order.
pub(super) const TABLE: &[(&str, &str)] = &[
    (
        "exploring-data",
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/shipped/exploring-data/SKILL.md"
        )),
    ),
    (
        "ipycodex-tools",
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/shipped/ipycodex-tools/SKILL.md"
        )),
    ),
    (
        "traceback-to-cause",
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/shipped/traceback-to-cause/SKILL.md"
        )),
    ),
];

/// The path shown in the list of skills.
pub(super) fn path(directory: &str) -> String {
    format!("builtin:{directory}/SKILL.md")
}
