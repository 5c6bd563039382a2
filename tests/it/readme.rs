//! The README holds the catalogue as the code gives it, each link beside its documentation and its paper.

use std::collections::BTreeMap;
use std::path::Path;

use pergrad::transforms::spec::Catalogue;

/// For each function of the algebra the file that documents it.
fn files() -> BTreeMap<String, String> {
    fn collect(folder: &Path, files: &mut BTreeMap<String, String>) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, files);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for line in text.lines() {
                let Some(rest) = line.strip_prefix("pub fn ") else {
                    continue;
                };
                let name = rest.split(['(', '<']).next().unwrap();
                let file = path.strip_prefix(root).unwrap().display().to_string();
                files.insert(name.to_owned(), file);
            }
        }
    }
    let mut files = BTreeMap::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    collect(&root.join("transforms/src"), &mut files);
    files
}

#[test]
fn the_readme_holds_the_catalogue() {
    let readme = include_str!("../../README.md");
    let start = readme.find("<!-- catalogue -->\n").unwrap() + "<!-- catalogue -->\n".len();
    let end = readme.find("<!-- /catalogue -->").unwrap();
    let files = files();
    let file = |name: &str| Some(files.get(name).unwrap_or_else(|| panic!("{name}")).clone());
    let table = Catalogue::standard().to_markdown(|entry| file(entry.name));
    assert_eq!(
        readme[start..end].trim(),
        table.trim(),
        "put this table between the marks in the README:\n{table}"
    );
}
