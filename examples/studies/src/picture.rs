//! Curves and clouds of points as an SVG, without fonts of the system.

use std::path::Path;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;

/// A picture of several series over common axes.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The end of the name of its file.
    pub name: String,
    /// The heading.
    pub title: String,
    /// The horizontal axis.
    pub x: Scale,
    /// The vertical axis.
    pub y: Scale,
    /// What is drawn, in this order.
    pub series: Vec<Series>,
}

/// An axis. Its range is that of the points.
#[derive(Clone, Debug)]
pub struct Scale {
    label: String,
    log: bool,
}

impl Scale {
    /// An axis with equal steps.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            log: false,
        }
    }

    /// An axis with equal factors. Points that are not positive are left out.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            log: true,
        }
    }

    /// Where a value stands: the axis is drawn over this number.
    fn place(&self, x: f64) -> f64 {
        if self.log { x.log10() } else { x }
    }
}

/// One line or one cloud of points.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Where it goes. What is not finite is left out.
    pub points: Vec<(f64, f64)>,
    /// A line, else points.
    pub line: bool,
}

/// Colours that people with colour blindness can tell apart (Okabe and Ito).
const COLORS: [RGBColor; 8] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(230, 159, 0),
    RGBColor(120, 60, 140),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(160, 120, 60),
];

impl Picture {
    /// A picture without series.
    pub fn new(name: impl Into<String>, title: impl Into<String>, x: Scale, y: Scale) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            x,
            y,
            series: Vec::new(),
        }
    }

    /// Adds a line.
    pub fn line(&mut self, name: impl Into<String>, points: Vec<(f64, f64)>) {
        self.series.push(Series {
            name: name.into(),
            points,
            line: true,
        });
    }

    /// Adds a cloud of points.
    pub fn cloud(&mut self, name: impl Into<String>, points: Vec<(f64, f64)>) {
        self.series.push(Series {
            name: name.into(),
            points,
            line: false,
        });
    }

    /// Writes the SVG.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn draw(&self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let placed = self.series.iter().map(|series| {
            let points = series.points.iter();
            let points = points.map(|&(x, y)| (self.x.place(x), self.y.place(y)));
            points
                .filter(|(x, y)| x.is_finite() && y.is_finite())
                .collect()
        });
        let placed: Vec<Vec<(f64, f64)>> = placed.collect();
        let range = |of: fn(&(f64, f64)) -> f64| {
            let all = placed.iter().flatten().map(of);
            let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
                (l.min(x), h.max(x))
            });
            let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
            let margin = 0.03 * (high - low).max(1e-9 * high.abs()).max(1e-12);
            low - margin..high + margin
        };
        let ranges = [range(|point| point.0), range(|point| point.1)];
        let corners = Corners::of(placed.iter().flatten(), &ranges);
        let axis = |scale: &Scale, range: std::ops::Range<f64>| Axis {
            range: range.into(),
            log: scale.log,
        };
        let root = SVGBackend::new(path, (900, 560)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(&self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(72)
            .build_cartesian_2d(
                axis(&self.x, ranges[0].clone()),
                axis(&self.y, ranges[1].clone()),
            )?;
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .light_line_style(WHITE)
            .draw()?;
        for (at, (series, points)) in self.series.iter().zip(placed).enumerate() {
            // Series of one name, such as a line and its points, share a colour and a place in the legend.
            let same = |other: &Series| other.name == series.name;
            let first = self.series.iter().position(same).unwrap_or(at);
            let color = COLORS[first % COLORS.len()];
            let drawn = if series.line {
                chart.draw_series(LineSeries::new(points, color.stroke_width(2)))?
            } else {
                let dot = |point| Circle::new(point, 3, color.mix(0.6).filled());
                chart.draw_series(points.into_iter().map(dot))?
            };
            if first < at {
                continue;
            }
            drawn.label(&series.name).legend(move |(x, y)| {
                PathElement::new([(x, y), (x + 22, y)], color.stroke_width(3))
            });
        }
        if self.series.len() > 1 {
            chart
                .configure_series_labels()
                .position(corners.emptiest())
                .background_style(WHITE.mix(0.85))
                .border_style(BLACK.mix(0.3))
                .label_font(("monospace", 13))
                .draw()?;
        }
        root.present()?;
        Ok(())
    }
}

/// How many points lie in the corners, each a third wide and high: upper right, upper left, lower right, lower left.
struct Corners([usize; 4]);

impl Corners {
    fn of<'a>(
        points: impl Iterator<Item = &'a (f64, f64)>,
        ranges: &[std::ops::Range<f64>; 2],
    ) -> Self {
        let mut counts = [0; 4];
        let share =
            |x: f64, range: &std::ops::Range<f64>| (x - range.start) / (range.end - range.start);
        for &(x, y) in points {
            let (x, y) = (share(x, &ranges[0]), share(y, &ranges[1]));
            let side = |x: f64| match x {
                x if x < 1.0 / 3.0 => Some(1),
                x if x > 2.0 / 3.0 => Some(0),
                _ => None,
            };
            if let (Some(left), Some(low)) = (side(x), side(y)) {
                counts[2 * low + left] += 1;
            }
        }
        Self(counts)
    }

    /// Where a legend hides the least.
    fn emptiest(&self) -> SeriesLabelPosition {
        let places = [
            SeriesLabelPosition::UpperRight,
            SeriesLabelPosition::UpperLeft,
            SeriesLabelPosition::LowerRight,
            SeriesLabelPosition::LowerLeft,
        ];
        let counts = self.0.iter().zip(places);
        let (_, place) = counts
            .min_by_key(|(count, _)| **count)
            .expect("four corners");
        place
    }
}

/// An axis over numbers, or over powers of ten that are shown as such.
#[derive(Clone)]
struct Axis {
    range: plotters::coord::types::RangedCoordf64,
    log: bool,
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.range.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if !self.log {
            return self.range.key_points(hint);
        }
        // 1, 2 and 5 times a power of ten, where that is enough to read the axis by.
        let range = self.range.range();
        #[allow(clippy::cast_possible_truncation)] // powers of ten
        let powers = range.start.floor() as i32..=range.end.ceil() as i32;
        let points =
            powers.flat_map(|power| [1.0_f64, 2.0, 5.0].map(|m| m.log10() + f64::from(power)));
        let points: Vec<f64> = points.filter(|x| range.contains(x)).collect();
        match points.len() {
            0..3 => self.range.key_points(hint),
            _ => points,
        }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.range.range()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let x = if self.log {
            10_f64.powf(*value)
        } else {
            *value
        };
        let text = crate::table::Entry::Number((x * 1e9).round() / 1e9).to_string();
        if text.contains('.') && !text.contains('e') {
            return text.trim_end_matches('0').trim_end_matches('.').to_owned();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_clouds_are_drawn_and_what_is_not_finite_is_left_out() {
        let mut picture = Picture::new("test", "a title", Scale::log("x"), Scale::linear("y"));
        picture.line("falls", vec![(1.0, 2.0), (10.0, 1.0), (100.0, f64::NAN)]);
        picture.cloud("dots", vec![(3.0, 1.5), (-1.0, 1.5)]);
        let path = std::env::temp_dir().join(format!("pergrad_picture_{}.svg", std::process::id()));
        picture.draw(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(text.contains("a title") && text.contains("falls"));
        assert_eq!(text.matches("<circle").count(), 1);
    }

    #[test]
    fn a_line_and_its_points_share_a_name_and_a_colour() {
        let mut picture = Picture::new("same", "same", Scale::linear("x"), Scale::linear("y"));
        picture.line("one", vec![(0.0, 0.0), (1.0, 1.0)]);
        picture.cloud("one", vec![(0.5, 0.5)]);
        let path = std::env::temp_dir().join(format!("pergrad_same_{}.svg", std::process::id()));
        picture.draw(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let named = text.lines().filter(|line| line.trim() == "one").count();
        assert_eq!(named, 1);
        assert!(text.contains("#D55E00") && !text.contains("#0072B2"));
    }

    #[test]
    fn a_picture_without_points_is_drawn_too() {
        let picture = Picture::new("none", "none", Scale::linear("x"), Scale::log("y"));
        let path = std::env::temp_dir().join(format!("pergrad_none_{}.svg", std::process::id()));
        picture.draw(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
