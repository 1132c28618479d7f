//! Checks encoded request messages.

use compliance_api::{rules, v1, wire};
use prost::Message;

/// Measures, decodes and checks a message.
///
/// `measure` and the decoder accept the same messages, except messages that need too much memory or contain too many elements.
fn request<M: Message + Default + rules::Check>(operation: &str, bytes: &[u8]) {
    const LIMIT: usize = 64 << 20;
    let operation = wire::Operation::at(&format!("/compliance.v1.{operation}")).expect("unknown operation");
    let decoded = M::decode(bytes);
    match (&decoded, wire::measure(operation.request, bytes, LIMIT)) {
        (Ok(_), Err(error)) if error.message.contains("must be a valid message") => {
            panic!("`measure` rejects a message that decodes");
        }
        (Err(error), Ok(_)) => panic!("`measure` accepts a message that does not decode: {error}"),
        _ => {}
    }
    let Ok(message) = decoded else { return };
    let violations = rules::check(&message).len();
    let again = M::decode(&message.encode_to_vec()[..]).expect("an encoded message does not decode");
    assert_eq!(rules::check(&again).len(), violations);
}

/// Checks an encoded message. The first byte selects the request.
pub fn protobuf(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    match choice % 16 {
        0 => request::<v1::CreateAffiliateRequest>("AffiliateService/CreateAffiliate", bytes),
        1 => request::<v1::BatchCreateAffiliatesRequest>("AffiliateService/BatchCreateAffiliates", bytes),
        2 => request::<v1::UpdateAffiliateRequest>("AffiliateService/UpdateAffiliate", bytes),
        3 => request::<v1::BatchUpdateAffiliatesRequest>("AffiliateService/BatchUpdateAffiliates", bytes),
        4 => request::<v1::AddComplianceUrlsRequest>("ComplianceUrlService/AddComplianceUrls", bytes),
        5 => request::<v1::ListComplianceUrlsRequest>("ComplianceUrlService/ListComplianceUrls", bytes),
        6 => request::<v1::ListComplianceCasesRequest>("ComplianceCaseService/ListComplianceCases", bytes),
        7 => request::<v1::ObserveUrlsRequest>("MonitoringService/ObserveUrls", bytes),
        8 => request::<v1::RecordInfractionsRequest>("MonitoringService/RecordInfractions", bytes),
        9 => request::<v1::WithdrawInfractionsRequest>("MonitoringService/WithdrawInfractions", bytes),
        10 => request::<v1::OpenCaseRequest>("MonitoringService/OpenCase", bytes),
        11 => request::<v1::BatchOpenCasesRequest>("MonitoringService/BatchOpenCases", bytes),
        12 => request::<v1::UpdateCaseRequest>("MonitoringService/UpdateCase", bytes),
        13 => request::<v1::AttachIncidentsRequest>("MonitoringService/AttachIncidents", bytes),
        14 => request::<v1::DetachIncidentsRequest>("MonitoringService/DetachIncidents", bytes),
        _ => request::<v1::AddVocabularyEntriesRequest>("MonitoringService/AddVocabularyEntries", bytes),
    }
}
