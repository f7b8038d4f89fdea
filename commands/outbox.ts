// `deno task outbox`: what a target still owes its backends, and trying again what was given up.

import type { DeskRequest } from "../host/desk_answer.ts";
import { finish, runRequest } from "./desk_call.ts";
import { printable } from "./desk_text.ts";
import { asksHelp, readTyped } from "./typed.ts";

const USAGE =
  `What a target still owes its asynchronous backends. Works beside a running server as well as without one.

  deno task outbox <target>                    lists what is owed, the oldest first, and dead letters among it
  deno task outbox <target> --retry            tries all dead letters again
  deno task outbox <target> --retry <backend>  the same, those of one backend

A dead letter is a write that a backend refused for good, or too often. Delivering is the running server's work.

Exit code 0: done; 1: refused, with the reason; 2: wrong use.
`;

/** The operation that the arguments ask for, or what is wrong with them. */
export function planOutbox(args: readonly string[]): DeskRequest | string {
  const typed = readTyped(args.map(spelled), new Map([["--retry", "alone"], ["--retry-of", "value"]]));
  if (!typed.ok) return typed.problem;
  const { words: [target, backend, third], options } = typed;
  if (target === undefined) return "the target is missing";
  if (third !== undefined) return "there is more than one backend";
  const ofOne = options.get("--retry-of") ?? null;
  if (!options.has("--retry") && ofOne === null) {
    return backend === undefined ? { op: "target.owed", target } : "a backend belongs to --retry";
  }
  if (ofOne !== null && backend !== undefined) return "there is more than one backend";
  return { op: "target.retry", target, backend: ofOne ?? backend ?? null };
}

/** `--retry=<backend>` as well as `--retry <backend>`. */
function spelled(arg: string): string {
  return arg.startsWith("--retry=") ? `--retry-of=${arg.slice("--retry=".length)}` : arg;
}

if (import.meta.main) {
  const plan = planOutbox(Deno.args);
  if (asksHelp(Deno.args)) finish({ out: USAGE, err: "", exitCode: 0 });
  else if (typeof plan === "string") {
    finish({ out: "", err: `Cannot do that: ${printable(plan)}.\n\n${USAGE}`, exitCode: 2 });
  } else finish(await runRequest(plan));
}
