#!/usr/bin/env python3
"""Drive flower from another program: run a job through --json and pass its questions on.

    examples/drive.py "a script that counts the words of a file"

Needs nothing but Python 3. The program that is run is "flower", or what FLOWER names; flags of flower may stand before
the request. Questions are put on standard error and answered by lines of standard input: the number of an option, a
text, or an empty line to skip. What is said here of the events is all in docs/json.md.
"""

import json
import os
import subprocess
import sys


def main():
    flower = subprocess.Popen(
        [os.environ.get("FLOWER", "flower"), "--json", *sys.argv[1:]],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", bufsize=1,
    )

    def say(**order):
        try:
            print(json.dumps(order), file=flower.stdin, flush=True)
        except BrokenPipeError:
            pass  # it has ended; its last event says why

    for line in flower.stdout:
        event = json.loads(line)
        kind = event["type"]
        if kind == "prompt":  # nothing was given to do: ask
            say(type="request", text=ask("What do you want done?", []) or "")
        elif kind == "question":
            said = ask(event["text"], event["options"])
            if said is None:
                flower.stdin.close()  # nobody answers any more: the agents decide
            elif said.isdecimal() and 1 <= int(said) <= len(event["options"]):
                say(type="answer", id=event["id"], option=int(said))
            else:
                say(type="answer", id=event["id"], text=said)
        elif kind == "step_started":
            print(f"== {event['step']}  {event['index']}/{event['total']}")
        elif kind == "message" and event["text"] and not event["path"]:
            print(event["text"].strip())
        elif kind == "tool_finished" and not event["ok"]:
            print(f"! {event['tool']}: {event['output'].splitlines()[0] if event['output'] else 'failed'}")
        elif kind == "verdict":
            print(f"verdict on round {event['round']}: {event['verdict']} - {event['reason']}")
        elif kind == "error":
            print(f"! {event['message']}", file=sys.stderr)
        elif kind == "end":
            print(f"{'done' if event['ok'] else 'stopped'}, ${event['cost_usd']:.4f}, files: {', '.join(event['files']) or 'none'}")
            if event["next"]:
                print(f"go on with: {event['next']}")
    return flower.wait()


def ask(text, options):
    """Puts a question; None is the end of the input."""
    print(f"? {text}", file=sys.stderr)
    for number, option in enumerate(options, 1):
        print(f"?   {number}) {option}", file=sys.stderr)
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None


if __name__ == "__main__":
    sys.exit(main())
