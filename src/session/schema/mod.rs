//! JSON schemas for answers: the strict form that models are held to, and the check of answers.
//!
//! In: a schema as the user gave it, the text of an answer. Out: the schema for strict structured outputs, and the
//! answer as JSON that fits the given schema, or the list of its mismatches. Pure. Invariant: a schema that is sent
//! as strict keeps the published rules (`strict`); any other schema is put into the prompt instead ([`for_agent`]),
//! and the answer is checked all the same. Formats: JSON Schema (2020-12 where a schema does not name its draft); the
//! rules of <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>.

mod form;
mod limits;
mod part;
mod problem;
mod strict;

#[cfg(test)]
mod tests;

use jsonschema::Validator;
use serde_json::Value;

use strict::StrictSchema;

/// Mismatches reported at most.
const MOST_PROBLEMS: usize = 5;

/// Precedes the schema in a prompt to an agent that cannot be held to one.
const HELD: &str = "Answer with nothing but JSON that fits this JSON schema:";

#[derive(Debug)]
pub struct AnswerSchema {
    validator: Validator,
    strict: Option<StrictSchema>,
}

impl AnswerSchema {
    /// Reads the schema.
    ///
    /// # Errors
    /// The value is not a schema: one line with place and reason.
    pub fn new(given: &Value) -> Result<Self, String> {
        if let Some(kind) = problem::unknown_type(given) {
            return Err(kind);
        }
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .with_format("date-time", problem::is_date_time)
            .with_format("time", problem::is_time)
            .build(given)
            .map_err(|error| problem::describe_schema_error(&error))?;
        Ok(AnswerSchema {
            validator,
            strict: StrictSchema::new(given),
        })
    }

    /// The answer as JSON that fits the given schema; the text itself when the model was held to the given form.
    ///
    /// # Errors
    /// The mismatches, a line each.
    pub fn parse_answer(&self, answer: &str) -> Result<String, Vec<String>> {
        let text = unfenced(answer);
        let said: Value = serde_json::from_str(text)
            .map_err(|error| vec![format!("answer: it is not JSON: {error}")])?;
        let meant = match &self.strict {
            Some(strict) => strict.decoded(said.clone()),
            None => said.clone(),
        };
        let found = self.problems(&meant);
        if found.is_empty() {
            return Ok(match meant == said {
                true => text.to_owned(),
                false => meant.to_string(),
            });
        }
        // The model was not held to the strict form, and has answered in the given one.
        match meant != said && self.validator.is_valid(&said) {
            true => Ok(text.to_owned()),
            false => Err(found),
        }
    }

    fn problems(&self, value: &Value) -> Vec<String> {
        let errors = self.validator.iter_errors(value).take(MOST_PROBLEMS);
        errors.map(|error| problem::describe(&error)).collect()
    }
}

/// The schema to hold the agent to, where that is possible, else the text for the prompt.
pub fn for_agent(given: &Value, structured: bool) -> (Option<Value>, Option<String>) {
    let strict = structured.then(|| StrictSchema::new(given)).flatten();
    match strict {
        Some(strict) => (Some(strict.sent), None),
        None => (None, Some(format!("{HELD}\n\n{given}"))),
    }
}

/// The prompt that follows an answer with mismatches.
pub fn retry_prompt(problems: &[String], prompt: &str) -> String {
    let problems: String = problems.iter().map(|it| format!("- {it}\n")).collect();
    format!(
        "Your last answer does not fit the JSON schema that was asked for:\n{problems}Answer again, with nothing but \
         JSON that fits it. What was asked:\n\n{prompt}"
    )
}

/// The message for the user when the second answer does not fit either.
pub fn mismatch_message(problems: &[String], answer: &str) -> String {
    const SHOWN: usize = 300; // code points
    let mut shown: String = answer.chars().take(SHOWN).collect();
    if shown.len() < answer.len() {
        shown.push('…');
    }
    let problems = problems.join("; ");
    format!(
        "the answer does not fit the schema, at the second try either: {problems}\nit was: {shown}"
    )
}

/// Removes the code fence that some models put around JSON.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"))
        .and_then(|text| text.split_once('\n'));
    inner.map_or(text, |(_, inner)| inner.trim())
}
