//! Makes the pages at `/docs` from the documents of this repository.

use std::{env, error::Error, fmt::Write as _, fs, path::Path};

use docs_pages::{START, Texts, files, site};

/// A document of this repository.
fn read(name: &str) -> Result<String, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    println!("cargo::rerun-if-changed={}", path.display());
    Ok(fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut texts = Texts::new();
    for file in files() {
        texts.insert(file, read(file)?);
    }
    let folder = env::var("OUT_DIR")?;
    let folder = Path::new(&folder);
    // The names of the pages below the first one, with their content.
    let mut list = "&[".to_owned();
    let site = site(&texts)?;
    fs::write(folder.join("search-index.js"), site.index)?;
    for (name, html) in site.pages {
        let file = if name == START { "start.html".to_owned() } else { format!("{name}.html") };
        fs::write(folder.join(&file), html)?;
        if name != START {
            write!(list, "({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\"))),")?;
        }
    }
    fs::write(folder.join("pages.rs"), list + "]")?;
    Ok(())
}
