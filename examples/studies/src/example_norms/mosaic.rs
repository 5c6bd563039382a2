//! The images themselves, as an SVG: pixels, the label under each, and a red frame where the label is wrong.

use std::fmt::Write as _;

use super::ranking::Ranking;
use crate::digits::Digits;

/// How many images stand in a row, and how many rows there are.
const COLUMNS: usize = 8;
const ROWS: usize = 3;
/// The width of an image and of its place, in pixels of the picture.
const IMAGE: f64 = 64.0;
const PLACE: f64 = 92.0;
const TOP: f64 = 44.0;

/// The images of the largest scores, with the label they have and that they should have.
#[allow(clippy::cast_precision_loss)] // positions on a picture
pub(super) fn draw(title: &str, scores: &[f64], given: &Digits, truth: &[usize]) -> String {
    let ranking = Ranking::new(scores, &vec![false; scores.len()]);
    let (width, height) = (
        PLACE * COLUMNS as f64 + 16.0,
        TOP + (PLACE + 12.0) * ROWS as f64,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"16\" y=\"24\" font-size=\"17\">{title}</text>\n"
    );
    for (place, &at) in ranking.order().iter().take(COLUMNS * ROWS).enumerate() {
        let x = 16.0 + PLACE * (place % COLUMNS) as f64;
        let y = TOP + (PLACE + 12.0) * (place / COLUMNS) as f64;
        let (label, true_label) = (given.labels()[at], truth[at]);
        let (color, text) = if label == true_label {
            ("#999", format!("label {label}"))
        } else {
            ("#d55e00", format!("label {label}, is {true_label}"))
        };
        let _ = writeln!(svg, "<g transform=\"translate({x},{y})\">");
        pixels(&mut svg, given.image(at), given.side());
        let _ = writeln!(
            svg,
            "<rect width=\"{IMAGE}\" height=\"{IMAGE}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>\
             <text y=\"{}\">{text}</text><text y=\"{}\" fill=\"#666\">{:.3}</text></g>",
            IMAGE + 14.0,
            IMAGE + 27.0,
            scores[at]
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[allow(clippy::cast_precision_loss)] // positions on a picture
fn pixels(svg: &mut String, image: &[f32], side: usize) {
    let size = IMAGE / side as f64;
    for (at, &ink) in image.iter().enumerate().filter(|(_, ink)| **ink > 0.0) {
        let (x, y) = ((at % side) as f64 * size, (at / side) as f64 * size);
        let _ = write!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{size}\" height=\"{size}\" opacity=\"{ink:.2}\"/>"
        );
    }
}
