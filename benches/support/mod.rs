//! What the benches share: criterion for times, a counting allocator for memory, and a table of ratios.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use burn::tensor::Device;
use criterion::Criterion;

/// Counts the bytes that are alive, and their peak.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only counters are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One measurement.
pub(crate) struct Row {
    name: String,
    seconds: f64,
    peak: usize,
}

/// Measures, and prints a table at the end.
pub(crate) struct Bench {
    criterion: Criterion,
    results: PathBuf,
    filter: Option<String>,
    table: Vec<String>,
}

impl Bench {
    /// A table whose first two columns have these names. The first argument of the command line that is no option is a filter.
    pub(crate) fn new(columns: [&str; 2]) -> Self {
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let results = PathBuf::from(target).join("criterion");
        let criterion = Criterion::default()
            .output_directory(&results)
            .sample_size(10)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(2));
        let [first, second] = columns;
        Self {
            criterion,
            results,
            filter: std::env::args().skip(1).find(|arg| !arg.starts_with("--")),
            table: vec![
                format!("| {first} | {second} | time | ratio | peak memory | ratio |"),
                "|--|--|--|--|--|--|".to_owned(),
            ],
        }
    }

    /// Whether the command line asks for these measurements.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|part| name.contains(part))
    }

    /// The median time and the peak memory above what was there before.
    pub(crate) fn measure(&mut self, group: &str, name: &str, run: &mut dyn FnMut()) -> Row {
        let device = Device::default();
        run(); // what is allocated once is not the step's
        let before = LIVE.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        run();
        let peak = PEAK.load(Ordering::Relaxed) - before;
        let folder = |name: &str| name.replace([' ', ',', '+', '/', ':'], "_");
        let (group, id) = (folder(group), folder(name));
        self.criterion
            .benchmark_group(group.clone())
            .bench_function(id.clone(), |bencher| {
                bencher.iter(|| {
                    run();
                    device.sync().expect("the device goes on");
                });
            });
        let path = self.results.join(group).join(id);
        let path = path.join("new").join("estimates.json");
        let text = std::fs::read_to_string(&path).expect("criterion has written its estimates");
        let estimates: serde_json::Value = serde_json::from_str(&text).expect("criterion's JSON");
        let median = estimates["median"]["point_estimate"].as_f64();
        Row {
            name: name.to_owned(),
            seconds: median.expect("a median") * 1e-9,
            peak,
        }
    }

    /// Adds the rows of a group to the table, as ratios to the first of them.
    pub(crate) fn report(&mut self, group: &str, rows: Vec<Row>) {
        let (base, base_peak) = (rows[0].seconds, rows[0].peak);
        for (at, row) in rows.iter().enumerate() {
            self.table.push(format!(
                "| {} | {} | {:.2} ms | {:.2} | {:.1} MB | {:.2} |",
                if at == 0 { group } else { "" },
                row.name,
                row.seconds * 1e3,
                row.seconds / base,
                row.peak as f64 / 1e6,
                row.peak as f64 / base_peak as f64,
            ));
        }
    }

    /// Prints the table.
    pub(crate) fn finish(self) {
        println!("\n{}", self.table.join("\n"));
    }
}
