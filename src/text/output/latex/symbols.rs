//! Commands of LaTeX and the characters they stand for.
//!
//! Tables only. A formula with a command that is missing here is shown as its source.

pub(super) fn symbol(command: &str) -> Option<&'static str> {
    SYMBOLS
        .iter()
        .find(|(known, _)| *known == command)
        .map(|(_, sign)| *sign)
}

pub(super) fn named_function(command: &str) -> bool {
    const NAMES: &str = " arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf \
                         limsup ln log \
                         max min Pr sec sin sinh sup tan tanh asin acos atan sinc sgn tr ";
    NAMES.contains(&format!(" {command} "))
}

pub(super) fn accent(command: &str) -> Option<char> {
    Some(match command {
        "hat" | "widehat" => '\u{302}',
        "bar" | "overline" => '\u{304}',
        "vec" | "overrightarrow" => '\u{20d7}',
        "dot" => '\u{307}',
        "ddot" => '\u{308}',
        "tilde" | "widetilde" => '\u{303}',
        "underline" => '\u{332}',
        _ => return None,
    })
}

pub(super) fn double_struck(letter: &str) -> Option<&'static str> {
    Some(match letter {
        "C" => "ℂ",
        "E" => "𝔼",
        "F" => "𝔽",
        "H" => "ℍ",
        "N" => "ℕ",
        "P" => "ℙ",
        "Q" => "ℚ",
        "R" => "ℝ",
        "Z" => "ℤ",
        "1" => "𝟙",
        _ => return None,
    })
}

/// `text` as an exponent, when each of its characters has a superscript form.
pub(super) fn superscript(text: &str) -> Option<String> {
    small(
        text,
        "0123456789+-=()abcdefghijklmnoprstuvwxyzTβγδθ′*",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀᵝᵞᵟᶿ′*",
    )
}

/// `text` as an index, when each of its characters has a subscript form.
pub(super) fn subscript(text: &str) -> Option<String> {
    small(
        text,
        "0123456789+-=()aehijklmnoprstuvxβγρφχ",
        "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ",
    )
}

fn small(text: &str, usual: &str, small: &str) -> Option<String> {
    let one = |c: char| {
        let (_, found) = usual
            .chars()
            .zip(small.chars())
            .find(|(known, _)| *known == c)?;
        Some(found)
    };
    let found: Option<String> = text.chars().map(one).collect();
    found.filter(|found| !found.is_empty())
}

const SYMBOLS: &[(&str, &str)] = &[
    ("alpha", "α"),
    ("beta", "β"),
    ("gamma", "γ"),
    ("delta", "δ"),
    ("epsilon", "ϵ"),
    ("varepsilon", "ε"),
    ("zeta", "ζ"),
    ("eta", "η"),
    ("theta", "θ"),
    ("vartheta", "ϑ"),
    ("iota", "ι"),
    ("kappa", "κ"),
    ("lambda", "λ"),
    ("mu", "μ"),
    ("nu", "ν"),
    ("xi", "ξ"),
    ("omicron", "ο"),
    ("pi", "π"),
    ("varpi", "ϖ"),
    ("rho", "ρ"),
    ("varrho", "ϱ"),
    ("sigma", "σ"),
    ("varsigma", "ς"),
    ("tau", "τ"),
    ("upsilon", "υ"),
    ("phi", "φ"),
    ("varphi", "φ"),
    ("chi", "χ"),
    ("psi", "ψ"),
    ("omega", "ω"),
    ("Gamma", "Γ"),
    ("Delta", "Δ"),
    ("Theta", "Θ"),
    ("Lambda", "Λ"),
    ("Xi", "Ξ"),
    ("Pi", "Π"),
    ("Sigma", "Σ"),
    ("Upsilon", "Υ"),
    ("Phi", "Φ"),
    ("Psi", "Ψ"),
    ("Omega", "Ω"),
    ("sum", "∑"),
    ("prod", "∏"),
    ("coprod", "∐"),
    ("int", "∫"),
    ("iint", "∬"),
    ("iiint", "∭"),
    ("oint", "∮"),
    ("infty", "∞"),
    ("partial", "∂"),
    ("nabla", "∇"),
    ("pm", "±"),
    ("mp", "∓"),
    ("times", "×"),
    ("div", "÷"),
    ("cdot", "·"),
    ("ast", "∗"),
    ("star", "⋆"),
    ("circ", "∘"),
    ("bullet", "•"),
    ("oplus", "⊕"),
    ("ominus", "⊖"),
    ("otimes", "⊗"),
    ("odot", "⊙"),
    ("wedge", "∧"),
    ("land", "∧"),
    ("vee", "∨"),
    ("lor", "∨"),
    ("neg", "¬"),
    ("lnot", "¬"),
    ("cap", "∩"),
    ("cup", "∪"),
    ("bigcap", "⋂"),
    ("bigcup", "⋃"),
    ("setminus", "∖"),
    ("emptyset", "∅"),
    ("varnothing", "∅"),
    ("in", "∈"),
    ("notin", "∉"),
    ("ni", "∋"),
    ("subset", "⊂"),
    ("subseteq", "⊆"),
    ("supset", "⊃"),
    ("supseteq", "⊇"),
    ("forall", "∀"),
    ("exists", "∃"),
    ("nexists", "∄"),
    ("leq", "≤"),
    ("le", "≤"),
    ("geq", "≥"),
    ("ge", "≥"),
    ("neq", "≠"),
    ("ne", "≠"),
    ("ll", "≪"),
    ("gg", "≫"),
    ("approx", "≈"),
    ("sim", "∼"),
    ("simeq", "≃"),
    ("cong", "≅"),
    ("equiv", "≡"),
    ("propto", "∝"),
    ("perp", "⊥"),
    ("parallel", "∥"),
    ("mid", "∣"),
    ("to", "→"),
    ("rightarrow", "→"),
    ("leftarrow", "←"),
    ("gets", "←"),
    ("leftrightarrow", "↔"),
    ("Rightarrow", "⇒"),
    ("implies", "⇒"),
    ("Leftarrow", "⇐"),
    ("impliedby", "⇐"),
    ("Leftrightarrow", "⇔"),
    ("iff", "⇔"),
    ("mapsto", "↦"),
    ("longrightarrow", "⟶"),
    ("uparrow", "↑"),
    ("downarrow", "↓"),
    ("langle", "⟨"),
    ("rangle", "⟩"),
    ("lfloor", "⌊"),
    ("rfloor", "⌋"),
    ("lceil", "⌈"),
    ("rceil", "⌉"),
    ("lbrace", "{"),
    ("rbrace", "}"),
    ("lvert", "|"),
    ("rvert", "|"),
    ("vert", "|"),
    ("lVert", "‖"),
    ("rVert", "‖"),
    ("Vert", "‖"),
    ("backslash", "\\"),
    ("ldots", "…"),
    ("dots", "…"),
    ("cdots", "⋯"),
    ("vdots", "⋮"),
    ("ddots", "⋱"),
    ("hbar", "ℏ"),
    ("ell", "ℓ"),
    ("Re", "ℜ"),
    ("Im", "ℑ"),
    ("aleph", "ℵ"),
    ("prime", "′"),
    ("degree", "°"),
    ("angle", "∠"),
    ("triangle", "△"),
    ("therefore", "∴"),
    ("because", "∵"),
    ("top", "⊤"),
    ("bot", "⊥"),
    ("vdash", "⊢"),
    ("models", "⊨"),
    ("dagger", "†"),
    ("imath", "ı"),
    ("jmath", "ȷ"),
    ("colon", ":"),
    ("lt", "<"),
    ("gt", ">"),
    ("square", "□"),
    ("checkmark", "✓"),
    ("bmod", "mod"),
    ("log", "log"),
];
