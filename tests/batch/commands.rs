//! `%ipycodex` commands in the whole program, with the offline agent.

use crate::support::home::{Home, Ran};

fn demo(home: &Home, arguments: &[&str], stdin: &str) -> Ran {
    let ran = home.demo(arguments, stdin);
    assert_eq!(ran.code(), 0, "{ran:?}");
    ran
}

#[test]
fn the_options_for_models_are_in_force() {
    let options = ["--model", "large", "--completion-model", "tiny"];
    let home = Home::new();
    home.write_config("config.json", r#"{"think": "h", "search": null}"#);
    let ran = demo(
        &home,
        &options,
        "%ipycodex\n%ipycodex images off\n%ipycodex --json\n",
    );
    for words in [
        "model large flag which model",
        "completion_model tiny flag which model",
        "think h file how",
        "search l default how",
        "settings ",
    ] {
        let has = |line: &str| {
            line.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .starts_with(words)
        };
        assert!(ran.stdout.lines().any(has), "{words}: {ran:?}");
    }
    let json = ran.stdout.lines().find(|line| line.starts_with('{'));
    let json: serde_json::Value = serde_json::from_str(json.unwrap()).unwrap();
    let rows = json["settings"].as_array().unwrap();
    let images = rows.iter().find(|row| row["name"] == "images").unwrap();
    assert_eq!([&images["value"], &images["from"]], ["off", "session"]);
    let file = home.config().join("config.json");
    assert_eq!(json["files"]["settings"], file.to_str().unwrap());
}

#[test]
fn reset_takes_the_last_exchange_out_of_the_namespace() {
    let there =
        "print('there:', '_ai_last_prompt' in globals(), '_ai_last_response' in globals())\n";
    let stdin = format!(".hi\n{there}%ipycodex reset\n{there}%ipycodex reset\n{there}");
    for engine in [&[][..], &["--no-ipython"]] {
        let ran = demo(&Home::new(), engine, &stdin);
        let lines: Vec<&str> = ran
            .stdout
            .lines()
            .filter(|line| line.starts_with("there: "))
            .collect();
        assert_eq!(
            lines,
            [
                "there: True True",
                "there: False False",
                "there: False False"
            ],
            "{ran:?}"
        );
        assert!(
            ran.stdout.contains("Deleted 1 AI prompt from session 1.\n"),
            "{ran:?}"
        );
        assert_eq!(ran.stderr, "");
    }
}

#[test]
fn what_is_hidden_and_what_was_spent_is_known_after_a_resume() {
    let home = Home::new();
    demo(
        &home,
        &[],
        "a = 1\n.first\n.second\n%ipycodex hide 2\n%ipycodex rename my work\n",
    );
    let ran = demo(
        &home,
        &["-r", "1"],
        "%ipycodex context\n%ipycodex usage\n%ipycodex history\n%ipycodex sessions\n",
    );
    let shown = &ran.stdout;
    assert!(shown.contains("\nearlier exchanges: 1 ("), "{shown}");
    assert!(shown.contains("\n  [3] "), "{shown}");
    let rows: Vec<String> = shown
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| matches!(*word, "2" | "3" | "Sum"))
        .map(str::to_owned)
        .collect();
    assert_eq!(rows, ["2", "3", "Sum"], "{shown}");
    assert!(
        shown.contains("In [1]: a = 1\n\nIn [2] (hidden): .first\n"),
        "{shown}"
    );
    assert!(shown.contains("  [my work] second\n"), "{shown}");
}

#[test]
fn where_nobody_can_pick_a_session_is_named() {
    let ran = demo(&Home::new(), &["-c", "%ipycodex resume"], "");
    assert_eq!(ran.stdout, "");
    assert_eq!(
        ran.stderr,
        "Usage: %ipycodex resume ID (`%ipycodex sessions` lists them)\n"
    );
}

#[test]
fn a_setting_is_written_without_touching_anything_else() {
    let home = Home::new();
    let before = "{\n  // how much\n  \"think\": \"l\", /* little */\n  \"mine\": [1,  2],\n}\n";
    let file = home.write_config("config.json", before);
    let text = "%ipycodex set think h\n%ipycodex set edit_mode vi\n%ipycodex think\n%ipycodex set think\n\
                %ipycodex think m\n";
    let ran = home.demo(&[], text);
    assert!(
        ran.stdout.contains("think is \"h\" in ") && ran.stdout.contains("think is h\n"),
        "{ran:?}"
    );
    for said in [
        "from the next start",
        "for this session; `%ipycodex set think m` keeps it",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {ran:?}");
    }
    let after = before
        .replace("\"l\"", "\"h\"")
        .replace("2],\n", "2],\n  \"edit_mode\": \"vi\"\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after);

    let refused = home.demo(&[], "%ipycodex set think q\n");
    assert!(refused.stderr.contains("h/l/m/x"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
    // What cannot be understood is not written.
    std::fs::write(&file, "{oops").unwrap();
    let refused = home.demo(&[], "%ipycodex set think h\n");
    assert!(refused.stderr.contains("was not changed: "), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{oops");
}

#[test]
fn cells_know_the_session_that_runs_them() {
    let names = "import os\nnames = ['SESSION', 'SESSION_FILE', 'ARTIFACTS_DIR']\n\
                 print('told:', *[os.path.basename(os.environ.get('IPYCODEX_' + name, '-')) for name in names])\n";
    let told = |ran: &str| {
        ran.lines()
            .find(|line| line.starts_with("told: "))
            .map(str::to_owned)
    };
    let home = Home::new();
    let ran = demo(&home, &[], names);
    let line = told(&ran.stdout).unwrap();
    assert!(
        line.starts_with("told: 1 history.sqlite ") && !line.ends_with('-'),
        "{ran:?}"
    );
    let ran = demo(&Home::new(), &["--no-record"], names);
    assert_eq!(told(&ran.stdout).as_deref(), Some("told: - - -"), "{ran:?}");
}
