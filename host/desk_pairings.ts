// The desk's operations on pairings: give a user a second factor, list, revoke, invite a phone, say what comes first.

import { isLoopback } from "../config/addresses.ts";
import type { NewPairing, Pairing } from "../radius/doing/pairing.ts";
import type { Factor } from "../radius/facts/factors.ts";
import { isCountryAllowed, maskPhoneNumber } from "../radius/pure/phone_number.ts";
import { type PairingDetails, pairingDetails } from "../radius/pure/pairing_details.ts";
import { canonicalName } from "../canonical_name.ts";
import { commandEntry, type DeskDeps, operation } from "./desk_operation.ts";
import { type DeskAnswer, done, refused, type ShownPairing } from "./desk_answer.ts";
import { INPUTS } from "./desk_inputs.ts";

/** Room for a list in an answer of 64 KiB. */
const MAX_LIST_OCTETS = 60_000;

const quoted = (name: string) => JSON.stringify(name);

export const pairOperations = {
  "pair.device": operation(
    { user: INPUTS.user, id: INPUTS.deviceId, totpLength: INPUTS.totpLength },
    (deps, { user, id, totpLength }) => {
      const owner = pairingById(deps, id);
      if (owner !== null && (owner.user !== canonicalName(user) || owner.kind !== "device")) {
        return refused(
          "taken",
          `Cannot pair ${quoted(user)}: the pairing id belongs to ${
            quoted(owner.shownUser)
          }. Revoke it there first.`,
        );
      }
      const notes = deps.secondFactorDesk === null ? [] : [
        "The embedded second-factor service knows the phones that --invite paired, and no other id.",
      ];
      return add(deps, { user, pairing: { kind: "device", id, totpLength }, notes });
    },
  ),
  "pair.sms": operation(
    { user: INPUTS.user, number: INPUTS.number },
    (deps, { user, number }) => addNumber(deps, { user, kind: "sms", number }),
  ),
  "pair.voice": operation(
    { user: INPUTS.user, number: INPUTS.number },
    (deps, { user, number }) => addNumber(deps, { user, kind: "voice", number }),
  ),
  "pair.totp": operation({ user: INPUTS.user, seed: INPUTS.seed }, (deps, { user, seed }) => {
    // Stored again it would forget which time step was used last, and a code would count twice.
    if (hasSeed(deps, { user, seed })) {
      return refused("taken", `Cannot pair ${quoted(user)}: that TOTP secret is paired already.`);
    }
    return add(deps, { user, pairing: { kind: "totp", seed }, notes: [] });
  }),
  "pair.invite": operation({ user: INPUTS.user }, invite),
  "pair.prefer": operation({ user: INPUTS.user, factor: INPUTS.preference }, prefer),
  "pair.list": operation({ user: INPUTS.anyUser }, list),
  "pair.revoke": operation({ user: INPUTS.anyUser, id: INPUTS.pairingId }, revoke),
};

function pairingById({ pairings }: DeskDeps, id: string): Pairing | null {
  for (const pairing of pairings.all()) if (pairing.id === id) return pairing;
  return null;
}

function hasSeed({ pairings }: DeskDeps, { user, seed }: { user: string; seed: Uint8Array }): boolean {
  return pairings.of(canonicalName(user)).some((pairing) => {
    const known = pairing.kind === "totp" ? pairings.seedOf(pairing) : null;
    return known !== null && known.length === seed.length && known.every((octet, at) => octet === seed[at]);
  });
}

function addNumber(
  deps: DeskDeps,
  { user, kind, number }: { user: string; kind: "sms" | "voice"; number: string },
): Promise<DeskAnswer> {
  const notes = isCountryAllowed(number, deps.config.factors.countryCodes)
    ? []
    : ["factors.country_codes does not allow the country of this number: nothing will be sent to it."];
  return add(deps, { user, pairing: { kind, number }, notes });
}

async function add(
  deps: DeskDeps,
  { user, pairing: wanted, notes }: { user: string; pairing: NewPairing; notes: string[] },
): Promise<DeskAnswer> {
  const { pairings, store } = deps;
  let prepared: ReturnType<typeof pairings.prepare>;
  try {
    prepared = pairings.prepare({ canonical: canonicalName(user), shown: user }, wanted);
  } catch (fault) {
    if (fault instanceof RangeError) return refused("too_many", `${fault.message}.`);
    throw fault;
  }
  const { mutation, pairing } = prepared;
  const shown = shownPairing(pairing);
  const audit = commandEntry({ action: "pairing.add", ...auditFields(pairing) });
  await store.commit({ mutations: [mutation, audit] });
  pairings.adopt(pairing);
  return done(`${quoted(user)} has ${WORDS[pairing.kind](shown)}.`, {
    pairings: [shown],
    notes: [...notes, ...disabledNote(deps, pairing.kind)],
  });
}

function disabledNote({ config }: DeskDeps, kind: Factor): string[] {
  return config.factors.enabled.includes(kind)
    ? []
    : [`It is not offered at a login: factors.enabled does not have ${quoted(kind)}.`];
}

async function invite(deps: DeskDeps, { user }: { user: string }): Promise<DeskAnswer> {
  const { secondFactorDesk, config } = deps;
  if (secondFactorDesk === null) {
    return refused(
      "not_embedded",
      "Cannot invite a phone: invitations belong to the embedded second-factor service, and second_factor.url names an " +
        "external one. Pair the phone there, and give its pairing id: deno task pair <user> --device <pairing_id>.",
    );
  }
  const also = [commandEntry({ action: "invitation.make", object: `user:${user}` })];
  const { invitation, deadlineMs } = await secondFactorDesk.invite(user, { also });
  return done(`An invitation for ${quoted(user)}: the person who opens the link pairs a phone, once.`, {
    invitation: { link: `${config.http.publicUrl}/device#invite=${invitation}`, deadlineMs },
    notes: [...loopbackNote(config.http.publicUrl), ...disabledNote(deps, "device")],
  });
}

function loopbackNote(publicUrl: string): string[] {
  const hostname = URL.parse(publicUrl)?.hostname ?? "";
  return isLoopback(hostname)
    ? [
      `A phone cannot reach ${publicUrl}: set http.listen to an address of the network, and http.public_url to how ` +
      "phones reach it; then invite again.",
    ]
    : [];
}

async function prefer(
  deps: DeskDeps,
  { user, factor }: { user: string; factor: Factor | null },
): Promise<DeskAnswer> {
  const { pairings, store } = deps;
  const canonical = canonicalName(user);
  const audit = commandEntry({
    action: "preference.set",
    object: `user:${user}`,
    before: pairings.preferred(canonical) ?? undefined,
    after: factor ?? undefined,
  });
  await store.commit({ mutations: [pairings.preparePreference(canonical, factor), audit] });
  pairings.adoptPreference(canonical, factor);
  if (factor === null) return done(`${quoted(user)} has no preferred factor.`);
  const missing = pairings.of(canonical).some(({ kind }) => kind === factor)
    ? []
    : [`${quoted(user)} has no pairing of that kind yet.`];
  return done(`A login of ${quoted(user)} begins with ${factor}.`, {
    notes: [...missing, ...disabledNote(deps, factor)],
  });
}

function list({ pairings }: DeskDeps, { user }: { user: string | null }): DeskAnswer {
  const canonical = user === null ? null : canonicalName(user);
  const known = canonical === null ? pairings.all() : pairings.of(canonical);
  const total = canonical === null ? pairings.size : pairings.of(canonical).length;
  const encoder = new TextEncoder();
  const shown: ShownPairing[] = [];
  let octets = 0;
  for (const pairing of known) {
    const next = shownPairing(pairing);
    octets += encoder.encode(JSON.stringify(next)).length + 1;
    if (octets > MAX_LIST_OCTETS) break;
    shown.push(next);
  }
  const whose = user === null ? "" : `${quoted(user)} has `;
  const counted = total === 0 ? "no pairings" : total === 1 ? "1 pairing" : `${total} pairings`;
  return done(user === null && total === 0 ? "There are no pairings." : `${whose}${counted}.`, {
    pairings: shown,
    ...canonical === null ? {} : { preferred: pairings.preferred(canonical) },
    ...total > shown.length ? { more: total - shown.length } : {},
  });
}

async function revoke(
  deps: DeskDeps,
  { user, id }: { user: string | null; id: string },
): Promise<DeskAnswer> {
  const known = pairingById(deps, id);
  if (known === null || (user !== null && known.user !== canonicalName(user))) {
    const whose = user === null ? "There is" : `${quoted(user)} has`;
    return refused("unknown_pairing", `Cannot revoke it: ${whose} no pairing of that id; --list shows them.`);
  }
  await deps.pairings.revoke(id, [commandEntry({ action: "pairing.revoke", ...auditFields(known) })]);
  const shown = shownPairing(known);
  return done(`${quoted(known.shownUser)} no longer has ${WORDS[known.kind](shown)}.`, {
    pairings: [shown],
    notes: known.kind === "device" ? await revokeAtService(deps, id) : [],
  });
}

/** The gateway's pairing is gone by now, whatever the service says. */
async function revokeAtService({ secondFactorDesk }: DeskDeps, id: string): Promise<string[]> {
  if (secondFactorDesk === null) {
    return ["The second-factor service may still know the device; end it there as well."];
  }
  try {
    await secondFactorDesk.revokePairing(id);
    return [];
  } catch (fault) {
    const name = fault instanceof Error ? fault.name : "fault";
    return [`The phone itself could not be unpaired (${name}); it can no longer be used for a login.`];
  }
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

function shownPairing(pairing: Pairing): ShownPairing {
  const { id, shownUser: user, kind, createdMs } = pairing;
  const head = { id, user, kind, createdMs };
  if (pairing.kind === "device") return { ...head, totpLength: pairing.totpLength, ...namePart(pairing) };
  return pairing.kind === "totp" ? head : { ...head, number: maskPhoneNumber(pairing.number) };
}

function auditFields(pairing: Pairing): PairingDetails & { object: string; how: string } {
  return { object: `user:${pairing.shownUser}`, ...pairingDetails(pairing), how: "command" };
}

function namePart({ name }: { readonly name?: string }): { name?: string } {
  return name === undefined ? {} : { name };
}
