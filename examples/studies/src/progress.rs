//! A progress bar on the terminal; nothing where there is none.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over so many steps.
pub fn bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos:>5}/{len}  {eta:>4} left  {msg}");
    ProgressBar::new(steps as u64).with_style(style.expect("a constant"))
}
