//! The extents as types and as values: what broadcasts to what.

use pergrad_transforms::ExtentKind;
use pergrad_transforms::extent::{Extent, Global, Leaf, LeafPairs, Pairs, PerLeaf, Widen};

const KINDS: [ExtentKind; 5] = [
    ExtentKind::Global,
    ExtentKind::PerLeaf,
    ExtentKind::Leaf,
    ExtentKind::Pairs,
    ExtentKind::LeafPairs,
];

#[test]
fn types_and_values_join_alike() {
    fn check<L: Extent + Widen<R>, R: Extent>(checked: &mut Vec<(ExtentKind, ExtentKind)>) {
        assert_eq!(L::KIND.join(R::KIND), Some(<L as Widen<R>>::Out::KIND));
        checked.push((L::KIND, R::KIND));
    }
    let mut checked = Vec::new();
    macro_rules! check {
        ($($left:ty: $($right:ty)*;)*) => { $($(check::<$left, $right>(&mut checked);)*)* };
    }
    check! {
        Global: Global PerLeaf Leaf Pairs LeafPairs;
        PerLeaf: Global PerLeaf Leaf Pairs LeafPairs;
        Leaf: Global PerLeaf Leaf;
        Pairs: Global PerLeaf Pairs LeafPairs;
        LeafPairs: Global PerLeaf Pairs LeafPairs;
    }
    // The others do not compile, and have no join.
    for (x, y) in pairs() {
        assert_eq!(
            x.join(y).is_some(),
            checked.contains(&(x, y)),
            "{x:?} {y:?}"
        );
    }
}

fn pairs() -> impl Iterator<Item = (ExtentKind, ExtentKind)> {
    KINDS.into_iter().flat_map(|x| KINDS.map(|y| (x, y)))
}

#[test]
fn a_join_is_the_narrowest_extent_that_both_fit() {
    for (x, y) in pairs() {
        let both: Vec<_> = KINDS
            .iter()
            .filter(|z| x.fits(**z) && y.fits(**z))
            .collect();
        match x.join(y) {
            Some(join) => {
                assert!(both.contains(&&join), "{x:?} {y:?}");
                assert!(both.iter().all(|z| join.fits(**z)), "{x:?} {y:?}");
            }
            None => assert!(both.is_empty(), "{x:?} {y:?}"),
        }
    }
}
