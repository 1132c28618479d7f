"""Tests retries and streams against a fake service on a free port.

    python -m unittest discover client/grpc-python/tests
"""

import socket
import threading
import unittest
from concurrent import futures

import grpc
from affiliate_compliance_grpc import Client, Refusal
from compliance.v1 import affiliates_pb2, case_changes_pb2, exports_pb2, observations_pb2
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

OVER = grpc.StatusCode.DEADLINE_EXCEEDED


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Service(grpc.GenericRpcHandler):
    """Serves one operation with a function, and counts its calls."""

    def __init__(self, request, function, streams=(False, True)):
        self.calls = 0
        self.request, self.function, self.streams = request, function, streams

    def service(self, _):
        kind = {(False, False): "unary_unary", (False, True): "unary_stream", (True, True): "stream_stream"}[self.streams]
        handler = getattr(grpc, f"{kind}_rpc_method_handler")
        return handler(self.serve, self.request.FromString, lambda response: response.SerializeToString())

    def serve(self, request, context):
        self.calls += 1
        return self.function(request, context)


class TestRetries(unittest.TestCase):
    def start(self, service, port=0):
        server = grpc.server(futures.ThreadPoolExecutor(4), [service])
        port = server.add_insecure_port(f"127.0.0.1:{port}")
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        return self.client_at(port)

    def client_at(self, port):
        return self.enterContext(Client(f"127.0.0.1:{port}", "token"))

    def test_default_tries_outlast_a_restart(self):
        def export(request, _):
            yield exports_pb2.ExportUrlsResponse(last_url_id=1)

        port = free_port()
        restart = threading.Timer(4, self.start, [Service(exports_pb2.ExportUrlsRequest, export), port])
        restart.start()
        self.addCleanup(restart.join)
        self.assertEqual(len(list(self.client_at(port).messages(exports_pb2.ExportUrlsRequest()))), 1)

    def test_export_resumes_after_the_services_time_limit(self):
        def export(request, context):
            yield exports_pb2.ExportUrlsResponse(last_url_id=request.after_url_id + 1)
            if request.after_url_id < 3:
                context.abort(OVER, "too long")

        messages = self.start(Service(exports_pb2.ExportUrlsRequest, export)).messages(exports_pb2.ExportUrlsRequest())
        self.assertEqual([message.last_url_id for message in messages], [1, 2, 3, 4])

    def test_observation_stream_resumes_after_the_services_time_limit(self):
        saved = []

        def observe(requests, context):
            for request in requests:
                saved.extend(one.url for one in request.observations)
                yield observations_pb2.StreamUrlObservationsResponse(results=[{"msg": one.url} for one in request.observations])
                context.abort(OVER, "too long")

        client = self.start(Service(observations_pb2.StreamUrlObservationsRequest, observe, (True, True)))
        urls = [f"https://example.org/{number}" for number in range(1200)]
        results = client.stream_observations(observations_pb2.UrlObservation(url=url) for url in urls)
        self.assertEqual([result.msg for result in results], urls)
        self.assertEqual(saved, urls)

    def test_stream_without_progress_fails_at_the_second_time_limit(self):
        def export(_, context):
            context.abort(OVER, "too long")

        def affiliates(_, context):
            yield affiliates_pb2.ListAffiliatesResponse(affiliates=[{"id": 1}])
            context.abort(OVER, "too long")

        for request, function, received in (
            (exports_pb2.ExportUrlsRequest, export, []),
            (affiliates_pb2.ListAffiliatesRequest, affiliates, [1]),
        ):
            service, found = Service(request, function), []
            with self.assertRaises(Refusal) as refused:
                found.extend(record.id for record in self.start(service).records(request()))
            self.assertEqual((refused.exception.code, service.calls), (OVER, 2))

    def test_etag_mismatch_after_a_failed_attempt_is_marked(self):
        info = any_pb2.Any()
        info.Pack(error_details_pb2.ErrorInfo(reason="ETAG_MISMATCH", domain="compliance.v1"))
        mismatch = rpc_status.to_status(status_pb2.Status(code=code_pb2.ABORTED, details=[info]))

        def resolve(_, context):
            if service.calls == 1 and loses_first:
                context.abort(grpc.StatusCode.UNAVAILABLE, "lost")
            context.abort_with_status(mismatch)

        for loses_first in (False, True):
            service = Service(case_changes_pb2.ResolveCaseRequest, resolve, (False, False))
            with self.assertRaises(Refusal) as refused:
                self.start(service).call(case_changes_pb2.ResolveCaseRequest(id=7, etag="1"))
            self.assertEqual((refused.exception.reason, refused.exception.is_retry), ("ETAG_MISMATCH", loses_first))

    def test_large_items_are_sent_in_smaller_batches(self):
        sizes = []

        def observe(request, _):
            sizes.append(len(request.observations))
            return observations_pb2.ObserveUrlsResponse(results=[{}] * len(request.observations))

        client = self.start(Service(observations_pb2.ObserveUrlsRequest, observe, (False, False)))
        small = [observations_pb2.UrlObservation(url="https://example.org")] * 600
        # Fake services accept 4 MiB.
        large = [observations_pb2.UrlObservation(transcription_text="x" * (1 << 20))] * 7
        self.assertEqual(len(list(client.observe(small + large + small))), 1207)
        self.assertEqual(sizes, [500, 103, 3, 500, 101])


if __name__ == "__main__":
    unittest.main()
