// `deno task pair`: gives a user a second factor, lists and revokes them, beside a running server as well as without one.

import { type Factor, FACTORS } from "../radius/flow/factors.ts";
import { addFactor, type Addition, invite, listAll, listOf, prefer, revoke } from "./pair_actions.ts";
import { asksHelp, parseCommandArgs } from "./parse_args.ts";
import { type CommandOutcome, finish, runCommand, success } from "./run_admin_command.ts";
import { readSecretLine } from "./read_secret.ts";

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

/** What a command does. */
export type PairAction =
  | { readonly does: "add"; readonly user: string; readonly factor: Addition }
  | { readonly does: "invite"; readonly user: string }
  | { readonly does: "prefer"; readonly user: string; readonly factor: Factor | null }
  | { readonly does: "list"; readonly user: string | null }
  | { readonly does: "revoke"; readonly user: string | null; readonly id: string };

interface Typed {
  readonly value: string;
  readonly totpLength: string | null;
}

/** What an option asks for; a text says what is wrong. */
type Read = (user: string, typed: Typed) => PairAction | string;

/** The options that need a user. */
const FOR_USER = {
  device: readDevice,
  sms: readNumber("sms"),
  voice: readNumber("voice"),
  totp: readSeed,
  invite: (user) => ({ does: "invite", user }),
  prefer: readPreference,
} satisfies Record<string, Read>;

const DEFAULT_TOTP_LENGTH = 6;
const TOTP_LENGTHS = [0, 4, 5, 6, 7, 8, 9, 10] as const;

function readDevice(user: string, { value: id, totpLength: given }: Typed): PairAction | string {
  const length = given === null ? DEFAULT_TOTP_LENGTH : /^[0-9]{1,2}$/.test(given) ? Number(given) : NaN;
  const totpLength = TOTP_LENGTHS.find((one) => one === length);
  if (totpLength === undefined) return "the length of a device's passcodes is 4 to 10, or 0 for none";
  return { does: "add", user, factor: { kind: "device", id, totpLength } };
}

function readNumber(kind: "sms" | "voice"): Read {
  return (user, { value: number }) => ({ does: "add", user, factor: { kind, number } });
}

function readSeed(user: string, { value: seed }: Typed): PairAction {
  return { does: "add", user, factor: { kind: "totp", seed } };
}

function readPreference(user: string, { value }: Typed): PairAction | string {
  if (value === "none") return { does: "prefer", user, factor: null };
  return isFactor(value)
    ? { does: "prefer", user, factor: value }
    : `what comes first is one of ${Object.keys(FACTORS).join(", ")}, or none`;
}

function isFactor(value: string): value is Factor {
  return Object.hasOwn(FACTORS, value);
}

const OPTIONS = {
  device: { type: "string" },
  sms: { type: "string" },
  voice: { type: "string" },
  totp: { type: "string" },
  invite: { type: "boolean" },
  prefer: { type: "string" },
  list: { type: "boolean" },
  revoke: { type: "string" },
  "totp-length": { type: "string" },
} as const;
/** A command has exactly one of these options. */
const ACTIONS = ["device", "sms", "voice", "totp", "invite", "prefer", "list", "revoke"] as const;

/** What the arguments ask for. `readsSeed`: the TOTP secret comes from standard input. */
export type PairPlan =
  | { readonly kind: "help" }
  | { readonly kind: "wrong"; readonly problem: string }
  | { readonly kind: "action"; readonly action: PairAction; readonly readsSeed: boolean };

/** Reads the arguments of `deno task pair`. */
export function planPair(args: readonly string[]): PairPlan {
  if (asksHelp(args)) return { kind: "help" };
  const action = readAction(args);
  if (typeof action === "string") return { kind: "wrong", problem: action };
  const readsSeed = action.does === "add" && action.factor.kind === "totp" && action.factor.seed === "-";
  return { kind: "action", action, readsSeed };
}

function readAction(args: readonly string[]): PairAction | string {
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return parsed.problem;
  const { words: [user = null, second], values } = parsed;
  if (second !== undefined) return "there is more than one user name";
  const [name, another] = ACTIONS.filter((option) => values[option] !== undefined);
  if (name === undefined) return "what should be done is missing";
  if (another !== undefined) return `--${name} and --${another} exclude each other`;
  const { "totp-length": totpLength = null } = values;
  if (totpLength !== null && name !== "device") return "--totp-length belongs to --device";
  const value = String(values[name] ?? "");
  if (name === "list") return { does: "list", user };
  if (name === "revoke") return { does: "revoke", user, id: value };
  if (user === null) return "a user name is missing";
  return FOR_USER[name](user, { value, totpLength });
}

async function run(args: readonly string[]): Promise<CommandOutcome> {
  const plan = planPair(args);
  if (plan.kind === "help") return success(USAGE);
  if (plan.kind === "wrong") {
    return { out: "", err: `Cannot pair: ${plan.problem}.\n\n${USAGE}`, exitCode: 2 };
  }
  if (!plan.readsSeed || plan.action.does !== "add") return await perform(plan.action);
  const encoder = new TextEncoder();
  const seed = await readSecretLine(Deno.stdin, (text) => void Deno.stderr.writeSync(encoder.encode(text)));
  if (seed === null) return { out: "", err: "Cannot pair: no secret was given.\n", exitCode: 1 };
  return await perform({ ...plan.action, factor: { kind: "totp", seed } });
}

function perform(action: PairAction): Promise<CommandOutcome> {
  return runCommand(async (api, config) => {
    switch (action.does) {
      case "add":
        return success(await addFactor({ api, config }, action.user, action.factor));
      case "invite":
        return success(await invite({ api, config }, action.user));
      case "prefer":
        return success(await prefer({ api, config }, action.user, action.factor));
      case "list":
        return success(action.user === null ? await listAll(api) : await listOf(api, action.user));
      case "revoke":
        return success(await revoke({ api, config }, action));
    }
  });
}

if (import.meta.main) finish(await run(Deno.args));
