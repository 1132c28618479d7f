//! Builds the pages at `/docs` from this repository's documents, and lists the files to embed.

use std::{env, error::Error, fmt::Write as _, fs, path::Path};

use docs_pages::{START, Texts, files, site};

/// Reads a file from this repository.
fn read(name: &str) -> Result<String, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    println!("cargo::rerun-if-changed={}", path.display());
    Ok(fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// Returns Rust code that lists a folder's files with their contents, except `page.html`.
fn list(folder: &str) -> Result<String, Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("src").join(folder);
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        names.push(entry?.file_name().into_string().map_err(|name| format!("{} is not UTF-8", name.display()))?);
    }
    names.sort();
    let mut list = "&[".to_owned();
    for name in names.iter().filter(|name| *name != "page.html") {
        let path = folder.join(name);
        let path = path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))?;
        write!(list, "({name:?}, include_bytes!({path:?})),")?;
    }
    Ok(list + "]")
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut texts = Texts::new();
    for file in files() {
        texts.insert(file, read(file)?);
    }
    let folder = env::var("OUT_DIR")?;
    let folder = Path::new(&folder);
    for page in ["console", "docs"] {
        fs::write(folder.join(format!("{page}.rs")), list(page)?)?;
    }
    // The pages below the start page: names and contents.
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
