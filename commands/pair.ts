// `deno task pair`: gives a user a second factor, lists and revokes them, beside a running server as well as without one.

import type { DeskRequest } from "../host/desk_answer.ts";
import { type CommandOutcome, finish, runRequest } from "./desk_call.ts";
import { asksHelp, readTyped } from "./typed.ts";
import { readSecretLine } from "./typed_secret.ts";

const USAGE =
  `Give a user a second factor, list or revoke them. Works beside a running server as well as without one.

  deno task pair <user> --device <pairing_id>   a device, by its id at the second-factor service; without a confirmation
                        [--totp-length <n>]     digits of the passcodes that it shows: 4 to 10, 0 for none (6)
  deno task pair <user> --sms <+number>         passcodes by text message
  deno task pair <user> --voice <+number>       passcodes by phone call
  deno task pair <user> --totp <base32>         passcodes of an authenticator app; - reads the secret from standard
                                                input, so that it stands in no history and no list of processes
  deno task pair <user> --invite                a link and a QR code for the phone page, good once, for 24 hours
  deno task pair <user> --prefer <factor>       what a login begins with: device, sms, voice or totp; none undoes it
  deno task pair [<user>] --list                the pairings of one user, or of all
  deno task pair [<user>] --revoke <id>         ends a pairing

Reads the settings that COUNTERSIGN_CONFIG names, else countersign.toml in the working directory; the master key from
COUNTERSIGN_MASTER_KEY where the server does. Exit code 0: done; 1: refused, with the reason; 2: wrong use.
`;

interface Action {
  readonly takes: "value" | "alone";
  /** Whether a user must be named. */
  readonly user: "needed" | "may_be_named";
  request(typed: { user: string | null; value: string; totpLength: string | null }): DeskRequest;
}

/** By the option that asks for it; exactly one stands in a command. */
const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ["--device", {
    takes: "value",
    user: "needed",
    request: ({ user, value, totpLength }) => ({
      op: "pair.device",
      user,
      id: value,
      // Digits only: Number() would take "" for 0 and "0x6" for 6.
      ...totpLength === null
        ? {}
        : { totpLength: /^[0-9]{1,2}$/.test(totpLength) ? Number(totpLength) : totpLength },
    }),
  }],
  ["--sms", {
    takes: "value",
    user: "needed",
    request: ({ user, value }) => ({ op: "pair.sms", user, number: value }),
  }],
  ["--voice", {
    takes: "value",
    user: "needed",
    request: ({ user, value }) => ({ op: "pair.voice", user, number: value }),
  }],
  ["--totp", {
    takes: "value",
    user: "needed",
    request: ({ user, value }) => ({ op: "pair.totp", user, seed: value }),
  }],
  ["--invite", { takes: "alone", user: "needed", request: ({ user }) => ({ op: "pair.invite", user }) }],
  ["--prefer", {
    takes: "value",
    user: "needed",
    request: ({ user, value }) => ({ op: "pair.prefer", user, factor: value }),
  }],
  ["--list", { takes: "alone", user: "may_be_named", request: ({ user }) => ({ op: "pair.list", user }) }],
  ["--revoke", {
    takes: "value",
    user: "may_be_named",
    request: ({ user, value }) => ({ op: "pair.revoke", user, id: value }),
  }],
]);

const TOTP_LENGTH = "--totp-length";
const OPTIONS = new Map([
  ...[...ACTIONS].map(([name, { takes }]) => [name, takes] as const),
  [TOTP_LENGTH, "value"] as const,
]);

/** What the arguments ask for. `secret`: the request still lacks what standard input brings. */
export type PairPlan =
  | { readonly kind: "help" }
  | { readonly kind: "wrong"; readonly problem: string }
  | { readonly kind: "request"; readonly request: DeskRequest; readonly secret: boolean };

/** Reads the arguments of `deno task pair`. */
export function planPair(args: readonly string[]): PairPlan {
  if (asksHelp(args)) return { kind: "help" };
  const typed = readTyped(args, OPTIONS);
  if (!typed.ok) return { kind: "wrong", problem: typed.problem };
  const { words, options } = typed;
  const [user = null, second] = words;
  if (second !== undefined) return { kind: "wrong", problem: "there is more than one user name" };
  const asked = [...ACTIONS].filter(([name]) => options.has(name));
  const [first, another] = asked;
  if (first === undefined) return { kind: "wrong", problem: "what should be done is missing" };
  if (another !== undefined) {
    return { kind: "wrong", problem: `${first[0]} and ${another[0]} exclude each other` };
  }
  const [name, action] = first;
  const totpLength = options.get(TOTP_LENGTH) ?? null;
  if (totpLength !== null && name !== "--device") {
    return { kind: "wrong", problem: `${TOTP_LENGTH} belongs to --device` };
  }
  if (user === null && action.user === "needed") return { kind: "wrong", problem: "a user name is missing" };
  const value = options.get(name) ?? "";
  return {
    kind: "request",
    request: action.request({ user, value, totpLength }),
    secret: name === "--totp" && value === "-",
  };
}

async function run(args: readonly string[]): Promise<CommandOutcome> {
  const plan = planPair(args);
  if (plan.kind === "help") return { out: USAGE, err: "", exitCode: 0 };
  if (plan.kind === "wrong") {
    return { out: "", err: `Cannot pair: ${plan.problem}.\n\n${USAGE}`, exitCode: 2 };
  }
  if (!plan.secret) return await runRequest(plan.request);
  const encoder = new TextEncoder();
  const seed = await readSecretLine(Deno.stdin, (text) => void Deno.stderr.writeSync(encoder.encode(text)));
  if (seed === null) return { out: "", err: "Cannot pair: no secret was given.\n", exitCode: 1 };
  return await runRequest({ ...plan.request, seed });
}

if (import.meta.main) finish(await run(Deno.args));
