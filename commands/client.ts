// `deno task client`: makes the gateway forget what it learnt of a RADIUS client.

import { finish, runRequest } from "./desk_call.ts";
import { asksHelp, readTyped } from "./typed.ts";

const USAGE =
  `What the gateway learnt of its RADIUS clients. Works beside a running server as well as without one.

  deno task client forget <name>   accepts unsigned requests of that client again

With message_authenticator = "auto", an address of a client that once sent a signed Access-Request must sign all further
ones. Use this command if the client was replaced by one that does not sign. It clears all addresses of the client; each
is learnt again with its next signed request.
Exit code 0: done; 1: refused, with the reason; 2: wrong use.
`;

/** The operation that the arguments ask for, or what is wrong with them. */
export function planClient(args: readonly string[]): { op: string; name: string } | string {
  const typed = readTyped(args, new Map());
  if (!typed.ok) return typed.problem;
  const [verb, name, third] = typed.words;
  if (verb === undefined) return "what should be done is missing";
  if (verb !== "forget") return `there is no ${JSON.stringify(verb)}`;
  if (name === undefined) return "a client's name is missing";
  if (third !== undefined) return "there is more than one name";
  return { op: "client.forget", name };
}

if (import.meta.main) {
  const plan = planClient(Deno.args);
  if (asksHelp(Deno.args)) finish({ out: USAGE, err: "", exitCode: 0 });
  else if (typeof plan === "string") {
    finish({ out: "", err: `Cannot do that: ${plan}.\n\n${USAGE}`, exitCode: 2 });
  } else finish(await runRequest(plan));
}
