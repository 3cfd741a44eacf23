//! Which kernel a call gets, and which go, as tables.

use super::*;

fn wish(cwd: &str) -> KernelWish {
    KernelWish {
        cwd: cwd.into(),
        sandbox: Sandbox::WorkspaceWrite,
    }
}

/// Lends one and says that it is up: its number, and those that ended.
fn lend(kernels: &mut Kernels, wish: KernelWish, fresh: bool, at: Instant) -> (u32, Vec<u32>) {
    let (lent, ends) = kernels.lend(wish, fresh, false, at);
    match lent.unwrap() {
        Lent::Start(number) => {
            assert_eq!(kernels.up(number, None).unwrap().number, Some(number));
            (number, ends)
        }
        Lent::Up(opened) => (opened.number.unwrap(), ends),
        Lent::Coming => panic!("it is up"),
    }
}

#[test]
fn a_call_gets_the_kernel_of_its_directory_and_sandbox() {
    let (mut kernels, now) = (Kernels::default(), Instant::now());
    let other = KernelWish {
        sandbox: Sandbox::ReadOnly,
        ..wish("/a")
    };
    let calls = [
        (wish("/a"), false, 1),
        (wish("/b"), false, 2),
        (wish("/a"), false, 1),
        (other, false, 3),
        (wish("/a"), true, 4),
        (wish("/a"), true, 5),
        (wish("/a"), false, 1),
    ];
    for (wish, fresh, expected) in calls {
        assert_eq!(lend(&mut kernels, wish, fresh, now), (expected, vec![]));
        let ended = kernels.give_back(now);
        assert_eq!(ended, if fresh { vec![expected] } else { vec![] });
    }
}

#[test]
fn a_call_keeps_its_fresh_kernel_for_all_its_cells() {
    let (mut kernels, now) = (Kernels::default(), Instant::now());
    assert_eq!(lend(&mut kernels, wish("/a"), true, now).0, 1);
    assert_eq!(lend(&mut kernels, wish("/a"), true, now).0, 1);
}

#[test]
fn a_reset_ends_the_old_one_and_a_start_is_waited_for_by_whoever_comes() {
    let (mut kernels, now) = (Kernels::default(), Instant::now());
    lend(&mut kernels, wish("/a"), false, now);
    let (lent, ends) = kernels.lend(wish("/a"), false, true, now);
    assert_eq!((lent, ends), (Ok(Lent::Start(2)), vec![1]));
    // The call was stopped while it started: the start goes on, and the next call waits for it.
    assert_eq!(kernels.give_back(now), [0; 0]);
    let (lent, ends) = kernels.lend(wish("/a"), false, false, now);
    assert_eq!((lent, ends), (Ok(Lent::Coming), vec![]));
    assert_eq!(
        kernels.up(2, Some("why".into())).unwrap().unprotected,
        Some("why".into())
    );
    kernels.give_back(now);
    assert_eq!(kernels.up(2, None), None, "nobody waits");
}

#[test]
fn four_rest_at_most_and_none_for_ever() {
    let (mut kernels, start) = (Kernels::default(), Instant::now());
    let at = |seconds| start + Duration::from_secs(seconds);
    for (n, folder) in (0..).zip(["/a", "/b", "/c", "/d"]) {
        lend(&mut kernels, wish(folder), false, at(n));
        assert_eq!(kernels.give_back(at(n)), [0; 0]);
    }
    lend(&mut kernels, wish("/a"), false, at(10));
    kernels.give_back(at(10));
    // The fifth rests: the one unused for longest goes.
    assert_eq!(lend(&mut kernels, wish("/e"), false, at(11)), (5, vec![]));
    assert_eq!(kernels.give_back(at(12)), [2]);
    assert_eq!(kernels.due(), Some(at(2) + REST));
    assert_eq!(kernels.sweep(at(2) + REST), [3]);
    // The one that works does not go.
    lend(&mut kernels, wish("/a"), false, at(20));
    assert_eq!(kernels.sweep(at(1000)), [4, 5]);
    assert_eq!(kernels.clear(), [0; 0]);
    kernels.give_back(at(1000));
    assert_eq!(kernels.clear(), [1]);
}

#[test]
fn what_became_of_the_one_before_is_told_once_and_two_deaths_stop_it() {
    let (mut kernels, start) = (Kernels::default(), Instant::now());
    lend(&mut kernels, wish("/a"), false, start);
    kernels.give_back(start);
    kernels.died(1, "exit code 7", true, false, start);
    let (lent, _) = kernels.lend(wish("/a"), false, false, start);
    assert_eq!(lent, Ok(Lent::Coming));
    assert_eq!(
        kernels.up(1, None).unwrap().lost,
        Some("exit code 7".into())
    );
    let (lent, _) = kernels.lend(wish("/a"), false, false, start);
    assert!(
        matches!(lent, Ok(Lent::Up(Opened { lost: None, .. }))),
        "{lent:?}"
    );
    kernels.died(1, "killed on request", false, false, start);
    assert!(kernels.lend(wish("/a"), false, false, start).0.is_ok());
    kernels.died(1, "signal SIGSEGV", true, true, start);
    let (lent, _) = kernels.lend(wish("/a"), false, false, start);
    let why = lent.unwrap_err();
    assert!(
        why.contains("twice within a minute (signal SIGSEGV)"),
        "{why}"
    );
    let (lent, _) = kernels.lend(wish("/a"), false, false, start + WINDOW);
    assert_eq!(lent, Ok(Lent::Start(1)));
}
