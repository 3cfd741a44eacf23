//! The kernel that a call gets, and the kernels that are ended, as tables.

use super::*;

fn request(cwd: &str) -> KernelRequest {
    KernelRequest {
        cwd: cwd.into(),
        sandbox: Sandbox::WorkspaceWrite,
    }
}

/// Leases a kernel and reports it started; returns its number, and those that ended.
fn lease(
    kernels: &mut Kernels,
    request: KernelRequest,
    fresh: bool,
    at: Instant,
) -> (u32, Vec<u32>) {
    let (leased, ends) = kernels.lease(request, fresh, false, at);
    match leased.unwrap() {
        Lease::Start(number) => {
            assert_eq!(kernels.up(number, None).unwrap().number, Some(number));
            (number, ends)
        }
        Lease::Up(opened) => (opened.number.unwrap(), ends),
        Lease::Starting => panic!("it is up"),
    }
}

#[test]
fn a_call_gets_the_kernel_of_its_directory_and_sandbox() {
    let (mut kernels, now) = (Kernels::default(), Instant::now());
    let other = KernelRequest {
        sandbox: Sandbox::ReadOnly,
        ..request("/a")
    };
    let calls = [
        (request("/a"), false, 1),
        (request("/b"), false, 2),
        (request("/a"), false, 1),
        (other, false, 3),
        (request("/a"), true, 4),
        (request("/a"), true, 5),
        (request("/a"), false, 1),
    ];
    for (request, fresh, expected) in calls {
        assert_eq!(lease(&mut kernels, request, fresh, now), (expected, vec![]));
        let ended = kernels.release(now);
        assert_eq!(ended, if fresh { vec![expected] } else { vec![] });
    }
}

#[test]
fn a_call_keeps_its_fresh_kernel_for_all_its_cells() {
    let (mut kernels, now) = (Kernels::default(), Instant::now());
    assert_eq!(lease(&mut kernels, request("/a"), true, now).0, 1);
    assert_eq!(lease(&mut kernels, request("/a"), true, now).0, 1);
}

#[test]
fn a_reset_ends_the_old_one_and_a_start_is_waited_for_by_whoever_comes() {
    let (mut kernels, now) = (Kernels::default(), Instant::now());
    lease(&mut kernels, request("/a"), false, now);
    let (leased, ends) = kernels.lease(request("/a"), false, true, now);
    assert_eq!((leased, ends), (Ok(Lease::Start(2)), vec![1]));
    // The call was stopped while it started: the start goes on, and the next call waits for it.
    assert_eq!(kernels.release(now), [0; 0]);
    let (leased, ends) = kernels.lease(request("/a"), false, false, now);
    assert_eq!((leased, ends), (Ok(Lease::Starting), vec![]));
    assert_eq!(
        kernels.up(2, Some("why".into())).unwrap().unprotected,
        Some("why".into())
    );
    kernels.release(now);
    assert_eq!(kernels.up(2, None), None, "nobody waits");
}

#[test]
fn four_rest_at_most_and_none_for_ever() {
    let (mut kernels, start) = (Kernels::default(), Instant::now());
    let at = |seconds| start + Duration::from_secs(seconds);
    for (n, folder) in (0..).zip(["/a", "/b", "/c", "/d"]) {
        lease(&mut kernels, request(folder), false, at(n));
        assert_eq!(kernels.release(at(n)), [0; 0]);
    }
    lease(&mut kernels, request("/a"), false, at(10));
    kernels.release(at(10));
    // The fifth rests: the one unused for longest goes.
    assert_eq!(
        lease(&mut kernels, request("/e"), false, at(11)),
        (5, vec![])
    );
    assert_eq!(kernels.release(at(12)), [2]);
    assert_eq!(kernels.due(), Some(at(2) + IDLE_LIMIT));
    assert_eq!(kernels.sweep(at(2) + IDLE_LIMIT), [3]);
    // The one that works does not go.
    lease(&mut kernels, request("/a"), false, at(20));
    assert_eq!(kernels.sweep(at(1000)), [4, 5]);
    assert_eq!(kernels.clear(), [0; 0]);
    kernels.release(at(1000));
    assert_eq!(kernels.clear(), [1]);
}

#[test]
fn what_became_of_the_one_before_is_told_once_and_two_deaths_stop_it() {
    let (mut kernels, start) = (Kernels::default(), Instant::now());
    lease(&mut kernels, request("/a"), false, start);
    kernels.release(start);
    kernels.died(1, "exit code 7", true, false, start);
    let (leased, _) = kernels.lease(request("/a"), false, false, start);
    assert_eq!(leased, Ok(Lease::Starting));
    assert_eq!(
        kernels.up(1, None).unwrap().lost,
        Some("exit code 7".into())
    );
    let (leased, _) = kernels.lease(request("/a"), false, false, start);
    assert!(
        matches!(leased, Ok(Lease::Up(OpenedKernel { lost: None, .. }))),
        "{leased:?}"
    );
    kernels.died(1, "killed on request", false, false, start);
    assert!(kernels.lease(request("/a"), false, false, start).0.is_ok());
    kernels.died(1, "signal SIGSEGV", true, true, start);
    let (leased, _) = kernels.lease(request("/a"), false, false, start);
    let why = leased.unwrap_err();
    assert!(
        why.contains("twice within a minute (signal SIGSEGV)"),
        "{why}"
    );
    let (leased, _) = kernels.lease(request("/a"), false, false, start + WINDOW);
    assert_eq!(leased, Ok(Lease::Start(1)));
}
