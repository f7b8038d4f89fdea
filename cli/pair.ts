// `deno task pair`: adds, lists and revokes the second factors of users.

import { renderUnicodeCompact } from "uqr";
import { COMMAND, COMMAND_SPACE } from "../platform/command_name.ts";
import type { PairingView } from "../console/api/users/user_types.ts";
import { isLoopback } from "../platform/addresses.ts";
import type { Config } from "../platform/config/config.ts";
import { isCountryAllowed, reducePhoneNumber } from "../platform/phone_number.ts";
import { type Factor, FACTORS } from "../radius/flow/context.ts";
import { type AdminApi, AdminRefusal, apiValue, pathName, rewordRefusal } from "./admin_connection.ts";
import {
  type CommandOutcome,
  counted,
  FACTOR_TEXTS,
  type ListedPairing,
  pairingTable,
  printable,
  quoted,
  resultText,
  utcTimeText,
} from "./format_result.ts";
import { parseCommandArgs, readSecretLine, writeNotice } from "./terminal.ts";
import { adminCommand, refusal, runCommand, runMain, success } from "./run_admin_command.ts";

const USAGE = `Add, list and revoke the second factors of a user.

Usage:
  ${COMMAND} pair <user> --device <pairing_id>  Add a device by its ID at the second-factor service.
  ${COMMAND_SPACE}             [--totp-length <n>]    Set the length of its passcodes: 4 to 10, or 0 for none (default: 6).
  ${COMMAND} pair <user> --sms <+number>        Add a number for passcodes by text message.
  ${COMMAND} pair <user> --voice <+number>      Add a number for passcodes by phone call.
  ${COMMAND} pair <user> --totp <secret>        Add an authenticator app by its secret: base32, or the otpauth URI of its
  ${COMMAND_SPACE}                                    QR code. Use - to read the secret from standard input, so that the shell
  ${COMMAND_SPACE}                                    history does not contain it.
  ${COMMAND} pair <user> --invite               Print a link and a QR code that pair a phone, once, within 24 hours.
  ${COMMAND} pair <user> --prefer <factor>      Set the default factor: device, sms, voice or totp. Use none to remove it.
  ${COMMAND} pair [<user>] --list               List the factors of one user, or of all users.
  ${COMMAND} pair [<user>] --revoke <id>        Revoke a factor.
`;

/** A factor that an administrator adds. */
export type NewFactor =
  | { readonly kind: "sms" | "voice"; readonly number: string }
  | { readonly kind: "device"; readonly id: string; readonly totpLength: (typeof TOTP_LENGTHS)[number] }
  | { readonly kind: "totp"; readonly seed: string };

export type PairAction =
  | { readonly does: "add"; readonly user: string; readonly factor: NewFactor }
  | { readonly does: "invite"; readonly user: string }
  | { readonly does: "prefer"; readonly user: string; readonly factor: Factor | null }
  | { readonly does: "list"; readonly user: string | null }
  | { readonly does: "revoke"; readonly user: string | null; readonly id: string };

const DEFAULT_TOTP_LENGTH = 6;
const TOTP_LENGTHS = [0, 4, 5, 6, 7, 8, 9, 10] as const;
/** The value of `--totp` that reads the secret from standard input. */
const STANDARD_INPUT = "-";

/** A command has exactly one of these options. */
const ACTIONS = {
  device: { type: "string" },
  sms: { type: "string" },
  voice: { type: "string" },
  totp: { type: "string" },
  invite: { type: "boolean" },
  prefer: { type: "string" },
  list: { type: "boolean" },
  revoke: { type: "string" },
} as const;

/** Reads the arguments. A text is the problem with them. */
export function planPair(args: readonly string[]): PairAction | string {
  const parsed = parseCommandArgs(args, { ...ACTIONS, "totp-length": { type: "string" } });
  if (!parsed.ok) return parsed.problem;
  const { words: [user = null, second], values } = parsed;
  if (second !== undefined) return "there is more than one user";
  const [name, another] = (Object.keys(ACTIONS) as (keyof typeof ACTIONS)[])
    .filter((option) => values[option] !== undefined);
  if (name === undefined) return "the action is missing";
  if (another !== undefined) return `--${name} and --${another} exclude each other`;
  const { "totp-length": totpLength = null } = values;
  if (totpLength !== null && name !== "device") return "--totp-length requires --device";
  const value = String(values[name]);
  if (name === "list") return { does: "list", user };
  if (name === "revoke") return { does: "revoke", user, id: value };
  if (user === null) return "the user is missing";
  switch (name) {
    case "device":
      return planDevice(user, { id: value, totpLength });
    case "sms":
    case "voice":
      return { does: "add", user, factor: { kind: name, number: value } };
    case "totp":
      return { does: "add", user, factor: { kind: name, seed: value } };
    case "invite":
      return { does: "invite", user };
    case "prefer":
      return planPreference(user, value);
  }
}

function planDevice(
  user: string,
  { id, totpLength: given }: { id: string; totpLength: string | null },
): PairAction | string {
  const length = given === null ? DEFAULT_TOTP_LENGTH : /^[0-9]{1,2}$/.test(given) ? Number(given) : NaN;
  const totpLength = TOTP_LENGTHS.find((one) => one === length);
  if (totpLength === undefined) return "--totp-length must be 4 to 10, or 0 for no passcodes";
  return { does: "add", user, factor: { kind: "device", id, totpLength } };
}

function planPreference(user: string, value: string): PairAction | string {
  if (value === "none") return { does: "prefer", user, factor: null };
  return Object.hasOwn(FACTORS, value)
    ? { does: "prefer", user, factor: value as Factor }
    : `--prefer must be one of ${Object.keys(FACTORS).join(", ")}, or none`;
}

async function run(plan: PairAction): Promise<CommandOutcome> {
  let action = plan;
  if (plan.does === "add" && plan.factor.kind === "totp" && plan.factor.seed === STANDARD_INPUT) {
    const seed = await readSecretLine(Deno.stdin, writeNotice);
    if (seed === null) return refusal("Cannot add the factor: no secret was entered.\n");
    action = { ...plan, factor: { kind: "totp", seed } };
  }
  return await runCommand(async (api, config) => success(await perform({ api, config }, action)));
}

function perform(deps: Deps, action: PairAction): Promise<string> {
  switch (action.does) {
    case "add":
      return addFactor(deps, action.user, action.factor);
    case "invite":
      return invite(deps, action.user);
    case "prefer":
      return prefer(deps, action.user, action.factor);
    case "list":
      return action.user === null ? listAll(deps.api) : listOf(deps.api, action.user);
    case "revoke":
      return revoke(deps, action);
  }
}

interface Deps {
  readonly api: AdminApi;
  readonly config: Config;
}

/** The list of all users shows at most this many pairings. */
const MAX_LISTED = 500;
const PAGE_SIZE = 100;

export async function addFactor({ api, config }: Deps, user: string, factor: NewFactor): Promise<string> {
  const call = api.users[":id"].pairings.$post({ param: paramOf(user), json: factor });
  const { pairing, user: { name } } = await rewordRefusal(
    apiValue(call),
    ({ message }) => `Cannot add the factor to ${quoted(user)}: ${message}`,
  );
  const shown = { ...pairing, user: name };
  return resultText(`Added ${FACTOR_TEXTS[shown.kind](shown)} to ${quoted(name)}.`, {
    blocks: [pairingTable([shown])],
    notes: [...unusableNote(config, factor), ...disabledNote(config, factor.kind)],
  });
}

function unusableNote({ factors, secondFactor }: Config, factor: NewFactor): string[] {
  if (factor.kind === "device") {
    return secondFactor.url === ""
      ? ["The embedded second-factor service knows only phones that were paired with --invite."]
      : [];
  }
  const number = "number" in factor ? reducePhoneNumber(factor.number) : null;
  return number === null || isCountryAllowed(number, factors.countryCodes)
    ? []
    : ["factors.country_codes does not allow the country of this number, so it receives no passcodes."];
}

function disabledNote({ factors }: Config, kind: Factor): string[] {
  return factors.enabled.includes(kind)
    ? []
    : [`Logins do not offer this factor: factors.enabled does not contain ${quoted(kind)}.`];
}

export async function invite({ api, config }: Deps, user: string): Promise<string> {
  const call = api.users[":id"].invitation.$post({ param: paramOf(user), json: {} });
  const invitation = await rewordRefusal(
    apiValue(call),
    ({ code, message }) => code === "no_invitations" ? NO_INVITATIONS : message,
  );
  const { publicUrl } = config.http;
  const notes = [...loopbackNote(publicUrl), ...disabledNote(config, "device")];
  const did = `Invitation for ${quoted(user)}. The link pairs one phone.`;
  return resultText(did, { blocks: [invitationText(invitation)], notes });
}

const NO_INVITATIONS =
  "Cannot invite a phone: invitations require the embedded second-factor service, but second_factor.url is set. " +
  `Pair the phone at that service, then run ${COMMAND} pair <user> --device <pairing_id>.`;

function loopbackNote(publicUrl: string): string[] {
  return isLoopback(URL.parse(publicUrl)?.hostname ?? "")
    ? [
      `A phone cannot reach ${publicUrl}. Set http.listen and http.public_url to addresses that phones can reach, ` +
      "and create another invitation.",
    ]
    : [];
}

export async function prefer({ api, config }: Deps, user: string, factor: Factor | null): Promise<string> {
  const call = api.users[":id"].preference.$put({ param: paramOf(user), json: { factor } });
  const { user: { name, login } } = await apiValue(call);
  if (factor === null) return resultText(`${quoted(name)} has no default factor.`);
  const isMissing = login?.pairings.every(({ kind }) => kind !== factor) ?? true;
  const notes = [
    ...isMissing ? [`${quoted(name)} has no factor of this kind yet.`] : [],
    ...disabledNote(config, factor),
  ];
  return resultText(`The default factor of ${quoted(name)} is ${factor}.`, { notes });
}

export async function listOf(api: AdminApi, user: string): Promise<string> {
  const { name, login } = await apiValue(api.users[":id"].$get({ param: paramOf(user), query: {} }));
  const pairings = (login?.pairings ?? []).map((pairing) => ({ ...pairing, user: name }));
  const preferred = login?.preferred ?? null;
  return resultText(
    `${quoted(name)} has ${pairings.length === 0 ? "no factors" : counted(pairings.length, "factor")}.`,
    {
      blocks: [
        pairings.length === 0 ? "" : pairingTable(pairings),
        preferred === null ? "" : `Default factor: ${preferred}\n`,
      ],
    },
  );
}

export async function listAll(api: AdminApi): Promise<string> {
  const pairings: ListedPairing[] = [];
  let total = 0;
  for (let page = 1; pairings.length < MAX_LISTED; page++) {
    const query = { page: String(page), size: String(PAGE_SIZE) };
    const answer = await apiValue(api.devices.$get({ query }));
    total = answer.total;
    if (answer.rows.length === 0) break;
    pairings.push(...answer.rows.map(({ phone, number, totpLength, ...row }) => ({
      ...row,
      ...(phone === null || phone === row.id ? {} : { name: phone }),
      ...(number === null ? {} : { number }),
      ...(totpLength === null ? {} : { totpLength }),
    })));
  }
  const more = total - pairings.length;
  return resultText(total === 0 ? "There are no factors." : `${counted(total, "factor")}.`, {
    blocks: [
      pairings.length === 0 ? "" : pairingTable(pairings),
      more > 0 ? `  and ${more} more; add a user name to list the factors of that user\n` : "",
    ],
  });
}

export async function revoke(
  { api, config }: Deps,
  { user, id }: { user: string | null; id: string },
): Promise<string> {
  const { name, pairing } = await find(api, { user, id });
  const param = { ...paramOf(name), pairing: pathName(id, "pairing") };
  await apiValue(api.users[":id"].pairings[":pairing"].$delete({ param, json: {} }));
  const shown = { ...pairing, user: name };
  const isExternal = pairing.kind === "device" && config.secondFactor.url !== "";
  const notes = isExternal
    ? ["The external second-factor service may still know the device. Remove it there as well."]
    : [];
  return resultText(`Revoked ${FACTOR_TEXTS[shown.kind](shown)} of ${quoted(name)}.`, {
    blocks: [pairingTable([shown])],
    notes,
  });
}

/** Finds a pairing and its user. Without a user, the API finds it by its ID. */
async function find(
  api: AdminApi,
  { user, id }: { user: string | null; id: string },
): Promise<{ name: string; pairing: PairingView }> {
  const unknown = `Cannot revoke the factor: ${
    user === null ? "there is" : `${quoted(user)} has`
  } no factor with this ID. To list the IDs, use --list.`;
  const owner = user ?? (await rewordRefusal(
    apiValue(api.devices[":id"].$get({ param: { id: pathName(id, "pairing") } })),
    ({ code, message }) => code === "unknown_pairing" ? unknown : message,
  )).user;
  const { name, login } = await apiValue(api.users[":id"].$get({ param: paramOf(owner), query: {} }));
  const pairing = login?.pairings.find((one) => one.id === id);
  if (pairing === undefined) throw new AdminRefusal("unknown_pairing", unknown);
  return { name, pairing };
}

function paramOf(user: string): { id: string } {
  return { id: pathName(user, "user") };
}

export const pairCommand = adminCommand({ usage: USAGE, plan: planPair, run });

function invitationText({ link, deadlineMs }: { link: string; deadlineMs: number }): string {
  // The code suits dark terminals. A light terminal inverts it, which phones read as well.
  const code = renderUnicodeCompact(link, { border: 2 });
  return `${printable(link)}\n\n${code}\n\nThe link expires at ${utcTimeText(deadlineMs)}.\n`;
}

if (import.meta.main) await runMain(pairCommand);
