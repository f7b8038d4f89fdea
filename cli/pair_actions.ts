// What `deno task pair` does, through the administration API: each function makes the calls and returns the text for the operator.

import type { Config } from "../platform/config/config.ts";
import { isLoopback } from "../platform/config/addresses.ts";
import type { PairingView } from "../console/api/users/user_types.ts";
import type { Factor } from "../radius/flow/factors.ts";
import { isCountryAllowed, reducePhoneNumber } from "../platform/phone_number.ts";
import { type AdminApi, AdminRefusal, pathName, valueOf } from "./admin_connection.ts";
import { invitationText, pairingTable, quoted, resultText, type ShownPairing } from "./format_result.ts";

/** A factor that an operator enters. */
export type Addition =
  | { readonly kind: "sms" | "voice"; readonly number: string }
  | { readonly kind: "device"; readonly id: string; readonly totpLength: 0 | 4 | 5 | 6 | 7 | 8 | 9 | 10 }
  | { readonly kind: "totp"; readonly seed: string };

interface Deps {
  readonly api: AdminApi;
  readonly config: Config;
}

/** Pairings that are listed at most when no user is named. */
const MAX_LISTED = 500;
const PAGE_SIZE = 100;

export async function addFactor({ api, config }: Deps, user: string, factor: Addition): Promise<string> {
  const call = api.users[":id"].pairings.$post({ param: paramOf(user), json: factor });
  const { pairing, user: { name } } = await valueOf(call).catch((fault: unknown) => {
    const isRefused = fault instanceof AdminRefusal;
    throw isRefused ? new AdminRefusal(fault.code, `Cannot pair ${quoted(user)}: ${fault.message}`) : fault;
  });
  const shown = { ...pairing, user: name };
  const notes = [...noteOf(config, factor), ...disabledNote(config, factor.kind)];
  return resultText(`${quoted(name)} has ${WORDS[shown.kind](shown)}.`, {
    blocks: [pairingTable([shown])],
    notes,
  });
}

function noteOf({ factors, secondFactor }: Config, factor: Addition): string[] {
  if (factor.kind === "device") {
    return secondFactor.url === ""
      ? ["The embedded second-factor service knows the phones that --invite paired, and no other id."]
      : [];
  }
  const number = "number" in factor ? reducePhoneNumber(factor.number) : null;
  return number === null || isCountryAllowed(number, factors.countryCodes)
    ? []
    : ["factors.country_codes does not allow the country of this number: nothing will be sent to it."];
}

function disabledNote({ factors }: Config, kind: Factor): string[] {
  return factors.enabled.includes(kind)
    ? []
    : [`It is not offered at a login: factors.enabled does not have ${quoted(kind)}.`];
}

export async function invite({ api, config }: Deps, user: string): Promise<string> {
  const call = api.users[":id"].invitation.$post({ param: paramOf(user), json: {} });
  const invitation = await valueOf(call).catch((fault: unknown) => {
    const isExternal = fault instanceof AdminRefusal && fault.code === "no_invitations";
    throw isExternal ? new AdminRefusal(fault.code, NO_INVITATIONS) : fault;
  });
  const { publicUrl } = config.http;
  const notes = [...loopbackNote(publicUrl), ...disabledNote(config, "device")];
  const did = `An invitation for ${quoted(user)}: the person who opens the link pairs a phone, once.`;
  return resultText(did, { blocks: [invitationText(invitation)], notes });
}

const NO_INVITATIONS =
  "Cannot invite a phone: invitations belong to the embedded second-factor service, and second_factor.url names an " +
  "external one. Pair the phone there, and give its pairing id: deno task pair <user> --device <pairing_id>.";

function loopbackNote(publicUrl: string): string[] {
  return isLoopback(URL.parse(publicUrl)?.hostname ?? "")
    ? [
      `A phone cannot reach ${publicUrl}: set http.listen to an address of the network, and http.public_url to how ` +
      "phones reach it; then invite again.",
    ]
    : [];
}

export async function prefer({ api, config }: Deps, user: string, factor: Factor | null): Promise<string> {
  const call = api.users[":id"].preference.$put({ param: paramOf(user), json: { factor } });
  const { user: { name, login } } = await valueOf(call);
  if (factor === null) return resultText(`${quoted(name)} has no preferred factor.`);
  const isMissing = login?.pairings.every(({ kind }) => kind !== factor) ?? true;
  const notes = [
    ...isMissing ? [`${quoted(name)} has no pairing of that kind yet.`] : [],
    ...disabledNote(config, factor),
  ];
  return resultText(`A login of ${quoted(name)} begins with ${factor}.`, { notes });
}

export async function listOf(api: AdminApi, user: string): Promise<string> {
  const { name, login } = await valueOf(api.users[":id"].$get({ param: paramOf(user), query: {} }));
  const pairings = (login?.pairings ?? []).map((pairing) => ({ ...pairing, user: name }));
  const preferred = login?.preferred ?? null;
  return resultText(`${quoted(name)} has ${countedPairings(pairings.length)}.`, {
    blocks: [
      pairings.length === 0 ? "" : pairingTable(pairings),
      preferred === null ? "" : `Preferred: ${preferred}\n`,
    ],
  });
}

export async function listAll(api: AdminApi): Promise<string> {
  const pairings: ShownPairing[] = [];
  let total = 0;
  for (let page = 1; pairings.length < MAX_LISTED; page++) {
    const query = { page: String(page), size: String(PAGE_SIZE) };
    const answer = await valueOf(api.devices.$get({ query }));
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
  return resultText(total === 0 ? "There are no pairings." : `${countedPairings(total)}.`, {
    blocks: [
      pairings.length === 0 ? "" : pairingTable(pairings),
      more > 0 ? `  and ${more} more; name a user to see theirs\n` : "",
    ],
  });
}

export async function revoke(
  { api, config }: Deps,
  { user, id }: { user: string | null; id: string },
): Promise<string> {
  const { name, pairing } = await find(api, { user, id });
  const param = { ...paramOf(name), pairing: pathName(id, "pairing") };
  await valueOf(api.users[":id"].pairings[":pairing"].$delete({ param, json: {} }));
  const shown = { ...pairing, user: name };
  const isExternal = pairing.kind === "device" && config.secondFactor.url !== "";
  const notes = isExternal
    ? ["The second-factor service may still know the device; end it there as well."]
    : [];
  return resultText(`${quoted(name)} no longer has ${WORDS[shown.kind](shown)}.`, {
    blocks: [pairingTable([shown])],
    notes,
  });
}

/** A pairing and its user. Without a user, the API finds it by its id. */
async function find(
  api: AdminApi,
  { user, id }: { user: string | null; id: string },
): Promise<{ name: string; pairing: PairingView }> {
  const owner = user ??
    (await valueOf(api.devices[":id"].$get({ param: { id: pathName(id, "pairing") } })).catch(
      (fault: unknown) => {
        const isUnknown = fault instanceof AdminRefusal && fault.code === "unknown_pairing";
        throw isUnknown ? unknownPairing(null) : fault;
      },
    )).user;
  const { name, login } = await valueOf(
    api.users[":id"].$get({ param: paramOf(owner), query: {} }),
  );
  const pairing = login?.pairings.find((one) => one.id === id);
  if (pairing === undefined) throw unknownPairing(user);
  return { name, pairing };
}

function unknownPairing(user: string | null): AdminRefusal {
  const whose = user === null ? "There is" : `${quoted(user)} has`;
  return new AdminRefusal(
    "unknown_pairing",
    `Cannot revoke it: ${whose} no pairing of that id; --list shows them.`,
  );
}

function paramOf(user: string): { id: string } {
  return { id: pathName(user, "user") };
}

function countedPairings(total: number): string {
  return total === 0 ? "no pairings" : total === 1 ? "1 pairing" : `${total} pairings`;
}

const WORDS: Readonly<Record<Factor, (pairing: ShownPairing) => string>> = {
  device: ({ id, name, totpLength = 0 }) =>
    `the device ${quoted(id)}${name === undefined ? "" : `, called ${quoted(name)}`}, ${
      totpLength === 0 ? "which shows no passcodes" : `with passcodes of ${totpLength} digits`
    }`,
  sms: ({ number = "" }) => `texts to ${number}`,
  voice: ({ number = "" }) => `calls to ${number}`,
  totp: () => "a TOTP secret",
};
