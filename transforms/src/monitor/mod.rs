//! Monitors: links that pass the gradients on as they are, and give out numbers about them as metrics.
//!
//! ```
//! use pergrad_transforms::prelude::*;
//! let watched = chain((monitor::gns(), monitor::per_example_norms(), micro_adam(1e-3)));
//! let program = optimizer_program(&watched).unwrap();
//! let metrics: Vec<_> = program.outputs()[1..].iter().map(|o| o.name.as_str()).collect();
//! assert_eq!(metrics, ["gns.g2", "gns.s", "gns.scale", "per_example_norms.norm"]);
//! ```
//!
//! A monitor sees the gradients as they reach it: before a clip those of the model, after it the clipped ones. The same monitor
//! stands in one chain as often as wished, each under [a name](crate::Compose::named); in [`masked`](crate::masked()) it sees the
//! selected leaves only. What several links read, such as the mean or the norms, is computed once.
//!
//! Inside a link that skips steps, such as [`conditionally_transform`](crate::conditionally_transform()), a monitor keeps its state at
//! a skipped step, but its metrics are those that it would have had with that batch. The next step shows what was kept. So to see
//! every batch, put the monitor before such a link, not inside; and of one inside, leave out the metrics of skipped steps.
//!
//! What a monitor costs is what it reads beside the mean:
//!
//! | reads | monitors | cost |
//! |--|--|--|
//! | norms of examples | [`gns`], [`norm_test`], [`cabs`], [`per_example_norms`] | of dense gradients a sum over elements, in the pass of the mean where an executor can; of factors little, without the gradients of the examples |
//! | the variance of each element | [`gsnr`], [`early_stopping`], [`gns`] by variance | of dense gradients nothing: it is taken in the pass of the mean; of factors with several tokens the gradient of each example |
//! | products with the mean | [`inner_product_test`], [`orthogonality_test`] | a second sweep, since the mean comes first |
//! | products with the update | [`harm`] | a second reading, since the update comes first |
//! | products of examples | [`cosine`] | the Gram matrix, `[B, B]` |
//!
//! Histograms have no monitor: [`per_example_norms`] gives the norms, which is all that a histogram of them needs on the host.
//!
//! They stand before the reduction over examples:
//!
//! ```compile_fail,E0277
//! use pergrad_transforms::prelude::*;
//! // The mean leaves no examples to compare.
//! let _ = program(&chain((mean(), monitor::gns())));
//! ```
//!
//! ```
//! use pergrad_transforms::prelude::*;
//! let _ = program(&chain((monitor::gns(), mean()))).unwrap();
//! ```

mod cabs;
mod cosine;
mod early_stopping;
mod gns;
mod gsnr;
mod harm;
mod inner_product_test;
mod noise_scale;
mod norm_test;
mod orthogonality_test;
mod per_example_norms;
mod spread;

pub use cabs::{Cabs, cabs};
pub use cosine::{Cosine, cosine};
pub use early_stopping::{EarlyStopping, early_stopping};
pub use gns::{Gns, gns};
pub use gsnr::{Gsnr, gsnr};
pub use harm::{Harm, harm};
pub use inner_product_test::{InnerProductTest, inner_product_test};
pub use noise_scale::{NoiseScale, noise_scale_from_norms};
pub use norm_test::{NormTest, norm_test};
pub use orthogonality_test::{OrthogonalityTest, orthogonality_test};
pub use per_example_norms::{PerExampleNorms, per_example_norms};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[
    cabs::ENTRY,
    cosine::ENTRY,
    early_stopping::ENTRY,
    gns::ENTRY,
    gsnr::ENTRY,
    harm::ENTRY,
    inner_product_test::ENTRY,
    norm_test::ENTRY,
    orthogonality_test::ENTRY,
    per_example_norms::ENTRY,
];
