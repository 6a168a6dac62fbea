"""`view` over real HTTP: which requests are allowed, the replies, start and end; and the page of --html."""

import base64
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
import zlib
from html.parser import HTMLParser

import pytest
from conftest import BINARY, environment, out_of_memory, training, wait_for_output, write

KEPT = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


def talk(server, method, path, body=None, timeout=30, **headers):
    """One request to a path below the token (or, with a slash in front, to exactly that one): (status, headers, body); the
    status is "problem" where the engine refuses."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)
    below = f"/{server.token}/{path}" if server.token else f"/{path}"
    sent = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
    connection.putrequest(method, path if path.startswith("/") else below, skip_host="Host" in headers)
    if body is not None and "Transfer-Encoding" not in sent:
        sent.setdefault("Content-Length", str(len(body)))
    for name, value in sent.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    reply = connection.getresponse()
    is_problem = reply.headers["Content-Type"] == "application/problem+json"
    got = "problem" if is_problem and reply.status == 200 else reply.status, reply.headers, reply.read()
    connection.close()
    return got


def ask(server, file, method, **params):
    status, _, body = talk(server, "POST", f"api/{file}", json.dumps({"method": method, "params": params}).encode())
    return status, body


def state(server, file=0):
    status, _, body = talk(server, "GET", f"api/{file}")
    assert status == 200
    return json.loads(body)


def wait_until_read(server, file=0):
    while state(server, file)["state"] == "reading":
        time.sleep(0.01)
    return state(server, file)


class Scripts(HTMLParser):
    """The scripts of a page by their id: {id: (type, text)}."""

    def __init__(self, page):
        super().__init__()
        self.found, self.open = {}, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "script" and "id" in values:
            self.open = values["id"]
            self.found[self.open] = [values.get("type"), ""]

    def handle_data(self, data):
        if self.open:
            self.found[self.open][1] += data

    def handle_endtag(self, tag):
        self.open = None


def scripts(page):
    return Scripts(page.decode() if isinstance(page, bytes) else page).found


def boot(page):
    return json.loads(scripts(page)["boot"][1])


# ---- what is answered


def test_page(view, folder):
    with view("snapshot.pickle") as server:
        assert len(server.token) == 32
        status, headers, body = talk(server, "GET", "")
        assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
        size = (folder / "snapshot.pickle").stat().st_size
        assert boot(body) == {"mode": "server", "files": [{"name": "snapshot.pickle", "bytes": size}]}
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "connect-src 'self'" in policy and "frame-ancestors 'none'" in policy
        assert b"connect-src 'self'" in body and b"connect-src 'none'" not in body
        assert talk(server, "GET", "", Host=f"localhost:{server.port}")[2] == body
        assert talk(server, "GET", f"/{server.token}")[1]["Location"] == server.address


def test_every_answer_has_the_headers(view):
    with view("snapshot.pickle") as server:
        wait_until_read(server)
        answers = [
            talk(server, "GET", ""), talk(server, "GET", "api/0"), talk(server, "GET", "api/7"), talk(server, "GET", "/"),
            talk(server, "PUT", ""), talk(server, "POST", "api/0", b"{}"), talk(server, "POST", "api/0", b'{"method":"info"}'),
            talk(server, "GET", "", Host="evil.example"), talk(server, "POST", "api/0", None, Content_Length="9999999"),
        ]
        assert [status for status, _, _ in answers] == [200, 200, 404, 403, 405, "problem", 200, 403, 413]
        for _, headers, _ in answers:
            assert KEPT.items() <= dict(headers.items()).items()
            assert "Server" not in headers and "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("command", ("report", "stats"))
def test_replies_are_those_of_json(vramscope, view, command):
    plain = vramscope(command, "--json", "snapshot.pickle").out
    with view("snapshot.pickle") as server:
        status, headers, body = talk(server, "POST", "api/0", json.dumps({"method": command}).encode())
        assert status == 200 and headers["Content-Type"] == "application/json"
        assert body.decode() + "\n" == plain


def test_replies_that_are_no_json(vramscope, view, folder):
    vramscope("export", "snapshot.pickle", "pprof", "-o", "memory.pb")
    with view("snapshot.pickle") as server:
        status, headers, body = talk(server, "POST", "api/0", b'{"method":"export","params":{"format":"pprof"}}')
        assert status == 200 and headers["Content-Type"] == "application/octet-stream"
        assert body == (folder / "memory.pb").read_bytes()


def test_refused_questions(view):
    with view("snapshot.pickle") as server:
        status, body = ask(server, 0, "reprot")
        told = json.loads(body)
        assert status == "problem" and told["status"] == -2 and "unknown method 'reprot'" in told["error"] and told["offset"] is None
        status, _, body = talk(server, "POST", "api/0", b'{"method":')
        assert status == "problem" and json.loads(body)["offset"] == 10
        assert talk(server, "POST", "api/0", b"")[0] == "problem"
        assert ask(server, 0, "info")[0] == 200


# ---- who is let in


def test_without_the_token_nothing_is_said(view):
    with view("snapshot.pickle") as server:
        token = server.token
        wrong = ("0" if token[0] != "0" else "1") + token[1:]
        paths = ["/", "/api/0", "//", f"/{wrong}/", f"/{wrong}/api/0", f"/{token[:-1]}/", f"/{token}0/", f"/{token.upper()}A/",
                 f"/x/../{token}/", f"/{'0' * 32}/", "/favicon.ico"]
        answers = [talk(server, method, path, body) for path in paths for method, body in (("GET", None), ("POST", b"{}"))]
        assert {status for status, _, _ in answers} == {403}
        assert len({body for _, _, body in answers}) == 1
        assert talk(server, "GET", f"/{token}/nothing")[0] == 404


def test_tokens_differ(view):
    with view("snapshot.pickle") as one, view("snapshot.pickle") as other:
        assert one.token != other.token and one.port != other.port
        assert talk(other, "GET", f"/{one.token}/")[0] == 403


def test_hosts(view):
    with view("snapshot.pickle") as server:
        for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port + 1}", "localhost", "",
                     f"localhost.evil.example:{server.port}", f"[::1]:{server.port}"):
            assert talk(server, "GET", "", Host=host)[0] in (400, 403), host
        assert talk(server, "GET", "", Host=None)[0] in (400, 403)
        assert talk(server, "GET", "", Host=f"localhost:{server.port}")[0] == 200


def test_origins(view):
    with view("snapshot.pickle") as server:
        question = b'{"method":"info"}'
        for origin in ("null", "http://evil.example", f"http://evil.example:{server.port}", f"https://127.0.0.1:{server.port}", ""):
            assert talk(server, "POST", "api/0", question, Origin=origin)[0] == 403, origin
            assert talk(server, "GET", "", Origin=origin)[0] == 403, origin
        for name in ("127.0.0.1", "localhost"):
            assert talk(server, "POST", "api/0", question, Origin=f"http://{name}:{server.port}")[0] == 200


def test_methods(view):
    with view("snapshot.pickle") as server:
        for method in ("PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "get"):
            for path in ("", "api/0"):
                status, headers, _ = talk(server, method, path)
                assert status == 405 and headers["Allow"] == "GET, POST", method
        assert talk(server, "POST", "", b"{}")[0] == 405


def test_only_this_machine(view):
    with view("snapshot.pickle") as server:
        listening = [line.split() for line in open("/proc/net/tcp").readlines()[1:] if line.split()[3] == "0A"]
        own = [words[1] for words in listening if int(words[1].split(":")[1], 16) == server.port]
        assert own == [f"0100007F:{server.port:04X}"]


def test_no_token(view):
    with view("--no-token", "snapshot.pickle") as server:
        assert server.address == f"http://127.0.0.1:{server.port}/" and server.token is None
        assert talk(server, "GET", "/")[0] == 200 and ask(server, 0, "info")[0] == 200
        assert talk(server, "GET", "/", Host="evil.example")[0] == 403
        assert talk(server, "POST", "/api/0", b"{}", Origin="http://evil.example")[0] == 403


# ---- bounds


def test_size_of_a_request(view):
    with view("snapshot.pickle") as server:
        question = b'{"method":"info"}'
        most = question + b" " * ((1 << 20) - len(question))
        assert talk(server, "POST", "api/0", most)[0] == 200
        assert talk(server, "POST", "api/0", None, Content_Length=str((1 << 20) + 1))[0] == 413
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock:
            head = f"POST /{server.token}/api/0 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
            sock.sendall(head.encode())
            try:
                for _ in range(40):
                    sock.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
                got = sock.recv(1000)
            except (BrokenPipeError, ConnectionResetError):
                got = b""
            assert b" 200 " not in got
        assert ask(server, 0, "info")[0] == 200


def test_long_headers_and_no_http(view):
    with view("snapshot.pickle") as server:
        assert talk(server, "GET", "", X_Long="x" * 100_000)[0] in (400, 413, 431)
        for bytes_ in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200, b"\r\n" * 100, b"GET\r\n\r\n", b"\xff" * 5000):
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock:
                sock.sendall(bytes_)
        assert ask(server, 0, "info")[0] == 200


def test_many_silent_connections(view):
    with view("snapshot.pickle") as server:
        silent = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(100)]
        for sock in silent:
            sock.close()
        assert ask(server, 0, "info")[0] == 200


def test_many_questions_at_once(view):
    with view("snapshot.pickle") as server:
        wait_until_read(server)
        question = b'{"method":"report"}'
        open_ = []
        for _ in range(30):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            connection.request("POST", f"/{server.token}/api/0", question)
            open_.append(connection)
        bodies = [connection.getresponse().read() for connection in open_]
        assert len(set(bodies)) == 1 and json.loads(bodies[0])["method"] == "report"


# ---- files


def test_several_files(vramscope, view, folder):
    write(folder / "oom.pickle", out_of_memory())
    (folder / "ranks").mkdir()
    write(folder / "ranks" / "oom.pickle", out_of_memory())
    with view("snapshot.pickle", "oom.pickle", "ranks/oom.pickle") as server:
        assert "3 files" in server.printed
        names = [file["name"] for file in boot(talk(server, "GET", "")[2])["files"]]
        assert names == ["snapshot.pickle", "oom.pickle", "ranks/oom.pickle"]
        for file, name in enumerate(names):
            assert ask(server, file, "report")[1].decode() + "\n" == vramscope("report", "--json", name).out
        assert talk(server, "GET", "api/3")[0] == 404


def test_names_are_short_where_they_can_be(view, folder):
    for rank in ("a", "b"):
        (folder / "ranks" / rank).mkdir(parents=True)
        write(folder / "ranks" / rank / "s.pickle", training())
    with view(folder / "ranks/a/s.pickle", folder / "ranks/b/s.pickle") as server:
        assert [file["name"] for file in boot(talk(server, "GET", "")[2])["files"]] == ["a/s.pickle", "b/s.pickle"]
        assert str(folder) not in talk(server, "GET", "")[2].decode()


def test_hostile_names(view, folder):
    name = '</script><script>alert(1)<!--"&\x1b[2J.pickle'
    write(folder / name.replace("/", "_"), training())
    with view(name.replace("/", "_")) as server:
        page = talk(server, "GET", "")[2]
        assert boot(page)["files"][0]["name"] == name.replace("/", "_")
        assert page.count(b"<script>alert") == 0 and "\x1b" not in server.printed


def test_broken_file(vramscope, view, folder):
    whole = (folder / "snapshot.pickle").read_bytes()
    write(folder / "torn.pickle", whole[: len(whole) // 2])
    told = vramscope("report", "torn.pickle").err
    with view("torn.pickle", "snapshot.pickle") as server:
        failed = wait_until_read(server, 0)
        assert failed["state"] == "failed" and failed["status"] < 0
        assert told == f"vramscope: torn.pickle: {failed['error']} (at byte {failed['offset']})\n"
        status, body = ask(server, 0, "report")
        assert status == "problem" and json.loads(body) == {key: failed[key] for key in ("status", "error", "offset")}
        assert ask(server, 1, "report")[0] == 200
    assert server.errors == told + "Ended.\n"


def test_what_is_no_snapshot(view, folder):
    write(folder / "model.zip", b"PK\x03\x04" + b"\0" * 100)
    with view("model.zip") as server:
        assert "zip archive" in wait_until_read(server)["error"]


def test_missing_file(vramscope):
    done = vramscope("view", "snapshot.pickle", "nowhere.pickle")
    assert (done.code, done.out) == (3, "") and done.err.startswith("vramscope: nowhere.pickle: ")
    assert done.err == vramscope("report", "nowhere.pickle").err


def test_no_file(vramscope):
    done = vramscope("view")
    assert done.code == 2 and "vramscope view FILE" in done.err
    done = vramscope("view", "-", "-")
    assert done.code == 2 and "once" in done.err


@pytest.fixture
def pipe():
    read, written = os.pipe()
    yield read, written
    for end in (read, written):
        try:
            os.close(end)
        except OSError:
            pass


def test_one_file_does_not_wait_for_another(vramscope, view, folder, pipe):
    whole = (folder / "snapshot.pickle").read_bytes()
    with view("-", "snapshot.pickle", stdin=pipe[0]) as server:
        os.close(pipe[0])
        os.write(pipe[1], whole[:1000])
        waiting = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        waiting.request("POST", f"/{server.token}/api/0", b'{"method":"report"}')
        gone = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        gone.request("POST", f"/{server.token}/api/0", b'{"method":"report"}')
        gone.close()
        assert ask(server, 1, "report")[0] == 200
        now = state(server, 0)
        assert now["state"] == "reading" and now["bytes"] is None and now["bytes_read"] <= 1000
        with os.fdopen(os.dup(pipe[1]), "wb") as rest:
            rest.write(whole[1000:])
        os.close(pipe[1])
        reply = waiting.getresponse()
        assert reply.status == 200 and json.loads(reply.read())["method"] == "report"
        assert wait_until_read(server, 0) == {"state": "ready"}
        assert boot(talk(server, "GET", "")[2])["files"][0] == {"name": "standard input", "bytes": None}


def test_compressed(zlib_built, vramscope, view, folder):
    write(folder / "snapshot.pickle.gz", gzip.compress((folder / "snapshot.pickle").read_bytes()))
    with view("snapshot.pickle.gz") as server:
        assert ask(server, 0, "report")[1].decode() + "\n" == vramscope("report", "--json", "snapshot.pickle.gz").out


# ---- beginning and end


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
def test_end(view, number):
    with view("snapshot.pickle") as server:
        wait_until_read(server)
        idle = socket.create_connection(("127.0.0.1", server.port))
        assert server.end(number) == 0 and server.errors == "Ended.\n"
        idle.close()
        with pytest.raises(ConnectionRefusedError):
            talk(server, "GET", "")


def test_end_while_a_file_is_read(view, pipe):
    with view("-", stdin=pipe[0]) as server:
        os.write(pipe[1], b"\x80\x04")
        began = time.monotonic()
        assert server.end() == 0
        assert time.monotonic() - began < 20


def test_same_port_again(view, vramscope):
    with view("snapshot.pickle") as server:
        port = server.port
        idle = socket.create_connection(("127.0.0.1", port))  # the server closes it first, and its port lingers
        done = vramscope("view", "--port", port, "snapshot.pickle")
        assert (done.code, done.out) == (3, "") and f"port {port} is taken" in done.err
    idle.close()
    with view("--port", port, "snapshot.pickle") as server:
        assert server.port == port and talk(server, "GET", "")[0] == 200


@pytest.mark.parametrize("port", ("0", "65536", "-1", "x"))
def test_bad_port(vramscope, port):
    done = vramscope("view", f"--port={port}", "snapshot.pickle")
    assert done.code == 2 and "--port takes" in done.err


def test_what_is_printed(view, golden):
    def plain(server):
        return server.printed.replace(server.token, "TOKEN").replace(str(server.port), "PORT")

    with view("snapshot.pickle") as server:
        golden("view", plain(server))
    with view("snapshot.pickle", env={"SSH_CONNECTION": "10.0.0.9 40000 10.0.0.5 22", "USER": "me"}) as server:
        golden("view_ssh", plain(server))
    with view("snapshot.pickle", env={"SSH_CONNECTION": "10.0.0.9 40000 10.0.0.5 2222"}) as server:
        assert f"ssh -N -L {server.port}:127.0.0.1:{server.port} -p 2222 10.0.0.5\n" in server.printed
    with view("snapshot.pickle", env={"SSH_CONNECTION": "\x1b[2J", "USER": "\x1b]0;x\x07"}) as server:
        assert "\x1b" not in server.printed
    with view("-q", "snapshot.pickle") as server:
        assert server.printed == server.address + "\n"
    assert server.errors == ""


def test_open(view, folder):
    browser = folder / "bin" / "xdg-open"
    browser.parent.mkdir()
    browser.write_text('#!/bin/sh\necho "$@" > "$0.called"\n')
    browser.chmod(0o755)
    with view("--open", "snapshot.pickle", env={"PATH": f"{browser.parent}:/usr/bin:/bin"}) as server:
        called = folder / "bin" / "xdg-open.called"
        while not (called.exists() and called.read_text().endswith("\n")):
            time.sleep(0.01)
        assert called.read_text() == server.address + "\n"
    with view("snapshot.pickle", "--open", env={"PATH": str(folder)}) as server:
        assert talk(server, "GET", "")[0] == 200
    assert "there is no xdg-open here" in server.errors


# ---- the page that contains its data


@pytest.fixture
def page_built(build, zlib_built):
    if not build["page_reads_files"]:
        pytest.skip("this build's page cannot read files by itself")


def inlined(page, number=0):
    kind, text = scripts(page)[f"data-{number}"]
    assert kind == "application/octet-stream"
    return base64.b64decode(text, validate=True)


def test_html(page_built, vramscope, folder):
    whole = (folder / "snapshot.pickle").read_bytes()
    done = vramscope("view", "snapshot.pickle", "--html", "out.html")
    assert (done.code, done.out) == (0, "") and re.fullmatch(r"Wrote out\.html, .* KiB: .*\n", done.err)
    page = (folder / "out.html").read_bytes()
    assert boot(page) == {"mode": "inlined", "files": [{"name": "snapshot.pickle", "bytes": len(whole), "element": "data-0"}]}
    assert gzip.decompress(inlined(page)) == whole
    assert b"connect-src 'none'" in page and b"connect-src 'self'" not in page
    assert page.index(b'id="boot"') < page.index(b'id="data-0"') < page.rindex(b"</script>")
    vramscope("view", "snapshot.pickle", "--html", "again.html")
    assert (folder / "again.html").read_bytes() == page
    assert vramscope("view", "-q", "snapshot.pickle", "--html", "-").out.encode() == page


def test_html_of_several_files(page_built, vramscope, folder):
    whole = (folder / "snapshot.pickle").read_bytes()
    write(folder / "packed.pickle.gz", gzip.compress(whole[:999]) + gzip.compress(whole[999:]) + b"not gzip")
    piped = b"\n " + json.dumps(training()).encode()
    done = vramscope("view", "-q", "packed.pickle.gz", "-", "snapshot.pickle", "--html", "out.html", input=piped)
    assert (done.code, done.out, done.err) == (0, "", "")
    page = (folder / "out.html").read_bytes()
    assert [file["name"] for file in boot(page)["files"]] == ["packed.pickle.gz", "standard input", "snapshot.pickle"]
    assert boot(page)["files"][1]["bytes"] is None
    inflater = zlib.decompressobj(31)  # one member and nothing behind it, which is all that a browser reads
    assert inflater.decompress(inlined(page, 0)) == whole and inflater.eof and inflater.unused_data == b""
    assert gzip.decompress(inlined(page, 1)) == piped
    assert gzip.decompress(inlined(page, 2)) == whole


def test_html_holds_the_file_to_its_end(page_built, vramscope, folder):
    """Even what lies behind the snapshot, in any number of bytes."""
    whole = (folder / "snapshot.pickle").read_bytes()
    for more in (b"\0", b"\0\0", os.urandom(5_000_000)):
        write(folder / "snapshot.pickle", whole + more)
        assert vramscope("view", "snapshot.pickle", "--html", "out.html", "--force").code == 0
        assert gzip.decompress(inlined((folder / "out.html").read_bytes())) == whole + more


def test_html_without_a_file(page_built, vramscope, folder):
    assert vramscope("view", "--html", "out.html").code == 0
    page = (folder / "out.html").read_bytes()
    assert boot(page) == {"mode": "empty"} and "data-0" not in scripts(page)
    assert len(page) <= 400 * 1024


def test_html_replaces_only_when_told(page_built, vramscope, folder):
    write(folder / "out.html", b"mine")
    done = vramscope("view", "snapshot.pickle", "--html", "out.html")
    assert done.code == 3 and done.err == "vramscope: out.html: file exists; use --force to overwrite it\n"
    assert (folder / "out.html").read_bytes() == b"mine"
    assert vramscope("view", "snapshot.pickle", "--html", "out.html", "--force").code == 0
    assert boot((folder / "out.html").read_bytes())["mode"] == "inlined"


def test_html_of_a_broken_file(page_built, vramscope, folder):
    whole = (folder / "snapshot.pickle").read_bytes()
    write(folder / "torn.pickle", whole[: len(whole) // 2])
    done = vramscope("view", "snapshot.pickle", "torn.pickle", "--html", "out.html")
    assert done.code == 3 and done.err == vramscope("report", "torn.pickle").err
    assert sorted(path.name for path in folder.iterdir()) == ["snapshot.pickle", "torn.pickle"]


def test_html_on_a_full_disk(page_built, vramscope):
    done = vramscope("view", "snapshot.pickle", "--html", "/dev/full")
    assert done.code == 3 and done.err.startswith("vramscope: /dev/full: writing failed")


def test_html_serves_nothing(vramscope):
    for option in (["--port", "8000"], ["--open"], ["--no-token"]):
        done = vramscope("view", "snapshot.pickle", "--html", "out.html", *option)
        assert done.code == 2 and f"{option[0]} has no meaning" in done.err


def test_html_needs_a_page_that_reads(build, vramscope):
    if build["page_reads_files"]:
        pytest.skip("this build's page reads files")
    done = vramscope("view", "snapshot.pickle", "--html", "out.html")
    assert done.code == 3 and "vramscope view FILE" in done.err


@pytest.mark.parametrize("attempt", range(8))  # the signal comes as soon as the file is there
def test_html_can_be_interrupted(attempt, page_built, folder, pipe):
    """A page that has no name yet, and one that shall replace another."""
    words = [BINARY, "view", "-", "--html", "out.html"]
    if attempt % 2 == 1:
        (folder / "out.html").write_text("stays")
        words.append("--force")
    before = sorted(os.listdir(folder))
    process = subprocess.Popen(words, cwd=folder, env=environment(), stdin=pipe[0], stderr=subprocess.PIPE)
    os.write(pipe[1], (folder / "snapshot.pickle").read_bytes()[:1000])
    wait_for_output(process, folder)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM and sorted(os.listdir(folder)) == before
