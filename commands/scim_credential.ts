// `deno task scim-credential`: makes, lists and ends credentials of the identity interface, beside a running server as well as without one.

import type { DeskRequest } from "../host/desk_answer.ts";
import { type CommandOutcome, finish, runRequest } from "./desk_call.ts";
import { asksHelp, readTyped } from "./typed.ts";
import { readSecretLine } from "./typed_secret.ts";

const USAGE =
  `Credentials of the identity interface (SCIM), for HTTP Basic. Works beside a running server as well as without one.

  deno task scim-credential add <name>      makes one, and prints its password, once
                [--target <t>]...           for these targets; may be left out where the settings have one target
                [--access read|write]       what it may do (read)
                [--password-stdin]          takes the password from standard input instead of generating one
  deno task scim-credential list            all of them, also those of the settings
  deno task scim-credential revoke <name>   ends one, at once

A name has letters A to Z, digits, dot, dash and underscore, 64 at most. Those of the settings are changed there.
Exit code 0: done; 1: refused, with the reason; 2: wrong use.
`;

const TARGET = "--target";
const ACCESS = "--access";
const PASSWORD_STDIN = "--password-stdin";
const OPTIONS = new Map(
  [[TARGET, "values"], [ACCESS, "value"], [PASSWORD_STDIN, "alone"]] as const,
);

/** What the arguments ask for. `secret`: the request still lacks the password that standard input brings. */
export type CredentialPlan =
  | { readonly kind: "help" }
  | { readonly kind: "wrong"; readonly problem: string }
  | { readonly kind: "request"; readonly request: DeskRequest; readonly secret: boolean };

/** Reads the arguments of `deno task scim-credential`. */
export function planScimCredential(args: readonly string[]): CredentialPlan {
  if (asksHelp(args)) return { kind: "help" };
  const typed = readTyped(args, OPTIONS);
  if (!typed.ok) return wrong(typed.problem);
  const { words: [verb, name, third], options } = typed;
  if (verb === undefined) return wrong("what should be done is missing");
  if (verb !== "add" && options.size > 0) return wrong(`${[...options.keys()].join(" and ")} belongs to add`);
  if (verb === "list") {
    return name === undefined ? request({ op: "scim_credential.list" }) : wrong("list takes no name");
  }
  if (verb !== "add" && verb !== "revoke") return wrong(`there is no ${JSON.stringify(verb)}`);
  if (name === undefined) return wrong("a credential's name is missing");
  if (third !== undefined) return wrong("there is more than one name");
  if (verb === "revoke") return request({ op: "scim_credential.revoke", name });
  return request({
    op: "scim_credential.add",
    name,
    targets: options.get(TARGET) ?? null,
    access: options.get(ACCESS) ?? null,
  }, { secret: options.has(PASSWORD_STDIN) });
}

function wrong(problem: string): CredentialPlan {
  return { kind: "wrong", problem };
}

function request(asked: DeskRequest, { secret = false } = {}): CredentialPlan {
  return { kind: "request", request: asked, secret };
}

async function run(args: readonly string[]): Promise<CommandOutcome> {
  const plan = planScimCredential(args);
  if (plan.kind === "help") return { out: USAGE, err: "", exitCode: 0 };
  if (plan.kind === "wrong") {
    return { out: "", err: `Cannot do that: ${plan.problem}.\n\n${USAGE}`, exitCode: 2 };
  }
  if (!plan.secret) return await runRequest(plan.request);
  const encoder = new TextEncoder();
  const password = await readSecretLine(
    Deno.stdin,
    (text) => void Deno.stderr.writeSync(encoder.encode(text)),
    { asksFor: "Password" },
  );
  if (password === null || password === "") {
    return { out: "", err: "Cannot make the credential: no password was given.\n", exitCode: 1 };
  }
  return await runRequest({ ...plan.request, password });
}

if (import.meta.main) finish(await run(Deno.args));
