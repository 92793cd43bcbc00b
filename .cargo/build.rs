//! How the binary is linked.

/// Each hook is a process of its own, and a position-independent program of this size spends a sixth of a hook's time on
/// relocations before its first line. The stack, the heap and the libraries stay at random addresses.
#[expect(clippy::disallowed_methods, reason = "cargo tells a build script of the target in its environment")]
fn main() {
    println!("cargo:rerun-if-changed=.cargo/build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
