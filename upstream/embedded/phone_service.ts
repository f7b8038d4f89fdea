// The phone page's door to the embedded second-factor service: everything is asked with the phone's token, and a phone
// sees and decides only what is its own.

import { decideRequest } from "./deciding.ts";
import type { House } from "./house.ts";
import type { PhoneOrigin, PhoneRequest, PhoneResult, PhoneService, PhoneView } from "./interfaces.ts";
import type { Invitations } from "./invitations.ts";
import { type Pairings, refused } from "./pairings.ts";
import { phoneOfToken, type PhraseBook } from "./phrase_book.ts";
import type { Requests } from "./requests.ts";
import type { PairingRow, RequestRow } from "./rows.ts";

/** Told about pairings that a phone enabled by an invitation, or ended. */
export interface PairingNews {
  /** Resolves to whether the pairing may stay. */
  paired(pairing: PairingRow, origin: PhoneOrigin): Promise<boolean>;
  unpaired(pairing: PairingRow, origin: PhoneOrigin): Promise<void>;
}

const MAX_TOKEN_CHARACTERS = 128;
const NO_ORIGIN: PhoneOrigin = { source: "" };

export function createPhoneService(
  house: House,
  parts: {
    requests: Requests;
    pairings: Pairings;
    phrases: PhraseBook;
    invitations: Invitations;
    news: PairingNews;
  },
): PhoneService {
  const { requests, pairings, phrases, invitations, news } = parts;
  const { requesterName } = house.settings;

  /** The digest of a token that is good now. */
  const phoneOf = (token: string): string | null => {
    if (token.length > MAX_TOKEN_CHARACTERS) return null;
    const phone = phoneOfToken(house, token);
    const row = house.shelves.phones.get(phone);
    return row !== undefined && (row.deadlineMs ?? Infinity) > house.clock.nowMs() ? phone : null;
  };

  const withPhone = async <T>(
    token: string,
    use: (phone: string) => PhoneResult<T> | Promise<PhoneResult<T>>,
  ): Promise<PhoneResult<T>> => {
    const phone = phoneOf(token);
    return phone === null ? refused("unknown_token") : await use(phone);
  };

  const shownRequest = (row: RequestRow): PhoneRequest => ({
    requestId: row.id,
    userName: row.userName,
    requesterName,
    terminalName: row.terminalName,
    client: row.client,
    place: row.place,
    createdMs: row.createdMs,
    deadlineMs: row.deadlineMs,
    asksNumber: row.number !== null,
  });

  const viewOf = (phone: string): PhoneView => {
    const own = pairings.ofPhone(phone);
    return {
      nowMs: house.clock.nowMs(),
      phrase: phrases.shown(phone),
      pairings: own.map((row) => ({
        pairingId: row.id,
        userName: row.userName,
        requesterName,
        status: row.state === "enabled" ? "enabled" : "asks_approval",
        createdMs: row.createdMs,
      })),
      requests: own.flatMap(({ id }) => requests.waitingFor(id)).map(shownRequest),
    };
  };

  return {
    async startWithPhrase(source) {
      const started = await phrases.startPhone(source);
      if (started === null) return refused("too_many_tries");
      const { token, phrase } = started;
      return { ok: true, value: { token, phrase: phrase.text, deadlineMs: phrase.deadlineMs } };
    },
    newPhrase: (token) =>
      withPhone(token, async (phone) => {
        const shown = await phrases.renew(phone);
        if (shown === null) return refused("too_many_tries");
        return { ok: true, value: { phrase: shown.text, deadlineMs: shown.deadlineMs } };
      }),
    lookAtInvitation: (invitation, source) => invitations.look(invitation, source),
    async acceptInvitation(invitation, { token, source, browser = "", name = null }) {
      const known = token !== null && phoneOf(token) !== null ? token : null;
      const accepted = await invitations.accept(invitation, { token: known, source, name });
      if (!accepted.ok) return accepted;
      const { token: kept, pairing } = accepted.value;
      try {
        if (!await news.paired(pairing, { source, browser })) {
          await pairings.end(pairing.id);
          return refused("account_changed");
        }
      } catch (fault) {
        // No other part of the server knows the pairing, so it cannot be used.
        await pairings.end(pairing.id);
        throw new Error("Cannot pair the phone: the pairing could not be handed on", { cause: fault });
      }
      return { ok: true, value: { token: kept, pairingId: pairing.id } };
    },
    view(token) {
      const phone = phoneOf(token);
      return Promise.resolve(phone === null ? null : viewOf(phone));
    },
    decidePairing: (token, pairingId, { approve, name = null, origin = NO_ORIGIN }) =>
      withPhone(token, (phone) => pairings.decide(phone, pairingId, { approve, name, origin })),
    decide: (token, requestId, decision) =>
      withPhone(token, async (phone) => {
        const row = requests.find(requestId);
        if (row === undefined || pairings.find(row.pairingId)?.phone !== phone) {
          return refused("unknown_request");
        }
        return await decideRequest(requests, row, { decision });
      }),
    passcode: (token, pairingId) => withPhone(token, (phone) => pairings.passcode(phone, pairingId)),
    unpair: (token, pairingId, origin = NO_ORIGIN) =>
      withPhone(token, async (phone) => {
        if (pairings.find(pairingId)?.phone !== phone) return refused("unknown_request");
        const ended = await pairings.end(pairingId);
        if (ended === null) return refused("already_decided");
        await news.unpaired(ended, origin);
        return { ok: true, value: null };
      }),
    watch(token, notify) {
      const phone = phoneOf(token);
      return phone === null ? () => undefined : house.phoneListeners.add(phone, notify);
    },
  };
}
