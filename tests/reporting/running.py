"""A server of `hoseq serve` that runs in a thread, on a free port."""

import json
import socket
import threading
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from spacy_hoseq.reporting.answers import Answers
from spacy_hoseq.reporting.serving import Server, listening

OF_SERVER = ("hosts", "max_seconds", "max_waiting")


class Running:
    """settings: of the server and of its answers. address: host and port."""

    def __init__(self, nlp, names=None, **settings):
        of_server = {name: settings.pop(name) for name in OF_SERVER if name in settings}
        answers = Answers(nlp, names, **settings)
        self.server = Server(listening("127.0.0.1", 0), answers, **of_server)
        self.address = self.server.server_address
        self.url = "http://{}:{}".format(*self.address)
        self.thread = threading.Thread(target=self.server.serve_forever, args=[0.02], daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def ask(self, path="/", body=None, **headers):
        """RETURNS status, text, headers."""
        headers = {key.replace("_", "-"): value for key, value in headers.items()}
        try:
            with urlopen(Request(self.url + path, body, headers), timeout=30) as answer:
                return answer.status, answer.read().decode("utf8"), answer.headers
        except HTTPError as error:
            return error.code, error.read().decode("utf8"), error.headers

    def explain(self, **asked):
        body = json.dumps(asked).encode()
        status, text, _ = self.ask("/explain", body, Content_Type="application/json")
        return status, json.loads(text)

    def send(self, data, seconds=30.0):
        """The bytes as they are. RETURNS the status of the answer, 0 if there is none, and the
        answer."""
        answer = b""
        with socket.create_connection(self.address, timeout=seconds) as client:
            try:
                client.sendall(data)
                while part := client.recv(65536):
                    answer += part
            except (TimeoutError, ConnectionError):
                pass
        head = answer.split(b" ", 2)
        return (int(head[1]) if len(head) > 1 and head[1].isdigit() else 0), answer
