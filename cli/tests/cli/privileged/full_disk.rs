//! Tests the service's private database on a full file system.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
    process::Command,
};

use crate::common::{DataDir, Service, compliance, output, token, wait_until};

/// An in-memory file system, unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn at(folder: PathBuf) -> Self {
        fs::create_dir_all(&folder).unwrap();
        let status =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=256m,mode=755", "tmpfs"]).arg(&folder).status();
        assert!(status.unwrap().success(), "cannot mount a file system");
        Self(folder)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

/// Writers receive 503, and saved records survive, whether a statement or the whole database fails. The log contains the reason.
#[test]
#[ignore = "mounts a file system: tools/scripts/check-deploy runs it as root"]
fn service_recovers_from_full_disk() {
    let mounted = Mounted::at(DataDir::new().path().to_owned());
    // Dropped before `mounted`, so the database stops before the file system is unmounted.
    let data = DataDir::at(&mounted.0);
    let token = token(&data, 7);
    let mut service = Service::start_as(compliance(&data).arg("serve").env("COMPLIANCE_RATE_LIMIT", "off"));
    let body = r#"{"client_affiliate_id": "A", "affiliate_name": "A", "status": "active"}"#;
    let (status, created) = service.request("POST", "/api/affiliates", &token, body);
    assert_eq!(status, 201, "{created}");
    let log = service.take_log();

    let filler = data.path().join("filler");
    let mut file = File::create(&filler).unwrap();
    let block = vec![1; 64 << 10];
    while file.write_all(&block).is_ok() {}
    drop(file);
    let mut round = 0;
    let mut add = || {
        round += 1;
        let url = |number| format!(r#"{{"url": "https://example.org/{round}/{number}"}}"#);
        let urls: Vec<String> = (0..2000).map(url).collect();
        service.request("POST", "/api/urls", &token, &format!(r#"{{"urls": [{}]}}"#, urls.join(","))).0
    };
    let mut status = 201;
    wait_until("the disk is full", || {
        status = add();
        status != 201
    });
    assert_eq!(status, 503);
    let (status, found, _) = output(compliance(&data).args(["doctor", "--json"]));
    let is_found = |line: &str| line.contains("\"check\":\"disk\",\"state\":\"problem\"");
    assert!(status.code() == Some(3) && found.lines().any(is_found), "{found}");
    let (sender, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let says = |line: &String| line.contains("out of disk space") || line.contains("database's disk is full");
        log.filter(says).for_each(|line| drop(sender.send(line)));
    });
    let line = said.recv_timeout(std::time::Duration::from_mins(2)).unwrap();
    assert!(line.contains("\"level\":\"ERROR\""), "{line}");

    fs::remove_file(&filler).unwrap();
    wait_until("writes succeed again", || add() == 201);
    let affiliates = service.get("/api/affiliates", &token);
    assert_eq!(affiliates["data"].as_array().unwrap().len(), 1, "{affiliates}");
}
