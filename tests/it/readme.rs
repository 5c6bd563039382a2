//! The README holds the catalogue as the code gives it.

use pergrad::transforms::spec::Catalogue;

#[test]
fn the_readme_holds_the_catalogue() {
    let readme = include_str!("../../README.md");
    let start = readme.find("<!-- catalogue -->\n").unwrap() + "<!-- catalogue -->\n".len();
    let end = readme.find("<!-- /catalogue -->").unwrap();
    let table = Catalogue::standard().to_markdown();
    assert_eq!(
        readme[start..end].trim(),
        table.trim(),
        "put this table between the marks in the README:\n{table}"
    );
}
