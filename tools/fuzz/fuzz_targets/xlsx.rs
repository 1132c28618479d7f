#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| compliance_fuzz::xlsx(data));
