"""A proxy for the service that breaks its first connections."""

import contextlib
import os
import socket
import threading

GRPC, TOKEN = os.environ["GRPC"], os.environ["TOKEN"]


class Proxy:
    """Forwards connections to the service, and closes the first two after a set number of bytes."""

    def __init__(self, of_requests=None, of_responses=None):
        self.limits = (of_requests, of_responses)
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            limits = self.limits if self.connections <= 2 else (None, None)
            threading.Thread(target=self.connect, args=(client, *limits), daemon=True).start()

    def connect(self, client, of_requests, of_responses):
        host, port = GRPC.rsplit(":", 1)
        with client, socket.create_connection((host, int(port))) as service:
            responses = threading.Thread(target=self.relay, args=(service, client, of_responses), daemon=True)
            responses.start()
            self.relay(client, service, of_requests)
            responses.join()

    @staticmethod
    def relay(source, target, most):
        passed = 0
        try:
            while data := source.recv(1 << 16):
                passed += len(data)
                if most and passed > most:
                    break
                target.sendall(data)
        except OSError:
            pass
        for side in (source, target):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
