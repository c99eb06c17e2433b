"""A stand-in for the data set's page: serves the two TinyStories files, with ranges, on 127.0.0.1.

The files are one story again and again, made on the fly. Prints its port. Paths select behaviour:
/good/NAME, /short/NAME (a size that is not the original's), /breaks/NAME (every answer ends after
7 MB, as a bad line would), /norange/NAME (starts at byte 0 whatever was asked)."""
import http.server
import socketserver

STORY = b"Once upon a time there was a boat. It had a red sail.\nThe end.\n<|endoftext|>\n"
SIZES = {"TinyStoriesV2-GPT4-train.txt": 2227753162, "TinyStoriesV2-GPT4-valid.txt": 22502601}
BLOCK = STORY * 10000


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, with_body):
        _, mode, name = self.path.split("/")
        if name not in SIZES or mode not in ("good", "short", "breaks", "norange"):
            self.send_error(404)
            return
        size = SIZES[name] - (mode == "short")
        start = 0
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes=") and mode != "norange":
            start = int(asked[6:].split("-")[0])
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(size - start))
        self.end_headers()
        end = min(size, start + 7000000) if mode == "breaks" else size
        while with_body and start < end:
            skip = start % len(BLOCK)
            piece = BLOCK[skip : skip + end - start]
            try:
                self.wfile.write(piece)
            except OSError:  # the client has what it wanted
                break
            start += len(piece)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
