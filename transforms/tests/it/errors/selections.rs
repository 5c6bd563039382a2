//! Selections of leaves that do not fit the model.

use std::collections::BTreeMap;

use pergrad_transforms::prelude::*;
use pergrad_transforms::reference::Reference;
use pergrad_transforms::{Error, ParamTree};

use crate::model::leaf;

fn tree() -> ParamTree {
    ParamTree::new(vec![
        leaf("block.0.weight", &[2, 3]),
        leaf("block.0.bias", &[3]),
        leaf("scale", &[]),
    ])
    .unwrap()
}

fn paths(entries: &[(&str, bool)]) -> Leaves {
    let entries = entries.iter().map(|(path, s)| ((*path).to_owned(), *s));
    Leaves::Paths(entries.collect::<BTreeMap<_, _>>())
}

#[test]
fn selections_choose_by_path_and_rank() {
    for (leaves, expected) in [
        (Leaves::All, [true, true, true]),
        (Leaves::matching("*.bias"), [false, true, false]),
        (Leaves::matching("*"), [true, true, true]),
        (Leaves::matching("bias").negate(), [true, true, true]),
        (Leaves::RankAtLeast(0), [true, true, true]),
        (Leaves::RankAtLeast(1), [true, true, false]),
        (Leaves::RankAtLeast(2).negate(), [false, true, true]),
        (Leaves::none(), [false, false, false]),
        (
            Leaves::AllOf(vec![
                Leaves::matching("block.*"),
                Leaves::RankAtLeast(2).negate(),
            ]),
            [false, true, false],
        ),
        (
            Leaves::AnyOf(vec![Leaves::matching("scale"), Leaves::RankAtLeast(2)]),
            [true, false, true],
        ),
        (Leaves::AllOf(vec![]), [true, true, true]),
        (Leaves::AnyOf(vec![]), [false, false, false]),
        (
            Leaves::Part {
                of: vec![
                    Leaves::matching("*.bias"),
                    Leaves::RankAtLeast(1),
                    Leaves::All,
                ],
                at: 1,
            },
            [true, false, false],
        ),
        (
            Leaves::of(&tree(), |leaf| leaf.size() == 3),
            [false, true, false],
        ),
        (
            paths(&[
                ("scale", true),
                ("block.0.bias", false),
                ("block.0.weight", false),
            ]),
            [false, false, true],
        ),
    ] {
        assert_eq!(leaves.select(&tree()).unwrap(), expected, "{leaves}");
    }
}

#[test]
fn a_pattern_that_matches_nothing_is_refused() {
    let error = Leaves::matching("*.wieght").select(&tree()).unwrap_err();
    insta::assert_snapshot!(error, @"`*.wieght` matches no leaf of the model: known are `block.0.weight`, `block.0.bias`, `scale`");
}

#[test]
fn a_selection_by_paths_that_does_not_fit_is_refused_when_the_chain_is_bound() {
    let bind = |leaves: Leaves| -> Error {
        let chain = chain((mean(), add_decayed_weights(0.1).mask(leaves)));
        let program = program(&chain).unwrap();
        Reference::<f64>::new(&program, &tree()).unwrap_err()
    };
    let unknown = paths(&[("scale", true), ("block.1.bias", true)]);
    insta::assert_snapshot!(bind(unknown.clone()), @"`block.1.bias` is named by a selection, but the model has no such leaf: known are `block.0.weight`, `block.0.bias`, `scale`");
    insta::assert_snapshot!(bind(unknown.negate()), @"`block.1.bias` is named by a selection, but the model has no such leaf: known are `block.0.weight`, `block.0.bias`, `scale`");
    insta::assert_snapshot!(bind(paths(&[("scale", true)])), @"`block.0.weight` is a leaf of the model, but the selection by paths does not name it: known are `scale`");
    insta::assert_snapshot!(bind(paths(&[])), @"`block.0.weight` is a leaf of the model, but the selection by paths does not name it: known are none");
}

#[test]
fn selections_are_data() {
    let part = Leaves::Part {
        of: vec![Leaves::none(), Leaves::AnyOf(vec![Leaves::matching("w")])],
        at: 1,
    };
    let text = serde_json::to_string(&part).unwrap();
    insta::assert_snapshot!(text, @r#"{"part":{"of":[{"not":"all"},{"any_of":[{"matching":"w"}]}],"at":1}}"#);
    assert_eq!(serde_json::from_str::<Leaves>(&text).unwrap(), part);
    insta::assert_snapshot!(part, @r#"part 1 of (not all, ("w"))"#);
}
