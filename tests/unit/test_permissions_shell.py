"""Reading a shell command line: what is plain, what is not, and that bash agrees."""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agent_host.permissions import shell
from agent_host.permissions.safe import is_safe, reading
from agent_host.permissions.shell import Execution, NotPlain, Plain, Unread, execution, parse


def plain(command: str) -> Plain:
    found = parse(command)
    assert isinstance(found, Plain), found
    return found


@pytest.mark.parametrize(
    ("command", "parts", "operators"),
    [
        ("ls", [("ls",)], ""),
        ("  ls -la  ", [("ls", "-la")], ""),
        ("git commit -m 'a b'", [("git", "commit", "-m", "a b")], ""),
        ('echo "a b" c', [("echo", "a b", "c")], ""),
        ("echo x\"y z\"'w'1", [("echo", "xy zw1")], ""),
        ("echo '' \"\"", [("echo", "", "")], ""),
        ("echo 'a\nb'", [("echo", "a\nb")], ""),
        ('echo "a\n\nb "', [("echo", "a\n\nb ")], ""),
        ("echo '$HOME `id` $(id) * ~ !'", [("echo", "$HOME `id` $(id) * ~ !")], ""),
        ('echo "a;b|c&d>e<f*g?h[i]{j}~k!l#m"', [("echo", "a;b|c&d>e<f*g?h[i]{j}~k!l#m")], ""),
        ("a && b || c; d | e", [("a",), ("b",), ("c",), ("d",), ("e",)], "&& || ; |"),
        ("a;", [("a",)], ""),
        ("a\n", [("a",)], ""),
        ("\n\na\n\n\nb\n", [("a",), ("b",)], ";"),
        ("a;\nb", [("a",), ("b",)], ";"),
        ("a &&\nb", [("a",), ("b",)], "&&"),
        ("a |\n\nb", [("a",), ("b",)], "|"),
        ("a ; b ;", [("a",), ("b",)], ";"),
        ("a|b&&c|d", [("a",), ("b",), ("c",), ("d",)], "| && |"),
        ("git log --format=%H -n 3", [("git", "log", "--format=%H", "-n", "3")], ""),
        ("head -5 x", [("head", "-5", "x")], ""),
        ("./run.sh a=b", [("./run.sh", "a=b")], ""),
        ("cat /etc/passwd", [("cat", "/etc/passwd")], ""),
        ("cd sub && make", [("cd", "sub"), ("make",)], "&&"),
        ("ls 12", [("ls", "12")], ""),
        ("grep x f;" + " " * 500 + "env|sh", [("grep", "x", "f"), ("env",), ("sh",)], "; |"),
        ("g++ -o a b.cpp", [("g++", "-o", "a", "b.cpp")], ""),
    ],
)
def test_plain(command: str, parts: Sequence[tuple[str, ...]], operators: str) -> None:
    found = plain(command)
    assert found.parts == tuple(parts)
    assert found.operators == tuple(operators.split())
    assert plain(found.script).parts == found.parts
    assert plain(found.script).operators == found.operators


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   \n ",
        ";",
        "; a",
        "a ;; b",
        "a\n;b",
        "a;\n;b",
        "&& a",
        "a &&",
        "a |",
        "a & b",
        "a &",
        "a |& b",
        "a > b",
        "a >> b",
        "a 2>&1",
        "a < b",
        "a << EOF\nx\nEOF",
        "a <<< b",
        "a <(b)",
        "a >(b)",
        "a $(b)",
        "a `b`",
        'a "$(b)"',
        'a "`b`"',
        'a "$b"',
        'a "$"',
        "a $b",
        "a ${b}",
        '${o="$"}${t="$o(id)"}${t@P}',
        "a $'b'",
        'a $"b"',
        "a $((1+1))",
        "A=1 b",
        "A=1",
        '"A=1" b',
        "(a)",
        "{ a; }",
        "! a",
        "if a; then b; fi",
        "for a in b; do c; done",
        "while a; do b; done",
        "case a in b) c;; esac",
        "f() { a; }",
        "function f { a; }",
        "[[ a ]]",
        "[ a ]",
        "((1))",
        "a # b",
        "#a",
        "a *",
        "a ?",
        "a [b]",
        "a {b,c}",
        "a ~",
        "a ~/b",
        "a b=~",
        "a !b",
        "a !!",
        "ls\rrm x",
        "ls\x0brm",
        "ls\ta",
        "ls\0a",
        "ls \u00a0a",
        "ls ü",
        "ls \u202ea",
        "r\\m x",
        "a \\\nb",
        "a '\\'",
        "a b^c",
        "%1",
        "-x",
        "+x",
        "a; -x",
        "'' a",
        "time a",
        "coproc a",
        "alias a=b",
        "eval a",
        "exec a",
        "source a",
        ". a",
        "command a",
        "builtin a",
        "export A=b",
        "declare a",
        "typeset a",
        "readonly a",
        "unset a",
        "let a=1",
        "test -f a",
        "printf a",
        "read a",
        "trap a EXIT",
        '"eval" a',
        "'if' a",
        '"then"',
        "e'val' a",
        "set -e",
        "enable -n echo",
        "history -a f",
        "a 'b",
        'a "b',
        "a )",
        "a" + " b" * 2100,
        " ; ".join(["a"] * 21),
        "grep x f;\t" + " " * 500 + "env",
        'echo "\\"; id; echo \\""',
        "rg -e a$IFS--pre=sh",
        "cat <(id)",
    ],
)
def test_not_plain(command: str) -> None:
    found = parse(command)
    assert isinstance(found, NotPlain)
    assert found.reason


def test_the_largest_plain_command() -> None:
    assert len(plain(" ; ".join(["a"] * 20)).parts) == 20
    assert isinstance(parse("a " + "b" * 4094), Plain)


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        ("echo $(curl x)", ("curl", "x")),
        ("A=1 curl x > y", ("curl", "x")),
        ("if a; then curl x; fi", ("curl", "x")),
        ("(curl x) &", ("curl", "x")),
        ("cat <(curl x)", ("curl", "x")),
        ("for i in a; do curl x; done", ("curl", "x")),
        ("f() { curl x; }; f", ("curl", "x")),
        ('echo "`curl x`"', ("curl", "x")),
    ],
)
def test_what_is_seen_in_text_that_is_not_plain(command: str, seen: tuple[str, ...]) -> None:
    found = parse(command)
    assert isinstance(found, NotPlain)
    assert seen in found.seen


def test_deep_nesting_is_read_in_bounded_time() -> None:
    started = time.monotonic()
    assert isinstance(parse("(" * 2000 + "a" + ")" * 2000), NotPlain)
    assert isinstance(parse("$(" * 1000), NotPlain)
    assert time.monotonic() - started < 20


def test_a_reader_that_fails_gives_unread() -> None:
    def broken(command: str) -> Plain:
        raise RecursionError(command)

    assert isinstance(shell.read_command("ls", broken), Unread)
    assert isinstance(shell.read_command("ls"), Plain)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git  status", Execution(("git", "status"), None)),
        ("a 'b c' && d", Execution(None, "a 'b c' && d")),
        ("cd  x", Execution(None, "cd x")),
        ("a  >  b", Execution(None, "a  >  b")),
    ],
)
def test_execution(command: str, expected: Execution) -> None:
    assert execution(parse(command), command) == expected


# ---- bash agrees: what is read as plain runs exactly as it was read

_ALPHABET = st.sampled_from(
    [
        *"abx01 \n\t'\"\\;&|<>(){}[]$`*?~!#=%^,.:@+-/_",
        *("&&", "||", " ; ", " | ", "\n", "$(", "${", "$'", '$"', "<<", "eval ", "if ", "then "),
        *(
            " a=b ",
            "--x=",
            "~/",
            "é",
            "\r",
            "\x0b",
            "cd ",
            "echo ",
            "true ",
            "\u00a0",
            "'' ",
            '"" ',
        ),
    ]
)
_WORD = st.sampled_from(["a", "b1", "'c d'", '"e f"', "-x", "--y=z", "x'y'\"z\"", "''", '"a\nb"'])
_OPERATOR = st.sampled_from([" && ", " || ", ";", " | ", "\n", "&&", "||", "|", " ;\n", " &&\n"])
_COMMAND = st.lists(_WORD, min_size=1, max_size=4).map(" ".join)


@st.composite
def _chains(draw: st.DrawFn) -> str:
    text = "p" + draw(_COMMAND)
    for _ in range(draw(st.integers(0, 4))):
        text += draw(_OPERATOR) + "q" + draw(_COMMAND)
    position = draw(st.integers(0, len(text)))
    return text[:position] + draw(st.one_of(st.just(""), _ALPHABET)) + text[position:]


_LINES = st.one_of(st.lists(_ALPHABET, min_size=1, max_size=14).map("".join), _chains())

# Every command is missing, so bash hands its words to this handler, which writes them down.
_RECORDER = """
enable -n {builtins}
command_not_found_handle() {{ {printf} '%s\\0' "$#" "$@" >> "$RECORD"; return "$STATUS"; }}
"""
_KEPT = {"enable", "return", "command", "builtin", "exec", "eval", "exit"}


def _bash() -> str:
    found = shutil.which("bash")
    assert found is not None
    return found


def _recorder(folder: Path) -> Path:
    names = subprocess.run(
        [_bash(), "-c", "compgen -b"], capture_output=True, text=True, check=True
    ).stdout.split()
    printf = shutil.which("printf")
    file = folder / "recorder"
    off = " ".join(f"'{name}'" for name in names if name not in _KEPT)
    file.write_text(_RECORDER.format(builtins=off, printf=printf))
    return file


def _executed(text: str, recorder: Path, folder: Path, status: int) -> list[tuple[str, ...]]:
    record = folder / "record"
    record.write_bytes(b"")
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    environ = {
        "BASH_ENV": str(recorder),
        "PATH": str(work),
        "RECORD": str(record),
        "STATUS": str(status),
        "HOME": str(work),
    }
    subprocess.run(
        [_bash(), "--noprofile", "--norc", "-c", "--", text],
        env=environ,
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )
    fields = record.read_bytes().decode().split("\0")[:-1]
    found: list[tuple[str, ...]] = []
    while fields:
        count = int(fields[0])
        found.append(tuple(fields[1 : count + 1]))
        fields = fields[count + 1 :]
    return found


def _expected(command: Plain, status: int) -> list[tuple[str, ...]]:
    """What should run if every command ends with this status."""
    ran: list[tuple[str, ...]] = []
    runs, good = True, True
    for part, operator in zip(command.parts, (";", *command.operators), strict=True):
        if operator != "|":
            runs = operator == ";" or good is (operator == "&&")
        if runs:
            ran.append(part)
            good = status == 0
    return ran


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("bash")
    return folder, _recorder(folder)


def test_the_recorder_records(bench: tuple[Path, Path]) -> None:
    folder, recorder = bench
    assert _executed("a 'b  c' $((1+1)) \"\"", recorder, folder, 0) == [("a", "b  c", "2", "")]
    assert _executed("echo x", recorder, folder, 0) == [("echo", "x")]


@pytest.mark.timeout(300)
@given(_LINES)
@example("p a\n q b")
@example("p '' && q \"\"")
@example("echo a=b")
@settings(
    max_examples=int(os.environ.get("SHELL_EXAMPLES", "150")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_plain_commands_run_as_they_were_read(bench: tuple[Path, Path], text: str) -> None:
    found = parse(text)
    if not isinstance(found, Plain):
        return
    programs = {part[0] for part in found.parts}
    if programs & {*_KEPT, *shell.ONLY_BUILT_IN} or any("/" in name for name in programs):
        return
    folder, recorder = bench
    for status in (0, 1):
        expected = sorted(_expected(found, status))
        assert sorted(_executed(text, recorder, folder, status)) == expected
        assert sorted(_executed(found.script, recorder, folder, status)) == expected


# ---- the table of commands that only read


@pytest.mark.parametrize(
    "command",
    [
        "pwd",
        "true",
        "whoami",
        "uname -a",
        "id -u",
        "ls",
        "ls -la src",
        "cat a b",
        "cat -n a",
        "head -n 5 a",
        "head -n5 a",
        "head -5 a",
        "tail -c 100 a",
        "tail -n +5 a",
        "wc -l a",
        "cut -d , -f 1,2 a",
        "cut -d, -f1 a",
        "tr a b",
        "stat a",
        "stat -c %s a",
        "basename a/b",
        "realpath -m a",
        "sha256sum a",
        "grep -rn x src",
        "grep -e x -e y a",
        "grep -C 3 x a",
        "rg x",
        "rg -i x src",
        "find . -name x -type f",
        "find src -maxdepth 2 -print",
        "find -newer a",
        "find . -name '*.py'",
        "sed -n 5p a",
        "sed -n '1,5p' a",
        "sed -n '5,$p' a",
        "sort -rn a",
        "sort -k 2,2n -t , a",
        "uniq -c a",
        "diff -u a b",
        "diff a b",
        "echo a b",
        "which python",
    ],
)
def test_safe(command: str) -> None:
    (argv,) = plain(command).parts
    assert is_safe(argv)


@pytest.mark.parametrize(
    "argv",
    [
        ("rm", "a"),
        ("git", "status"),
        ("man", "ls"),
        ("man", "--html=x"),
        ("xargs", "-t", "touch"),
        ("awk", "x"),
        ("env",),
        ("test", "-f", "a"),
        ("printf", "a"),
        ("file", "a"),
        ("tree",),
        ("less", "a"),
        ("date",),
        ("ping", "x"),
        ("dig", "x"),
        ("python", "-V"),
        ("/bin/ls",),
        ("./ls",),
        ("LS",),
        ("ls", "--hyperlink"),
        ("ls", "--al"),
        ("cat", "--show-all"),
        ("cat", "-"),
        ("cat", "--", "-x"),
        ("tail", "-f", "a"),
        ("tail", "-nf", "a"),
        ("head", "-n", "-5", "a"),
        ("head", "-n"),
        ("true", "--help"),
        ("pwd", "x"),
        ("wc", "--files0-from=x"),
        ("sort", "-o", "x", "a"),
        ("sort", "-ox", "a"),
        ("sort", "--comp=./c.sh", "a"),
        ("sort", "--compress-program=sh"),
        ("sort", "-T", "x"),
        ("sort", "-t", "ab", "a"),
        ("sort", "-rno", "x"),
        ("uniq", "a", "b"),
        ("sed", "s/x/id/e"),
        ("sed", "-n", "w out"),
        ("sed", "-n", "1,5p;w out"),
        ("sed", "-n", "1p\nw x"),
        ("sed", "-n", "1e"),
        ("sed", "-n", "5p", "-i", "a"),
        ("sed", "-i", "5p", "a"),
        ("sed", "w .claude/x"),
        ("sed", "-ni", "5p", "a"),
        ("find", ".", "-exec", "x"),
        ("find", ".", "-execdir", "x"),
        ("find", ".", "-ok", "x"),
        ("find", ".", "-delete"),
        ("find", ".", "-fprint", "x"),
        ("find", ".", "-fprintf", "out", "x"),
        ("find", ".", "-fls", "x"),
        ("find", ".", "-name", "-exec"),
        ("find", ".", "-name"),
        ("find", ".", "-name", "x", "src"),
        ("find", ".", "-name", "x", "-o", "-delete"),
        ("find", "-files0-from", "x"),
        ("find", ".", "(", "-delete", ")"),
        ("rg", "--pre=sh", "x"),
        ("rg", "--pre", "sh", "x"),
        ("rg", "-z", "x"),
        ("rg", "-E", "x", "y"),
        ("rg", "-r", "x", "y"),
        ("rg", "-f", "x"),
        ("rg", "--hostname-bin=sh", "x"),
        ("grep", "-f", "x", "a"),
        ("grep", "-P", "x", "a"),
        ("grep", "-R", "x"),
        ("grep", "-e"),
        ("grep", "-efoo", "a"),
        ("grep", "-e", "-x"),
        ("grep",),
        ("diff", "a", "b", "c"),
        ("diff", "-r", "a", "b"),
        ("diff", "--to-file=x", "a"),
        ("echo", "-e", "x"),
        ("stat", "--printf=x"),
        ("basename", "-s", "x", "a"),
        ("which", "--read-alias"),
        ("id", "a", "b"),
        ("git", "ls-remote", "--upload-pa=x"),
        ("history", "-a", "f"),
    ],
)
def test_not_safe(argv: tuple[str, ...]) -> None:
    assert is_safe(argv) is None


@pytest.mark.parametrize(
    ("command", "files", "recursive"),
    [
        ("cat a b", ("a", "b"), False),
        ("grep x a b", ("a", "b"), False),
        ("grep -e x a", ("a",), False),
        ("grep -rn x .", (".",), True),
        ("rg x", (), True),
        ("echo .env", (), False),
        ("find . -name .env", (".",), False),
        ("find -name x", (".",), False),
        ("sed -n 5p a", ("a",), False),
        ("diff -u a b", ("a", "b"), False),
        ("ls a", ("a",), False),
        ("head -n 5 a", ("a",), False),
    ],
)
def test_what_a_safe_command_reads(command: str, files: tuple[str, ...], recursive: bool) -> None:
    (argv,) = plain(command).parts
    found = reading(argv)
    assert found is not None
    assert (found.files, found.recursive) == (files, recursive)
