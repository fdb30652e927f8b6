#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal of its own and prints what that showed, then "exit status N".

usage: cli_terminal.py [-s] ANSWER... -- COMMAND...

Each ANSWER is typed when the terminal shows a question ("...: "). With -s standard input and output stay what they are,
and only the command's errors go to the terminal.
"""
import os
import pty
import sys
import time


def main(args):
    stderr_alone = args[0] == "-s"
    if stderr_alone:
        args.pop(0)
    split = args.index("--")
    answers, command = args[:split], args[split + 1 :]
    stdin, stdout = os.dup(0), os.dup(1)
    pid, terminal = pty.fork()
    if pid == 0:
        if stderr_alone:
            os.dup2(stdin, 0)
            os.dup2(stdout, 1)
        os.execvp(command[0], command)
    seen, asked = b"", b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the terminal's way of saying that nobody is there any more
            break
        if not data:
            break
        seen += data
        asked += data
        if answers and asked.rstrip(b" ").endswith(b":"):
            time.sleep(0.1)  # libcrypto asks first and switches the echo off then
            os.write(terminal, answers.pop(0).encode() + b"\n")
            asked = b""
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.stderr.write(seen.decode(errors="replace").replace("\r\n", "\n"))
    sys.stderr.write("\nexit status %d\n" % status)
    return status if status >= 0 else 128 - status


sys.exit(main(sys.argv[1:]))
