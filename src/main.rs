//! The `hm` binary: everything is in the library.

fn main() -> std::process::ExitCode {
    hivemind::cli::main()
}
